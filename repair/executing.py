# SPDX-License-Identifier: Apache-2.0
"""Applying planned actions in batches, and looking again at what was deleted.

A transaction that was open during a delete may insert the row that the entry belongs to. So the
executor waits for open writers, and puts the entry back if its row exists now. If a run is cut off
before that, its journal remains, and the next run of the same table does it first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TypeVar

from repair.fitting_records import demand_fitting, is_fitting
from repair.pacing import Pace
from repair.recovering_rows import RowRecovery
from scrub.model.defect import DefectKind
from scrub.model.journal import JournalRecord, RunRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, DoneAction
from scrub.model.table import Table
from scrub.stores.repairing import Applied, RepairingStore

T = TypeVar("T")


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
        """Apply every action, in the order of its index, turn and key; lost rows come last."""
        self.store.begin(
            RunRecord(run=self.run, command="repair", table=self.table.name, started=self.now())
        )
        self._settle_earlier_runs()
        pace = self.pace or Pace()
        rows = [action for action in actions if action.kind is ActionKind.RECOVER]
        entries = [action for action in actions if action.kind is not ActionKind.RECOVER]
        done = self._applied(entries, pace)
        done = self._with_put_back(done)
        recovered = self._recover(rows, len(done), pace)
        self.store.end(self.run)
        return self._looked_over(done) + self._rows.looked_over(recovered)

    def _applied(self, entries: Sequence[Action], pace: Pace) -> list[DoneAction]:
        done: list[DoneAction] = []
        for index, numbers in self._batches(entries):
            batch = [entries[number] for number in numbers]
            applied = self.store.apply(self.run, self.table, self.table.index(index), batch)
            done += [
                DoneAction(action, result.outcome, reason=result.reason)
                for action, result in zip(batch, applied, strict=True)
            ]
            self.tell(len(done))
            pace.rest(len(batch), self.rows_per_second)
        return done

    def _with_put_back(self, done: Sequence[DoneAction]) -> list[DoneAction]:
        """Deletes whose row came meanwhile, and whose entry was therefore put back, say so."""
        deleted = [number for number, one in enumerate(done) if _was_deleted(one)]
        found = self._look_again([done[number].action for number in deleted])
        back = {number for number, is_back in zip(deleted, found, strict=True) if is_back}
        return [
            replace(one, outcome=ActionOutcome.PUT_BACK) if number in back else one
            for number, one in enumerate(done)
        ]

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

    def _looked_over(self, done: Sequence[DoneAction]) -> list[DoneAction]:
        """Exactly the places that were touched, as they are now.

        Results belong to an action by its number. Neither its defect nor its kind identifies it:
        an entry in several column families is several pairs, and so several actions of one defect.
        """
        in_order: dict[int, bool] = {}
        for index, numbers in self._batches([one.action for one in done]):
            batch = [done[number].action for number in numbers]
            found = self.store.in_order(self.table, self.table.index(index), batch)
            in_order.update(zip(numbers, found, strict=True))
        return [replace(one, in_order=in_order[number]) for number, one in enumerate(done)]

    def undo(self, of: str) -> list[tuple[JournalRecord, Applied]]:
        """Take back what a run did, the last change first; changes undone before are skipped."""
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

    def _look_again(self, deleted: Sequence[Action]) -> list[bool]:
        """Wait for open writers; whether each deleted entry was put back for a row that came."""
        if not deleted:
            return []
        self.store.wait_for_writers(self.table, self.wait_limit)
        puts = [_opposite(action) for action in deleted]
        is_back: dict[int, bool] = {}
        for index, numbers in self._batches(puts):
            batch = [puts[number] for number in numbers]
            applied = self.store.apply(self.run, self.table, self.table.index(index), batch)
            for number, result in zip(numbers, applied, strict=True):
                is_back[number] = result.outcome is ActionOutcome.DONE
        return [is_back[number] for number in range(len(puts))]

    def _batches(self, actions: Sequence[Action]) -> list[tuple[str, list[int]]]:
        """The numbers of actions of one index, in the order of turns and keys, in store's batches.

        A number is the only name that an action has to itself.
        """
        ordered = sorted(range(len(actions)), key=lambda number: _place(actions[number]))
        return [
            (index, batch)
            for index, of_index in groupby(ordered, key=lambda number: actions[number].index)
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
        """Earlier runs of the table that were cut off."""
        return [
            record
            for record in self.store.runs()
            if record.table == self.table.name
            and record.finished is None
            and record.run != self.run
        ]

    def _settle_earlier_runs(self) -> None:
        """Look again at what runs deleted that were cut off before they could do it.

        A delete that left another entry in its place replaced an entry whose row was there and
        demanded the other one. No row can have come for it.
        """
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


def _place(action: Action) -> tuple[str, int, tuple[str, ...]]:
    key = tuple(str(value) for value in (action.primary_key or {}).values())
    return action.index, action.kind.turn, key


def _was_deleted(one: DoneAction) -> bool:
    return one.action.kind is ActionKind.DELETE and one.outcome is ActionOutcome.DONE


def _opposite(action: Action) -> Action:
    return replace(action, kind=ActionKind.PUT, before=None, after=action.before)


def _action_of(record: JournalRecord, table: str) -> Action:
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
