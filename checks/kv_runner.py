# SPDX-License-Identifier: Apache-2.0
"""Running a check of a table in key-value layout; beside `runner` the only module with actions.

One pass judges every pair and adds up the entries on both sides. Where an index differs, a second
pass hands over the entries of the buckets that do, and the merge join names each of them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from checks.bucket_sums import SlotSums
from checks.canary import canary_of
from checks.findings import SlotFindings
from checks.kv_defects import KINDS, KvDefects
from checks.kv_entries import (
    differences,
    entries_by_spark,
    fingerprint_pairs_by_spark,
    rows_sharing_keys,
)
from checks.kv_native import (
    Bitmaps,
    fingerprint_pairs_natively,
    gathered_entries,
    native_entries,
    sift,
    trials_of,
)
from checks.kv_plan import KvPlan
from checks.kv_scan import ENTRY_SCHEMA, KvSpec
from checks.kv_unread import UnreadPairs
from checks.named_defects import NamedDefects, as_counts
from checks.naming import still_there
from checks.native_fingerprint import REPORT_SLOT
from checks.row_frames import ChosenBuckets
from checks.sifting import ROWS_MAX
from checks.unnamed import Unnamed
from scrub.codec.digest import Salt
from scrub.codec.kv.pairs import INVALID
from scrub.model.defect import Defect, DefectKind
from scrub.model.table import Index
from scrub.spark.arrow_frames import frame_of
from scrub.spark.collecting import collect_arrow, translated
from scrub.spark.failures import cause_in_worker, reason_of
from scrub.spark.session import shares_python
from scrub.stores.base import ReadableStore

CHANGED = (
    "fingerprints differ, but the entries agree: "
    "the data changed while it was read; run the check again"
)


@dataclass(slots=True)
class KvFindings:
    """What was found in the pairs of one table."""

    pairs: int = 0
    bytes_read: int = 0
    physical: SlotFindings = field(default_factory=SlotFindings)
    indexes: dict[str, SlotFindings] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """Looking again: when, and at what."""

    seconds: float
    sleep: Callable[[float], None]
    plan_again: Callable[[], KvPlan]  # the same plan at later snapshots


@dataclass(frozen=True, slots=True, kw_only=True)
class KvSettings:
    """How to run, beyond what is planned."""

    limit: int
    redact: bool
    settle: Settle | None = None


def run_kv_check(
    plan: KvPlan, stores: Mapping[str, ReadableStore], spark: SparkSession, settings: KvSettings
) -> KvFindings:
    """Carry out a plan; reads only."""
    run = _KvRun(plan, stores, spark, settings)
    try:
        with translated():
            run.run()
    except PySparkException as error:
        reason = reason_of(error, settings.redact)
        for found in (run.found.physical, *run.found.indexes.values()):
            found.incomplete = reason
    return run.found


def pairs_refusal(plan: KvPlan, spark: SparkSession) -> str | None:
    """Why tasks on this cluster cannot open splits themselves; a canary in each of them tries."""
    if not plan.is_native or shares_python(spark):
        return None
    try:
        with translated():
            canary_of(trials_of(plan), spark).collect()
    except PySparkException as error:
        return f"the canary failed: {cause_in_worker(error)}"
    return None


@dataclass(frozen=True, slots=True)
class _Named:
    """The entries of an index in differing buckets, and what the join made of them."""

    entries: DataFrame
    defects: NamedDefects


class _KvRun:
    def __init__(
        self,
        plan: KvPlan,
        stores: Mapping[str, ReadableStore],
        spark: SparkSession,
        settings: KvSettings,
    ) -> None:
        self.plan, self.stores, self.spark, self.settings = plan, stores, spark, settings
        self.spec = KvSpec(
            table=plan.kv,
            indexes=plan.indexes,
            salt=Salt.fresh(),
            bucket_bits=plan.bucket_bits,
            limit=settings.limit,
            by_row=len(plan.kv.families) > 1,
            sorted=plan.looks_at_order,
        )
        self.words = KvDefects(plan)
        self.unread = UnreadPairs(plan)
        self.sums = {
            slot: SlotSums.empty(plan.bucket_bits) for slot in range(len(self.spec.indexes))
        }
        self.found = KvFindings(indexes={name: SlotFindings() for name in plan.indexes})

    def run(self) -> None:
        self._add_up()
        differing: dict[int, ChosenBuckets] = {}
        for slot, name in enumerate(self.spec.indexes):
            found, sums = self.found.indexes[name], self.sums[slot]
            found.rows, found.entries = sums.expected, sums.actual
            if sums.differing().any():
                differing[slot] = ChosenBuckets(sums.differing())
        self.found.physical.rows = self.found.pairs
        self.found.physical.incomplete = self.unread.reason_of_physical()
        for name, found in self.found.indexes.items():
            found.incomplete = self.unread.reason(name)
        if differing:
            self._name(differing)

    # Fingerprints and single pairs

    def _add_up(self) -> None:
        if not self.plan.is_native:
            job = fingerprint_pairs_by_spark(self.spark, self.plan, self.stores, self.spec)
        elif splits := self.plan.splits:
            job = fingerprint_pairs_natively(self.spark, self.plan, splits, self.spec)
        else:
            return
        for row in collect_arrow(job).to_pylist():
            if row["slot"] == REPORT_SLOT:
                self._take_report(row["chunk"], json.loads(row["report"]))
            else:
                self.sums[row["slot"]].add_piece(row["chunk"], row["sums"])

    def _take_report(self, number: int, report: Mapping[str, Any]) -> None:
        if "error" in report:
            self.unread.splits[number] = (self.plan.splits[number], report["error"])
            return
        self.found.pairs += report["pairs"]
        self.found.bytes_read += report["bytes"]
        self.unread.rows = self.unread.rows or report["lost"]
        counts = self.found.physical.counts
        for verdict, index, count in report["counts"]:
            counts[KINDS[verdict]] = counts.get(KINDS[verdict], 0) + count
            if verdict == INVALID and (name := self.words.layout.names[index]) is not None:
                self.unread.entries[name] += count
        shown = report["shown"][: self._room()]
        self.found.defects += [self.words.of_pair(pair) for pair in shown]

    # Entries

    def _name(self, differing: Mapping[int, ChosenBuckets]) -> None:
        try:
            with translated(), self._named(differing) as named:
                for slot, of_slot in self._settled(named, differing).items():
                    self._take(slot, of_slot)
        except PySparkException as error:
            reason = reason_of(error, self.settings.redact)
            for slot in differing:
                self._leave_unnamed(slot, reason)

    def _leave_unnamed(self, slot: int, reason: str) -> None:
        """Sums that differ on sides that were read in full are a finding without a name."""
        found, unnamed = self.found.indexes[self.spec.indexes[slot]], Unnamed()
        is_whole = found.incomplete is None
        found.incomplete = " and ".join(filter(None, (found.incomplete, reason)))
        if is_whole and self.settings.settle is None:
            facts = [relation.facts for relation in self.plan.relations]
            unnamed.note_sums(slot, self.sums[slot], facts)
            unnamed.conclude(slot, found, ())

    @contextmanager
    def _named(self, differing: Mapping[int, ChosenBuckets]) -> Iterator[dict[int, _Named]]:
        """What is wrong with the entries of some buckets, computed once however often asked."""
        bitmaps = {slot: chosen.bitmap for slot, chosen in differing.items()}
        few = self._few_entries(differing, bitmaps)
        entries = None if few else self._entries(bitmaps).persist()
        try:
            named: dict[int, _Named] = {}
            for slot in differing:
                index = self.plan.table.index(self.spec.indexes[slot])
                if entries is None:
                    of_slot = frame_of(self.spark, few[slot]).coalesce(1)
                    frame = differences(of_slot, index, slot, shuffle=False)
                    defects = NamedDefects(frame, tuple(frame.collect()))
                else:
                    of_slot = entries.where(f"slot = {slot}")
                    defects = NamedDefects(differences(of_slot, index, slot, shuffle=True))
                named[slot] = _Named(of_slot, defects)
            yield named
        finally:
            if entries is not None:
                entries.unpersist()

    def _entries(self, bitmaps: Bitmaps) -> DataFrame:
        if self.plan.is_native:
            splits = self.unread.readable()
            if not splits:  # all files were removed before a later look
                return self.spark.createDataFrame([], ENTRY_SCHEMA)
            return native_entries(self.spark, self.plan, splits, self.spec, bitmaps)
        return entries_by_spark(self.spark, self.plan, self.stores, self.spec, bitmaps)

    def _few_entries(
        self, differing: Mapping[int, ChosenBuckets], bitmaps: Bitmaps
    ) -> dict[int, pa.Table]:
        """The entries of keys that disagree, if tasks open the files and few are to be read."""
        rows = sum(int(self.sums[s].buckets[of.flags, :2].sum()) for s, of in differing.items())
        splits = self.unread.readable()
        if not self.plan.is_native or rows > ROWS_MAX or not splits:
            return {}
        job = gathered_entries(self.spark, self.plan, splits, self.spec, bitmaps)
        return sift(collect_arrow(job), self.spec.salt, list(differing)) or {}

    def _settled(
        self, named: dict[int, _Named], differing: Mapping[int, ChosenBuckets]
    ) -> dict[int, _Named]:
        """Without what a later look at the same buckets does not find again: it was lag."""
        settle = self.settings.settle
        if settle is None:
            return named
        unsettled = [s for s in named if self.unread.undecidable(self.spec.indexes[s])]
        for slot in unsettled:
            notes = self.found.indexes[self.spec.indexes[slot]].notes
            notes.append("not settled: not everything could be read")
        again = {slot: of for slot, of in differing.items() if slot not in unsettled}
        if not again:
            return named
        settle.sleep(settle.seconds)
        later = _KvRun(settle.plan_again(), self.stores, self.spark, self.settings)
        later.spec, later.sums = self.spec, self.sums  # buckets must mean the same
        settled = dict(named)
        with later._named(again) as found_again:
            for slot, of_slot in found_again.items():
                still = still_there(named[slot].defects.frame, of_slot.defects.frame)
                kept = NamedDefects(still.localCheckpoint())
                settled[slot] = _Named(named[slot].entries, kept)
                gone = sum(_count(named[slot].defects).values()) - sum(_count(kept).values())
                self.found.indexes[self.spec.indexes[slot]].transient = gone
        return settled

    def _take(self, slot: int, named: _Named) -> None:
        """Count what was found in an index, and collect what is to be shown."""
        index = self.plan.table.index(self.spec.indexes[slot])
        found, undecidable = self.found.indexes[index.name], self.unread.undecidable(index.name)
        for kind, count in _count(named.defects).items():
            if kind in undecidable:
                found.undecided += count
            else:
                found.counts[kind] = count
        if found.counts and (room := self._room()):
            rows = _first(named.defects.decided({slot: undecidable}), room)
            self.found.defects += [self.words.of_difference(index, row) for row in rows]
        if index.unique:
            self._take_shared_keys(index, named.entries)
        if not (found.counts or found.undecided or found.transient):
            found.incomplete = " and ".join(filter(None, (found.incomplete, CHANGED)))

    def _take_shared_keys(self, index: Index, entries: DataFrame) -> None:
        rows = rows_sharing_keys(entries)
        if count := rows.count():
            self.found.indexes[index.name].counts[DefectKind.UNIQUE_VIOLATION] = count
            shown = rows.orderBy("key", "row").limit(self._room()).collect()
            self.found.defects += [self.words.of_shared_key(index, row) for row in shown]

    def _room(self) -> int:
        return max(self.settings.limit - len(self.found.defects), 0)


def _count(defects: NamedDefects) -> dict[DefectKind, int]:
    if defects.held is not None:
        found = as_counts((row["slot"], row["kind"], 1) for row in defects.held)
    else:
        rows = defects.counted().collect()
        found = as_counts((row["slot"], row["kind"], row["count"]) for row in rows)
    return next(iter(found.values()), {})


def _first(defects: NamedDefects, limit: int) -> list[Row]:
    if defects.held is not None:
        return defects.held_in_order(limit)
    return defects.in_order(limit).collect()
