# SPDX-License-Identifier: Apache-2.0
"""The entries that rows of a PostgreSQL table should have in an index."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from scrub.codec.json_values import to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.index_shape import shape_of
from scrub.model.repair import Action
from scrub.model.table import Column, Index, Table
from scrub.stores.entry_states import DAMAGED, Values, comparable
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.column_types import ServerColumn, sql_type, value_of
from scrub.stores.postgres.entry_sql import EntrySql, entry_sql
from scrub.stores.postgres.quoting import bare, identifier
from scrub.stores.postgres.repairs.received import received
from scrub.stores.postgres.repairs.table_rows import TableRows, key_columns
from scrub.stores.row_entries import columns_believed, mask_of_damaged

Demands = Callable[[Brief, str, Table, Index, Sequence[Action]], list[list[Values]]]
"""What repairs of a schema ask: for each action, the entries that its rows should have.

The rows are locked. They are in columns, or pairs of bytes.
"""


def demands_of_rows(
    brief: Brief, schema: str, table: Table, index: Index, actions: Sequence[Action]
) -> list[list[Values]]:
    """What rows in columns demand."""
    rows = TableRows.of(brief, schema, table)
    keys = to_table([action.primary_key or {} for action in actions], key_columns(table))
    of_rows, entries = _due(brief, schema, rows, index, keys)
    found: dict[Values, list[Values]] = {}
    # NULL where it must not be is looked for in the rows themselves.
    nullable = [replace(column, nullable=True) for column in shape_of(table, index).columns]
    outside = mask_of_damaged(entries, nullable)
    for key, values, is_damaged in zip(of_rows, comparable(entries), outside, strict=True):
        found.setdefault(key, []).append(DAMAGED if is_damaged else values)
    for key in _damaged(brief, rows, index, keys):
        found[key] = [DAMAGED]
    return [found.get(key, []) for key in comparable(keys)]


def _damaged(brief: Brief, rows: TableRows, index: Index, keys: pa.Table) -> list[Values]:
    """Keys of rows with NULL where the catalog says never, in a column that the index uses."""
    unsure = [
        f"r.{identifier(column.name)} IS NULL"
        for column in columns_believed(rows.table, index)
        if not column.nullable and not rows.described[column.name].not_null
    ]
    return rows.keys_there(brief, keys, f"({' OR '.join(unsure)})") if unsure else []


def entries_due(brief: Brief, schema: str, table: Table, index: Index, keys: pa.Table) -> pa.Table:
    """The entries that rows of some keys should have; the rows are locked."""
    return _due(brief, schema, TableRows.of(brief, schema, table), index, keys)[1]


def _due(
    brief: Brief, schema: str, rows: TableRows, index: Index, keys: pa.Table
) -> tuple[list[Values], pa.Table]:
    """The same with the key of each."""
    entry = entry_sql(brief.connection, schema, rows.table, index)
    shape, columns = shape_of(rows.table, index), key_columns(rows.table)
    values = [entry.covered, *rows.key, *entry_values(entry, shape, rows.described)]
    found = rows.select(brief, values, keys, locking=" FOR SHARE OF r")
    covered, width = [row for row in found if row[0]], len(columns)
    of_rows = comparable(received([row[1 : 1 + width] for row in covered], columns))
    return of_rows, received([row[1 + width :] for row in covered], shape.columns)


def entry_values(
    entry: EntrySql, shape: EntryShape, described: Mapping[str, ServerColumn]
) -> list[str]:
    """What a row puts into each column of its entry."""
    return [
        _entry_value(part.value, described.get(bare(part.value)), column)
        for part, column in zip(entry.parts, shape.columns, strict=True)
    ]


def _entry_value(value: str, plain: ServerColumn | None, column: Column) -> str:
    """What a row puts into a column of its entry, in the catalog's type."""
    if plain is not None:
        return value_of(plain, column.type)
    return f"({value})::{sql_type(column.type)}"
