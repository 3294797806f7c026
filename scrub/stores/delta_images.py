# SPDX-License-Identifier: Apache-2.0
"""Entries as they were before a repair, whole: also what the catalog does not know of them.

A relation may have further columns, which checks pass over. An entry that is removed is journalled
with them, one that is replaced keeps them, and undoing brings back each copy as it was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from scrub.codec.arrow_types import to_arrow
from scrub.codec.json_values import from_table, to_table
from scrub.errors import RelationMismatch
from scrub.model.defect import Value
from scrub.model.entry_shape import EntryShape
from scrub.model.repair import ActionKind, ActionOutcome, Entry
from scrub.model.table import Column
from scrub.stores.delta import column_type
from scrub.stores.delta_entries import FoundEntries, find_entries
from scrub.stores.delta_snapshot import DeltaSnapshot
from scrub.stores.entry_states import EntryStates, Values, comparable
from scrub.stores.repairing import Applied, Change


@dataclass(frozen=True, slots=True)
class WholeEntries:
    """The entries found for some keys, with further columns; `states` judges without them."""

    shape: EntryShape
    whole: EntryShape
    found: FoundEntries
    values: Sequence[Values]
    states: EntryStates

    @classmethod
    def find(cls, snapshot: DeltaSnapshot, shape: EntryShape, keys: pa.Table) -> "WholeEntries":
        whole = replace(shape, stored=shape.stored + _further_columns(snapshot, shape))
        found = find_entries(snapshot, whole, keys)
        values = comparable(found.entries.select(list(shape.names)))
        return cls(shape, whole, found, values, EntryStates.of(shape, values))

    @property
    def has_changed(self) -> bool:
        return bool(self.states.gone or self.states.new)

    def removed_by(self, change: Change, applied: Applied) -> list[int]:
        """The numbers of the found entries that a change has removed: all equal to what it said."""
        if applied.outcome is not ActionOutcome.DONE or change.before is None:
            return []
        return sorted(n for n in self.states.gone if self.values[n] == change.before)

    def images(self, numbers: Sequence[int]) -> list[dict[str, Value]]:
        """Found entries as the journal tells them."""
        entries = self.found.entries.take(pa.array(numbers, pa.int64()))
        return from_table(entries, self.whole.columns)

    def trimmed(self, image: Entry) -> dict[str, Value]:
        """The columns of an image that the catalog knows."""
        return {name: image[name] for name in self.shape.names}

    def in_place_of(self, given: pa.Table, removed: Sequence[Sequence[int]]) -> pa.Table:
        """Given entries with the further columns of what each of them replaces, or NULL."""
        first = pa.array([numbers[0] if numbers else None for numbers in removed], pa.int64())
        for column in self.whole.columns[len(self.shape.columns) :]:
            given = given.append_column(
                pa.field(column.name, to_arrow(column.type)),
                self.found.entries.column(column.name).take(first),
            )
        return given


@dataclass(frozen=True, slots=True)
class ImagesToRestore:
    """Images of several changes: the first of each, and then the rest, in one table of rows."""

    firsts: Sequence[Entry]  # or the entry that was put, where nothing had been removed
    images: Sequence[Sequence[Entry]]

    def rows(self, columns: Sequence[Column]) -> pa.Table:
        rest = [image for images in self.images for image in images[1:]]
        firsts = [
            images[0] if images else first
            for first, images in zip(self.firsts, self.images, strict=True)
        ]
        return to_table([_filled(row, columns) for row in (*firsts, *rest)], columns)

    def add_copies(self, number: int, change: Change, states: EntryStates) -> None:
        """Put back beside one entry the copies that a change had removed with it."""
        if change.before is None:
            return
        if change.kind is ActionKind.KEEP_ONE:
            states.add(change.before, number)
        behind = len(self.firsts) + sum(max(0, len(i) - 1) for i in self.images[:number])
        for place in range(max(0, len(self.images[number]) - 1)):
            states.add(change.before, behind + place)


def _filled(row: Entry, columns: Sequence[Column]) -> Mapping[str, Value]:
    """A column that the relation got since then is NULL."""
    return {column.name: row.get(column.name) for column in columns}


def _further_columns(snapshot: DeltaSnapshot, shape: EntryShape) -> tuple[Column, ...]:
    found: list[Column] = []
    for field in snapshot.table.schema().fields:
        if field.name in shape.names:
            continue
        known = column_type(field.type)
        if known is None:
            raise RelationMismatch(
                f"Delta table {snapshot.relation}: column {field.name} has a type that scrub "
                "cannot journal, so what is removed could not be brought back",
                hint="take the column out of the index, or build the index anew",
            )
        found.append(Column(name=field.name, type=known))
    return tuple(found)
