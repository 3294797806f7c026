# SPDX-License-Identifier: Apache-2.0
"""What a store offers repair: changes of entries that look at the row again, and a journal.

A batch of changes happens at one moment: rows are read as they are then, each change is judged by
its row and by what the index holds, and what is done is journalled so that it is known exactly,
whatever crashes. Nothing is decided from an older reading.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, TypeVar, runtime_checkable

from scrub.codec.json_values import to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.journal import JournalRecord, RunRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, Entry
from scrub.model.table import Index, Table
from scrub.stores.entry_states import (
    DAMAGED,
    EntryStates,
    Outcome,
    Values,
    comparable,
    identity,
)

T = TypeVar("T")

Reason = tuple[str, str]
"""Why something is not done, and what a person can do."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one change; with `beside`, other entries were in the place and still are.

    Such a change is journalled as a delete that has an entry after it: the one that must be there
    for an undo, or for any other itself.
    """

    outcome: ActionOutcome
    copies: int = 0
    beside: bool = False
    reason: str = ""  # where the outcome does not say it all


class EntriesByKey(Protocol):
    """A store that finds the entries of rows, whether or not the rows are there."""

    def rows_there(self, table: Table, keys: Sequence[Entry]) -> Sequence[bool]:
        """Whether the table has a row of each primary key now."""

    def entries_of(
        self, table: Table, index: Index, keys: Sequence[Entry]
    ) -> Sequence[Sequence[Entry]]:
        """What an index holds of each primary key: the columns that come from the row as they are.

        Raises RelationMissing if there is no such index, and another ScrubError if it cannot tell.
        """


@runtime_checkable
class RepairingStore(EntriesByKey, Protocol):
    """A store in which indexes can be repaired."""

    batch_actions_max: int
    """How many actions one batch may have."""

    def begin(self, record: RunRecord) -> None:
        """Make the run durable before it writes anything; one at a time for each table.

        Raises StoreUnavailable, naming who holds the table, if another run is at work on it.
        """

    def hindrances(
        self, table: Table, index: Index, actions: Sequence[Action]
    ) -> Sequence[Reason | None]:
        """Why the index takes an action not, or so that it could not be undone; reads only."""

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


@runtime_checkable
class ReindexingStore(Protocol):
    """A store whose database maintains indexes of its own, which are repaired as a whole."""

    def reindex(self, statement: str) -> None:
        """Rebuild one own index, as the plan says."""


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


def changes_of_actions(shape: EntryShape, actions: Sequence[Action]) -> list[Change]:
    """Actions in values that can be compared."""
    return changes_of(shape, [(a.kind, a.before, a.after, 0) for a in actions])


def _values(shape: EntryShape, entries: Sequence[Entry | None]) -> list[Values | None]:
    there = [entry for entry in entries if entry is not None]
    values = iter(comparable(to_table(there, shape.columns)))
    return [None if entry is None else next(values) for entry in entries]


def entry_of(first: T | None, second: T | None) -> T:
    """The first of two entries that is there."""
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


_DAMAGED_ROW = "the row has a value that its column cannot hold; correct the row first"


def _judged(number: int, change: Change, now: Sequence[Values], states: EntryStates) -> Applied:
    before, after = change.before, change.after
    if DAMAGED in now:
        return Applied(ActionOutcome.REFUSED, reason=_DAMAGED_ROW)
    match change.kind:
        case ActionKind.PUT if after is not None and list(now) == [after]:
            return _applied(states.init_put(after, number, fail_on_tombstones=False))
        case ActionKind.DELETE if before is not None and before not in now:
            copies = states.copies(before)
            beside = states.has_others(before)
            applied = _applied(states.delete_if_equal(before, number), copies - 1)
            return replace(applied, beside=beside and applied.outcome is ActionOutcome.DONE)
        case ActionKind.REPLACE if before is not None and after and list(now) == [after]:
            copies = states.copies(before)
            if copies and states.copies(after):
                while states.take(before, number):
                    pass
                return Applied(ActionOutcome.DONE, copies - 1, beside=True)
            return _applied(states.replace_if_equal(before, after, number), copies - 1)
        case ActionKind.KEEP_ONE if before is not None and states.copies(before) <= 1:
            return Applied(ActionOutcome.ALREADY_RIGHT)
        case ActionKind.KEEP_ONE if before is not None and list(now) == [before]:
            removed = states.keep_one(before, number)
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
            return _applied(states.delete_if_equal(after, number))
        case ActionKind.DELETE if before is not None and after is not None:
            return _put_beside(number, change, before, after, states)
        case ActionKind.DELETE if before is not None:
            outcome = states.init_put(before, number, fail_on_tombstones=False)
            return _with_copies(outcome, number, change, before, states)
        case ActionKind.REPLACE if before is not None and after is not None:
            outcome = states.replace_if_equal(after, before, number)
            return _with_copies(outcome, number, change, before, states)
        case ActionKind.KEEP_ONE if before is not None:
            done = states.add_copies(before, number, change.copies)
            return Applied(ActionOutcome.DONE if done else ActionOutcome.CONFLICT, change.copies)
    return Applied(ActionOutcome.CONFLICT)


def _put_beside(
    number: int, change: Change, before: Values, after: Values, states: EntryStates
) -> Applied:
    """An entry that was deleted beside another one, which must still be there."""
    if states.copies(before):
        return Applied(ActionOutcome.ALREADY_RIGHT)
    if after != before and not states.copies(after):
        return Applied(ActionOutcome.CONFLICT)
    states.add(before, number)
    return _with_copies(Outcome.WRITTEN, number, change, before, states)


def _with_copies(
    outcome: Outcome, number: int, change: Change, before: Values, states: EntryStates
) -> Applied:
    """The copies that went with an entry come back with it."""
    for _ in range(change.copies if outcome is Outcome.WRITTEN else 0):
        states.add(before, number)
    return _applied(outcome, change.copies)


def is_in_order(
    change: Change, expected: Sequence[Values], found: Sequence[Values], shape: EntryShape
) -> bool:
    """Whether the places that a change concerns hold what its row demands, and each entry once.

    What another row has in a unique place is that row's affair.
    """

    def place(entry: Values) -> tuple[Values, Values]:
        width = len(shape.indexed)
        return identity(shape, entry), entry[width : width + len(shape.suffix)]

    places = {place(entry) for entry in (change.before, change.after) if entry is not None}
    wanted = [entry for entry in expected if place(entry) in places]
    there = [entry for entry in found if place(entry) in places]
    return Counter(wanted) == Counter(there)


def _applied(outcome: Outcome, copies: int = 0) -> Applied:
    match outcome:
        case Outcome.WRITTEN:
            return Applied(ActionOutcome.DONE, max(0, copies))
        case Outcome.UNCHANGED:
            return Applied(ActionOutcome.ALREADY_RIGHT)
        case Outcome.CONFLICT:
            return Applied(ActionOutcome.CONFLICT)
