# SPDX-License-Identifier: Apache-2.0
"""Defects of indexes of which few rows and entries are left to look at, and these are held here."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checks.columns.damaged_rows import DAMAGED, held_damage
from checks.columns.held_join import ChosenRows, HeldEntries, differences, keys_of
from checks.named_defects import HeldDefect, NamedDefects
from checks.numbering import Relation, Slot, relations_of
from checks.scan_spec import entry_type
from checks.specs import rows_looked_at
from scrub.catalog.native_terms import native_condition, native_conditions, native_value
from scrub.codec.arrow_text import text_of
from scrub.codec.arrow_types import to_arrow
from scrub.codec.predicate import evaluate, truth
from scrub.model.defect import DefectKind
from scrub.model.predicate import Node
from scrub.model.relation import SplitKind
from scrub.model.table import Column
from scrub.model.types import ColumnType
from scrub.stores.row_entries import columns_believed, mask_of_damaged

Rows = Mapping[int, pa.RecordBatch]  # by relation


def defects_among_rows(
    slots: Sequence[Slot], relations: Sequence[Relation], rows: Rows
) -> Iterator[HeldDefect]:
    """What is wrong with each index, and the rows that prove nothing about it."""
    for slot in slots:
        table, index = relations_of(slot, relations)
        of_table = rows[table.number]
        # Where rows are chosen, those with the same primary key as a chosen one count as well.
        expected = _expected(slot, of_table, slot.where_of_entries)
        actual = _actual(slot, rows[index.number])
        chosen = _chosen(slot, table, of_table) if slot.plan.by_rows else None
        yield from differences(expected, actual, slot.table.table, slot.index, slot.number, chosen)
        yield from _damaged(slot, table, of_table)


def depends_on_others(slot: Slot, found: NamedDefects) -> bool:
    """Whether a row with the same primary key that is not chosen could explain what was found.

    An entry that is not there is missing whatever other rows there are.
    """
    certain = (DefectKind.MISSING, DAMAGED)
    of_slot = (row for row in found.held or () if row["slot"] == slot.number)
    return slot.plan.by_rows and any(row["kind"] not in certain for row in of_slot)


def defects_among_entries(
    slot: Slot, entries: pa.Table, names: Sequence[str]
) -> Iterator[HeldDefect]:
    """The same of entries that a store handed over, with the names of an entry's columns in it.

    Whether they are `expected` is NULL for those of rows that `--where` does not choose.
    """

    def side(flags: pa.ChunkedArray) -> HeldEntries:
        return HeldEntries(
            _typed(entries.filter(flags), names, _types(slot)), slot.index, _types(slot)
        )

    is_expected = entries.column("expected")
    actual = side(pc.invert(is_expected).fill_null(False))
    expected = side(is_expected.fill_null(True))
    chosen = ChosenRows(side(is_expected.fill_null(False)), None) if slot.plan.by_rows else None
    yield from differences(expected, actual, slot.table.table, slot.index, slot.number, chosen)


def _expected(slot: Slot, rows: pa.RecordBatch, where: str | None) -> HeldEntries:
    """The entries that rows of the table should have."""
    table = slot.table.table
    conditions = native_conditions(slot.index, table, where)
    assert conditions is not None, "only what is evaluated natively is held"
    covered = _fulfilling(rows, conditions)
    arrays = []
    for column in slot.index.entry:
        node = native_value(column, table)
        assert node is not None, "only what is evaluated natively is held"
        arrays.append(evaluate(node, covered))
    return _held(slot, arrays)


def _actual(slot: Slot, rows: pa.RecordBatch) -> HeldEntries:
    """The entries that an index's relation holds."""
    where, table = slot.where_of_entries, slot.table.table
    condition = native_condition(where, table) if where else None
    looked_at = _fulfilling(rows, () if condition is None else (condition,))
    return _held(slot, [looked_at.column(column.name) for column in slot.index.entry])


def _chosen(slot: Slot, relation: Relation, rows: pa.RecordBatch) -> ChosenRows:
    """The entries of rows that `--where` chooses, and the primary keys of all these rows."""
    table = slot.table.table
    chosen = _fulfilling(rows, rows_looked_at(relation.table).conditions)
    columns = [chosen.column(name) for name in table.primary_key]
    return ChosenRows(_expected(slot, chosen, None), keys_of(columns))


def _fulfilling(rows: pa.RecordBatch, conditions: Sequence[Node]) -> pa.RecordBatch:
    """The rows that fulfil all conditions."""
    for condition in conditions:
        rows = rows.filter(pa.array(truth(condition, rows)))
    return rows


def _held(slot: Slot, arrays: Sequence[pa.Array]) -> HeldEntries:
    names = [str(number) for number in range(len(arrays))]
    table = pa.Table.from_arrays(list(arrays), names)
    return HeldEntries(_typed(table, names, _types(slot)), slot.index, _types(slot))


def _types(slot: Slot) -> list[ColumnType]:
    return [entry_type(column) for column in slot.index.entry]


def _typed(entries: pa.Table, names: Sequence[str], types: Sequence[ColumnType]) -> pa.Table:
    """Some columns in order, in the catalog's types."""
    columns = []
    for name, of_type in zip(names, types, strict=True):
        column = entries.column(name)
        wanted = to_arrow(of_type)
        columns.append(column if column.type == wanted else column.cast(wanted))
    return pa.Table.from_arrays(columns, [str(number) for number in range(len(columns))])


def _damaged(slot: Slot, relation: Relation, rows: pa.RecordBatch) -> Iterator[HeldDefect]:
    """Rows with a value that its column cannot hold, whatever `--where` says of them."""
    table = slot.table.table
    believed = columns_believed(table, slot.index)
    columns = [column for column in believed if column.name in relation.side.columns]
    rejected = _rejected(columns, relation, rows)
    if not rejected.any():
        return
    of_key = [column for column in columns if column.name in table.primary_key]
    key_rejected = _rejected(of_key, relation, rows)
    for row in np.flatnonzero(rejected).tolist():
        texts = [
            text_of(rows.column(name)[row], table.column(name).type) for name in table.primary_key
        ]
        yield held_damage(slot.number, texts, of_key=bool(key_rejected[row]))


def _rejected(
    columns: Sequence[Column], relation: Relation, rows: pa.RecordBatch
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """A server's values are what they are declared to be, but the catalog may know more of NULL."""
    if all(split.kind is not SplitKind.POSTGRES for split in relation.side.facts.splits):
        return mask_of_damaged(pa.Table.from_batches([rows]), columns)
    flags = np.zeros(rows.num_rows, np.bool_)
    for column in columns:
        if not column.nullable:
            flags |= rows.column(column.name).is_null().to_numpy(zero_copy_only=False)
    return flags
