# SPDX-License-Identifier: Apache-2.0
"""What a store offers for rows that were lost, and what must hold for one to be put back.

A row is put back only if every index agrees with the table afterwards. So the row must demand
exactly the entries that told of it, no index may hold anything else of its key, and what an index
lacks must have a free place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from scrub.codec.json_values import from_table, to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.journal import JournalRecord
from scrub.model.repair import Action, ActionKind, Entry
from scrub.model.table import Column, Index, Table
from scrub.stores.entry_states import Values, comparable, shape_by
from scrub.stores.repairing import Applied, Reason

T = TypeVar("T")

DELETE_LAST_COPIES = "--delete-last-copies"
"""What to type to have entries deleted that are all that is left of a row."""

BY_HAND = f"put the row back by hand with what you know of it; to delete its entries for good, add \
{DELETE_LAST_COPIES}"


@runtime_checkable
class RecoveringStore(Protocol):
    """A store that puts rows back."""

    def settle(self, table: Table, actions: Sequence[Action]) -> Sequence[Action | Reason]:
        """Each recovery with the entries that go with it, or why there is none; reads only."""

    def recover(self, run: str, table: Table, actions: Sequence[Action]) -> Sequence[Applied]:
        """Put rows back that are still absent and still told of, and journal it."""

    def take_back_rows(
        self, run: str, table: Table, records: Sequence[JournalRecord]
    ) -> Sequence[Applied]:
        """Remove rows that another run put back, where they are still as it left them."""


def row_shape(table: Table) -> EntryShape:
    """Rows as what they are to their table: entries that the primary key identifies."""
    return shape_by(table.primary_key, table.columns, table.relation)


def key_columns(table: Table) -> tuple[Column, ...]:
    """The columns of the primary key, in its order."""
    return tuple(table.column(name) for name in table.primary_key)


def by_key_shape(table: Table, index: Index, shape: EntryShape) -> EntryShape:
    """An index's entries, looked for by the primary key in them."""
    return shape_by(key_names(table, index), shape.columns, shape.relation)


def plain_shape(table: Table, index: Index) -> EntryShape:
    """An index's entries by primary key, with only what rows put there as it is."""
    columns = [
        Column(name=column.name, type=column.type)
        for column in index.entry
        if not column.is_expression and column.type is not None
    ]
    return shape_by(key_names(table, index), columns, index.relation)


def entries_by_key(shape: EntryShape, keys: pa.Table, found: pa.Table) -> list[list[Entry]]:
    """For each primary key those of the found entries that are of it; see `plain_shape`."""
    of = found.select([column.name for column in shape.indexed])
    return by_key(keys, of, from_table(found, shape.columns))


def by_key(keys: pa.Table, of: pa.Table, found: Sequence[T]) -> list[list[T]]:
    """For each key, what was found of it; `of` has the key of each thing found."""
    of_key: dict[Values, list[T]] = {}
    for key, one in zip(comparable(of), found, strict=True):
        of_key.setdefault(key, []).append(one)
    return [of_key.get(key, []) for key in comparable(keys)]


def key_names(table: Table, index: Index) -> list[str]:
    """What the entry calls the columns of the primary key, in its order."""
    found = {c.source: c.name for c in reversed(index.entry) if not c.is_expression}
    return [found[name] for name in table.primary_key]


def kept_indexes(table: Table) -> list[Index]:
    """Those that are relations of their own; the others are the database's affair."""
    return [index for index in table.indexes if not index.is_own]


@dataclass(frozen=True, slots=True)
class IndexView:
    """What one index has to do with some lost rows, each by its number."""

    shape: EntryShape
    demanded: Sequence[Entry | None]  # the entry that the row would have
    held: Sequence[Sequence[Values]]  # what the index holds of the row's key
    taken: Sequence[bool]  # whether another row has the entry's place
    follows: bool = False  # what it lacks comes by itself when the row is there

    def values(self, entry: Entry | None) -> list[Values]:
        return [] if entry is None else comparable(to_table([entry], self.shape.columns))


def settled(
    table: Table, actions: Sequence[Action], views: Mapping[str, IndexView]
) -> list[Action | Reason]:
    """The judgement on each recovery, given all indexes."""
    return [_settled(table, number, action, views) for number, action in enumerate(actions)]


def _settled(
    table: Table, number: int, action: Action, views: Mapping[str, IndexView]
) -> Action | Reason:
    told = {one.index: one.entry for one in action.lost.told} if action.lost else {}
    puts: list[tuple[str, Entry]] = []
    row = dict(action.after or {})
    for name, view in views.items():
        demanded, held = view.demanded[number], list(view.held[number])
        expected = view.values(told.get(name))
        if held != expected:
            return _other_entries(name, bool(expected), held)
        if expected and view.values(demanded) != expected:
            return (
                f"the row, as far as it is known, does not give the entry that index {name} holds",
                BY_HAND,
            )
        if view.taken[number]:
            return (
                f"another row has its key in index {name}, which is unique",
                "correct or remove one of the two rows' values; what is left then follows",
            )
        if expected:
            row |= _zeros(table.index(name), view.shape, held[0])
        if not expected and demanded is not None and not view.follows:
            puts.append((name, demanded))
    return replace(action, after=row, puts=tuple(puts))


def _zeros(index: Index, shape: EntryShape, held: Values) -> dict[str, float]:
    """The zeros of a row as its entry holds them: checks tell -0.0 as 0.0, which equals it."""
    sources = {c.name: c.source for c in index.entry if not c.is_expression}
    return {
        sources[column.name]: value
        for column, value in zip(shape.columns, held, strict=True)
        if isinstance(value, float) and value == 0 and column.name in sources
    }


def _other_entries(name: str, is_told: bool, held: Sequence[Values]) -> Reason:
    if is_told and not held:
        return (
            f"index {name} no longer holds the entry that the row was derived from",
            "check again",
        )
    return (
        f"index {name} holds other entries of this row than the defects show",
        "check all indexes of the table, and repair from that",
    )


def telling(action: Action, columns: Iterable[str]) -> Action:
    """The recovery, telling which of all columns of the table are written as NULL."""
    assert action.lost is not None, "a recovery has its row"
    unknown = tuple(name for name in columns if name not in action.lost.columns)
    return replace(action, lost=replace(action.lost, absent_columns=unknown))


def put_of(action: Action, index: str, entry: Entry) -> Action:
    """The put of an entry that goes with a recovered row."""
    return replace(
        action, kind=ActionKind.PUT, index=index, before=None, after=entry, lost=None, puts=()
    )
