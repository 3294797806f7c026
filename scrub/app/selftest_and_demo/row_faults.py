# SPDX-License-Identifier: Apache-2.0
"""Faults that take whole rows: doubled, sharing a unique key, or indexed against the definition."""

import numpy as np
import pyarrow as pa

from scrub.app.selftest_and_demo.fault_ground import Flags, Ground
from scrub.app.selftest_and_demo.key_values import DefectKey
from scrub.app.selftest_and_demo.planted import IndexFault, Planted, entry_added
from scrub.app.selftest_and_demo.table_copy import Edit, with_value
from scrub.catalog.expressions import columns_used
from scrub.model.defect import DefectKind
from scrub.model.table import EntryColumn, Index, Nulls, Table


class DuplicateRow(IndexFault):
    """A row was written twice; a check reports it under the first index that covers it."""

    name = "duplicate row"

    def plant(self, ground: Ground, index: Index) -> Planted:
        suitable = ground.covered(index)
        for earlier in ground.table.indexes:
            if earlier.name == index.name:
                break
            suitable &= ~ground.covered(earlier)
        lack = "a duplicate row is reported once, under an earlier index"
        row = ground.take_row(suitable, lack, doubtful=True)
        expected = ground.defect(DefectKind.DUPLICATE_KEY, index, ground.entry(index, row))
        return Planted(edits=(Edit(index=None, add=ground.row(row)),), expected=(expected,))


class UniqueViolation(IndexFault):
    """Two rows share a unique key, and the indexes faithfully show both."""

    name = "unique key shared by two rows"

    def why_not(self, table: Table, index: Index) -> str | None:
        if not index.unique:
            return "it is not unique"
        return None if _changeable(table, index) else "its key or an expression needs the whole key"

    def plant(self, ground: Ground, index: Index) -> Planted:
        key = [column.name for column in index.key]
        whole = ground.covered_where(index, _without_null(ground.copy.entries[index.name], key))
        row = ground.take_row(whole, "every key holds a NULL")
        changed, value = ground.new_key_value(_changeable(ground.table, index))
        edits = [Edit(index=None, add=with_value(ground.row(row), changed, value))]
        expected: list[DefectKey] = []
        for each in ground.table.indexes:
            if not ground.covered(each)[row]:
                continue
            entry = ground.entry(each, row)
            twin = with_value(entry, changed, value)
            edits.append(Edit(index=each.name, add=twin))
            if _clashes(each, changed, entry):
                kind = DefectKind.UNIQUE_VIOLATION
                expected += [ground.defect(kind, each, entry), ground.defect(kind, each, twin)]
        return Planted(edits=tuple(edits), expected=tuple(expected))


class ExcludedRow(IndexFault):
    """An entry for a row that the index leaves out: its predicate is not true, or a key is NULL."""

    name = "entry of an excluded row"

    def why_not(self, table: Table, index: Index) -> str | None:  # noqa: ARG002
        partial = index.where is not None or index.nulls is Nulls.SKIP
        return None if partial else "it covers every row"

    def plant(self, ground: Ground, index: Index) -> Planted:
        lack = "it leaves out none of these rows"
        row = ground.take_row(ground.excluded(index), lack, doubtful=True)
        entries, values = ground.copy.entries[index.name], ground.row(row)
        arrays = [
            _borrowed(entries, column) if column.is_expression else values.column(column.source)
            for column in index.entry
        ]
        entry = pa.table(arrays, names=[c.name for c in index.entry]).cast(entries.schema)
        return entry_added(ground, index, entry, DefectKind.DANGLING)


def _changeable(table: Table, index: Index) -> list[str]:
    """Primary key columns that another row may differ in, and still have the same index key."""
    needed = {c.source for c in index.key if not c.is_expression}
    for each in table.indexes:
        for text in each.expressions:
            needed |= set(columns_used(text, table.types))
    return [name for name in table.primary_key if name not in needed]


def _clashes(index: Index, changed: str, entry: pa.Table) -> bool:
    key = [column.name for column in index.key]
    is_same = changed not in [c.source for c in index.key if not c.is_expression]
    return index.unique and is_same and bool(_without_null(entry, key)[0])


def _without_null(entries: pa.Table, columns: list[str]) -> Flags:
    valid = np.ones(entries.num_rows, dtype=np.bool_)
    for name in columns:
        valid &= entries.column(name).is_valid().to_numpy()
    return valid


def _borrowed(entries: pa.Table, column: EntryColumn) -> pa.Array | pa.ChunkedArray:
    """Any value will do for an expression: the row has no entry, whatever it says."""
    values = entries.column(column.name)
    return values.slice(0, 1) if len(values) else pa.nulls(1, values.type)
