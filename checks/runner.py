# SPDX-License-Identifier: Apache-2.0
"""Running a planned check: the only module that triggers Spark.

Fingerprints first: parts of tables and indexes are summed up, job by job, and the sums of both
sides compared; a physical check looks at the table's values in the same jobs. Then naming: the
entries of buckets that differ (of all, when most do) are joined.
A part that cannot be read is set aside and named; what it could explain stays undecided.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, reduce

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from checks.canary import canary_frame, has_native
from checks.culprits import Culprits
from checks.damaged_rows import (
    DAMAGED,
    damage_told,
    damaged_keys,
    damaged_rows,
    decided,
    undecided_by_slot,
    undecided_in,
    without_damaged,
)
from checks.diagnosis import FAILURES, Failure, reason_for
from checks.drill_down import Chosen, differing_buckets, join_groups
from checks.entries import actual_entries, expected_entries
from checks.findings import Findings, SlotFindings
from checks.fingerprint import fingerprint_by_sql, fingerprint_splits_natively
from checks.finished_parts import FinishedParts
from checks.in_stores import Differing, InStores
from checks.meaning import Surroundings, judged_in
from checks.named_defects import Counts, NamedDefects, as_counts
from checks.naming import (
    name_defects,
    one_duplicate_per_key,
    relations_of,
    still_there,
)
from checks.parts import Part, cut, next_job
from checks.physical import Jobs, Physical
from checks.row_frames import ChosenBuckets, rows_frame, union_of
from checks.run_settings import RunSettings
from checks.scan_state import ScanState
from checks.shown_defects import ShownDefects
from checks.sifting import ROWS_MAX, sifting
from checks.slots import Relation, Slot, number_plan, physical_spec
from checks.store_comparison import comparing_store, defects_of, entry_frame
from checks.uniqueness import rows_sharing, suspects, suspicious
from checks.unnamed import Unnamed
from checks.unread import Unread
from scrub.model.defect import DefectKind
from scrub.model.plan import CheckPlan
from scrub.model.progress import Progress
from scrub.model.request import Engine, Strategy
from scrub.spark.arrow_frames import frame_of
from scrub.spark.casing import goes_by_a_language
from scrub.spark.collecting import collect_arrow, translated
from scrub.spark.failures import cause_in_worker, lacking
from scrub.spark.session import shares_python
from scrub.spark.time_zone import SETTING, zone_of_jvms
from scrub.spark.watching import watched
from scrub.stores.base import ReadableStore


def run_check(
    plan: CheckPlan,
    stores: Mapping[str, ReadableStore],
    spark: SparkSession,
    settings: RunSettings,
) -> Findings:
    """Carry out a plan; reads only."""
    return _Run(plan, stores, spark, settings).run()


def native_refusal(plan: CheckPlan, spark: SparkSession) -> str | None:
    """Why tasks on this cluster cannot open splits themselves; a canary in each of them tries.

    Not asked where tasks surely have everything the driver has.
    """
    if shares_python(spark) or not has_native(plan):
        return None
    try:
        with translated():
            canary_frame(plan, spark).collect()
    except PySparkException as error:
        return f"the canary failed: {cause_in_worker(error)}"
    return None


def without_changed_meaning(plan: CheckPlan, spark: SparkSession) -> CheckPlan:
    """The plan without what would mean something else in this session: incomplete, by name."""
    around = Surroundings(
        time_zone=spark.conf.get(SETTING) or "",
        by_language=partial(goes_by_a_language, spark),
        clocks=partial(zone_of_jvms, spark),
    )
    return judged_in(plan, around)


class _Run:
    """One run: state that grows while parts are read, and the jobs that read them."""

    def __init__(
        self,
        plan: CheckPlan,
        stores: Mapping[str, ReadableStore],
        spark: SparkSession,
        settings: RunSettings,
    ) -> None:
        self.plan, self.stores, self.spark, self.settings = plan, stores, spark, settings
        self.slots, self.relations = number_plan(plan)
        self.parts = cut(self.relations)
        self.unread = Unread()
        self.finished = FinishedParts(settings.state_directory, plan, self.parts)
        earlier = None if settings.fresh else self.finished.load()
        self.scan = ScanState.start(self.slots, earlier)
        self.culprits = Culprits(
            self.unread,
            self.scan.salt,
            _collect_rows,
            self._all_rows,
            settings.redact,
        )
        jobs = Jobs(few=_collect_rows, many=_iterate_rows)
        self.physical = Physical(
            relations=tuple(r for r in self.relations if physical_spec(r)),
            parts=self.parts,
            stores=stores,
            spark=spark,
            jobs=jobs,
            redact=settings.redact,
        )
        self.comparing = {
            slot.number: store
            for slot in self.slots
            if (store := comparing_store(slot, self.relations, stores, plan.strategy))
        }
        self.found = {slot.number: SlotFindings() for slot in self.slots}
        self.unnamed = Unnamed()
        self.in_stores = InStores(
            stores=self.comparing,
            relations=self.relations,
            found=self.found,
            unread=self.unread,
            unnamed=self.unnamed,
            settling=settings.settle_seconds is not None,
            on_begin=lambda phase: self._progress(phase, 0, None),
        )
        self.by_tasks = settings.engine is Engine.NATIVE  # Spark's own reader is not used
        self.shown = ShownDefects(
            slots=self.slots, limit=settings.limit, on_defect=settings.on_defect, jobs=jobs
        )
        self.began = time.monotonic()

    def run(self) -> Findings:
        chosen: dict[int, ChosenBuckets | None] = {
            slot.number: None for slot in self._compare_in_stores()
        }
        self._scan()
        self.physical.look_by_sql()
        if self.plan.strategy is Strategy.MERGE:
            others = [slot for slot in self.slots if slot.number not in self.comparing]
            chosen |= {slot.number: None for slot in others}
        else:
            chosen |= self._compare_fingerprints()
        for group in join_groups(self.plan, self.slots, chosen):
            self._name(group, chosen)
        for slot in self.slots:
            if slot.index.unique and slot.number not in self.unread.slots:
                self._check_uniqueness(slot)
        self._name_faults()
        self._conclude()
        self.finished.forget()
        return Findings(
            self.found, self.physical.found, tuple(self.shown.defects), dict(self.scan.bytes_read)
        )

    # Comparing inside a database

    def _compare_in_stores(self) -> list[Slot]:
        """Let databases compare what they hold both sides of.

        Returns the indexes that differ in more than the driver should hold: tasks join those.
        """
        many: list[Slot] = []
        for table in self.plan.tables:
            slots = [s for s in self.slots if s.table is table and s.number in self.comparing]
            compared = self.in_stores.compare(slots)
            many += compared.too_many
            if compared.differing:
                self._name_compared(compared.differing)
        return many

    def _name_compared(self, differing: Sequence[Differing]) -> None:
        self._progress("naming defects", 0, None)
        slots = [one.slot for one in differing]
        try:
            with translated():
                frames = [defects_of(self.spark, one.slot, one.entries) for one in differing]
                damaged = [
                    damaged_keys(self.spark, one.slot, one.entries, one.keys_rejected)
                    for one in differing
                ]
                frames += [frame for frame in damaged if frame is not None]
                frame = reduce(DataFrame.unionAll, frames)
                defects = NamedDefects(frame, tuple(frame.collect()))
                defects, counts = self._leave_undecided(defects, slots)
                if _is_repeated(counts):
                    defects = NamedDefects(one_duplicate_per_key(defects.frame, slots))
                    counts = _count(defects)
                for slot in slots:
                    self.found[slot.number].counts = dict(counts.get(slot.number, {}))
                    self.unnamed.forget(slot.number)
                self.shown.take(defects)
        except PySparkException as error:
            self._give_up(slots, error)

    # Fingerprints, and the look at values that rides in the same jobs

    def _scan(self) -> None:
        wanted = self._wanted(self.parts)
        rows_total = sum(part.rows for part in wanted)
        remaining = [part for part in wanted if part.number not in self.scan.done]
        while remaining:
            count = next_job(remaining, self.settings.pace, self.scan.rows_per_second)
            job, remaining = tuple(remaining[:count]), remaining[count:]
            job_rows, started = sum(part.rows for part in job), time.monotonic()

            def report(fraction: float, ahead: int = job_rows) -> None:
                done = self.scan.rows_done + int(fraction * ahead)
                self._progress("comparing fingerprints", done, rows_total)

            report(0.0)
            with watched(self.spark, self.settings.run_id, report):
                self._fingerprint(job)
            self.scan.note_speed(job_rows, time.monotonic() - started)
            report(0.0, 0)
            if remaining and self._can_be_kept():
                self.finished.save(self.scan.as_finished())

    def _can_be_kept(self) -> bool:
        """Whether what was scanned so far is all that a later run needs of it."""
        if self.plan.strategy is Strategy.MERGE or self.unread.slots or self.physical.gave_up:
            return False
        return all(faults.error is None for faults in self.scan.looked_at.values())

    def _fingerprint(self, job: tuple[Part, ...]) -> None:
        for native in (True, False):
            of_engine = [part for part in job if part.relation.is_native == native]
            while parts := self._wanted(of_engine):
                try:
                    with translated():
                        self._add_up(parts, native)
                    break
                except FAILURES as error:
                    if not self.culprits.set_aside(error, parts, self._slots_of(parts)):
                        self._give_up(self._slots_of(parts), error)
                        self.physical.give_up(parts, error)

    def _wanted(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """Those that can be read and serve an index to be summed up, or the physical check."""
        slots = self._summed()
        return tuple(
            part
            for part in self.unread.readable(parts)
            if any(slot.number in slots for slot in part.relation.slots)
            or self.physical.wants(part)
        )

    def _summed(self) -> frozenset[int]:
        """The indexes that are fingerprinted: none when everything is joined anyway."""
        if self.plan.strategy is Strategy.MERGE:
            return frozenset()
        apart = self.unread.slots.keys() | self.comparing.keys()
        return frozenset(s.number for s in self.slots if s.number not in apart)

    def _add_up(self, parts: tuple[Part, ...], native: bool) -> None:
        slots = self._summed()
        if native:
            job = fingerprint_splits_natively(self.spark, parts, slots, self.scan.salt)
            for part, reason in self.scan.add_native(collect_arrow(job), parts):
                self.unread.parts[part.number] = (part, reason)
        else:
            job = fingerprint_by_sql(self.spark, parts, self.stores, slots, self.scan.salt)
            self.scan.add_sql(collect_arrow(job), parts)

    def _compare_fingerprints(self) -> dict[int, ChosenBuckets | None]:
        sums = {n: of for n, of in self.scan.sums.slots.items() if n not in self.comparing}
        for number, of_slot in sums.items():
            found = self.found[number]
            found.rows, found.entries = of_slot.expected, of_slot.actual
            found.strategy = Strategy.FINGERPRINT.value
        whole = {n: of_slot for n, of_slot in sums.items() if n not in self.unread.slots}
        if self.settings.settle_seconds is None:  # what nobody can look at again may be lag
            for number, of_slot in whole.items():
                relations = relations_of(self.slots[number], self.relations)
                if all(self.unread.is_whole(relation) for relation in relations):
                    self.unnamed.note_sums(number, of_slot, [r.side.facts for r in relations])
        return differing_buckets(whole, self.plan.strategy)

    # Naming

    def _name(self, group: list[Slot], chosen: Chosen) -> None:
        self._progress("naming defects", 0, None)
        while slots := [slot for slot in group if slot.number not in self.unread.slots]:
            try:
                with translated(), self._defects_of(slots, chosen) as defects:
                    self._take(defects, slots, chosen)
                    return
            except FAILURES as error:
                if not self._set_aside(error, slots):
                    self._give_up(slots, error)

    def _set_aside(self, error: Failure, slots: Sequence[Slot]) -> bool:
        """Whether naming is worth another try, because what was in its way is not any more."""
        if not self.by_tasks and isinstance(error, PySparkException) and lacking(error):
            self.by_tasks = True  # Spark cannot open what tasks can, and did when they scanned
            return True
        return self.culprits.set_aside(error, self.unread.readable(self.parts), slots)

    @contextmanager
    def _defects_of(
        self,
        slots: Sequence[Slot],
        chosen: Chosen,
        later: "_Run | None" = None,
    ) -> Iterator[NamedDefects]:
        """The defects of some indexes, computed once however often they are asked for."""
        run = later or self
        of_run = [run.slots[slot.number] for slot in slots]
        kept: list[DataFrame] = []
        frames = run._few_rows(of_run, chosen)
        few = frozenset(frames)

        def rows_of(relation: Relation) -> DataFrame:
            if relation.number not in frames:
                frame = run._rows(relation, union_of(relation.table, of_run, chosen))
                shared = sum(1 for slot in slots if slot in relation.slots) > 1
                if relation.is_table and shared:
                    frame = frame.persist()
                    kept.append(frame)
                frames[relation.number] = frame
            return frames[relation.number]

        defects = name_defects(of_run, run.relations, rows_of, few)
        for slot in of_run:
            table, _ = relations_of(slot, run.relations)
            defects = defects.unionAll(damaged_rows(rows_of(table), table, slot))
        try:
            if few.issuperset(frames):
                yield NamedDefects(defects, tuple(defects.collect()))
            else:
                kept.append(defects.persist())
                yield NamedDefects(defects)
        finally:
            for frame in kept:
                frame.unpersist()

    def _few_rows(self, slots: Sequence[Slot], chosen: Chosen) -> dict[int, DataFrame]:
        """Rows by relation, for tables that all tasks can open and of which few are to be read."""
        relations: dict[int, ChosenBuckets] = {}
        rows = 0
        for table in {id(slot.table): slot.table for slot in slots}.values():
            of_table = [slot for slot in slots if slot.table is table]
            needed = [r for r in self.relations if any(slot in r.slots for slot in of_table)]
            buckets = union_of(table, slots, chosen)
            if buckets is not None and all(relation.is_native for relation in needed):
                sums = [self.scan.sums.slots[slot.number].buckets for slot in of_table]
                rows += sum(int(of_slot[buckets.flags, :2].sum()) for of_slot in sums)
                relations |= {relation.number: buckets for relation in needed}
        parts = [p for p in self.unread.readable(self.parts) if p.relation.number in relations]
        if not parts or rows > ROWS_MAX:
            return {}
        numbers = frozenset(slot.number for slot in slots)
        job = sifting(self.spark, parts, relations, numbers, self.scan.salt)
        found = job.sift(collect_arrow(job.gathering)) or {}
        return {
            number: frame_of(self.spark, pa.Table.from_batches([rows])).coalesce(1)
            for number, rows in found.items()
        }

    def _rows(self, relation: Relation, chosen: ChosenBuckets | None) -> DataFrame:
        parts = [
            p for p in self.unread.readable(self.parts) if p.relation.number == relation.number
        ]
        store = self.stores[relation.side.facts.store]
        # Spark's own reader is faster than rows that come through Python, unless most stay behind.
        native = chosen is not None or self.by_tasks
        return rows_frame(self.spark, relation, parts, store, self.scan.salt, chosen, native)

    def _all_rows(self, relation: Relation) -> DataFrame:
        return self._rows(relation, None)

    def _take(
        self,
        defects: NamedDefects,
        slots: Sequence[Slot],
        chosen: Chosen,
    ) -> None:
        """Count defects, settle them if asked to, and collect those to be shown."""
        defects, counts = self._leave_undecided(defects, slots)
        for slot in slots:
            self._note_strategy(slot, chosen)
            named = slot.number in counts or self.found[slot.number].undecided
            if not named and self.plan.strategy is not Strategy.MERGE:
                self.found[slot.number].incomplete = (
                    "fingerprints differ, but the entries agree: "
                    "the data changed while it was read; run the check again"
                )
        if _is_repeated(counts):
            defects = NamedDefects(one_duplicate_per_key(defects.frame, slots))
            counts = _count(defects)
        if counts and self.settings.settle_seconds is not None:
            defects, counts = self._settle(defects, counts, slots, chosen)
        undecidable = {
            slot.number: self.unread.undecidable(*relations_of(slot, self.relations))
            for slot in slots
        }
        for slot in slots:
            found = self.found[slot.number]
            of_slot = counts.get(slot.number, {})
            found.undecided += sum(of_slot.get(kind, 0) for kind in undecidable[slot.number])
            found.counts = {
                kind: n for kind, n in of_slot.items() if kind not in undecidable[slot.number]
            }
            relations = relations_of(slot, self.relations)
            if all(self.unread.is_whole(relation) for relation in relations):
                self.unnamed.forget(slot.number)
        if any(self.found[slot.number].counts for slot in slots):
            self.shown.take(defects.decided(undecidable))

    def _leave_undecided(
        self, defects: NamedDefects, slots: Sequence[Slot]
    ) -> tuple[NamedDefects, Counts]:
        """The defects without what rows that prove nothing could explain, and their counts."""
        undecided: dict[int, int] = {}
        if defects.held is not None:
            undecided = undecided_by_slot(defects.held)
            counts = _count(defects := decided(defects))
        else:
            rows = defects.counted().collect()
            if any(row["kind"] == DAMAGED for row in rows):
                undecided = {r["slot"]: r["count"] for r in undecided_in(defects.frame).collect()}
                counts = _count(defects := decided(defects))
            else:
                defects = without_damaged(defects)
                counts = as_counts((row["slot"], row["kind"], row["count"]) for row in rows)
        for slot in slots:
            found = self.found[slot.number]
            found.undecided = undecided.get(slot.number, 0)
            if found.undecided:
                found.incomplete = damage_told(slot, found.undecided)
        return defects, counts

    def _note_strategy(self, slot: Slot, chosen: Chosen) -> None:
        found = self.found[slot.number]
        if chosen[slot.number] is None:
            found.strategy = Strategy.MERGE.value
        if self.plan.strategy is Strategy.MERGE:
            # No fingerprints counted the rows; counting alone reads hardly any column.
            table, index = relations_of(slot, self.relations)
            where = slot.table.where
            found.rows = expected_entries(self._all_rows(table), slot.index, where).count()
            found.entries = actual_entries(self._all_rows(index), slot.index, where).count()

    def _settle(
        self,
        defects: NamedDefects,
        counts: Counts,
        slots: Sequence[Slot],
        chosen: Chosen,
    ) -> tuple[NamedDefects, Counts]:
        """Look at the same buckets in a later snapshot; what is gone by then was lag."""
        if not all(self.unread.is_whole(relation) for relation in self.relations):
            for slot in slots:
                self.found[slot.number].notes.append("not settled: not everything could be read")
            return defects, dict(counts)
        seconds = self.settings.settle_seconds or 0.0
        self._progress(f"waiting {seconds:g} s to look again", 0, None)
        self.settings.sleep(seconds)
        assert self.settings.plan_again is not None, "settling needs a later plan"
        later = _Run(self.settings.plan_again(), self.stores, self.spark, self.settings)
        later.scan = self.scan  # the same salt: buckets must mean the same
        with self._defects_of(slots, chosen, later=later) as again:
            still = still_there(defects.frame, again.frame)
            remaining = NamedDefects(still.localCheckpoint())
            left = _count(remaining)
        for slot in slots:
            before = sum(counts.get(slot.number, {}).values())
            self.found[slot.number].transient = before - sum(left.get(slot.number, {}).values())
        return remaining, left

    # Uniqueness

    def _check_uniqueness(self, slot: Slot) -> None:
        self._progress(f"looking for shared keys of {slot.label}", 0, None)
        table, _ = relations_of(slot, self.relations)
        if table.number in self.unread.relations:
            return
        while slot.number not in self.unread.slots:
            try:
                with translated():
                    self._find_shared_keys(slot, table)
                return
            except FAILURES as error:
                if not self._set_aside(error, [slot]):
                    self._give_up([slot], error)

    def _find_shared_keys(self, slot: Slot, table: Relation) -> None:
        if slot.number in self.comparing:
            self._find_shared_keys_in_store(slot)
            return
        expected = expected_entries(self._all_rows(table), slot.index, slot.table.where)
        suspected = suspects(expected, slot.index).persist()
        try:
            if suspected.isEmpty():
                return
            few = suspicious(expected, suspected, slot.index)
            self._take_sharing(slot, rows_sharing(few, slot.table.table, slot.index, slot.number))
        finally:
            suspected.unpersist()

    def _take_sharing(self, slot: Slot, sharing: DataFrame) -> None:
        sharing.persist()
        defects = NamedDefects(sharing)
        self.found[slot.number].counts |= _count(defects).get(slot.number, {})
        self.shown.take(defects)
        sharing.unpersist()

    def _find_shared_keys_in_store(self, slot: Slot) -> None:
        entries = self.in_stores.entries_sharing_a_key(slot)
        if entries.num_rows:
            few = entry_frame(self.spark, slot, entries, expected=True)
            self._take_sharing(slot, rows_sharing(few, slot.table.table, slot.index, slot.number))

    # Values

    def _name_faults(self) -> None:
        self.physical.conclude(self.scan.looked_at)
        if not any(found.counts for found in self.physical.found.values()):
            return
        self._progress("naming defects", 0, None)
        self.shown.take_faults(self.physical, self.scan.looked_at)

    # The end

    def _conclude(self) -> None:
        for slot in self.slots:
            found = self.found[slot.number]
            table, index = relations_of(slot, self.relations)
            reasons = [self.unread.reason(slot, table, index), found.incomplete]
            found.incomplete = "; ".join(reason for reason in reasons if reason) or None
            self.unnamed.conclude(slot.number, found, self.unread.parts_of(table, index))
        notes = [self.finished.not_kept] if self.finished.not_kept else []
        if self.scan.resumed:
            parts = len(self.parts)
            notes.append(f"resumed: {self.scan.resumed} of {parts} parts were read before")
        for found in (*self.found.values(), *self.physical.found.values()):
            found.notes += notes

    def _slots_of(self, parts: Sequence[Part]) -> list[Slot]:
        numbers = {slot.number for part in parts for slot in part.relation.slots}
        return [s for s in self.slots if s.number in numbers and s.number not in self.unread.slots]

    def _give_up(self, slots: Sequence[Slot], error: Failure) -> None:
        reason = reason_for(error, self.settings.redact)
        for slot in slots:
            self.unread.slots[slot.number] = reason

    def _progress(self, phase: str, rows_done: int, rows_total: int | None) -> None:
        self.settings.on_progress(
            Progress(
                phase=phase,
                rows_done=rows_done,
                rows_total=rows_total,
                seconds=time.monotonic() - self.began,
            )
        )


def _collect_rows(frame: DataFrame) -> list[Row]:
    with translated():
        return frame.collect()


def _iterate_rows(frame: DataFrame) -> Iterator[Row]:
    with translated():
        yield from frame.toLocalIterator()


def _count(defects: NamedDefects) -> Counts:
    if defects.held is not None:
        return as_counts((row["slot"], row["kind"], 1) for row in defects.held)
    rows = defects.counted().collect()
    return as_counts((row["slot"], row["kind"], row["count"]) for row in rows)


def _is_repeated(counts: Mapping[int, Mapping[DefectKind, int]]) -> bool:
    return sum(1 for kinds in counts.values() if kinds.get(DefectKind.DUPLICATE_KEY)) > 1
