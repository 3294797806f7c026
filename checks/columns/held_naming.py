# SPDX-License-Identifier: Apache-2.0
"""Defects of indexes of which few rows and entries are left to look at, and these are held here."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from checks.columns.damaged_rows import held_damage
from checks.columns.held_join import HeldEntries, differences
from checks.columns.split_sums import rows_that_count
from checks.named_defects import HeldDefect
from checks.numbering import Relation, Slot, relations_of
from checks.registry import INDEX
from checks.scan_spec import entry_type
from scrub.catalog.native_terms import native_value
from scrub.codec.arrow_text import text_of
from scrub.codec.arrow_types import to_arrow
from scrub.codec.predicate import evaluate
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
        expected = _expected(slot, table, rows[table.number])
        actual = _actual(slot, index, rows[index.number])
        yield from differences(expected, actual, slot.table.table, slot.index, slot.number)
        yield from _damaged(slot, table, rows[table.number])


def defects_among_entries(
    slot: Slot, entries: pa.Table, names: Sequence[str]
) -> Iterator[HeldDefect]:
    """The same of entries that a store handed over, with the names of an entry's columns in it."""
    sides = [
        HeldEntries(
            _typed(
                entries.filter(pa.compute.equal(entries.column("expected"), expected)),
                names,
                _types(slot),
            ),
            slot.index,
            _types(slot),
        )
        for expected in (True, False)
    ]
    yield from differences(sides[0], sides[1], slot.table.table, slot.index, slot.number)


def _expected(slot: Slot, relation: Relation, rows: pa.RecordBatch) -> HeldEntries:
    """The entries that rows of the table should have."""
    (spec,) = INDEX.adds_up(relation, frozenset((slot.number,)))
    covered = rows_that_count(spec, rows)
    chosen = rows.filter(pa.array(covered)) if len(covered) else rows
    arrays = []
    for column in slot.index.entry:
        node = native_value(column, slot.table.table)
        assert node is not None, "only what is evaluated natively is held"
        arrays.append(evaluate(node, chosen))
    return _held(slot, arrays)


def _actual(slot: Slot, relation: Relation, rows: pa.RecordBatch) -> HeldEntries:
    """The entries that an index's relation holds."""
    (spec,) = INDEX.adds_up(relation, frozenset((slot.number,)))
    looked_at = rows_that_count(spec, rows)
    chosen = rows.filter(pa.array(looked_at)) if len(looked_at) else rows
    return _held(slot, [chosen.column(column.name) for column in slot.index.entry])


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
