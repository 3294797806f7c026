# SPDX-License-Identifier: Apache-2.0
"""Faults of single entries: lost, left over, moved, doubled."""

from scrub.app.selftest_and_demo.fault_ground import Ground
from scrub.app.selftest_and_demo.planted import IndexFault, Planted, entry_added, entry_replaced
from scrub.app.selftest_and_demo.table_copy import Edit, with_value
from scrub.model.defect import DefectKind
from scrub.model.table import EntryColumn, Index, Table


class MissingEntry(IndexFault):
    """A row's entry was never written, or is lost."""

    name = "missing entry"

    def plant(self, ground: Ground, index: Index) -> Planted:
        row = ground.take_covered(index)
        gone = Edit(index=index.name, drop=(ground.entry_position(index, row),))
        expected = ground.defect(DefectKind.MISSING, index, ground.entry(index, row))
        return Planted(edits=(gone,), expected=(expected,))


class DanglingEntry(IndexFault):
    """A row was deleted, its entry stayed."""

    name = "dangling entry"

    def plant(self, ground: Ground, index: Index) -> Planted:
        row = ground.take_covered(index)
        column, value = ground.new_key_value(ground.table.primary_key)
        entry = with_value(ground.entry(index, row), column, value)
        return entry_added(ground, index, entry, DefectKind.DANGLING)


class ChangedKey(IndexFault):
    """An indexed column was updated in one place only: one entry too few, and one too many."""

    name = "changed index key"

    def why_not(self, table: Table, index: Index) -> str | None:
        return None if _free_columns(table, index) else "it indexes nothing beside the primary key"

    def plant(self, ground: Ground, index: Index) -> Planted:
        row = ground.take_covered(index)
        column = _free_columns(ground.table, index)[0]
        before = ground.entry(index, row)
        after = ground.with_other_value(index, before, column)
        return Planted(
            edits=(entry_replaced(ground, index, row, after),),
            expected=(
                ground.defect(DefectKind.MISSING, index, before),
                ground.defect(DefectKind.DANGLING, index, after),
            ),
        )


class DuplicateEntry(IndexFault):
    """An entry was written twice."""

    name = "duplicate entry"

    def plant(self, ground: Ground, index: Index) -> Planted:
        row = ground.take_covered(index)
        return entry_added(ground, index, ground.entry(index, row), DefectKind.DUPLICATE_ENTRY)


def _free_columns(table: Table, index: Index) -> list[EntryColumn]:
    """The indexed columns that are not part of the primary key."""
    own = set(table.primary_key)
    return [column for column in index.key if column.is_expression or column.name not in own]
