# SPDX-License-Identifier: Apache-2.0
"""Copying a table and its indexes into memory: all of it, or the same share of every relation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checks.columns.entries import primary_key_of
from scrub.app.selftest_and_demo.table_copy import TableCopy
from scrub.codec.arrow_types import arrow_schema_of
from scrub.codec.digest import Salt
from scrub.errors import StoreUnavailable, UsageError
from scrub.model.plan import Side, TablePlan
from scrub.model.table import Column, EntryColumn, Table
from scrub.spark.digest import bucket_of
from scrub.spark.expected_values import type_of
from scrub.spark.failures import reason_of
from scrub.stores.base import ReadableStore
from scrub.stores.unreadable import UnreadableSplit

_BUCKET_BITS = 20
_BUCKETS = 1 << _BUCKET_BITS
_SALT = Salt(0x5A3B1E, 0x0DD)  # fixed: the same data gives the same sample
_BUCKET = "__scrub_bucket"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A copy, and how many rows the table has in all."""

    copy: TableCopy
    rows_total: int


def sample_table(
    plan: TablePlan, stores: Mapping[str, ReadableStore], spark: SparkSession, rows_max: int
) -> Sample:
    """Copy at most so many rows of each relation.

    Rows and entries are chosen by the hash of their primary key, so that a row is in the copy
    exactly when its entries are.
    """
    table = _definition(plan)
    sides = [plan.side, *(index.side for index in plan.indexes)]
    columns = [table.columns, *(_columns_of(index.entry) for index in table.indexes)]
    try:
        frames = [
            _with_bucket(_frame(side, wanted, stores, spark), table)
            for side, wanted in zip(sides, columns, strict=True)
        ]
        share, rows_total = _share(frames, rows_max)
        chosen = [
            _collect(frame, wanted, share) for frame, wanted in zip(frames, columns, strict=True)
        ]
    except (PySparkException, UnreadableSplit) as error:
        reason = reason_of(error, False) if isinstance(error, PySparkException) else str(error)
        raise StoreUnavailable(f"{table.name} cannot be copied: {reason}") from error
    entries = {i.name: part for i, part in zip(table.indexes, chosen[1:], strict=True)}
    return Sample(
        copy=TableCopy(table=table, rows=chosen[0], entries=entries), rows_total=rows_total
    )


def _definition(plan: TablePlan) -> Table:
    """The table as a copy describes it: what its indexes need, at one version."""
    return replace(
        plan.table,
        columns=tuple(plan.table.column(name) for name in plan.side.columns),
        indexes=tuple(replace(each.index, reflects=None) for each in plan.indexes),
        checks={},
        unique=(),
        foreign_keys=(),
    )


def _columns_of(entry: Sequence[EntryColumn]) -> tuple[Column, ...]:
    return tuple(Column(name=c.name, type=type_of(c)) for c in entry)


def _frame(
    side: Side, columns: Sequence[Column], stores: Mapping[str, ReadableStore], spark: SparkSession
) -> DataFrame:
    return stores[side.facts.store].frame(spark, side.facts, columns, side.facts.splits)


def _with_bucket(frame: DataFrame, table: Table) -> DataFrame:
    return frame.withColumn(_BUCKET, bucket_of(primary_key_of(table), _SALT, _BUCKET_BITS))


def _share(frames: Sequence[DataFrame], rows_max: int) -> tuple[int, int]:
    """How many of the buckets fit, and how many rows the first frame, the table, has."""
    numbered = [
        frame.select(F.lit(number).alias("relation"), F.col(_BUCKET).alias("bucket"))
        for number, frame in enumerate(frames)
    ]
    counts = reduce(DataFrame.unionAll, numbered).groupBy("relation", "bucket").count().toArrow()
    relations = counts.column("relation").to_numpy()
    buckets, rows = counts.column("bucket").to_numpy(), counts.column("count").to_numpy()
    share = _BUCKETS
    for number in range(len(frames)):
        mine = relations == number
        so_far = np.cumsum(np.bincount(buckets[mine], rows[mine], minlength=_BUCKETS))
        share = min(share, int(np.searchsorted(so_far, rows_max, side="right")))
    if share == 0:
        raise UsageError(
            f"{rows_max:,} rows are too few for a sample", hint="give a larger number with --rows"
        )
    return share, int(rows[relations == 0].sum())


def _collect(frame: DataFrame, columns: Sequence[Column], share: int) -> pa.Table:
    names = [column.name for column in columns]
    chosen = frame if share == _BUCKETS else frame.where(F.col(_BUCKET) < share)
    schema = arrow_schema_of(columns)
    return chosen.drop(_BUCKET).toArrow().select(names).cast(schema).combine_chunks()
