# SPDX-License-Identifier: Apache-2.0
"""Pairs and their entries as frames, where Spark reads them, and how their two sides are joined."""

from collections.abc import Iterator, Mapping
from functools import partial, reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checks.columns.merge_join import defects_among, pair_up
from checks.pairs.keys import condition_of
from checks.pairs.native import Bitmaps, bytes_of_sums
from checks.pairs.plan import BINARY, PAIR
from checks.pairs.report import BAD_SCHEMA
from checks.pairs.scan import (
    ENTRY_SCHEMA,
    PairSpec,
    bad_pairs,
    entries_in_buckets,
    fingerprint_pairs,
)
from checks.pairs.table import PairTable
from checks.task_sums import SUMS_SCHEMA, added_up
from scrub.codec.kv.sides import ACTUAL, DOUBTFUL, EXPECTED, PARTIAL
from scrub.model.defect import DefectKind
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.spark.session import parallelism
from scrub.stores.base import ReadableStore

_PARTITION_BYTES = 32 << 20  # fewer than Spark's own limit, for there may be many small files
_ROW_KEY = """
    substring(key, 1, length(key) - 1
        - greatest(0, cast(conv(hex(substring(key, -1, 1)), 16, 10) AS int) - 136))
"""
"""A key without its family, whose length its last byte tells, counted from 88 on."""

_KEY, _ROW, _VALUE = (
    EntryColumn(name=name, source=name, type=BINARY) for name in ("key", "row", "value")
)
_PAIR_INDEX = Index(
    name="pairs", store="", relation="", key=(_KEY,), suffix=(_ROW,), stored=(_VALUE,)
)
_PAIR_TABLE = Table(
    name="pairs",
    store="",
    relation="",
    columns=tuple(Column(name=name, type=BINARY) for name in ("key", "row", "value")),
    primary_key=("key", "row"),
)
"""Entries as the merge join knows them: bytes that identify, and bytes that are stored.

A key alone does not identify the entry of a unique index: whose it is stands in its value.
"""
_IS_EXPECTED = f"side IN ({EXPECTED}, {PARTIAL})"
_IS_ACTUAL = f"side = {ACTUAL}"
# Only the entry of the first family tells its row. Keys of that one end with 88.
_OWNER = "if(substring(key, -1, 1) = X'88', row, X'')"
_IS_LATE = f"kind = '{DefectKind.MISSING.value}' AND primary_key[0] = clashing"
"""What follows from several rows asking for one entry, which one of them has, is named as that."""


def fingerprint_pairs_by_spark(
    spark: SparkSession, plan: PairTable, stores: Mapping[str, ReadableStore], spec: PairSpec
) -> DataFrame:
    """Sums over all pairs and a report of each task, as SUMS_SCHEMA."""
    pairs = pairs_by_spark(spark, plan, stores, spec.by_row)
    job = pairs.mapInArrow(partial(_fingerprint, spec=spec), SUMS_SCHEMA)
    size = sum(of.facts.bytes or 0 for of in plan.relations)
    tasks = parallelism(spark) + size // _PARTITION_BYTES
    return added_up(job, spark, tasks * bytes_of_sums(spec))


def entries_by_spark(
    spark: SparkSession,
    plan: PairTable,
    stores: Mapping[str, ReadableStore],
    spec: PairSpec,
    bitmaps: Bitmaps,
) -> DataFrame:
    """The entries of the chosen buckets, as ENTRY_SCHEMA."""
    pairs = pairs_by_spark(spark, plan, stores, spec.by_row)
    return pairs.mapInArrow(partial(_entries, spec=spec, bitmaps=bitmaps), ENTRY_SCHEMA)


def pairs_by_spark(
    spark: SparkSession, plan: PairTable, stores: Mapping[str, ReadableStore], by_row: bool
) -> DataFrame:
    """Every pair of the table's relations; where they keep versions, the latest, no tombstones."""
    frames = []
    for of in plan.relations:
        columns = PAIR if of.stamp is None else (*PAIR, of.stamp)
        frame = stores[of.facts.store].frame(spark, of.facts, columns, of.facts.splits)
        frame = frame.withColumn("key", F.expr("coalesce(key, X'')"))
        if of.stamp is not None:
            frame = frame.groupBy("key").agg(F.max_by("value", "ts").alias("value"))
        frame = frame.withColumn("value", F.expr("coalesce(value, X'')"))
        frames.append(frame.select("key", "value").where(condition_of(of.keys)))
    pairs = reduce(DataFrame.unionAll, frames)
    if by_row:
        pairs = pairs.withColumn("row_key", F.expr(_ROW_KEY))
        pairs = pairs.repartition("row_key").sortWithinPartitions("row_key", "key", "value")
    return pairs


def _fingerprint(batches: Iterator[Any], spec: PairSpec) -> Iterator[Any]:
    return fingerprint_pairs(batches, spec)


def bad_pairs_by_spark(
    spark: SparkSession, plan: PairTable, stores: Mapping[str, ReadableStore], spec: PairSpec
) -> DataFrame:
    """The pairs that are wrong by themselves, as BAD_SCHEMA; each task shows so many of them."""
    pairs = pairs_by_spark(spark, plan, stores, spec.by_row)
    return pairs.mapInArrow(partial(_bad_pairs, spec=spec), BAD_SCHEMA)


def _bad_pairs(batches: Iterator[Any], spec: PairSpec) -> Iterator[Any]:
    return bad_pairs(batches, spec)


def _entries(batches: Iterator[Any], spec: PairSpec, bitmaps: Bitmaps) -> Iterator[Any]:
    return entries_in_buckets(batches, spec, bitmaps)


def told_apart(
    entries: DataFrame, *, doubtful: bool, copied: DataFrame | None, partial: bool
) -> tuple[DataFrame, DataFrame | None]:
    """Entries without those of rows that prove nothing, and those of rows that may not.

    Rows with a value that cannot be were counted when they were read, if there are any: whatever
    entries they have, or have not, is undecided. So it is with rows of which there are `copied`
    ones with other values. With `partial`, a pair of some row could not be read: of rows that lack
    a family, it may be theirs, differences are undecided.
    """
    relied_on = entries
    if doubtful:
        doubted = entries.where(f"side >= {DOUBTFUL}").select("row")
        if copied is not None:
            doubted = doubted.unionAll(copied)
        relied_on = entries.join(doubted.distinct(), "row", "left_anti")
    if not partial:
        return relied_on, None
    lacking = entries.where(f"side = {PARTIAL}").select("row").distinct()
    return (
        relied_on.join(lacking, "row", "left_anti"),
        relied_on.join(lacking, "row", "left_semi"),
    )


def differences(entries: DataFrame, index: Index, slot: int, *, shuffle: bool) -> DataFrame:
    """The disagreements of one index, as DEFECT_SCHEMA, where keys and values are one column."""
    owner = F.expr(_OWNER) if index.unique else F.col("row")
    columns = [F.col("key").alias("k0"), owner.alias("k1"), F.col("value").alias("s0")]
    expected = entries.where(_IS_EXPECTED).select(*columns)
    actual = entries.where(_IS_ACTUAL).select(*columns)
    pairs = pair_up(expected, actual, _PAIR_INDEX, shuffle=shuffle)
    named = defects_among(pairs, _PAIR_TABLE, _PAIR_INDEX, slot)
    return (
        named.join(_clashes(expected, actual), F.expr(_IS_LATE), "left_anti")
        if index.unique
        else named
    )


def _clashes(expected: DataFrame, actual: DataFrame) -> DataFrame:
    """Keys that several rows ask for, of which one has its entry."""
    shared = expected.groupBy("k0").agg(F.countDistinct("k1").alias("rows")).where("rows > 1")
    served = expected.join(shared, "k0", "left_semi").join(actual, ["k0", "k1"], "left_semi")
    return served.selectExpr("lower(hex(k0)) AS clashing").distinct()


def rows_sharing_keys(entries: DataFrame, slot: int) -> DataFrame:
    """Rows that ask for the same entry, each of them once, as DEFECT_SCHEMA."""
    expected = entries.where(_IS_EXPECTED).where("substring(key, -1, 1) = X'88'")
    keys = expected.groupBy("key").agg(F.countDistinct("row").alias("rows"))
    shared = keys.where("rows > 1").select("key")
    rows = expected.join(shared, "key", "left_semi").dropDuplicates(["key", "row"])
    return rows.selectExpr(
        f"{slot} AS slot",
        f"'{DefectKind.UNIQUE_VIOLATION.value}' AS kind",
        "1L AS expected_copies",
        "1L AS actual_copies",
        "array(lower(hex(key)), lower(hex(row))) AS primary_key",
        "array(lower(hex(key))) AS index_key",
        "array(lower(hex(value))) AS expected",
        "CAST(NULL AS array<string>) AS actual",
    )
