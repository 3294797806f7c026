# SPDX-License-Identifier: Apache-2.0
"""Tables of columns as an entry source: a part is a split or a file, an entry a row of columns."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from checks.check import TableCheck
from checks.choose import Chosen, ChosenBuckets, union_of
from checks.columns import defects
from checks.columns.chosen_keys import chosen_keys
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
from checks.columns.entries import actual_entries, expected_entries, rows_among
from checks.columns.few_rows import FewRows
from checks.columns.fingerprint_jobs import fingerprint_by_sql, fingerprint_splits_natively
from checks.columns.held_sharing import entries_sharing, held_rows_sharing
from checks.columns.naming import (
    name_defects,
    one_duplicate_per_key,
    one_held_duplicate_per_key,
)
from checks.columns.row_frames import rows_frame
from checks.columns.shared_keys import rows_sharing, suspects, suspicious
from checks.columns.store_comparison import key_columns, names_in_store, sides_of
from checks.columns.table_check_run import TableCheckRun
from checks.failures import ChangedMeaning, Failure, is_of_spark
from checks.findings import SlotFindings
from checks.keys.held_keys import HeldKeys
from checks.named_defects import Counts, HeldDefect, NamedDefects, as_counts, count
from checks.numbering import Relation, Slot, number_plan, relations_of
from checks.parts import Part, cut, cut_left_out
from checks.registry import table_checks
from checks.scan_state import ScanState
from checks.shown_defects import ShownDefects
from checks.source import Decided, Named, Reading
from checks.specs import Looks, is_looked_at
from checks.table_look import TableLook
from checks.unread import Unread
from checks.work import Work
from scrub.model.defect import Defect, DefectKind
from scrub.model.plan import CheckPlan
from scrub.model.request import Engine, Strategy
from scrub.pacing import current
from scrub.stores.base import ComparingStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ColumnSource:
    """All tables of columns of a run; see `checks.source`."""

    joins_all = True  # Spark's own reader is faster than rows that come through Python
    sets_aside = True
    shown_strategy: str | None = Strategy.FINGERPRINT.value
    glue = "; "
    state: ScanState

    def __init__(self, reading: Reading) -> None:
        self.reading, plan, settings = reading, reading.plan, reading.settings
        self.stores, self.jobs = reading.stores, reading.jobs
        self.slots, self.relations = number_plan(plan)
        self.parts = cut(self.relations)
        self.left_out = cut_left_out(self.relations, len(self.parts))  # by the scan
        self.among: dict[int, HeldKeys] = {}  # by slot, the primary keys that choose its entries
        self.unread = Unread()
        # Spark's own reader is not used where it is not wanted, or cannot keep to a pace.
        self.by_tasks = settings.engine is Engine.NATIVE or current() is not None
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

    def fingerprints(self, parts: Sequence[Part], slots: frozenset[int]) -> "Work | DataFrame":
        if parts[0].relation.is_native:
            return fingerprint_splits_natively(
                self.jobs.cores, parts, slots, self.state.salt, self._looks(), self.among
            )
        return fingerprint_by_sql(
            self.jobs.spark, parts, self.stores, slots, self.state.salt, self._among_chosen
        )

    def choose_by_rows(self, slots: Sequence[Slot]) -> Chosen:
        """Spark joins what it reads; tasks look keys up."""
        too_many: dict[int, None] = {}
        by_tasks = [slot for slot in slots if self.relations[slot.of_index].is_native]
        for number in dict.fromkeys(slot.of_table for slot in by_tasks):
            table = self.relations[number]
            keys = chosen_keys(self.jobs, table, self._parts_of(table), self.state.salt)
            served = [slot.number for slot in by_tasks if slot.of_table == number]
            if keys is None:
                too_many |= dict.fromkeys(served)
            else:
                self.among |= dict.fromkeys(served, keys)
        return too_many

    def _among_chosen(self, entries: "DataFrame", slot: Slot) -> "DataFrame":
        """The rows of an index with the primary key of a row that `--where` chooses."""
        table, _ = relations_of(slot, self.relations)
        chosen = self._all_rows(table).where(is_looked_at(slot.table.where))
        return rows_among(entries, chosen, slot.table.table)

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
        if isinstance(error, ChangedMeaning):
            self.unread.slots[error.slot] = str(error)
            return True
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
        if self.by_tasks or not is_of_spark(error):
            return False
        from scrub.spark.failures import lacking

        if not lacking(error):
            return False
        self.by_tasks = True
        return True

    def _parts_of(self, relation: Relation) -> list[Part]:
        readable = self.unread.readable(self.parts)
        return [part for part in readable if part.relation.number == relation.number]

    def _rows(
        self, relation: Relation, chosen: ChosenBuckets | None, also: Sequence[Part] = ()
    ) -> "DataFrame":
        parts = [*self._parts_of(relation), *also]
        store = self.stores[relation.side.facts.store]
        # Spark's own reader is faster than rows that come through Python, unless most stay behind.
        native = chosen is not None or self.by_tasks
        return rows_frame(self.jobs, relation, parts, store, self.state.salt, chosen, native)

    def _all_rows(self, relation: Relation) -> "DataFrame":
        return self._rows(relation, None)

    def counted_entries(self, slot: Slot) -> tuple[int, int]:
        """Counting alone reads hardly any column."""
        table, index = relations_of(slot, self.relations)
        expected = expected_entries(self._all_rows(table), slot.index, slot.table.where)
        entries = self._all_rows(index)
        if slot.plan.by_rows:
            entries = self._among_chosen(entries, slot)
        actual = actual_entries(entries, slot.index, slot.where_of_entries)
        return self.jobs.number(expected), self.jobs.number(actual)

    # Naming

    @contextmanager
    def named(self, slots: Sequence[int], chosen: Chosen) -> Iterator[Named]:
        of_run = [self.slots[number] for number in slots]
        few = FewRows(
            jobs=self.jobs,
            relations=self.relations,
            parts=self.unread.readable(self.parts),
            left_out=self.left_out,
            state=self.state,
            among=self.among,
        )
        held = few.defects(of_run, chosen)
        if held is not None:
            yield Named(held)
            return
        self._demand_meaning(of_run)
        kept: list[DataFrame] = []
        frames: dict[int, DataFrame] = {}

        def rows_of(relation: Relation) -> "DataFrame":
            if relation.number not in frames:
                buckets = union_of(relation.table, of_run, chosen)
                frame = self._rows(relation, buckets, few.of_others(relation, of_run))
                shared = sum(1 for slot in of_run if slot in relation.slots) > 1
                if relation.is_table and shared:
                    frame = frame.persist()
                    kept.append(frame)
                frames[relation.number] = frame
            return frames[relation.number]

        found = name_defects(of_run, self.relations, rows_of)
        for slot in of_run:
            table, _ = relations_of(slot, self.relations)
            found = found.unionAll(damaged_rows(rows_of(table), table, slot))
        try:
            kept.append(found.persist())
            yield Named(NamedDefects(found))
        finally:
            for frame in kept:
                frame.unpersist()

    def _demand_meaning(self, slots: Sequence[Slot]) -> None:
        """Where Spark evaluates what tasks had evaluated, it must mean the same in its session."""
        from checks.columns.meaning import changed_meaning

        for slot in slots:
            if slot.table.side.engine is Engine.NATIVE and slot.index.expressions:
                reason = changed_meaning(slot.table, slot.plan, self.jobs.spark)
                if reason is not None:
                    raise ChangedMeaning(slot.number, reason)

    def decide(self, named: Named) -> Decided:
        found = named.defects
        if found.held is not None:
            undecided = undecided_by_slot(found.held)
            found = decided(found)
            return Decided(found, count(found, self.jobs), undecided)
        rows = self.jobs.rows(found.counted())
        if any(row["kind"] == DAMAGED for row in rows):
            by_slot = self.jobs.rows(undecided_in(found.framed))
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
        if found.held is not None:
            return NamedDefects.holding(one_held_duplicate_per_key(found.held, slots))
        return NamedDefects(one_duplicate_per_key(found.framed, slots))

    def can_settle(self, slot: Slot) -> bool:  # noqa: ARG002
        return all(self.unread.is_whole(relation) for relation in self.relations)

    @contextmanager
    def sharing(self, slot: Slot) -> Iterator[NamedDefects | None]:
        if store := self.comparing_store(slot):
            yield self._sharing_in_store(store, slot)
            return
        table, _ = relations_of(slot, self.relations)
        if self.jobs.in_process is not None:
            held = held_rows_sharing(
                self.jobs, slot, table, self.unread.readable(self.parts), self.state.salt
            )
            if held is not None:
                yield NamedDefects.holding(held)
                return
        self._demand_meaning([slot])
        expected = expected_entries(self._all_rows(table), slot.index, slot.table.where)
        suspected = suspects(expected, slot.index).persist()
        sharing: DataFrame | None = None
        try:
            if not self.jobs.is_empty(suspected):
                few = suspicious(expected, suspected, slot.index)
                sharing = rows_sharing(few, slot.table.table, slot.index, slot.number).persist()
            yield NamedDefects(sharing) if sharing is not None else None
        finally:
            if sharing is not None:
                sharing.unpersist()
            suspected.unpersist()

    def _sharing_in_store(self, store: ComparingStore, slot: Slot) -> NamedDefects | None:
        expected, _ = sides_of(slot, self.relations)
        entries = store.entries_sharing(expected, key_columns(slot))
        if not entries.num_rows:
            return None
        return NamedDefects.holding(entries_sharing(slot, entries, names_in_store(slot)))

    def to_defect(self, row: HeldDefect, slot: Slot) -> Defect:
        return defects.to_defect(row, slot)
