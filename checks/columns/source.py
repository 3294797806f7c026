# SPDX-License-Identifier: Apache-2.0
"""Tables of columns as an entry source: a part is a split or a file, an entry a row of columns."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row

from checks.check import TableCheck
from checks.choose import Chosen, ChosenBuckets, union_of
from checks.columns import defects
from checks.columns.culprits import Culprits
from checks.columns.damaged_rows import (
    DAMAGED,
    damage_told,
    damaged_rows,
    decided,
    undecided_by_slot,
    undecided_in,
    without_damaged,
)
from checks.columns.entries import actual_entries, expected_entries
from checks.columns.fingerprint_jobs import fingerprint_by_sql, fingerprint_splits_natively
from checks.columns.naming import name_defects, one_duplicate_per_key
from checks.columns.row_frames import rows_frame
from checks.columns.shared_keys import rows_sharing, suspects, suspicious
from checks.columns.sifting import ROWS_MAX, sifting
from checks.columns.store_comparison import entry_frame, key_columns, sides_of
from checks.columns.table_check_run import TableCheckRun
from checks.failures import Failure
from checks.findings import SlotFindings
from checks.named_defects import Counts, NamedDefects, as_counts, count
from checks.numbering import Relation, Slot, number_plan, relations_of
from checks.parts import Part, cut
from checks.registry import table_checks
from checks.scan_state import ScanState
from checks.shown_defects import ShownDefects
from checks.source import Decided, Named, Reading
from checks.specs import Looks
from checks.table_look import TableLook
from checks.unread import Unread
from scrub.model.defect import Defect, DefectKind
from scrub.model.plan import CheckPlan
from scrub.model.request import Engine, Strategy
from scrub.spark.arrow_frames import frame_of
from scrub.spark.failures import lacking
from scrub.stores.base import ComparingStore


class ColumnSource:
    """All tables of columns of a run; see `checks.source`."""

    joins_all = True  # Spark's own reader is faster than rows that come through Python
    sets_aside = True
    shown_strategy: str | None = Strategy.FINGERPRINT.value
    glue = "; "
    state: ScanState

    def __init__(self, reading: Reading) -> None:
        self.reading, plan, settings = reading, reading.plan, reading.settings
        self.stores, self.spark, self.jobs = reading.stores, reading.spark, reading.jobs
        self.slots, self.relations = number_plan(plan)
        self.parts = cut(self.relations)
        self.unread = Unread()
        self.by_tasks = settings.engine is Engine.NATIVE  # Spark's own reader is not used
        planned = {one.check for table in plan.tables for one in table.whole}
        self.riding: dict[str, TableCheckRun] = {}
        for check in table_checks(planned):
            self.riding[check.name] = self._riding(check)

    def _riding(self, check: TableCheck) -> TableCheckRun:
        looked_at = (r for r in self.relations if r.is_table and r.table.of_check(check.name))
        return TableCheckRun(check, self.reading, tuple(looked_at), self.parts)

    def later(self, plan: CheckPlan) -> "ColumnSource":
        later = ColumnSource(replace(self.reading, plan=plan))
        later.state = self.state  # the same salt: buckets must mean the same
        return later

    def comparing_store(self, slot: Slot) -> ComparingStore | None:
        store = self.stores[slot.table.side.facts.store]
        return store if slot.plan.in_store and isinstance(store, ComparingStore) else None

    # Reading

    def fingerprints(self, parts: Sequence[Part], slots: frozenset[int]) -> DataFrame:
        if parts[0].relation.is_native:
            return fingerprint_splits_natively(
                self.spark, parts, slots, self.state.salt, self._looks()
            )
        return fingerprint_by_sql(self.spark, parts, self.stores, slots, self.state.salt)

    def _looks(self) -> Looks:
        looks: dict[int, dict[str, TableLook]] = {}
        for name, riding in self.riding.items():
            for relation in riding.relations:
                look = riding.check.look(relation.table.table)
                looks.setdefault(relation.number, {})[name] = look
        return looks

    def look_beside(self, shown: ShownDefects, found: Mapping[int, SlotFindings]) -> None:  # noqa: ARG002
        for riding in self.riding.values():
            riding.look_by_sql()

    def set_aside(self, error: Failure, parts: Sequence[Part], slots: Sequence[Slot]) -> bool:
        culprits = Culprits(
            self.unread,
            self.state.salt,
            self.jobs.rows,
            self._all_rows,
            self.reading.settings.redact,
        )
        return culprits.set_aside(error, parts, slots)

    def try_otherwise(self, error: Failure) -> bool:
        """Tasks can open what Spark cannot, and did when they scanned."""
        if self.by_tasks or not isinstance(error, PySparkException) or not lacking(error):
            return False
        self.by_tasks = True
        return True

    def _rows(self, relation: Relation, chosen: ChosenBuckets | None) -> DataFrame:
        parts = [
            p for p in self.unread.readable(self.parts) if p.relation.number == relation.number
        ]
        store = self.stores[relation.side.facts.store]
        # Spark's own reader is faster than rows that come through Python, unless most stay behind.
        native = chosen is not None or self.by_tasks
        return rows_frame(self.spark, relation, parts, store, self.state.salt, chosen, native)

    def _all_rows(self, relation: Relation) -> DataFrame:
        return self._rows(relation, None)

    def counted_entries(self, slot: Slot) -> tuple[int, int]:
        """Counting alone reads hardly any column."""
        table, index = relations_of(slot, self.relations)
        where = slot.table.where
        expected = expected_entries(self._all_rows(table), slot.index, where)
        actual = actual_entries(self._all_rows(index), slot.index, where)
        return self.jobs.number(expected), self.jobs.number(actual)

    # Naming

    @contextmanager
    def named(self, slots: Sequence[int], chosen: Chosen) -> Iterator[Named]:
        of_run = [self.slots[number] for number in slots]
        kept: list[DataFrame] = []
        frames = self._few_rows(of_run, chosen)
        few = frozenset(frames)

        def rows_of(relation: Relation) -> DataFrame:
            if relation.number not in frames:
                frame = self._rows(relation, union_of(relation.table, of_run, chosen))
                shared = sum(1 for slot in of_run if slot in relation.slots) > 1
                if relation.is_table and shared:
                    frame = frame.persist()
                    kept.append(frame)
                frames[relation.number] = frame
            return frames[relation.number]

        found = name_defects(of_run, self.relations, rows_of, few)
        for slot in of_run:
            table, _ = relations_of(slot, self.relations)
            found = found.unionAll(damaged_rows(rows_of(table), table, slot))
        try:
            if few.issuperset(frames):
                yield Named(NamedDefects(found, tuple(self.jobs.rows(found))))
            else:
                kept.append(found.persist())
                yield Named(NamedDefects(found))
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
                sums = [self.state.sums.slots[slot.number].buckets for slot in of_table]
                rows += sum(int(of_slot[buckets.flags, :2].sum()) for of_slot in sums)
                relations |= {relation.number: buckets for relation in needed}
        parts = [p for p in self.unread.readable(self.parts) if p.relation.number in relations]
        if not parts or rows > ROWS_MAX:
            return {}
        numbers = frozenset(slot.number for slot in slots)
        job = sifting(self.spark, parts, relations, numbers, self.state.salt)
        found = job.sift(self.jobs.arrow(job.gathering)) or {}
        return {
            number: frame_of(self.spark, pa.Table.from_batches([rows])).coalesce(1)
            for number, rows in found.items()
        }

    def decide(self, named: Named) -> Decided:
        found = named.defects
        if found.held is not None:
            undecided = undecided_by_slot(found.held)
            found = decided(found)
            return Decided(found, count(found, self.jobs), undecided)
        rows = self.jobs.rows(found.counted())
        if any(row["kind"] == DAMAGED for row in rows):
            by_slot = self.jobs.rows(undecided_in(found.frame))
            found = decided(found)
            return Decided(found, count(found, self.jobs), {r["slot"]: r["count"] for r in by_slot})
        counts = as_counts((row["slot"], row["kind"], row["count"]) for row in rows)
        return Decided(without_damaged(found), counts, {})

    def why_undecided(self, slot: Slot, number: int) -> str:
        return damage_told(slot, number)

    def once_per_row(self, found: NamedDefects, counts: Counts) -> NamedDefects | None:
        """A duplicated row shows in every index of its table."""
        repeated = sum(1 for kinds in counts.values() if kinds.get(DefectKind.DUPLICATE_KEY))
        if repeated <= 1:
            return None
        slots = [self.slots[number] for number in sorted(counts)]
        return NamedDefects(one_duplicate_per_key(found.frame, slots))

    def can_settle(self, slot: Slot) -> bool:  # noqa: ARG002
        return all(self.unread.is_whole(relation) for relation in self.relations)

    @contextmanager
    def sharing(self, slot: Slot) -> Iterator[DataFrame | None]:
        if store := self.comparing_store(slot):
            yield self._sharing_in_store(store, slot)
            return
        table, _ = relations_of(slot, self.relations)
        expected = expected_entries(self._all_rows(table), slot.index, slot.table.where)
        suspected = suspects(expected, slot.index).persist()
        sharing: DataFrame | None = None
        try:
            if not self.jobs.is_empty(suspected):
                few = suspicious(expected, suspected, slot.index)
                sharing = rows_sharing(few, slot.table.table, slot.index, slot.number).persist()
            yield sharing
        finally:
            if sharing is not None:
                sharing.unpersist()
            suspected.unpersist()

    def _sharing_in_store(self, store: ComparingStore, slot: Slot) -> DataFrame | None:
        expected, _ = sides_of(slot, self.relations)
        entries = store.entries_sharing(expected, key_columns(slot))
        if not entries.num_rows:
            return None
        few = entry_frame(self.spark, slot, entries, expected=True)
        return rows_sharing(few, slot.table.table, slot.index, slot.number)

    def to_defect(self, row: Row, slot: Slot) -> Defect:
        return defects.to_defect(row, slot)
