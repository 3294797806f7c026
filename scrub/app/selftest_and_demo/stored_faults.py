# SPDX-License-Identifier: Apache-2.0
"""Faults of stored columns: the key is right, what is stored beside it is not."""

import numpy as np
import pyarrow as pa

from scrub.app.selftest_and_demo.fault_ground import Ground, NoPlace, digests
from scrub.app.selftest_and_demo.planted import IndexFault, Planted, entry_replaced
from scrub.app.selftest_and_demo.table_copy import with_null, with_value
from scrub.model.defect import DefectKind
from scrub.model.table import EntryColumn, Index, Table


class _StoredFault(IndexFault):
    def why_not(self, table: Table, index: Index) -> str | None:  # noqa: ARG002
        return None if index.stored else "it stores no columns"


class WrongStoredValue(_StoredFault):
    """A stored column shows another value than the row."""

    name = "wrong stored value"
    replaces_null = False

    def plant(self, ground: Ground, index: Index) -> Planted:
        row, column = _take_stored(ground, index, null=self.replaces_null)
        entry = ground.with_other_value(index, ground.entry(index, row), column)
        return _wrong(ground, index, {row: entry})


class StoredNull(_StoredFault):
    """A stored value turned into NULL."""

    name = "stored value lost to NULL"

    def plant(self, ground: Ground, index: Index) -> Planted:
        row, column = _take_stored(ground, index, null=False)
        return _wrong(ground, index, {row: with_null(ground.entry(index, row), column.name)})


class NullFilled(WrongStoredValue):
    """A value appeared where the row has NULL."""

    name = "stored NULL turned into a value"
    replaces_null = True


class SwappedStoredValues(_StoredFault):
    """Two entries exchanged what they store, which fingerprints that are XORed do not see."""

    name = "stored values of two entries swapped"

    def plant(self, ground: Ground, index: Index) -> Planted:
        stored = [column.name for column in index.stored]
        contents = digests(ground.copy.entries[index.name], stored)
        if len(np.unique(contents)) <= 1:
            raise NoPlace("all its entries store the same")
        one = ground.take_covered(index)
        unlike = contents != contents[ground.entry_position(index, one)]
        suitable = ground.covered_where(index, unlike)
        other = ground.take_row(suitable, "all its entries store the same", doubtful=True)
        first, second = ground.entry(index, one), ground.entry(index, other)
        return _wrong(
            ground,
            index,
            {one: _storing(first, second, stored), other: _storing(second, first, stored)},
        )


def _wrong(ground: Ground, index: Index, entries: dict[int, pa.Table]) -> Planted:
    kind = DefectKind.WRONG_STORED_VALUE
    return Planted(
        edits=tuple(entry_replaced(ground, index, row, entry) for row, entry in entries.items()),
        expected=tuple(ground.defect(kind, index, entry) for entry in entries.values()),
    )


def _take_stored(ground: Ground, index: Index, *, null: bool) -> tuple[int, EntryColumn]:
    """A row, and a column of its entry that is NULL, or is not."""
    lack = NoPlace("no stored value is NULL" if null else "every stored value is NULL")
    for position in ground.rng.permutation(len(index.stored)):
        column = index.stored[position]
        valid = ground.copy.entries[index.name].column(column.name).is_valid().to_numpy()
        suitable = ground.covered_where(index, ~valid if null else valid)
        try:
            # Where a stored value should not be NULL, a defect can have made it NULL.
            return ground.take_row(suitable, lack.reason, doubtful=null), column
        except NoPlace as none_left:
            lack = none_left if none_left.used_up else lack
    raise lack


def _storing(entry: pa.Table, other: pa.Table, columns: list[str]) -> pa.Table:
    for name in columns:
        entry = with_value(entry, name, other.column(name)[0])
    return entry
