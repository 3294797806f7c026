# SPDX-License-Identifier: Apache-2.0
"""What a lake says of rows that were lost: whether they could be there, and what would follow.

Only read. Each index is read through once, because nothing finds entries by primary key alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from scrub.codec.json_values import from_table, to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.index_shape import shape_of
from scrub.model.repair import Action, Entry
from scrub.model.table import Table
from scrub.stores.delta.entries import find_entries
from scrub.stores.delta.repair_hindrances import not_in_a_partition
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.delta.store import column_type
from scrub.stores.entry_states import Values, comparable, identity, shape_by
from scrub.stores.recovering import (
    BY_HAND,
    IndexView,
    by_key,
    by_key_shape,
    key_columns,
    key_names,
)
from scrub.stores.repairing import Reason
from scrub.stores.row_entries import RowEntries


def hindrance(snapshot: DeltaSnapshot, action: Action) -> Reason | None:
    """What the table itself has against a row."""
    told = action.lost.columns if action.lost else {}
    for field in snapshot.table.schema().fields:
        if not field.nullable and told.get(field.name) is None:
            return (
                f"no index holds the row's {field.name}, which Delta table {snapshot.relation} "
                "never lets be NULL",
                BY_HAND,
            )
        if column_type(field.type) is None:
            return (
                f"column {field.name} has a type that scrub cannot compare, so the row could not "
                "be taken out again exactly",
                BY_HAND,
            )
    return not_in_a_partition(snapshot, action.after or {})


@dataclass(frozen=True, slots=True)
class LostRows:
    """Some lost rows of a table, and one index that may hold entries of them."""

    table: Table
    actions: Sequence[Action]
    snapshot: DeltaSnapshot  # of the table
    of_index: DeltaSnapshot
    maker: RowEntries  # of the index

    @property
    def shape(self) -> EntryShape:
        return shape_of(self.table, self.maker.index)

    def view(self, follows: bool) -> IndexView:
        """What the index has to do with the rows."""
        demanded = self._demanded()
        return IndexView(
            shape=self.shape,
            demanded=demanded,
            held=self._held(),
            taken=self._taken(demanded),
            follows=follows,
        )

    def _demanded(self) -> list[Entry | None]:
        given = to_table([action.after or {} for action in self.actions], self.table.columns)
        rows, entries = self.maker.of(given)
        keys = comparable(rows.select(list(self.table.primary_key)))
        found = dict(zip(keys, from_table(entries, self.shape.columns), strict=True))
        return [found.get(key) for key in comparable(self._keys)]

    def _held(self) -> list[list[Values]]:
        names = key_names(self.table, self.maker.index)
        shape = by_key_shape(self.table, self.maker.index, self.shape)
        found = find_entries(self.of_index, shape, self._keys.rename_columns(names)).entries
        entries = comparable(found.select(list(self.shape.names)))
        return by_key(self._keys, found.select(names), entries)

    def _taken(self, demanded: Sequence[Entry | None]) -> list[bool]:
        """Whether an entry or a row that is there has the place of one in a unique index."""
        shape = self.shape
        due = to_table([one for one in demanded if one is not None], shape.columns)
        if not shape.unique or not due.num_rows:
            return [False] * len(demanded)
        others = set(comparable(find_entries(self.of_index, shape, due).entries))
        others |= set(comparable(self._entries_of_rows(due)))
        places = {identity(shape, values) for values in others - set(comparable(due))}
        wanted = iter(identity(shape, values) for values in comparable(due))
        return [one is not None and next(wanted) in places for one in demanded]

    def _entries_of_rows(self, due: pa.Table) -> pa.Table:
        """Entries of the rows that have the same values in indexed columns; expressions aside."""
        plain = [column for column in self.maker.index.key if not column.is_expression]
        if not plain:
            return due.slice(0, 0)
        sources = [column.source for column in plain]
        shape = shape_by(sources, self.maker.columns, self.table.relation)
        keys = due.select([column.name for column in plain]).rename_columns(sources)
        return self.maker.of(find_entries(self.snapshot, shape, keys).entries)[1]

    @property
    def _keys(self) -> pa.Table:
        return to_table([a.primary_key or {} for a in self.actions], key_columns(self.table))
