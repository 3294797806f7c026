# SPDX-License-Identifier: Apache-2.0
"""Applying planned actions in batches, and looking again at what was deleted.

A transaction that was open during a delete may insert the row that the entry belongs to. So the
executor waits for open writers, and puts the entry back if its row exists now. If a run is cut off
before that, its journal remains, and the next run of the same table does it first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TypeVar

from repair.fitting import demand_fitting, is_fitting
from repair.pacing import Pace
from repair.recovering_rows import AppliedBatch, RowRecovery
from scrub.model.defect import DefectKind
from scrub.model.journal import JournalRecord, RunRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, DoneAction
from scrub.model.table import Index, Table
from scrub.stores.repairing import Applied, RepairingStore

T = TypeVar("T", Action, JournalRecord)
R = TypeVar("R")


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
        done = self._done(self._apply(entries), pace)
        done = self._with_put_back(done)
        recovered = self._done(self._rows.recover(rows), pace, len(done))
        self.store.end(self.run)
        return self._looked_over(done) + self._rows.looked_over(recovered)

    def _apply(self, entries: Sequence[Action]) -> Iterator[AppliedBatch]:
        for index, batch in self._batches(sorted(entries, key=_place)):
            yield batch, self.store.apply(self.run, self.table, index, batch)

    def _done(
        self, batches: Iterable[AppliedBatch], pace: Pace, before: int = 0
    ) -> list[DoneAction]:
        """What became of actions, told and paced batch by batch; so many were done before."""
        done: list[DoneAction] = []
        for batch, applied in batches:
            done += [
                DoneAction(action, result.outcome, reason=result.reason)
                for action, result in zip(batch, applied, strict=True)
            ]
            self.tell(before + len(done))
            pace.rest(len(batch), self.rows_per_second)
        return done

    def _with_put_back(self, done: Sequence[DoneAction]) -> list[DoneAction]:
        """Deletes whose row came meanwhile, and whose entry was therefore put back, say so."""
        is_back = iter(self._look_again([one.action for one in done if _was_deleted(one)]))
        return [
            replace(one, outcome=ActionOutcome.PUT_BACK)
            if _was_deleted(one) and next(is_back)
            else one
            for one in done
        ]

    @property
    def _rows(self) -> RowRecovery:
        return RowRecovery(self.store, self.table, self.run)

    def _looked_over(self, done: Sequence[DoneAction]) -> list[DoneAction]:
        """Exactly the places that were touched, as they are now."""
        found = self._of_each(
            [one.action for one in done],
            lambda index, batch: self.store.in_order(self.table, index, batch),
        )
        return [replace(one, in_order=is_right) for one, is_right in zip(done, found, strict=True)]

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
        for index, batch in self._batches(others):
            applied = self.store.take_back(self.run, self.table, index, batch)
            found += zip(batch, applied, strict=True)
            self.tell(len(found))
        self.store.end(self.run)
        return found

    def _look_again(self, deleted: Sequence[Action]) -> list[bool]:
        """Wait for open writers; whether each deleted entry was put back for a row that came."""
        if not deleted:
            return []
        self.store.wait_for_writers(self.table, self.wait_limit)
        applied = self._of_each(
            [_opposite(action) for action in deleted],
            lambda index, batch: self.store.apply(self.run, self.table, index, batch),
        )
        return [result.outcome is ActionOutcome.DONE for result in applied]

    def _of_each(
        self, actions: Sequence[Action], ask: Callable[[Index, Sequence[Action]], Sequence[R]]
    ) -> list[R]:
        """The store's answer about each action; it is asked in the order of turns and keys.

        Answers belong to an action by its number. Neither its defect nor its kind identifies it:
        an entry in several column families is several pairs, and so several actions of one defect.
        """
        numbers = sorted(range(len(actions)), key=lambda number: _place(actions[number]))
        batches = self._batches([actions[number] for number in numbers])
        answers = [answer for index, batch in batches for answer in ask(index, batch)]
        found = dict(zip(numbers, answers, strict=True))
        return [found[number] for number in range(len(actions))]

    def _batches(self, listed: Sequence[T]) -> Iterator[tuple[Index, list[T]]]:
        """What comes one after the other of one index, in batches as large as the store takes."""
        size = self.store.batch_actions_max
        for name, of_index in groupby(listed, key=lambda one: one.index):
            together = list(of_index)
            for begin in range(0, len(together), size):
                yield self.table.index(name), together[begin : begin + size]

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
