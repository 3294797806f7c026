# SPDX-License-Identifier: Apache-2.0
"""Doing what was planned, in batches, and looking again at what was deleted.

After a delete, a transaction that was open at that moment may bring the row whose entry it was. So
whoever writes is waited for, and where the row is there now, its entry is put back. A run that was
cut off before that leaves its journal, and the next run of the same table looks first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TypeVar

from repair.fitting_records import demand_fitting, is_fitting
from repair.pacing import Pace
from repair.recovering_rows import RowRecovery
from scrub.model.repair import Action, ActionKind, ActionOutcome, DoneAction
from scrub.model.table import Table
from scrub.stores.repairing import Applied, JournalRecord, RepairingStore, RunRecord

T = TypeVar("T")

_TURNS = (ActionKind.DELETE, ActionKind.REPLACE, ActionKind.KEEP_ONE, ActionKind.PUT)
"""What is deleted makes room for what is put: in a unique index, both can have one place."""


@dataclass(slots=True)
class Executor:
    """Repairs one table, under the journal of one run."""

    store: RepairingStore
    table: Table
    run: str
    wait_limit: float = 60.0
    rows_per_second: int | None = None
    pace: Pace | None = None
    tell: Callable[[int], None] = lambda _: None  # how many actions are done
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def repair(self, actions: Sequence[Action]) -> list[DoneAction]:
        """Every action, in the order of its index and key; then the rows that were lost."""
        self.store.begin(
            RunRecord(run=self.run, command="repair", table=self.table.name, started=self.now())
        )
        self._settle_earlier_runs()
        done: list[DoneAction] = []
        pace = self.pace or Pace()
        rows = [action for action in actions if action.kind is ActionKind.RECOVER]
        entries = [action for action in actions if action.kind is not ActionKind.RECOVER]
        for index, batch in self._batches(entries):
            began = len(done)
            applied = self.store.apply(self.run, self.table, self.table.index(index), batch)
            done += [
                DoneAction(a, r.outcome, reason=r.reason)
                for a, r in zip(batch, applied, strict=True)
            ]
            self.tell(len(done))
            pace.rest(len(done) - began, self.rows_per_second)
        deleted = [one.action for one in done if _was_deleted(one)]
        put_back = self._look_again(deleted)
        done = [
            replace(one, outcome=ActionOutcome.PUT_BACK)
            if one.action.defect in put_back and _was_deleted(one)
            else one
            for one in done
        ]
        recovered = self._recover(rows, len(done), pace)
        self.store.end(self.run)
        return self._looked_over(done) + self._rows.looked_over(recovered)

    def _recover(self, rows: Sequence[Action], before: int, pace: Pace) -> list[DoneAction]:
        done: list[DoneAction] = []
        for batch in self._rows.recover(rows):
            done += batch
            self.tell(before + len(done))
            pace.rest(len(batch), self.rows_per_second)
        return done

    @property
    def _rows(self) -> RowRecovery:
        return RowRecovery(self.store, self.table, self.run)

    def _looked_over(self, done: list[DoneAction]) -> list[DoneAction]:
        """Exactly the places that were touched, as they are now."""
        in_order: dict[tuple[str, str, ActionKind], bool] = {}
        for index, batch in self._batches([one.action for one in done]):
            found = self.store.in_order(self.table, self.table.index(index), batch)
            for action, is_right in zip(batch, found, strict=True):
                in_order[index, action.defect, action.kind] = is_right
        return [
            replace(one, in_order=in_order[one.action.index, one.action.defect, one.action.kind])
            for one in done
        ]

    def undo(self, of: str) -> list[tuple[JournalRecord, Applied]]:
        """Take back what a run did, the last first; what was taken back already is passed over."""
        demand_fitting(self.table, [r for r in self.store.journal(of) if r.undone_by is None])
        self.store.begin(
            RunRecord(
                run=self.run,
                command="undo",
                table=self.table.name,
                started=self.now(),
                undoes=of,
            )
        )
        records = [record for record in self.store.journal(of) if record.undone_by is None]
        found, others = self._rows.take_back(list(reversed(records)))
        for index, batch in self._record_batches(others):
            applied = self.store.take_back(self.run, self.table, self.table.index(index), batch)
            found += zip(batch, applied, strict=True)
            self.tell(len(found))
        self.store.end(self.run)
        return found

    def _look_again(self, deleted: Sequence[Action]) -> set[str]:
        """Wait for writers, and put back what their rows should have; which defects these were."""
        if not deleted:
            return set()
        self.store.wait_for_writers(self.table, self.wait_limit)
        back: set[str] = set()
        for index, batch in self._batches([_opposite(action) for action in deleted]):
            applied = self.store.apply(self.run, self.table, self.table.index(index), batch)
            back |= {
                action.defect
                for action, result in zip(batch, applied, strict=True)
                if result.outcome is ActionOutcome.DONE
            }
        return back

    def _batches(self, actions: Sequence[Action]) -> list[tuple[str, list[Action]]]:
        """Actions of one index at a time, as many as the store takes, in the order of keys."""
        ordered = sorted(
            actions,
            key=lambda a: (a.index, _TURNS.index(a.kind), _sortable(a.primary_key)),
        )
        return [
            (index, batch)
            for index, of_index in groupby(ordered, key=lambda action: action.index)
            for batch in _parts(list(of_index), self.store.batch_actions_max)
        ]

    def _record_batches(
        self, records: Sequence[JournalRecord]
    ) -> list[tuple[str, list[JournalRecord]]]:
        return [
            (index, batch)
            for index, of_index in groupby(records, key=lambda record: record.index)
            for batch in _parts(list(of_index), self.store.batch_actions_max)
        ]

    @property
    def cut_off(self) -> list[RunRecord]:
        """Earlier runs of the table that did not come to their end."""
        return [
            record
            for record in self.store.runs()
            if record.table == self.table.name
            and record.finished is None
            and record.run != self.run
        ]

    def _settle_earlier_runs(self) -> None:
        for record in self.cut_off:
            if record.command == "repair":
                journal = self.store.journal(record.run)
                self._look_again(
                    [
                        _action_of(r, self.table.name)
                        for r in journal
                        if r.kind is ActionKind.DELETE
                        and r.after in (None, r.before)
                        and is_fitting(self.table, r)
                    ]
                )
            self.store.end(record.run)


def _parts(listed: list[T], size: int) -> list[list[T]]:
    return [listed[n : n + size] for n in range(0, len(listed), size)]


def _sortable(key: Mapping[str, object] | None) -> tuple[str, ...]:
    return tuple(str(value) for value in (key or {}).values())


def _was_deleted(one: DoneAction) -> bool:
    return one.action.kind is ActionKind.DELETE and one.outcome is ActionOutcome.DONE


def _opposite(action: Action) -> Action:
    return replace(action, kind=ActionKind.PUT, before=None, after=action.before)


def _action_of(record: JournalRecord, table: str) -> Action:
    from scrub.model.defect import DefectKind

    return Action(
        kind=record.kind,
        defect=record.defect,
        defect_kind=DefectKind.DANGLING,
        table=table,
        index=record.index,
        primary_key=record.primary_key,
        before=record.before,
        after=record.after,
    )
