# SPDX-License-Identifier: Apache-2.0
"""Running a check of a table in key-value layout; beside `runner` the only module with actions.

One pass judges every pair and adds up the entries on both sides. Where an index differs, a second
pass hands over the entries of the buckets that do, and the merge join names each of them.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from checks.bucket_sums import SlotSums
from checks.findings import SlotFindings
from checks.kv_scan import ENTRY_SCHEMA, KvSpec, entries_in_buckets, fingerprint_pairs
from checks.merge_join import defects_among, pair_up
from checks.native_fingerprint import REPORT_SLOT, SUMS_SCHEMA
from checks.row_frames import ChosenBuckets
from scrub.codec.digest import Salt
from scrub.codec.kv.faults import TEXTS, Code
from scrub.codec.kv.layouts import layout_of
from scrub.codec.kv.pairs import COMPOSITE, INVALID, MISSING, NONCANONICAL, UNEXPECTED
from scrub.codec.kv.readable import columns_of, with_checksum_unset
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.relation import RelationFacts
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName
from scrub.spark.collecting import collect_arrow, translated
from scrub.spark.failures import reason_of
from scrub.stores.base import ReadableStore

KINDS = {
    UNEXPECTED: DefectKind.UNEXPECTED_KEY,
    INVALID: DefectKind.INVALID_ENCODING,
    COMPOSITE: DefectKind.INVALID_COMPOSITE,
    NONCANONICAL: DefectKind.NONCANONICAL,
    MISSING: DefectKind.MISSING_FAMILY,
}
_BINARY = ColumnType(TypeName.BINARY)
_ROW_KEY = """
    substring(key, 1, length(key) - 1
        - greatest(0, cast(conv(hex(substring(key, -1, 1)), 16, 10) AS int) - 136))
"""
"""A key without its family, whose length its last byte tells, counted from 88 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KvPlan:
    """A table in key-value layout, decided: which relations hold its pairs, what to look at."""

    table: Table
    relations: tuple[RelationFacts, ...]
    indexes: tuple[str, ...]
    bucket_bits: int

    @property
    def snapshot(self) -> str:
        return ", ".join(dict.fromkeys(facts.snapshot.label for facts in self.relations))


@dataclass(slots=True)
class KvFindings:
    """What was found in the pairs of one table."""

    pairs: int = 0
    physical: SlotFindings = field(default_factory=SlotFindings)
    indexes: dict[str, SlotFindings] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)


def run_kv_check(
    plan: KvPlan, stores: Mapping[str, ReadableStore], spark: SparkSession, limit: int, redact: bool
) -> KvFindings:
    """Carry out a plan; reads only."""
    run = _KvRun(plan, stores, spark, limit)
    try:
        with translated():
            run.run()
    except PySparkException as error:
        reason = reason_of(error, redact)
        for found in (run.found.physical, *run.found.indexes.values()):
            found.incomplete = reason
    return run.found


class _KvRun:
    def __init__(
        self,
        plan: KvPlan,
        stores: Mapping[str, ReadableStore],
        spark: SparkSession,
        limit: int,
    ) -> None:
        assert plan.table.kv is not None, "only tables in key-value layout come here"
        self.plan, self.stores, self.spark, self.limit = plan, stores, spark, limit
        self.kv = plan.table.kv
        self.layout = layout_of([self.kv])
        self.types = {column.name: column.type for column in plan.table.columns}
        self.spec = KvSpec(
            table=self.kv,
            indexes=plan.indexes,
            salt=Salt.fresh(),
            bucket_bits=plan.bucket_bits,
            limit=limit,
            by_row=len(self.kv.families) > 1,
        )
        self.found = KvFindings(indexes={name: SlotFindings() for name in plan.indexes})

    def run(self) -> None:
        sums = {
            slot: SlotSums.empty(self.plan.bucket_bits) for slot in range(len(self.spec.indexes))
        }
        lost, unread = False, Counter[str | None]()
        job = self._pairs().mapInArrow(partial(_fingerprint, spec=self.spec), SUMS_SCHEMA)
        for row in collect_arrow(job).to_pylist():
            if row["slot"] == REPORT_SLOT:
                report = json.loads(row["report"])
                lost = lost or report["lost"]
                self._take_report(report, unread)
            else:
                sums[row["slot"]].add_piece(row["chunk"], row["sums"])
        self.found.physical.rows = self.found.pairs
        differing: dict[int, ChosenBuckets] = {}
        for slot, name in enumerate(self.spec.indexes):
            found = self.found.indexes[name]
            found.rows, found.entries = sums[slot].expected, sums[slot].actual
            if sums[slot].differing().any():
                differing[slot] = ChosenBuckets(sums[slot].differing())
        if differing:
            self._name(differing, lost, unread)
        for name, found in self.found.indexes.items():
            reasons = []
            if lost:
                reasons.append("pairs of the table could not be read")
            if unread[name]:
                reasons.append(f"{unread[name]} of its pairs could not be read")
            found.incomplete = " and ".join(reasons) or None

    def _pairs(self) -> DataFrame:
        """Every live pair of the table's relations: the latest version of each, no tombstones."""
        frames = []
        for facts in self.plan.relations:
            store = self.stores[facts.store]
            columns = [Column(name=name, type=_BINARY) for name in ("key", "value")]
            stamped = "ts" in facts.columns and facts.columns["ts"] is not None
            if stamped:
                columns.append(Column(name="ts", type=facts.columns["ts"]))  # type: ignore[arg-type]
            frame = store.frame(self.spark, facts, columns, facts.splits)
            frame = frame.withColumn("key", F.expr("coalesce(key, X'')"))
            if stamped:
                frame = frame.groupBy("key").agg(F.max_by("value", "ts").alias("value"))
            frames.append(frame.select("key", "value").where("length(value) > 0"))
        pairs = frames[0]
        for frame in frames[1:]:
            pairs = pairs.unionAll(frame)
        if self.spec.by_row:
            pairs = pairs.withColumn("row_key", F.expr(_ROW_KEY))
            pairs = pairs.repartition("row_key").sortWithinPartitions("row_key", "key")
        return pairs

    # Single pairs

    def _take_report(self, report: Mapping[str, Any], unread: "Counter[str | None]") -> None:
        self.found.pairs += report["pairs"]
        counts = self.found.physical.counts
        for verdict, index, count in report["counts"]:
            counts[KINDS[verdict]] = counts.get(KINDS[verdict], 0) + count
            if verdict == INVALID:
                unread[self.layout.names[index]] += count
        for shown in report["shown"]:
            if len(self.found.defects) < self.limit:
                self.found.defects.append(self._bad_pair(shown))

    def _bad_pair(self, shown: Mapping[str, Any]) -> Defect:
        place = f"{'value' if shown['in_value'] else 'key'} byte {shown['position']}"
        detail = f"{place}: expected {shown['expected']}"
        if shown["expected"] == TEXTS[Code.SPELLING]:
            detail = f"{place} differs from the one spelling that this value has"
        return Defect(
            kind=KINDS[shown["verdict"]],
            table=self.plan.table.name,
            index=shown["index"],
            primary_key=None,
            index_key=None,
            expected=None,
            actual=None,
            snapshot=self.plan.snapshot,
            detail=detail,
            key_hex=shown["key"],
            value_hex=shown["value"],
        )

    # Entries

    def _name(
        self, differing: Mapping[int, ChosenBuckets], lost: bool, unread: "Counter[str | None]"
    ) -> None:
        bitmaps = {slot: chosen.bitmap for slot, chosen in differing.items()}
        work = partial(_entries_of, spec=self.spec, bitmaps=bitmaps)
        entries = self._pairs().mapInArrow(work, ENTRY_SCHEMA).persist()
        try:
            for slot in differing:
                name = self.spec.indexes[slot]
                undecidable = set()
                if lost:
                    undecidable |= {DefectKind.DANGLING, DefectKind.DUPLICATE_ENTRY}
                if unread[name]:
                    undecidable |= {DefectKind.MISSING}
                self._take(slot, name, entries.where(F.col("slot") == slot), undecidable)
        finally:
            entries.unpersist()

    def _take(self, slot: int, name: str, entries: DataFrame, undecidable: set[DefectKind]) -> None:
        found, index = self.found.indexes[name], self.plan.table.index(name)
        named = _differences(entries, slot)
        if index.unique:
            named = _without_shared_keys(named)
            self._take_shared_keys(index, entries)
        for row in named.groupBy("kind").count().collect():
            kind, count = DefectKind(row["kind"]), row["count"]
            if kind in undecidable:
                found.undecided += count
            else:
                found.counts[kind] = found.counts.get(kind, 0) + count
        shown = named.where(~F.col("kind").isin([kind.value for kind in undecidable]))
        room = self.limit - len(self.found.defects)
        if room > 0:
            ordered = shown.orderBy("kind", "primary_key").limit(room)
            self.found.defects += [self._difference(index, row) for row in ordered.collect()]

    def _take_shared_keys(self, index: Index, entries: DataFrame) -> None:
        """Rows that ask for the same entry of a unique index, each of them."""
        keys = entries.where("expected").groupBy("key").agg(F.count("*").alias("rows"))
        shared = keys.where("rows > 1").select("key")
        rows = entries.where("expected").join(shared, "key", "left_semi")
        count = rows.count()
        if not count:
            return
        self.found.indexes[index.name].counts[DefectKind.UNIQUE_VIOLATION] = count
        room = max(self.limit - len(self.found.defects), 0)
        for row in rows.orderBy("key", "row").limit(room).collect():
            key = bytes(row["key"]).hex()
            columns = self._columns(index, key, bytes(row["value"]).hex())
            self.found.defects.append(
                self._defect(
                    DefectKind.UNIQUE_VIOLATION,
                    index,
                    columns,
                    None,
                    None,
                    "another row has the same index key",
                    key,
                )
            )

    def _difference(self, index: Index, row: Row) -> Defect:
        key = row["primary_key"][0]
        expected, actual = (
            None if row[side] is None else self._columns(index, key, row[side][0])
            for side in ("expected", "actual")
        )
        copies = (row["expected_copies"], row["actual_copies"])
        detail = "" if max(copies) <= 1 else f"{copies[0]} expected, {copies[1]} there"
        columns = expected or actual or {}
        return self._defect(DefectKind(row["kind"]), index, columns, expected, actual, detail, key)

    def _defect(
        self,
        kind: DefectKind,
        index: Index,
        columns: Mapping[str, Value],
        expected: Mapping[str, Value] | None,
        actual: Mapping[str, Value] | None,
        detail: str,
        key_hex: str,
    ) -> Defect:
        return Defect(
            kind=kind,
            table=self.plan.table.name,
            index=index.name,
            primary_key={name: columns.get(name) for name in self.plan.table.primary_key},
            index_key={column.name: columns.get(column.name) for column in index.key},
            expected=expected,
            actual=actual,
            snapshot=self.plan.snapshot,
            detail=detail,
            key_hex=key_hex,
        )

    def _columns(self, index: Index, key: str, payload: str) -> dict[str, Value]:
        number = self.layout.secondary(0, index.name)
        value = with_checksum_unset(bytes.fromhex(payload))
        return columns_of(self.layout, number, bytes.fromhex(key), value, self.types) or {}


def _fingerprint(batches: Iterator[Any], spec: KvSpec) -> Iterator[Any]:
    return fingerprint_pairs(batches, spec)


def _entries_of(batches: Iterator[Any], spec: KvSpec, bitmaps: Mapping[int, Any]) -> Iterator[Any]:
    return entries_in_buckets(batches, spec, bitmaps)


_KEY = EntryColumn(name="key", source="key", type=_BINARY)
_VALUE = EntryColumn(name="value", source="value", type=_BINARY)
_PAIR_INDEX = Index(name="pairs", store="", relation="", key=(_KEY,), suffix=(), stored=(_VALUE,))
_PAIR_TABLE = Table(
    name="pairs",
    store="",
    relation="",
    columns=(Column(name="key", type=_BINARY), Column(name="value", type=_BINARY)),
    primary_key=("key",),
)
"""Entries as the merge join knows them: bytes that identify, and bytes that are stored."""


def _differences(entries: DataFrame, slot: int) -> DataFrame:
    columns = [F.col("key").alias("k0"), F.col("value").alias("s0")]
    expected = entries.where("expected").select(*columns)
    actual = entries.where("NOT expected").select(*columns)
    return defects_among(pair_up(expected, actual, _PAIR_INDEX), _PAIR_TABLE, _PAIR_INDEX, slot)


def _without_shared_keys(named: DataFrame) -> DataFrame:
    """Without what only follows from several rows asking for one entry."""
    return named.where("expected_copies < 2 OR actual_copies = 0")
