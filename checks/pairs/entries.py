# SPDX-License-Identifier: Apache-2.0
"""Pairs and their entries as frames, where Spark reads them, and how their two sides are joined."""

from collections.abc import Mapping
from functools import partial, reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checks.columns.merge_join import defects_among, pair_up
from checks.pairs.keys import condition_of
from checks.pairs.native import Bitmaps, bytes_of_sums
from checks.pairs.plan import PAIR, PAIR_INDEX, PAIR_TABLE, stamp_of
from checks.pairs.report import BAD_SCHEMA
from checks.pairs.scan import (
    ENTRY_SCHEMA,
    PairSpec,
    bad_pairs,
    entries_in_buckets,
    fingerprint_pairs,
)
from checks.pairs.table import PairTable
from checks.read_by_spark import frame_read
from checks.task_sums import DRIVER_ROOM, SUMS_SCHEMA, add_up
from scrub.codec.kv.sides import ACTUAL, DOUBTFUL, EXPECTED, PARTIAL
from scrub.model.defect import DefectKind
from scrub.model.plan import PairRelation
from scrub.model.table import Index
from scrub.spark.session import parallelism
from scrub.stores.base import ReadableStore

_PARTITION_BYTES = 32 << 20  # fewer than Spark's own limit, for there may be many small files
_ROW_KEY = """
    substring(key, 1, length(key) - 1
        - greatest(0, cast(conv(hex(substring(key, -1, 1)), 16, 10) AS int) - 136))
"""
"""A key without its family, whose length its last byte tells, counted from 88 on."""

_IS_EXPECTED = f"side IN ({EXPECTED}, {PARTIAL})"
_IS_ACTUAL = f"side = {ACTUAL}"
# Only the entry of the first family tells its row. Keys of that one end with 88.
_OWNER = "if(substring(key, -1, 1) = X'88', row, X'')"
_IS_LATE = f"kind = '{DefectKind.MISSING.value}' AND primary_key[0] = clashing"
"""What follows from several rows asking for one entry, which one of them has, is named as that."""


class SparkPairs:
    """All pairs of a table, and the jobs of Spark that read them."""

    def __init__(
        self,
        spark: SparkSession,
        plan: PairTable,
        stores: Mapping[str, ReadableStore],
        spec: PairSpec,
    ) -> None:
        self.spark, self.plan, self.stores, self.spec = spark, plan, stores, spec

    def fingerprints(self) -> DataFrame:
        """Sums over all pairs and a report of each task, as SUMS_SCHEMA."""
        job = self.together().mapInArrow(partial(fingerprint_pairs, spec=self.spec), SUMS_SCHEMA)
        size = sum(of.facts.bytes or 0 for of in self.plan.relations)
        tasks = parallelism(self.spark) + size // _PARTITION_BYTES
        if tasks * bytes_of_sums(self.spec) <= DRIVER_ROOM:
            return job
        spread = job.repartition(parallelism(self.spark), "slot", "chunk")
        return spread.mapInArrow(add_up, SUMS_SCHEMA)

    def bad_pairs(self) -> DataFrame:
        """The pairs that are wrong by themselves, as BAD_SCHEMA; each task shows so many."""
        return self.together().mapInArrow(partial(bad_pairs, spec=self.spec), BAD_SCHEMA)

    def entries(self, bitmaps: Bitmaps) -> DataFrame:
        """The entries of the chosen buckets, as ENTRY_SCHEMA."""
        task = partial(entries_in_buckets, spec=self.spec, wanted_buckets=bitmaps)
        return self.together().mapInArrow(task, ENTRY_SCHEMA)

    def pairs(self) -> DataFrame:
        """Every pair; where relations keep versions, the latest, without tombstones."""
        return reduce(DataFrame.unionAll, map(self._pairs_of, self.plan.relations))

    def together(self) -> DataFrame:
        """The same, with all pairs of a row in one task and in order, where that matters."""
        if not self.spec.by_row:
            return self.pairs()
        pairs = self.pairs().withColumn("row_key", F.expr(_ROW_KEY))
        return pairs.repartition("row_key").sortWithinPartitions("row_key", "key", "value")

    def _pairs_of(self, held: PairRelation) -> DataFrame:
        facts, stamp = held.facts, stamp_of(held.facts)
        columns = PAIR if stamp is None else (*PAIR, stamp)
        store = self.stores[facts.store]
        frame = frame_read(store, self.spark, facts, columns, facts.splits)
        frame = frame.withColumn("key", F.expr("coalesce(key, X'')"))
        if stamp is not None:
            frame = frame.groupBy("key").agg(F.max_by("value", "ts").alias("value"))
        frame = frame.withColumn("value", F.expr("coalesce(value, X'')"))
        return frame.select("key", "value").where(condition_of(held.keys))


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


def differences(entries: DataFrame, index: Index, slot: int) -> DataFrame:
    """The disagreements of one index, as DEFECT_SCHEMA, where keys and values are one column."""
    owner = F.expr(_OWNER) if index.unique else F.col("row")
    columns = [F.col("key").alias("k0"), owner.alias("k1"), F.col("value").alias("s0")]
    expected = entries.where(_IS_EXPECTED).select(*columns)
    actual = entries.where(_IS_ACTUAL).select(*columns)
    pairs = pair_up(expected, actual, PAIR_INDEX)
    named = defects_among(pairs, PAIR_TABLE, PAIR_INDEX, slot)
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
