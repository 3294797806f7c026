# SPDX-License-Identifier: Apache-2.0
"""Pairs and their entries as frames, where Spark reads them, and how their two sides are joined."""

from collections.abc import Iterator, Mapping
from functools import partial, reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checks.fingerprint import added_up
from checks.kv_native import Bitmaps, bytes_of_sums
from checks.kv_plan import BINARY, PAIR, KvPlan
from checks.kv_scan import ENTRY_SCHEMA, KvSpec, entries_in_buckets, fingerprint_pairs
from checks.merge_join import defects_among, pair_up
from checks.native_fingerprint import SUMS_SCHEMA
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.spark.session import parallelism
from scrub.stores.base import ReadableStore

_PARTITION_BYTES = 32 << 20  # fewer than Spark's own limit, for there may be many small files
_ROW_KEY = """
    substring(key, 1, length(key) - 1
        - greatest(0, cast(conv(hex(substring(key, -1, 1)), 16, 10) AS int) - 136))
"""
"""A key without its family, whose length its last byte tells, counted from 88 on."""

_KEY = EntryColumn(name="key", source="key", type=BINARY)
_VALUE = EntryColumn(name="value", source="value", type=BINARY)
_PAIR_INDEX = Index(name="pairs", store="", relation="", key=(_KEY,), suffix=(), stored=(_VALUE,))
_PAIR_TABLE = Table(
    name="pairs",
    store="",
    relation="",
    columns=(Column(name="key", type=BINARY), Column(name="value", type=BINARY)),
    primary_key=("key",),
)
"""Entries as the merge join knows them: bytes that identify, and bytes that are stored."""


def fingerprint_pairs_by_spark(
    spark: SparkSession, plan: KvPlan, stores: Mapping[str, ReadableStore], spec: KvSpec
) -> DataFrame:
    """Sums over all pairs and a report of each task, as SUMS_SCHEMA."""
    pairs = _pairs(spark, plan, stores, spec.by_row)
    job = pairs.mapInArrow(partial(_fingerprint, spec=spec), SUMS_SCHEMA)
    size = sum(of.facts.bytes or 0 for of in plan.relations)
    tasks = parallelism(spark) + size // _PARTITION_BYTES
    return added_up(job, spark, tasks * bytes_of_sums(spec))


def entries_by_spark(
    spark: SparkSession,
    plan: KvPlan,
    stores: Mapping[str, ReadableStore],
    spec: KvSpec,
    bitmaps: Bitmaps,
) -> DataFrame:
    """The entries of the chosen buckets, as ENTRY_SCHEMA."""
    pairs = _pairs(spark, plan, stores, spec.by_row)
    return pairs.mapInArrow(partial(_entries, spec=spec, bitmaps=bitmaps), ENTRY_SCHEMA)


def _pairs(
    spark: SparkSession, plan: KvPlan, stores: Mapping[str, ReadableStore], by_row: bool
) -> DataFrame:
    """Every live pair of the table's relations: the latest version of each, no tombstones."""
    frames = []
    for of in plan.relations:
        columns = PAIR if of.stamp is None else (*PAIR, of.stamp)
        frame = stores[of.facts.store].frame(spark, of.facts, columns, of.facts.splits)
        frame = frame.withColumn("key", F.expr("coalesce(key, X'')"))
        if of.stamp is not None:
            frame = frame.groupBy("key").agg(F.max_by("value", "ts").alias("value"))
        frames.append(frame.select("key", "value").where(of.keys.condition))
    pairs = reduce(DataFrame.unionAll, frames)
    if by_row:
        pairs = pairs.withColumn("row_key", F.expr(_ROW_KEY))
        pairs = pairs.repartition("row_key").sortWithinPartitions("row_key", "key")
    return pairs


def _fingerprint(batches: Iterator[Any], spec: KvSpec) -> Iterator[Any]:
    return fingerprint_pairs(batches, spec)


def _entries(batches: Iterator[Any], spec: KvSpec, bitmaps: Bitmaps) -> Iterator[Any]:
    return entries_in_buckets(batches, spec, bitmaps)


def differences(entries: DataFrame, index: Index, slot: int, *, shuffle: bool) -> DataFrame:
    """The disagreements of one index, as DEFECT_SCHEMA, where keys and values are one column."""
    columns = [F.col("key").alias("k0"), F.col("value").alias("s0")]
    expected = entries.where("expected").select(*columns)
    actual = entries.where("NOT expected").select(*columns)
    pairs = pair_up(expected, actual, _PAIR_INDEX, shuffle=shuffle)
    named = defects_among(pairs, _PAIR_TABLE, _PAIR_INDEX, slot)
    if index.unique:
        # What only follows from several rows asking for one entry is named as just that.
        named = named.where("expected_copies < 2 OR actual_copies = 0")
    return named


def rows_sharing_keys(entries: DataFrame) -> DataFrame:
    """Rows that ask for the same entry, each of them."""
    keys = entries.where("expected").groupBy("key").agg(F.count("*").alias("rows"))
    shared = keys.where("rows > 1").select("key")
    return entries.where("expected").join(shared, "key", "left_semi")
