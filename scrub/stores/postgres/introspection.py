# SPDX-License-Identifier: Apache-2.0
"""What a database says of its own tables: keys, constraints and indexes."""

from dataclasses import dataclass

from scrub.stores.postgres.connections import Connection

_TABLES = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition
    ORDER BY c.relname
"""
_KEYS = """
    SELECT o.contype::text, o.conname, pg_get_expr(o.conbin, o.conrelid, true),
           pg_get_constraintdef(o.oid),
           (SELECT array_agg(a.attname::text ORDER BY k.n)
            FROM unnest(o.conkey) WITH ORDINALITY AS k(number, n)
            JOIN pg_attribute a ON a.attrelid = o.conrelid AND a.attnum = k.number),
           f.relname,
           (SELECT array_agg(a.attname::text ORDER BY k.n)
            FROM unnest(o.confkey) WITH ORDINALITY AS k(number, n)
            JOIN pg_attribute a ON a.attrelid = o.confrelid AND a.attnum = k.number),
           o.confmatchtype = 'f',
           -- Older servers do not have these two.
           coalesce((to_jsonb(o) ->> 'conperiod')::boolean, false),
           coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false)
    FROM pg_constraint o
    LEFT JOIN pg_class f ON f.oid = o.confrelid AND f.relnamespace = o.connamespace
    LEFT JOIN pg_index i ON i.indexrelid = o.conindid
    WHERE o.conrelid = %s::regclass AND o.contype IN ('p', 'c', 'f', 'u', 'x')
      -- Not those that the server itself makes, for each partition that is referred to.
      AND NOT (o.contype = 'f' AND o.conparentid <> 0)
    ORDER BY o.conname
"""
_INDEXES = """
    SELECT c.relname, i.indisunique, pg_get_indexdef(i.indexrelid), m.amname,
           i.indisvalid AND i.indisready AND i.indislive,
           -- The columns, if they tell rows apart: whole, never NULL, without a condition.
           CASE WHEN i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
           THEN (SELECT array_agg(a.attname::text ORDER BY p.n)
                 FROM generate_series(1, i.indnkeyatts) AS p(n)
                 JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[p.n - 1]
                 HAVING bool_and(a.attnotnull)) END,
           i.indisreplident
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
    WHERE i.indrelid = %s::regclass ORDER BY c.relname
"""


@dataclass(frozen=True, slots=True)
class DeclaredKey:
    """A constraint of columns that is no CHECK: unique, foreign, or one that excludes rows."""

    name: str
    definition: str
    columns: tuple[str, ...]
    references: str | None = None  # a table of the same schema
    referred: tuple[str, ...] = ()  # its columns
    is_period: bool = False  # ranges must not overlap, or must be covered
    nulls_count: bool = False  # NULLs clash, or must come together, which is not the default


@dataclass(frozen=True, slots=True)
class DeclaredIndex:
    """An index of the database's own."""

    name: str
    unique: bool
    definition: str
    method: str
    is_usable: bool  # valid, and kept up to date
    row_key: list[str] | None  # its columns, if no two rows can share them
    is_identity: bool  # chosen to tell rows apart, by REPLICA IDENTITY


@dataclass(frozen=True, slots=True)
class Declared:
    """All that a table's definition says beyond its columns."""

    primary_key: tuple[str, ...]
    checks: dict[str, str]  # in the database's own SQL
    unique: tuple[DeclaredKey, ...]
    foreign_keys: tuple[DeclaredKey, ...]
    exclusions: tuple[DeclaredKey, ...]
    indexes: tuple[DeclaredIndex, ...]


def tables_of(connection: Connection, schema: str) -> list[str]:
    """Tables and materialized views; partitions belong to their table."""
    return [row[0] for row in connection.execute(_TABLES, (schema,))]


def declared(connection: Connection, relation: str) -> Declared:
    """What is declared of a relation, which is named as SQL does."""
    primary_key: tuple[str, ...] = ()
    checks: dict[str, str] = {}
    keys: dict[str, list[DeclaredKey]] = {"u": [], "f": [], "x": []}
    for row in connection.execute(_KEYS, (relation,)):
        kind, name, text, definition, columns, other, referred, full, is_period, clash = row
        if kind == "p":
            primary_key = tuple(columns)
        elif kind == "c":
            checks[name] = text
        else:
            key = DeclaredKey(
                name=name,
                definition=definition,
                columns=tuple(columns or ()),
                references=other,
                referred=tuple(referred or ()),
                is_period=is_period,
                nulls_count=full if kind == "f" else clash,
            )
            keys[kind].append(key)
    indexes = tuple(
        DeclaredIndex(*row) for row in connection.execute(_INDEXES, (relation,)).fetchall()
    )
    unique, foreign_keys, exclusions = map(tuple, keys.values())
    return Declared(primary_key, checks, unique, foreign_keys, exclusions, indexes)
