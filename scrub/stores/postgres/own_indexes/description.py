# SPDX-License-Identifier: Apache-2.0
"""What the server's catalogs say of one of its own indexes: keys, order, collations, state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from scrub.catalog.spelling import closest
from scrub.errors import RelationMismatch
from scrub.model.types import ColumnType
from scrub.stores.postgres.column_types import ServerColumn
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.own_indexes.collations import OutgrownCollation, outgrown_collations
from scrub.stores.postgres.own_indexes.operator_classes import (
    OperatorClass,
    has_hash,
    may_differ_in_spelling,
    operator_classes,
)
from scrub.stores.postgres.quoting import identifier, qualified
from scrub.stores.postgres.relations import BASE, places_of

BTREE = "btree"
_PARTITIONED_INDEX = "I"

# Columns of later versions are looked up by name, so that 14 need not know them.
_FIND = """
    SELECT c.oid, n.nspname, c.relname, c.relkind::text, t.oid, tn.nspname, t.relname,
           m.amname, i.indisunique, i.indisvalid, i.indisready AND i.indislive,
           coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false),
           pg_get_expr(i.indpred, i.indrelid), t.relallvisible,
           coalesce(pg_relation_size(t.oid), 0) / current_setting('block_size')::int,
           has_table_privilege(t.oid, 'SELECT'), current_user
    FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace tn ON tn.oid = t.relnamespace
    JOIN pg_am m ON m.oid = c.relam
"""
_COLUMNS = f"""
    SELECT a.attname, {BASE}, format_type(a.atttypid, a.atttypmod),
           CASE WHEN y.typtype = 'd' THEN y.typtypmod ELSE a.atttypmod END,
           u.typtype = 'e', coalesce(l.collisdeterministic, true),
           a.attnotnull, true,
           i.indkey[p.n - 1] = 0, pg_get_indexdef(i.indexrelid, p.n, false),
           p.n <= i.indnkeyatts, i.indoption[p.n - 1] & 1 = 1, i.indoption[p.n - 1] & 2 = 2,
           l.collname, ln.nspname, l.collversion, pg_collation_actual_version(l.oid),
           y.typcollation <> 0, q.oid
    FROM pg_index i
    CROSS JOIN LATERAL generate_series(1, i.indnatts) AS p(n)
    JOIN pg_attribute a ON a.attrelid = i.indexrelid AND a.attnum = p.n
    JOIN pg_type y ON y.oid = a.atttypid
    JOIN pg_type u ON u.oid = CASE WHEN y.typtype = 'd' THEN y.typbasetype ELSE y.oid END
    LEFT JOIN pg_opclass q ON p.n <= i.indnkeyatts AND q.oid = i.indclass[p.n - 1]
    LEFT JOIN pg_collation l ON p.n <= i.indnkeyatts AND l.oid = i.indcollation[p.n - 1]
    LEFT JOIN pg_namespace ln ON ln.oid = l.collnamespace
    WHERE i.indexrelid = %s ORDER BY p.n
"""
# Plain columns, and those that expressions or the condition mention.
_NEEDED = """
    SELECT a.attname, has_column_privilege(a.attrelid, a.attnum, 'SELECT')
    FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid
    WHERE i.indexrelid = %s AND a.attnum > 0 AND (
        a.attnum = ANY(i.indkey::int2[]) OR EXISTS (
            SELECT FROM pg_depend d
            WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
              AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
              AND d.refobjsubid = a.attnum))
    ORDER BY a.attnum
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexColumn:
    """A column of an index: an indexed one, or one that it only stores."""

    column: ServerColumn
    expression: str  # what a row gives for it, as SQL
    is_expression: bool
    is_key: bool
    descending: bool = False
    nulls_first: bool = False
    collation: str | None = None  # as SQL names it
    order: OperatorClass | None = None  # of a key; an index only stores the others
    is_by_value: bool = False  # whether equal values may differ in their bytes
    has_letters: bool = False  # whether a collation applies to it

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def type(self) -> ColumnType | None:
        return self.column.type


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnIndex:
    """An index that holds entries itself, or stands for those of partitions."""

    oid: int
    schema: str
    name: str
    kind: str
    table_oid: int
    table_schema: str
    table_name: str
    method: str
    is_unique: bool
    is_valid: bool
    is_ready: bool
    nulls_clash: bool  # NULLS NOT DISTINCT
    predicate: str | None
    pages_all_visible: int  # as far as the last VACUUM knew, which may have seen more
    pages: int  # of the table
    is_readable: bool  # the whole table, and so where its rows lie
    role: str
    hidden: tuple[str, ...]  # columns of the table that it needs and this role may not read
    columns: tuple[IndexColumn, ...]
    outgrown: tuple[OutgrownCollation, ...]

    @property
    def sql(self) -> str:
        return qualified(self.schema, self.name)

    @property
    def table_sql(self) -> str:
        return qualified(self.table_schema, self.table_name)

    @property
    def is_partitioned(self) -> bool:
        return self.kind == _PARTITIONED_INDEX

    @property
    def pages_visible(self) -> int:
        """Of the table's pages, those that are visible to everyone."""
        return min(self.pages_all_visible, self.pages)

    @property
    def grant(self) -> str:
        """What lets the role check all of it."""
        return f"GRANT SELECT ON {self.table_sql} TO {identifier(self.role)}"

    @property
    def keys(self) -> tuple[IndexColumn, ...]:
        return tuple(column for column in self.columns if column.is_key)

    @property
    def has_expressions(self) -> bool:
        return any(column.is_expression for column in self.columns)


_ASKED_LATER = ("hidden", "columns", "outgrown")
_FOUND = tuple(field.name for field in fields(OwnIndex) if field.name not in _ASKED_LATER)


def describe_index(connection: Connection, schema: str, name: str) -> OwnIndex:
    """The index of that name in the schema, or of a name that says its schema."""
    for of_schema, of_name in places_of(schema, name):
        query = _FIND + " WHERE n.nspname = %s AND c.relname = %s"
        if found := connection.execute(query, (of_schema, of_name)).fetchone():
            return _described(connection, found)
    raise RelationMismatch(
        f"there is no index {name} in schema {schema}", hint=_hint(connection, schema, name)
    )


def leaf_indexes(connection: Connection, index: OwnIndex) -> tuple[OwnIndex, ...]:
    """The indexes that hold the entries: those of partitions, or the index itself."""
    if not index.is_partitioned:
        return (index,)
    rows = connection.execute(
        _FIND + " JOIN pg_partition_tree(%s) AS tree ON tree.relid = c.oid "
        "WHERE tree.isleaf AND c.relkind = 'i' ORDER BY c.oid",
        (index.oid,),
    ).fetchall()
    return tuple(_described(connection, row) for row in rows)


def _described(connection: Connection, found: Sequence[Any]) -> OwnIndex:
    of_index = dict(zip(_FOUND, found, strict=True))
    needed = connection.execute(_NEEDED, (of_index["oid"],)).fetchall()
    rows = connection.execute(_COLUMNS, (of_index["oid"],)).fetchall()
    classes = operator_classes(connection, [row[-1] for row in rows])
    table = qualified(of_index["table_schema"], of_index["table_name"])
    columns = [_column(row, classes) for row in rows]
    return OwnIndex(
        **of_index,
        hidden=tuple(name for name, may_read in needed if not may_read),
        columns=tuple(
            replace(c, is_by_value=c.is_by_value and has_hash(connection, table, c.expression))
            for c in columns
        ),
        outgrown=outgrown_collations(connection, [row[13:17] for row in rows]),
    )


def _column(row: Sequence[Any], classes: Mapping[int, OperatorClass]) -> IndexColumn:
    column, of_index = ServerColumn(*row[:8]), row[8:]
    is_expression, text, is_key, descending, nulls_first, collation, schema, *of_index = of_index
    _, _, has_letters, of_class = of_index
    return IndexColumn(
        column=column,
        # Without parentheses an expression such as a || b would not stand in front of COLLATE.
        expression=f"({text})" if is_expression else text,
        is_expression=is_expression,
        is_key=is_key,
        descending=bool(descending),
        nulls_first=bool(nulls_first),
        collation=qualified(schema, collation) if collation else None,
        order=classes.get(of_class),
        is_by_value=may_differ_in_spelling(classes.get(of_class), column.base),
        has_letters=has_letters,
    )


def _hint(connection: Connection, schema: str, name: str) -> str | None:
    names = [
        row[0]
        for row in connection.execute(
            "SELECT indexname FROM pg_indexes WHERE schemaname = %s ORDER BY 1", (schema,)
        )
    ]
    close = closest(name, names)
    return f"did you mean {close}?" if close else None
