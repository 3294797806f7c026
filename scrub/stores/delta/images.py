# SPDX-License-Identifier: Apache-2.0
"""Entries as they were before a repair, whole: also what the catalog does not know of them.

A relation may have further columns, which checks pass over. An entry that is removed is journalled
with them, one that is replaced keeps them, and undoing brings back each copy as it was.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from scrub.codec.arrow_types import to_arrow
from scrub.codec.json_values import from_table
from scrub.errors import RelationMismatch
from scrub.model.defect import Value
from scrub.model.entry_shape import EntryShape
from scrub.model.repair import ActionOutcome
from scrub.model.table import Column
from scrub.stores.delta.entries import EntriesInFiles, Expected, find_entries
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.delta.store import column_type
from scrub.stores.entry_states import EntryStates, Values, comparable, identity
from scrub.stores.repairing import Applied, Change


@dataclass(frozen=True, slots=True)
class WholeEntries:
    """The entries found for some keys, with further columns; `states` judges without them."""

    shape: EntryShape
    whole: EntryShape
    found: EntriesInFiles
    values: Sequence[Values]
    states: EntryStates

    @classmethod
    def find(
        cls,
        snapshot: DeltaSnapshot,
        shape: EntryShape,
        keys: pa.Table,
        removed: Expected | None = None,
    ) -> "WholeEntries":
        whole = replace(shape, stored=shape.stored + _further_columns(snapshot, shape.names))
        found = find_entries(snapshot, whole, keys, removed)
        values = comparable(found.entries.select(list(shape.names)))
        return cls(shape, whole, found, values, EntryStates.of(shape, values))

    @property
    def has_changed(self) -> bool:
        return bool(self.states.gone or self.states.new)

    def removed_by(self, changes: Sequence[Change], applied: Sequence[Applied]) -> list[list[int]]:
        """The numbers of the found entries that each change has removed: all that it named."""
        gone: dict[Values, list[int]] = {}
        for number in sorted(self.states.gone):
            gone.setdefault(self.values[number], []).append(number)
        return [
            gone.get(change.before, [])
            if result.outcome is ActionOutcome.DONE and change.before is not None
            else []
            for change, result in zip(changes, applied, strict=True)
        ]

    def images(self) -> list[dict[str, Value]]:
        """Found entries as the journal tells them."""
        return from_table(self.found.entries, self.whole.columns)

    def left_in_place(self, values: Values) -> list[tuple[int | None, int | None]]:
        """What is in an entry's place now: its number among those found, or among those given."""
        there = self.states.held.get(identity(self.shape, values), [])
        return [(held.found, held.given) for held in there]

    def in_place_of(self, given: pa.Table, removed: Sequence[Sequence[int]] = ()) -> pa.Table:
        """Given entries with the further columns of what each of them replaces, or NULL."""
        replaced = removed or [()] * given.num_rows
        first = pa.array([numbers[0] if numbers else None for numbers in replaced], pa.int64())
        for column in self.whole.columns[len(self.shape.columns) :]:
            given = given.append_column(
                pa.field(column.name, to_arrow(column.type)),
                self.found.entries.column(column.name).take(first),
            )
        return given


def demanding_columns(snapshot: DeltaSnapshot, entry: Collection[str]) -> list[str]:
    """Further columns that are never NULL, so that a new entry needs a value nobody knows."""
    never_null = {field.name for field in snapshot.table.schema().fields if not field.nullable}
    return [c.name for c in _further_columns(snapshot, entry) if c.name in never_null]


def _further_columns(snapshot: DeltaSnapshot, entry: Collection[str]) -> tuple[Column, ...]:
    """Those that a relation has beside the ones of its entries."""
    found: list[Column] = []
    for field in snapshot.table.schema().fields:
        if field.name in entry:
            continue
        known = column_type(field.type)
        if known is None:
            raise RelationMismatch(
                f"Delta table {snapshot.relation}: column {field.name} has a type that scrub "
                "cannot journal, so what is removed could not be brought back",
                hint="take the column out of the index, or rebuild the index",
            )
        found.append(Column(name=field.name, type=known))
    return tuple(found)
