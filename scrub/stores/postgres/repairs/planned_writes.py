# SPDX-License-Identifier: Apache-2.0
"""The writes to an index table that were decided and are not done yet: pure.

For an undo, they carry the images of the rows that a repair removed and left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from scrub.model.entry_shape import Tombstones
from scrub.model.journal import Image, RowImages
from scrub.stores.entry_states import EntryStates, Values, comparable
from scrub.stores.postgres.repairs.hindrances import IndexHindrances
from scrub.stores.postgres.repairs.index_table import EntriesInTable, IndexTable


class NotWritten(Exception):
    """A write that the index table did not take as it was; what was done is to be rolled back."""

    def __init__(self, reason: str, is_conflict: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_conflict = is_conflict  # whether the index now holds something else


@dataclass(frozen=True, slots=True)
class PlannedWrites:
    """Given and found entries, what becomes of them, and what the table has beside them."""

    table: IndexTable
    hindrances: IndexHindrances
    given: pa.Table
    found: EntriesInTable
    states: EntryStates
    undone: Sequence[RowImages]  # of an undo: what each change removed and left

    def images_of(self, by: int) -> RowImages | None:
        """Of an undo: the rows that a change removed and left, if its journal has them."""
        return (self.undone[by] or None) if self.undone else None

    @property
    def changed_columns(self) -> frozenset[str]:
        return frozenset(
            name for number, by, _ in self.states.updates for name in self.columns_set(number, by)
        )

    def columns_set(self, number: int, by: int) -> list[str]:
        """The columns in which a found entry and the one that takes its place differ."""
        if images := self.images_of(by):
            differing = columns_differing(images.before[0], images.after[0])
            return [name for name in differing if name not in self.hindrances.generated]
        is_dead = next(dead for _, given, dead in self.states.updates if given == by)
        there = comparable(self.found.entries.slice(number, 1))[0]
        wanted = self.values([(by, is_dead)])[0]
        names = self.table.shape.names
        return [n for n, a, b in zip(names, there, wanted, strict=True) if a != b]

    def restored(self) -> list[Image | None]:
        """Of an undo: the image that each insert brings back, in the order of its change."""
        updated = {by for _, by, _ in self.states.updates}
        left = {
            by: list(images.before[1 if by in updated else 0 :])
            for by, images in enumerate(self.undone)
            if images
        }
        return [left[by].pop(0) if left.get(by) else None for by, _ in self.states.inserts]

    def entries(self, some: Sequence[tuple[int, bool]]) -> pa.Table:
        """Given entries by number, some as tombstones."""
        shape = self.table.shape
        new = self.given.take(pa.array([number for number, _ in some], pa.int64()))
        if shape.tombstones is not Tombstones.NULL_VALUE:
            return new
        dead = pa.array([is_dead for _, is_dead in some], pa.bool_())
        for column in shape.stored:
            place = new.schema.get_field_index(column.name)
            new = new.set_column(place, column.name, pc.if_else(dead, None, new.column(place)))
        return new

    def values(self, some: Sequence[tuple[int, bool]]) -> list[Values]:
        return comparable(self.entries(some))

    @property
    def suppressed(self) -> NotWritten:
        return NotWritten(
            f"a trigger or a rule of {self.table.relation.label} suppressed the write or changed "
            "it, so it was rolled back"
        )

    def altered(self, names: Sequence[str]) -> NotWritten:
        which = f" in column {', '.join(sorted(names))}" if names else ""
        return NotWritten(
            f"{self.table.relation.label} holds something else than was written{which}: a trigger "
            "or the type of a column changed it, so it was rolled back"
        )


def columns_differing(before: Image, after: Image) -> list[str]:
    return [name for name in before if before[name] != after.get(name)]
