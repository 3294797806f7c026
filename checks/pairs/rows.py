# SPDX-License-Identifier: Apache-2.0
"""The rows of a table in key-value layout, decoded from the pairs of its primary index.

What cannot be decoded is no row: `counted` tells how many there are, and a constraint on the others
is then incomplete. A pair that could not be read may be the family that some row lacks, so the
columns of such rows are then unknown rather than NULL: `frame` can leave these rows out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame

from checks.pairs.entries import SparkPairs
from checks.pairs.keys import primary_prefix
from checks.pairs.native import NativePairs, PairTasks
from checks.pairs.row_copies import each_copy
from checks.pairs.scan import PairSpec, layout_and_indexes, whole_rows
from checks.pairs.table import PairTable
from checks.source import Reading
from checks.task_rows import as_batch
from checks.task_sums import NumberedSplit
from checks.work import Work
from scrub.codec.digest import Salt
from scrub.model.kv import KeyChoice
from scrub.model.plan import PairRelation, TablePlan
from scrub.model.relation import Splits
from scrub.model.table import Column
from scrub.spark.types import to_struct
from scrub.stores.unreadable import UnreadableSplit

if TYPE_CHECKING:
    from scrub.codec.kv.arrow_rows import ArrowRows

COUNT_SCHEMA = (
    "split int, rows bigint, undecoded bigint, unheld bigint, partial bigint, "
    "lost boolean, error string"
)
"""What a task counted; where tasks open files a row for each split, and why one cannot be read."""

_NO_SALT = Salt(0, 0)  # nothing is digested here


@dataclass(frozen=True, slots=True)
class _RowSpec:
    """What a task must know to decode rows."""

    pairs: PairSpec
    columns: tuple[Column, ...]
    partial: bool = True  # whether rows that lack a family are wanted


class PairRows:
    """The decoded rows of a planned table, of all its splits or of some."""

    def __init__(self, reading: Reading, plan: TablePlan, splits: Splits | None = None) -> None:
        self.reading, self.table = reading, PairTable(_of_rows(plan, splits))
        self.spec = PairSpec(
            table=self.table.kv,
            indexes=(),
            salt=_NO_SALT,
            bucket_bits=0,
            limit=0,
            by_row=len(self.table.kv.families) > 1,
        )

    @property
    def held(self) -> PairRelation:
        """The relation that holds the rows."""
        return self.table.relations[0]

    def frame(self, columns: Sequence[Column], *, partial: bool = True) -> DataFrame:
        """Some columns of all rows; without `partial`, of those rows that have every family."""
        spec = _RowSpec(self.spec, tuple(columns), partial)
        rows = self._run(_rows, _rows_of_splits, tuple(columns), spec)
        return self.reading.jobs.frame(rows)

    def counted(self, columns: Sequence[Column]) -> Work | DataFrame:
        """How many rows there are, and what could not be decoded, as COUNT_SCHEMA."""
        spec = _RowSpec(self.spec, tuple(columns))
        return self._run(_count, _count_splits, COUNT_SCHEMA, spec)

    def _run(
        self,
        of_pairs: Callable[..., Iterator[pa.RecordBatch]],
        of_splits: Callable[..., Iterator[pa.RecordBatch]],
        schema: str | tuple[Column, ...],
        spec: _RowSpec,
    ) -> Work | DataFrame:
        jobs, stores = self.reading.jobs, self.reading.stores
        if not self.table.is_native:
            pairs = SparkPairs(jobs.spark, self.table, stores, self.spec).together()
            of_spark = schema if isinstance(schema, str) else to_struct(schema)
            return pairs.mapInArrow(partial(of_pairs, spec=spec), of_spark)
        native = NativePairs(jobs.cores, self.table, self.table.splits, self.spec)
        return native.run(of_splits, schema, spec=spec)


def _of_rows(plan: TablePlan, splits: Splits | None) -> TablePlan:
    """The plan with the pairs of the primary index only."""
    assert plan.pairs is not None, "only tables in key-value layout come here"
    assert plan.table.kv is not None
    first = plan.pairs.relations[0]
    facts = first.facts if splits is None else replace(first.facts, splits=tuple(splits))
    prefixes = primary_prefix(plan.table.kv)
    held = replace(
        first,
        side=replace(first.side, facts=facts),
        keys=KeyChoice(prefixes, wanted=True, entries=first.keys.entries),
    )
    return replace(plan, pairs=replace(plan.pairs, relations=(held,)))


def _decoded(batches: Iterator[pa.RecordBatch], spec: _RowSpec) -> "Iterator[ArrowRows]":
    from scrub.codec.kv.arrow_rows import arrow_rows

    layout, _ = layout_and_indexes(spec.pairs)
    for batch in whole_rows(batches) if spec.pairs.by_row else batches:
        for pairs in each_copy(batch) if spec.pairs.by_row else (batch,):
            yield arrow_rows(layout, spec.columns, pairs.column("key"), pairs.column("value"))


def _rows(batches: Iterator[pa.RecordBatch], spec: _RowSpec) -> Iterator[pa.RecordBatch]:
    for rows in _decoded(batches, spec):
        wanted = rows.batch
        if not spec.partial and rows.partial.any():
            wanted = wanted.filter(pa.array(~rows.partial))
        if wanted.num_rows:
            yield wanted


def _rows_of_splits(number: int, work: PairTasks, spec: _RowSpec) -> Iterator[pa.RecordBatch]:
    for numbered in work.tasks[number]:
        yield from _rows(_pairs(numbered, work), spec)


def _count(batches: Iterator[pa.RecordBatch], spec: _RowSpec) -> Iterator[pa.RecordBatch]:
    yield as_batch([_counts(0, batches, spec)], COUNT_SCHEMA)


def _count_splits(number: int, work: PairTasks, spec: _RowSpec) -> Iterator[pa.RecordBatch]:
    counted: list[tuple[object, ...]] = []
    for numbered in work.tasks[number]:
        try:
            counted.append(_counts(numbered.number, _pairs(numbered, work), spec))
        except UnreadableSplit as error:
            counted.append((numbered.number, 0, 0, 0, 0, False, error.reason))
    yield as_batch(counted, COUNT_SCHEMA)


def _pairs(numbered: NumberedSplit, work: PairTasks) -> Iterator[pa.RecordBatch]:
    return work.pairs(numbered, work.reader(numbered))


def _counts(number: int, batches: Iterator[pa.RecordBatch], spec: _RowSpec) -> tuple[object, ...]:
    count, undecoded, unheld, without_family, lost = 0, 0, 0, 0, False
    for rows in _decoded(batches, spec):
        count += len(rows.partial)  # also if no column was asked for
        undecoded += rows.undecoded
        unheld += rows.unheld
        without_family += int(rows.partial.sum())
        lost = lost or rows.lost
    return number, count, undecoded, unheld, without_family, lost, None
