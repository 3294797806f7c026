# SPDX-License-Identifier: Apache-2.0
"""The entries that rows of a table should have, with the meaning of checks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scrub.catalog.expressions import columns_used, translate
from scrub.catalog.native_terms import portable_index
from scrub.codec.arrow_types import to_arrow
from scrub.codec.predicate import evaluate, truth
from scrub.codec.rejected import rejected_rows
from scrub.model.predicate import Node, node_type
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import ColumnType


class RowEntries(Protocol):
    """Makes the entries of one index from rows that were read."""

    @property
    def index(self) -> Index:
        """The index, with the type of every column."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """What must be read of a row."""

    def of(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The rows that have an entry, and the entries, in the same order."""


def columns_for_entries(table: Table, index: Index) -> tuple[Column, ...]:
    """The table's columns that an index's entries are made from."""
    needed = set(table.primary_key)
    needed |= {column.source for column in index.entry if not column.is_expression}
    for text in index.expressions:
        needed |= set(columns_used(text, table.types, index.dialect))
    return tuple(column for column in table.columns if column.name in needed)


def columns_believed(table: Table, index: Index) -> tuple[Column, ...]:
    """The stored columns that entries follow from, each with what its values must be.

    A primary key is never NULL, and what a database computes is as good as what it is made from.
    """
    needed = {column.name: column for column in columns_for_entries(table, index)}
    stored = [column for column in table.columns if column.computed is None]
    for column in needed.values():
        if column.computed is not None:
            names = columns_used(column.computed, [c.name for c in stored], "postgres")
            needed = needed | {name: table.column(name) for name in names}
    return tuple(
        replace(column, nullable=column.nullable and column.name not in table.primary_key)
        for column in stored
        if column.name in needed
    )


def mask_of_damaged(rows: pa.Table, columns: Sequence[Column]) -> npt.NDArray[np.bool_]:
    """Which rows have a value that its column cannot hold: what follows from it is not written."""
    damaged = np.zeros(rows.num_rows, np.bool_)
    for column in columns:
        array = pa.concat_arrays(
            [pa.array([], rows.schema.field(column.name).type), *rows.column(column.name).chunks]
        )
        damaged[rejected_rows(array, column)] = True
    return damaged


def with_evident_types(table: Table, index: Index) -> Index:
    """The index with the type of every expression that means the same in every engine."""
    return with_types_by(index, lambda column: evident_type(column, table))


def evident_type(column: EntryColumn, table: Table) -> ColumnType | None:
    """The type of an expression that means the same in every engine; None for any other."""
    node = translate(column.source, table.types)
    return None if node is None else node_type(node)


def with_types_by(index: Index, type_of: Callable[[EntryColumn], ColumnType | None]) -> Index:
    """The index with the types of those of its columns that have none yet."""

    def typed(column: EntryColumn) -> EntryColumn:
        return column if column.type else replace(column, type=type_of(column))

    return replace(
        index,
        key=tuple(map(typed, index.key)),
        suffix=tuple(map(typed, index.suffix)),
        stored=tuple(map(typed, index.stored)),
    )


def native_row_entries(table: Table, index: Index) -> "NativeRowEntries | None":
    """What makes entries in this process; None where Spark may know other values for some row."""
    found = portable_index(table, index)
    if found is None:
        return None
    columns = columns_for_entries(table, index)
    return NativeRowEntries(index, columns, found.values, found.conditions)


@dataclass(frozen=True, slots=True)
class NativeRowEntries:
    """Evaluates expressions on which every engine agrees."""

    index: Index
    columns: tuple[Column, ...]
    values: tuple[Node, ...]
    conditions: tuple[Node, ...]

    def of(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        schema = pa.schema([(column.name, to_arrow(column.type)) for column in self.columns])
        whole = pa.RecordBatch.from_arrays(
            [
                pa.concat_arrays([pa.array([], field.type), *rows.column(field.name).chunks])
                for field in schema
            ],
            schema=schema,
        )
        covered = whole.filter(pa.array(self.covered(whole)))
        return pa.Table.from_batches([covered]), self.entries(covered)

    def covered(self, batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Which rows have an entry."""
        chosen = np.ones(batch.num_rows, np.bool_)
        for condition in self.conditions:
            chosen &= truth(condition, batch)
        return chosen

    def entries(self, rows: pa.RecordBatch) -> pa.Table:
        """The entries of rows that have one."""
        arrays = []
        for node, column in zip(self.values, self.index.entry, strict=True):
            assert column.type is not None, "types were resolved"
            arrays.append(evaluate(node, rows).cast(to_arrow(column.type)))
        return pa.Table.from_arrays(arrays, [column.name for column in self.index.entry])
