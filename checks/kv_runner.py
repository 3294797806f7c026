# SPDX-License-Identifier: Apache-2.0
"""Running a check of a table in key-value layout; beside `runner` the only module with actions.

One pass judges every pair and adds up the entries on both sides. Where an index differs, a second
pass hands over the entries of the buckets that do, and the merge join names each of them.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from checks.bucket_sums import SlotSums
from checks.canary import canary_of
from checks.findings import SlotFindings
from checks.kv_copies import counted_copies, first_copies, rows_that_differ
from checks.kv_defects import KvDefects
from checks.kv_entries import (
    differences,
    entries_by_spark,
    fingerprint_pairs_by_spark,
    rows_sharing_keys,
    told_apart,
)
from checks.kv_findings import KvFindings, KvSettings
from checks.kv_native import (
    Bitmaps,
    fingerprint_pairs_natively,
    gathered_entries,
    native_entries,
    order_natively,
    sift,
    trials_of,
)
from checks.kv_plan import KvPlan
from checks.kv_scan import ENTRY_SCHEMA, KvSpec
from checks.kv_tally import PairTally
from checks.kv_twice import find_copies
from checks.kv_unread import UnreadPairs
from checks.named_defects import NamedDefects, as_counts
from checks.naming import still_there
from checks.native_fingerprint import REPORT_SLOT
from checks.row_frames import ChosenBuckets
from checks.sifting import ROWS_MAX
from checks.unnamed import Unnamed
from scrub.codec.digest import Salt
from scrub.model.defect import DefectKind
from scrub.model.table import Index
from scrub.spark.arrow_frames import frame_of
from scrub.spark.collecting import collect_arrow, translated
from scrub.spark.failures import cause_in_worker, reason_of
from scrub.spark.session import shares_python
from scrub.stores.base import ReadableStore

_COPIES = frozenset({DefectKind.DUPLICATE_ENTRY, DefectKind.DUPLICATE_KEY})
UNDECIDED = "rows that lack a family may have had it in a pair that could not be read"
CHANGED = (
    "fingerprints differ, but the entries agree: "
    "the data changed while it was read; run the check again"
)


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
    undecided: DataFrame | None  # differences of rows that prove nothing; None if there are none


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
            sorted=plan.looks_at_order and plan.is_native,
        )
        self.words = KvDefects(plan)
        self.unread = UnreadPairs(plan)
        self.sums = {
            slot: SlotSums.empty(plan.bucket_bits) for slot in range(len(self.spec.indexes))
        }
        self.found = KvFindings(indexes={name: SlotFindings() for name in plan.indexes})
        self.tally = PairTally(self.found, self.unread, self.words, settings.limit)
        self.has_copies = False  # keys that are there more than once
        self.differing_copies: DataFrame | None = None  # rows there twice, with different values

    def run(self) -> None:
        self._add_up()
        self._look_at_order()
        self._look_for_copies()
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
            found.undecided = self.unread.doubtful[name]
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
                self.tally.take_report(row["chunk"], json.loads(row["report"]))
            else:
                self.sums[row["slot"]].add_piece(row["chunk"], row["sums"])

    def _look_at_order(self) -> None:
        """Where Spark brings the pairs of rows together, tasks open the files for their order."""
        if self.plan.is_native or not self.plan.looks_at_order or not self.plan.splits:
            return
        job = order_natively(self.spark, self.plan, self.plan.splits, self.spec)
        for row in collect_arrow(job).to_pylist():
            self.tally.take_order(row["chunk"], json.loads(row["report"]))

    def _look_for_copies(self) -> None:
        """Keys that are there more than once, in relations that keep no versions."""
        copies = find_copies(
            self.spark,
            self.plan,
            self.stores,
            self.spec,
            self.unread.readable(),
            self.found.pairs,
            collect_arrow,
        )
        if copies is None:
            return
        if not self.settings.physical:
            copies = copies.where(F.col("index").isin(self._numbers_asked_for()))
        copies = copies.persist()
        try:
            primary, room = self.words.layout.primary(0), self.tally.room
            rows = counted_copies(copies).collect()
            self.has_copies = bool(rows)
            if self.tally.take_copies(rows, self.settings.physical):
                self.differing_copies = rows_that_differ(copies, primary).localCheckpoint()
            if rows and room:
                shown = first_copies(copies, primary, room).collect()
                self.found.defects += [self.words.of_copies(row) for row in shown]
        finally:
            copies.unpersist()

    def _numbers_asked_for(self) -> list[int]:
        layout = self.words.layout
        return [layout.primary(0), *(layout.secondary(0, name) for name in self.plan.indexes)]

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
                is_few = entries is None
                of_slot = (
                    frame_of(self.spark, few[slot]).coalesce(1)
                    if entries is None
                    else entries.where(f"slot = {slot}")
                )
                decided, doubted = told_apart(
                    of_slot,
                    doubtful=bool(self.unread.doubtful[index.name]),
                    copied=self.differing_copies,
                    partial=self.unread.rows and self.spec.by_row,
                )
                frame = differences(decided, index, slot, shuffle=not is_few)
                named[slot] = _Named(
                    decided,
                    NamedDefects(frame, tuple(frame.collect()) if is_few else None),
                    None if doubted is None else differences(doubted, index, slot, shuffle=True),
                )
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
                settled[slot] = _Named(named[slot].entries, kept, named[slot].undecided)
                gone = sum(_count(named[slot].defects).values()) - sum(_count(kept).values())
                self.found.indexes[self.spec.indexes[slot]].transient = gone
        return settled

    def _take(self, slot: int, named: _Named) -> None:
        """Count what was found in an index, and collect what is to be shown."""
        index = self.plan.table.index(self.spec.indexes[slot])
        found, undecidable = self.found.indexes[index.name], self.unread.undecidable(index.name)
        # Keys there twice were counted as such; else a row is there under two spellings of its key.
        counted = _COPIES if self.has_copies else frozenset[DefectKind]()
        is_explained = bool(found.transient or found.undecided)
        for kind, count in _count(named.defects).items():
            is_explained = True
            if kind in undecidable:
                found.undecided += count
            elif kind not in counted:
                found.counts[kind] = count
        if named.undecided is not None and (count := named.undecided.count()):
            is_explained = True
            found.undecided += count
            found.incomplete = " and ".join(filter(None, (found.incomplete, UNDECIDED)))
        if found.counts and (room := self.tally.room):
            rows = _first(named.defects.decided({slot: undecidable | counted}), room)
            self.found.defects += [self.words.of_difference(index, row) for row in rows]
        if index.unique:
            self._take_shared_keys(index, named.entries)
        if not is_explained and not found.counts:
            found.incomplete = " and ".join(filter(None, (found.incomplete, CHANGED)))

    def _take_shared_keys(self, index: Index, entries: DataFrame) -> None:
        rows = rows_sharing_keys(entries)
        if count := rows.count():
            self.found.indexes[index.name].counts[DefectKind.UNIQUE_VIOLATION] = count
            shown = rows.orderBy("key", "row").limit(self.tally.room).collect()
            self.found.defects += [self.words.of_shared_key(index, row) for row in shown]


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
