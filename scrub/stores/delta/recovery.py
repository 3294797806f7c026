# SPDX-License-Identifier: Apache-2.0
"""Putting lost rows back into Delta tables, and removing them again for an undo.

One commit of the table puts rows back, as the version after the one in which they are absent, with
the journal before it. Then each index gets what it lacks, by the rules of every other repair.

An index that follows its table gets an entry for each row that comes, and would have it twice. So
the entry that the row was recovered from is removed there: before the index has followed, because
it shows a version without the row; afterwards, because it is a copy.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from scrub.codec.json_values import to_table
from scrub.errors import RelationMismatch
from scrub.model.journal import JournalRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, Entry
from scrub.model.table import Index, Table
from scrub.stores.delta.entries import find_entries
from scrub.stores.delta.files import NewFiles
from scrub.stores.delta.images import WholeEntries
from scrub.stores.delta.journal import EventKind
from scrub.stores.delta.journalled import (
    Content,
    Decided,
    commit_journalled,
    content_of,
    undone_contents,
)
from scrub.stores.delta.lost_rows import LostRows, hindrance
from scrub.stores.delta.marks import followed_version
from scrub.stores.delta.repair_hindrances import require_staying
from scrub.stores.delta.repairs import DeltaRepairs
from scrub.stores.delta.rows import require_columns
from scrub.stores.delta.snapshot import DeltaSnapshot, require_writable
from scrub.stores.delta.undo import filled_table
from scrub.stores.entry_states import EntryStates, Values, comparable, identity
from scrub.stores.recovering import (
    BY_HAND,
    IndexView,
    kept_indexes,
    put_of,
    row_shape,
    settled,
    telling,
)
from scrub.stores.repairing import Applied, Reason

_NO_LONGER_TOLD = "no longer holds the entry that the row was derived from"


class RecoveringDelta(DeltaRepairs):
    """Repairs that put rows back, too."""

    def settle(self, table: Table, actions: Sequence[Action]) -> list[Action | Reason]:
        try:
            with self._lake.latest(table) as snapshot:
                require_writable(snapshot)
                require_columns(snapshot, table.columns)
                hindrances = [hindrance(snapshot, action) for action in actions]
                free = [
                    telling(action, snapshot.schema.names)
                    for action, why in zip(actions, hindrances, strict=True)
                    if why is None
                ]
                judged = iter(settled(table, free, self._views(snapshot, table, free)))
        except RelationMismatch as error:
            return [(str(error), error.hint or BY_HAND)] * len(actions)
        return [next(judged) if why is None else why for why in hindrances]

    def recover(self, run: str, table: Table, actions: Sequence[Action]) -> list[Applied]:
        given = to_table([action.after or {} for action in actions], row_shape(table).columns)
        rows = comparable(given)
        applied: list[Applied] = []

        def judge(found: WholeEntries) -> list[Content]:
            untold = self._untold(table, actions)
            applied[:] = [
                _recovered(number, row, untold.get(number), found.states)
                for number, row in enumerate(rows)
            ]
            return [
                content_of(one, one.kind, None, [], [one.after or {}])
                for one in _done(actions, applied)
            ]

        self._commit_rows(run, EventKind.REPAIR, table, given, judge)
        for index in kept_indexes(table):
            self._bring_along(run, table, index, _done(actions, applied))
        return applied

    def take_back_rows(
        self, run: str, table: Table, records: Sequence[JournalRecord]
    ) -> list[Applied]:
        given = filled_table([r.after or {} for r in records], row_shape(table).columns)
        applied: list[Applied] = []

        def judge(found: WholeEntries) -> list[Content]:
            applied[:] = [_taken_back(row, found) for row in comparable(given)]
            return undone_contents(records, applied)

        self._commit_rows(run, EventKind.UNDO, table, given, judge)
        return applied

    def _commit_rows(
        self,
        run: str,
        kind: EventKind,
        table: Table,
        given: pa.Table,
        judge: Callable[[WholeEntries], list[Content]],
    ) -> None:
        """Commit what becomes of given rows, which `judge` decides and tells the journal."""
        shape = row_shape(table)

        def decide(snapshot: DeltaSnapshot, _: NewFiles) -> Decided:
            require_columns(snapshot, shape.columns)
            found = WholeEntries.find(snapshot, shape, given)
            return Decided(found, found.in_place_of(given), judge(found))

        commit_journalled(self._runs, run, kind, table, decide)

    def _views(
        self, snapshot: DeltaSnapshot, table: Table, actions: Sequence[Action]
    ) -> dict[str, IndexView]:
        found: dict[str, IndexView] = {}
        for index in kept_indexes(table) if actions else []:
            with self._lake.latest(index) as of_index:
                rows = LostRows(table, actions, snapshot, of_index, self._maker(table, index))
                require_staying(of_index)
                require_columns(of_index, rows.shape.columns)
                follows = _follows(of_index, table)
                if follows or index.reflects is None:
                    found[index.name] = rows.view(follows)
                elif any(_entries_of(index, actions)):
                    raise RelationMismatch(
                        f"index {index.name} shows an older version of the table, in which the "
                        "row would still be absent",
                        hint=BY_HAND,
                    )
        return found

    def _untold(self, table: Table, actions: Sequence[Action]) -> dict[int, str]:
        """The numbers of recoveries that an index no longer tells of, and which index that is."""
        found: dict[int, str] = {}
        for index in kept_indexes(table):
            told = list(_entries_of(index, actions))
            if not told:
                continue
            shape = self._demands.shape(table, index)
            given = to_table([entry for _, entry in told], shape.columns)
            with self._lake.latest(index) as snapshot:
                require_staying(snapshot)
                require_columns(snapshot, shape.columns)
                states = EntryStates.of(
                    shape, comparable(find_entries(snapshot, shape, given).entries)
                )
            for (number, _), values in zip(told, comparable(given), strict=True):
                if states.copies(values) != 1:
                    found[number] = index.name
        return found

    def _bring_along(self, run: str, table: Table, index: Index, actions: Sequence[Action]) -> None:
        """What the rows that are there now demand of an index."""
        told = [put_of(actions[number], index.name, e) for number, e in _entries_of(index, actions)]
        with self._lake.latest(index) as snapshot:
            follows = _follows(snapshot, table)
        if follows and told:
            alone = [replace(a, kind=ActionKind.DELETE, before=a.after, after=None) for a in told]
            results = self.apply(run, table, index, alone)
            has_followed = [
                replace(action, kind=ActionKind.KEEP_ONE, before=action.after)
                for action, result in zip(told, results, strict=True)
                if result.outcome is ActionOutcome.ROW_CHANGED
            ]
            if has_followed:
                self.apply(run, table, index, has_followed)
        elif not follows and index.reflects is None:
            lacking = [
                put_of(action, index.name, entry)
                for action in actions
                for name, entry in action.puts
                if name == index.name
            ]
            if told or lacking:
                self.apply(run, table, index, [*told, *lacking])


def _recovered(number: int, row: Values, untold: str | None, states: EntryStates) -> Applied:
    if states.copies(row):
        return Applied(ActionOutcome.ALREADY_RIGHT)
    if states.has_others(row):
        return Applied(ActionOutcome.ROW_CHANGED)
    if untold is not None:
        return Applied(ActionOutcome.CONFLICT, reason=f"index {untold} {_NO_LONGER_TOLD}")
    states.add(row, number)
    return Applied(ActionOutcome.DONE)


def _taken_back(row: Values, found: WholeEntries) -> Applied:
    """Only what is exactly as it was left goes: once, and with nothing in further columns."""
    there = found.states.held.get(identity(found.shape, row), [])
    if not there:
        return Applied(ActionOutcome.ALREADY_RIGHT)
    further = found.found.entries.select(found.whole.names[len(found.shape.names) :])
    numbers = [held.found for held in there if held.values == row]
    values = further.take(pa.array(numbers, pa.int64())).to_pylist()
    is_empty = not any(value is not None for one in values for value in one.values())
    if len(there) != 1 or not numbers or not is_empty:
        return Applied(ActionOutcome.CONFLICT, reason="the row has changed since")
    found.states.take(row)
    return Applied(ActionOutcome.DONE)


def _done(actions: Sequence[Action], applied: Sequence[Applied]) -> list[Action]:
    return [
        action
        for action, result in zip(actions, applied, strict=True)
        if result.outcome is ActionOutcome.DONE
    ]


def _entries_of(index: Index, actions: Sequence[Action]) -> Iterator[tuple[int, Entry]]:
    """The entries of an index that tell of rows, with the number of the row."""
    for number, action in enumerate(actions):
        for told in action.lost.told if action.lost else ():
            if told.index == index.name:
                yield number, told.entry


def _follows(snapshot: DeltaSnapshot, table: Table) -> bool:
    return followed_version(snapshot, table.relation) is not None
