# SPDX-License-Identifier: Apache-2.0
"""Rows of a PostgreSQL table by primary key, and the entries that they should have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

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
from scrub.stores.postgres.equality import equal, equalities_of
from scrub.stores.postgres.quoting import beside_parameters, identifier
from scrub.stores.postgres.relations import columns_of, find_relation
from scrub.stores.postgres.repairs.index_table import arrays_of, lists_of
from scrub.stores.postgres.repairs.received import received
from scrub.stores.row_entries import columns_believed, mask_of_damaged


class DemandSource(Protocol):
    """Where repairs learn what an index should hold: from rows in columns, or from pairs."""

    def expected(
        self, brief: Brief, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[list[Values]]:
        """For each action, the entries that its rows should have; the rows are locked."""


@dataclass(frozen=True, slots=True)
class RowDemands:
    """The demands of rows in columns, in one schema."""

    schema: str

    def expected(
        self, brief: Brief, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[list[Values]]:
        shape = shape_of(table, index)
        entry = entry_sql(brief.connection, self.schema, table, index)
        keys = to_table([action.primary_key or {} for action in actions], key_columns(table))
        of_rows, entries = entries_due(brief, entry, self.schema, table, shape, keys)
        found: dict[Values, list[Values]] = {}
        outside = mask_of_damaged(entries, _nullable(shape.columns))
        for key, values, is_damaged in zip(of_rows, comparable(entries), outside, strict=True):
            found.setdefault(key, []).append(DAMAGED if is_damaged else values)
        for key in _damaged(brief, self.schema, table, index, keys):
            found[key] = [DAMAGED]
        return [found.get(key, []) for key in comparable(keys)]


def _nullable(columns: Sequence[Column]) -> list[Column]:
    """NULL where it must not be is looked for in the rows themselves."""
    return [replace(column, nullable=True) for column in columns]


def _damaged(brief: Brief, schema: str, table: Table, index: Index, keys: pa.Table) -> list[Values]:
    """Keys of rows with NULL where the catalog says never, in a column that the index uses."""
    relation = find_relation(brief.connection, schema, table.relation)
    described = columns_of(brief.connection, relation)
    unsure = [
        f"r.{identifier(column.name)} IS NULL"
        for column in columns_believed(table, index)
        if not column.nullable and not described[column.name].not_null
    ]
    if not unsure:
        return []
    columns = key_columns(table)
    names = ", ".join(value_in("r", described[column.name], column) for column in columns)
    rows = brief.execute(
        beside_parameters(f"SELECT {names} FROM {relation.sql} AS r WHERE ({' OR '.join(unsure)})")
        + f" AND {among(columns, described, equalities_of(brief.connection, relation.oid))}",
        lists_of(keys),
    ).fetchall()
    return comparable(received(rows, columns))


def entries_due(
    brief: Brief,
    entry: EntrySql,
    schema: str,
    table: Table,
    shape: EntryShape,
    keys: pa.Table,
) -> tuple[list[Values], pa.Table]:
    """The entries that rows of some keys should have, with the key of each; rows are locked."""
    relation = find_relation(brief.connection, schema, table.relation)
    described = columns_of(brief.connection, relation)
    equalities = equalities_of(brief.connection, relation.oid)
    columns = key_columns(table)
    names = [value_in("r", described[c.name], c) for c in columns]
    values = entry_values(entry, shape, described)
    rows = brief.execute(
        beside_parameters(
            f"SELECT {entry.covered}, {', '.join(names + values)} FROM {relation.sql} AS r WHERE "
        )
        + f"{among(columns, described, equalities)} FOR SHARE OF r",
        lists_of(keys),
    ).fetchall()
    width = len(columns)
    covered = [row for row in rows if row[0]]
    of_rows = comparable(received([row[1 : 1 + width] for row in covered], columns))
    return of_rows, received([row[1 + width :] for row in covered], shape.columns)


def among(
    columns: Sequence[Column],
    described: Mapping[str, ServerColumn],
    equalities: Mapping[str, str | None],
) -> str:
    """Rows, called r, that have one of the keys given as lists."""
    arrays, names = arrays_of(columns, described)
    same = beside_parameters(
        " AND ".join(
            equal(
                f"r.{identifier(c.name)}",
                equalities[c.name] or "OPERATOR(pg_catalog.=)",
                f"k.{identifier(c.name)}::{described[c.name].shown}",
            )
            for c in columns
        )
    )
    return f"EXISTS (SELECT FROM unnest({arrays}) AS k({names}) WHERE {same})"


def value_in(alias: str, of: ServerColumn, column: Column) -> str:
    name = identifier(column.name)
    return value_of(of, column.type).replace(name, f"{alias}.{name}", 1)


def entry_values(
    entry: EntrySql, shape: EntryShape, described: dict[str, ServerColumn]
) -> list[str]:
    """What a row puts into each column of its entry."""
    return [
        _entry_value(part.value, described.get(_bare(part.value)), column)
        for part, column in zip(entry.parts, shape.columns, strict=True)
    ]


def _entry_value(value: str, plain: ServerColumn | None, column: Column) -> str:
    """What a row puts into a column of its entry, in the catalog's type."""
    if plain is not None:
        return value_of(plain, column.type)
    return f"({value})::{sql_type(column.type)}"


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def key_columns(table: Table) -> tuple[Column, ...]:
    return tuple(table.column(name) for name in table.primary_key)
