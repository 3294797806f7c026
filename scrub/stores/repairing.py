# SPDX-License-Identifier: Apache-2.0
"""What a store offers repair: changes of entries that look at the row again, and a journal.

A batch of changes happens at one moment: rows are read as they are then, each change is judged by
its row and by what the index holds, and what is done is journalled so that it is known exactly,
whatever crashes. Nothing is decided from an older reading.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from scrub.codec.json_values import to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.repair import Action, ActionKind, ActionOutcome, Entry
from scrub.model.table import Index, Table
from scrub.stores.entry_states import EntryStates, Values, comparable, identity
from scrub.stores.writing import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A repair or an undo, as the journal knows it."""

    run: str
    command: str  # "repair" or "undo"
    table: str
    started: datetime
    finished: datetime | None = None
    undoes: str | None = None  # the run that an undo takes back


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """One change that was done."""

    run: str
    number: int
    index: str
    kind: ActionKind
    defect: str
    primary_key: Entry | None
    before: Entry | None
    after: Entry | None
    copies: int = 0  # that were removed beside the one that was kept
    undone_by: str | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one change."""

    outcome: ActionOutcome
    copies: int = 0


@runtime_checkable
class RepairingStore(Protocol):
    """A store in which indexes can be repaired."""

    def rows_there(self, table: Table, keys: Sequence[Entry]) -> Sequence[bool]:
        """Whether the table has a row of each primary key now."""

    def begin(self, record: RunRecord) -> None:
        """Make the run durable before it writes anything; one at a time for each table.

        Raises StoreUnavailable, naming who holds the table, if another run is at work on it.
        """

    def apply(
        self, run: str, table: Table, index: Index, actions: Sequence[Action]
    ) -> Sequence[Applied]:
        """Judge and do a batch, and journal what is done, in one moment."""

    def in_order(self, table: Table, index: Index, actions: Sequence[Action]) -> Sequence[bool]:
        """Whether the index holds in each action's place what the row demands now; reads only."""

    def take_back(
        self, run: str, table: Table, index: Index, records: Sequence[JournalRecord]
    ) -> Sequence[Applied]:
        """Undo a batch of what another run did, where its result is still there."""

    def wait_for_writers(self, table: Table, seconds: float) -> None:
        """Until whoever writes to the table now is done; raises StoreUnavailable after so long."""

    def end(self, run: str) -> None:
        """Note that the run came to its end, and let others have the table."""

    def runs(self) -> Sequence[RunRecord]:
        """All runs that are remembered, the latest first."""

    def journal(self, run: str) -> Sequence[JournalRecord]:
        """What a run did, in the order it was done."""

    def forget(self, before: datetime) -> int:
        """Remove runs that ended before a moment from the journal; how many."""


@dataclass(frozen=True, slots=True)
class Change:
    """An action in the values of a store, ready to be judged."""

    kind: ActionKind
    before: Values | None
    after: Values | None
    copies: int = 0  # of an undo: to be put back beside the one that was kept


def changes_of(
    shape: EntryShape, given: Sequence[tuple[ActionKind, Entry | None, Entry | None, int]]
) -> list[Change]:
    """Kinds, entries before and after, and copies, in values that can be compared."""
    before = _values(shape, [one[1] for one in given])
    after = _values(shape, [one[2] for one in given])
    return [
        Change(kind, b, a, copies)
        for (kind, _, _, copies), b, a in zip(given, before, after, strict=True)
    ]


def _values(shape: EntryShape, entries: Sequence[Entry | None]) -> list[Values | None]:
    there = [entry for entry in entries if entry is not None]
    values = iter(comparable(to_table(there, shape.columns)))
    return [None if entry is None else next(values) for entry in entries]


def entry_of(first: Entry | None, second: Entry | None) -> Entry:
    """The first of two that is there."""
    entry = first if first is not None else second
    assert entry is not None, "a change has an entry before or after it"
    return entry


def judge(
    changes: Sequence[Change], expected: Sequence[Sequence[Values]], states: EntryStates
) -> list[Applied]:
    """What becomes of each change, given the entries that rows of its key should have now."""
    return [
        _judged(number, change, now, states)
        for number, (change, now) in enumerate(zip(changes, expected, strict=True))
    ]


def _judged(number: int, change: Change, now: Sequence[Values], states: EntryStates) -> Applied:
    before, after = change.before, change.after
    match change.kind:
        case ActionKind.PUT if after is not None and list(now) == [after]:
            return _applied(states.init_put(after, number, fail_on_tombstones=False))
        case ActionKind.DELETE if before is not None and before not in now:
            return _applied(states.delete(before, number))
        case ActionKind.REPLACE if before is not None and after and list(now) == [after]:
            return _applied(states.replace(before, after, number))
        case ActionKind.KEEP_ONE if before is not None and list(now) == [before]:
            removed = states.keep_one(before)
            outcome = ActionOutcome.DONE if removed else ActionOutcome.ALREADY_RIGHT
            return Applied(outcome, removed)
    return Applied(ActionOutcome.ROW_CHANGED)


def judge_undo(changes: Sequence[Change], states: EntryStates) -> list[Applied]:
    """The same for undoing: only what the index holds counts, since a defect comes back."""
    return [_undone(number, change, states) for number, change in enumerate(changes)]


def _undone(number: int, change: Change, states: EntryStates) -> Applied:
    before, after = change.before, change.after
    match change.kind:
        case ActionKind.PUT if after is not None:
            return _applied(states.delete(after, number))
        case ActionKind.DELETE if before is not None:
            return _applied(states.init_put(before, number, fail_on_tombstones=False))
        case ActionKind.REPLACE if before is not None and after is not None:
            return _applied(states.replace(after, before, number))
        case ActionKind.KEEP_ONE if before is not None:
            done = states.add_copies(before, number, change.copies)
            return Applied(ActionOutcome.DONE if done else ActionOutcome.CONFLICT, change.copies)
    return Applied(ActionOutcome.CONFLICT)


def is_in_order(
    change: Change, expected: Sequence[Values], found: Sequence[Values], shape: EntryShape
) -> bool:
    """Whether the places that a change concerns hold what rows demand, and each entry once."""
    places = {
        identity(shape, entry) for entry in (change.before, change.after) if entry is not None
    }
    wanted = [entry for entry in expected if identity(shape, entry) in places]
    there = [entry for entry in found if identity(shape, entry) in places]
    return sorted(map(repr, wanted)) == sorted(map(repr, there))


def _applied(outcome: Outcome) -> Applied:
    return Applied(
        {
            Outcome.WRITTEN: ActionOutcome.DONE,
            Outcome.UNCHANGED: ActionOutcome.ALREADY_RIGHT,
            Outcome.CONFLICT: ActionOutcome.CONFLICT,
        }[outcome]
    )
