# SPDX-License-Identifier: Apache-2.0
"""From an index of the catalog to what SQL says of it: its names, its types, its table's rows."""

import re
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from repair.patch.dialects import Dialect, Postgres, dialect_of_jdbc
from repair.patch.sql import RowSql, SqlColumn, SqlTarget
from scrub.errors import RelationMismatch, UsageError
from scrub.model.index_shape import shape_of
from scrub.model.table import Index, Nulls, Store, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.postgres.quoting import identifier, literal

if TYPE_CHECKING:
    import psycopg

_PLAIN_NAME = re.compile(r'(?:\w+|"(?:[^"]|"")+")(?:\.(?:\w+|"(?:[^"]|"")+"))*')


def sql_target(store: Store, table: Table, index: Index) -> SqlTarget | str:
    """The index as its database knows it, or why no SQL can be written for it."""
    if store.kind == "postgres":
        return _in_postgres(store, table, index)
    if store.kind == "spark" and store.format == "jdbc":
        return _behind_jdbc(store, table, index)
    return "its store has no SQL of its own"


def _in_postgres(store: Store, table: Table, index: Index) -> SqlTarget:
    from scrub.stores.postgres.column_types import value_of
    from scrub.stores.postgres.connections import SEARCH_PATH, connect, conninfo_of
    from scrub.stores.postgres.relations import columns_of, find_relation

    schema = store.schema or "public"
    shape = shape_of(table, index)
    columns, sought = shape.columns, shape.indexed + shape.suffix
    with closing(connect(conninfo_of(store.url, store.options))) as connection:
        relation = find_relation(connection, schema, index.relation)
        described = columns_of(connection, relation)
        if absent := [column.name for column in columns if column.name not in described]:
            raise RelationMismatch(f"{relation.label} has no column {', '.join(absent)}")
        row = None
        if table.store == index.store:
            types = {name: column.shown for name, column in described.items()}
            row = _row_in_postgres(connection, schema, table, index, types)
    return SqlTarget(
        dialect=Postgres(),
        relation=relation.sql,
        columns={
            c.name: SqlColumn(
                identifier(c.name),
                value_of(described[c.name], c.type),
                c.type,
                is_sought=c in sought,
            )
            for c in columns
        },
        row=row,
        # Expressions of rows, and wall clocks that stand for instants, are those of this zone.
        settings=(
            f"SET LOCAL TimeZone = {literal(table.time_zone).strip()}",
            f"SET LOCAL search_path = {SEARCH_PATH}",
        ),
    )


def _row_in_postgres(
    connection: "psycopg.Connection[Any]",
    schema: str,
    table: Table,
    index: Index,
    types: Mapping[str, str],
) -> RowSql:
    """The table's rows; `types` are those of the index's columns, as the server shows them."""
    from scrub.stores.postgres.column_types import value_of
    from scrub.stores.postgres.entry_sql import entry_sql
    from scrub.stores.postgres.relations import columns_of, find_relation

    relation = find_relation(connection, schema, table.relation)
    described = columns_of(connection, relation)
    plain = {
        part.name: SqlColumn(
            identifier(part.source),
            value_of(described[part.source], part.type),
            part.type,
            # What an index of another type holds may be no value of this one at all.
            is_sought=part.source in table.primary_key
            and described[part.source].shown == types[part.name],
        )
        for part in index.entry
        if not part.is_expression and part.type is not None
    }
    of_key = {part.source: plain[part.name] for part in index.entry if part.name in plain}
    key = {name: of_key[name] for name in table.primary_key}
    try:
        entry = entry_sql(connection, schema, table, index)
    except UsageError:
        # Only Spark knows what an expression of the index means: the rest is still worth asking.
        return RowSql(relation=relation.sql, key=key, values=plain, is_exact=False)
    computed = {
        part.name: SqlColumn(made.name, made.value, part.type)
        for part, made in zip(index.entry, entry.parts, strict=True)
        if made.is_computed and part.type is not None
    }
    return RowSql(
        relation=relation.sql,
        key=key,
        values={**plain, **computed},
        conditions=(entry.covered,) if entry.conditions else (),
    )


def _behind_jdbc(store: Store, table: Table, index: Index) -> SqlTarget | str:
    url = {name.lower(): value for name, value in store.options.items()}.get("url", "")
    dialect = dialect_of_jdbc(url)
    if dialect is None:
        return "the SQL of this database is not known here, only PostgreSQL's and Apache Derby's"
    if not _PLAIN_NAME.fullmatch(index.relation):
        return "its relation in the catalog is a query, not the name of a table"
    columns = shape_of(table, index).columns
    row = _row_behind_jdbc(dialect, table, index)
    if row is None and any(column.type.name is TypeName.TIMESTAMP for column in columns):
        # A row in the same database would be compared in the same zone, and not be found.
        return "it is not known whether the database keeps the zone of its times"
    return SqlTarget(
        dialect=dialect,
        relation=index.relation,  # which is SQL already: Spark hands it over as it is
        columns={c.name: _jdbc_column(dialect, c.name, c.type) for c in columns},
        row=row,
    )


def _row_behind_jdbc(dialect: Dialect, table: Table, index: Index) -> RowSql | None:
    if table.store != index.store or not _PLAIN_NAME.fullmatch(table.relation):
        return None
    plain = [part for part in index.entry if not part.is_expression]
    known = {c.name: _jdbc_column(dialect, c.name, c.type) for c in table.columns}
    skipped = index.key if index.nulls is Nulls.SKIP else ()
    return RowSql(
        relation=table.relation,
        key={name: known[name] for name in table.primary_key},
        values={part.name: known[part.source] for part in plain},
        conditions=tuple(
            f"{known[part.source].name} IS NOT NULL" for part in skipped if not part.is_expression
        ),
        is_exact=not index.expressions,
    )


def _jdbc_column(dialect: Dialect, name: str, of_type: ColumnType) -> SqlColumn:
    quoted = identifier(name)
    # Strings of PostgreSQL's citext are equal in any case, and a defect tells one of them.
    is_text = isinstance(dialect, Postgres) and of_type.name is TypeName.STRING
    return SqlColumn(quoted, f"{quoted}::text" if is_text else quoted, of_type)
