# SPDX-License-Identifier: Apache-2.0
"""Faults of stored columns: the key is right, what is stored beside it is not."""

import numpy as np
import pyarrow as pa

from scrub.app.fault_ground import Flags, Ground, NoPlace, digests
from scrub.app.planted import NO_ENTRIES, Fault, Planted, entry_replaced, with_other_value
from scrub.app.table_copy import with_null, with_value
from scrub.model.defect import DefectKind
from scrub.model.table import EntryColumn, Index, Table


class _StoredFault(Fault):
    def why_not(self, table: Table, index: Index) -> str | None:  # noqa: ARG002
        return None if index.stored else "it stores no columns"


class WrongStoredValue(_StoredFault):
    """A stored column shows another value than the row."""

    name = "wrong stored value"

    def plant(self, ground: Ground, index: Index) -> Planted:
        column = _any_stored(ground, index, null=False)
        row = ground.take_row(_where_null(ground, index, column, null=False), NO_ENTRIES)
        entry = with_other_value(ground, index, ground.entry(index, row), column)
        return _wrong(ground, index, {row: entry})


class StoredNull(_StoredFault):
    """A stored value turned into NULL."""

    name = "stored value lost to NULL"

    def plant(self, ground: Ground, index: Index) -> Planted:
        column = _any_stored(ground, index, null=False)
        row = ground.take_row(_where_null(ground, index, column, null=False), NO_ENTRIES)
        return _wrong(ground, index, {row: with_null(ground.entry(index, row), column.name)})


class NullFilled(_StoredFault):
    """A value appeared where the row has NULL."""

    name = "stored NULL turned into a value"

    def plant(self, ground: Ground, index: Index) -> Planted:
        column = _any_stored(ground, index, null=True)
        row = ground.take_row(_where_null(ground, index, column, null=True), NO_ENTRIES)
        entry = with_other_value(ground, index, ground.entry(index, row), column)
        return _wrong(ground, index, {row: entry})


class SwappedStoredValues(_StoredFault):
    """Two entries exchanged what they store, which fingerprints that are XORed do not see."""

    name = "stored values of two entries swapped"

    def plant(self, ground: Ground, index: Index) -> Planted:
        stored = [column.name for column in index.stored]
        contents = digests(ground.copy.entries[index.name], stored)
        if len(np.unique(contents)) <= 1:
            raise NoPlace("all its entries store the same")
        one = ground.take_row(ground.covered(index), NO_ENTRIES)
        unlike = contents != contents[ground.entry_position(index, one)]
        other = ground.take_row(ground.covered_where(index, unlike), "all its entries store alike")
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


def _where_null(ground: Ground, index: Index, column: EntryColumn, *, null: bool) -> Flags:
    valid = ground.copy.entries[index.name].column(column.name).is_valid().to_numpy()
    return ground.covered_where(index, ~valid if null else valid)


def _any_stored(ground: Ground, index: Index, *, null: bool) -> EntryColumn:
    """A stored column that has an entry with, or without, NULL."""
    columns = [c for c in index.stored if _where_null(ground, index, c, null=null).any()]
    if not columns:
        raise NoPlace("no stored value is NULL" if null else "every stored value is NULL")
    return columns[int(ground.rng.integers(len(columns)))]


def _storing(entry: pa.Table, other: pa.Table, columns: list[str]) -> pa.Table:
    for name in columns:
        entry = with_value(entry, name, other.column(name)[0])
    return entry
