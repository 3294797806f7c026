# SPDX-License-Identifier: Apache-2.0
"""Putting lost rows back into Delta tables, and removing them again for an undo.

One commit of the table puts rows back, as the version after the one in which they are absent, with
the journal before it. Then each index gets what it lacks, by the rules of every other repair.

An index that follows its table gets an entry for each row that comes, and would have it twice. So
the entry that the row was recovered from is removed there: before the index has followed, because
it shows a version without the row; afterwards, because it is a copy.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from scrub.codec.json_values import to_table
from scrub.errors import RelationMismatch
from scrub.model.index_shape import shape_of
from scrub.model.journal import JournalRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, Entry
from scrub.model.table import Index, Store, Table
from scrub.stores.delta.entries import find_entries
from scrub.stores.delta.files import NewFiles
from scrub.stores.delta.images import WholeEntries
from scrub.stores.delta.journal import EventKind
from scrub.stores.delta.journalled import commit_journalled, content_of, undone_contents
from scrub.stores.delta.lost_rows import hindrance, index_view
from scrub.stores.delta.marks import followed_version
from scrub.stores.delta.repair_hindrances import require_staying
from scrub.stores.delta.repairs import DeltaRepairs
from scrub.stores.delta.row_demands import EntriesOf, entries_without_spark
from scrub.stores.delta.rows import require_columns
from scrub.stores.delta.snapshot import DeltaSnapshot, require_writable
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
    """Repairs that put rows back, too; `entries_of` makes the entries that a row would have."""

    def __init__(
        self,
        store: Store,
        *others: Store,
        entries_of: EntriesOf = entries_without_spark,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(store, *others, entries_of=entries_of, sleep=sleep)
        self._maker = entries_of

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
        shape = row_shape(table)
        given = to_table([action.after or {} for action in actions], shape.columns)
        rows = comparable(given)
        applied: list[Applied] = []

        def attempt(snapshot: DeltaSnapshot, new: NewFiles) -> bool:
            require_columns(snapshot, shape.columns)
            found = WholeEntries.find(snapshot, shape, given)
            untold = self._untold(table, actions)
            applied[:] = [
                _recovered(number, row, untold.get(number), found.states)
                for number, row in enumerate(rows)
            ]
            contents = [
                content_of(one, one.kind, None, [], [one.after or {}])
                for one in _done(actions, applied)
            ]
            whole = found.in_place_of(given, [[]] * given.num_rows)
            return commit_journalled(
                self._runs, run, EventKind.REPAIR, table, new, found, whole, contents
            )

        self._lake.writer(table).until_committed(table.relation, attempt)
        for index in kept_indexes(table):
            self._bring_along(run, table, index, _done(actions, applied))
        return applied

    def take_back_rows(
        self, run: str, table: Table, records: Sequence[JournalRecord]
    ) -> list[Applied]:
        shape = row_shape(table)
        given = to_table(
            [{name: (r.after or {}).get(name) for name in shape.names} for r in records],
            shape.columns,
        )
        rows = comparable(given)
        applied: list[Applied] = []

        def attempt(snapshot: DeltaSnapshot, new: NewFiles) -> bool:
            require_columns(snapshot, shape.columns)
            found = WholeEntries.find(snapshot, shape, given)
            applied[:] = [_taken_back(row, found) for row in rows]
            contents = undone_contents(records, applied)
            whole = found.in_place_of(given, [[]] * given.num_rows)
            return commit_journalled(
                self._runs, run, EventKind.UNDO, table, new, found, whole, contents
            )

        self._lake.writer(table).until_committed(table.relation, attempt)
        return applied

    def _views(
        self, snapshot: DeltaSnapshot, table: Table, actions: Sequence[Action]
    ) -> dict[str, IndexView]:
        found: dict[str, IndexView] = {}
        for index in kept_indexes(table) if actions else []:
            maker = self._maker(table, index)
            shape = shape_of(table, maker.index)
            with self._lake.latest(index) as of_index:
                require_staying(of_index)
                require_columns(of_index, shape.columns)
                if _follows(of_index, table) or index.reflects is None:
                    found[index.name] = index_view(
                        snapshot, of_index, table, maker, shape, actions, _follows(of_index, table)
                    )
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
