# SPDX-License-Identifier: Apache-2.0
"""What an index table has beside its entries: triggers, rules, columns, foreign keys to it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.quoting import beside_parameters, identifier, qualified
from scrub.stores.postgres.relations import ServerRelation
from scrub.stores.repairing import Reason

INSERT, UPDATE, DELETE = "INSERT", "UPDATE", "DELETE"
_EVENTS = {4: INSERT, 8: DELETE, 16: UPDATE}

_TREE = """
    SELECT c.oid, c.relkind::text FROM pg_catalog.pg_class c WHERE c.oid = %s
    UNION SELECT c.oid, c.relkind::text FROM pg_catalog.pg_partition_tree(%s) p
    JOIN pg_catalog.pg_class c ON c.oid = p.relid
"""
_TRIGGERS = """
    SELECT t.tgname, n.nspname, c.relname, t.tgtype::int4,
           ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a
                 WHERE a.attrelid = t.tgrelid AND a.attnum = ANY(t.tgattr::int2[]))
    FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE t.tgrelid = ANY(%s::oid[]) AND NOT t.tgisinternal
      AND (t.tgenabled = 'A' OR t.tgenabled = CASE pg_catalog.current_setting(
           'session_replication_role') WHEN 'replica' THEN 'R' ELSE 'O' END::"char")
    ORDER BY t.tgrelid = ANY(%s::oid[]) DESC, t.tgname
"""
_RULES = """
    SELECT r.rulename, r.ev_type::text FROM pg_catalog.pg_rewrite r
    WHERE r.ev_class = ANY(%s::oid[]) AND r.ev_type <> '1' AND r.ev_enabled <> 'D'
"""
_RULE_EVENTS = {"2": UPDATE, "3": INSERT, "4": DELETE}
# A default is known to draw from a sequence by what it depends on, or by the function's name.
_COLUMNS = """
    SELECT a.attname, a.attgenerated <> '', a.attidentity::text,
           a.attnotnull OR t.typnotnull, d.oid IS NOT NULL OR t.typdefault IS NOT NULL,
           a.attidentity <> '' OR coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid),
               t.typdefault, '') ~ '\\m(nextval|setval)\\(',
           (SELECT pg_catalog.format('%%I.%%I', pn.nspname, p.proname)
            FROM pg_catalog.pg_depend e
            JOIN pg_catalog.pg_proc p ON p.oid = e.refobjid AND p.provolatile = 'v'
            JOIN pg_catalog.pg_namespace pn ON pn.oid = p.pronamespace
            WHERE e.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND e.objid = d.oid
              AND e.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass LIMIT 1)
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        AND a.attgenerated = ''
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""
_REFERENCES = """
    SELECT c.conname, n.nspname, r.relname, c.confdeltype::text, c.confupdtype::text,
           pg_catalog.has_table_privilege(c.conrelid, 'SELECT')
               AND NOT pg_catalog.row_security_active(c.conrelid),
           pg_catalog.array_agg(parent.attname::text),
           pg_catalog.string_agg(pg_catalog.format('t.%%I OPERATOR(%%I.%%s) c.%%I',
               parent.attname, o.nspname, p.oprname, child.attname), ' AND ')
    FROM pg_catalog.pg_constraint c
    JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
    CROSS JOIN LATERAL unnest(c.conkey, c.confkey, c.conpfeqop) AS k(child, parent, operator)
    JOIN pg_catalog.pg_attribute child ON child.attrelid = c.conrelid AND child.attnum = k.child
    JOIN pg_catalog.pg_attribute parent ON parent.attrelid = c.confrelid
        AND parent.attnum = k.parent
    JOIN pg_catalog.pg_operator p ON p.oid = k.operator
    JOIN pg_catalog.pg_namespace o ON o.oid = p.oprnamespace
    WHERE c.contype = 'f' AND c.confrelid = ANY(%s::oid[])
    GROUP BY c.oid, c.conname, n.nspname, r.relname, c.confdeltype, c.confupdtype, c.conrelid
    ORDER BY c.conparentid <> 0, c.conname
"""


@dataclass(frozen=True, slots=True)
class Fires:
    """A trigger or a rule."""

    what: str  # trigger log_it on shop.t__by_v
    how_to_disable: str
    events: frozenset[str]
    columns: frozenset[str]  # of an update; empty: all

    def is_fired(self, event: str, written: Collection[str]) -> bool:
        of_columns = event != UPDATE or not self.columns or not self.columns.isdisjoint(written)
        return event in self.events and of_columns


@dataclass(frozen=True, slots=True)
class ColumnBeside:
    """What matters of a column when a row is written."""

    name: str
    is_generated: bool
    identity: str  # "a": always
    not_null: bool
    has_default: bool
    draws: bool  # a number from a sequence
    calls: str | None  # a volatile function of somebody's

    @property
    def is_written_by_others(self) -> bool:
        """Whether an update cannot set it."""
        return self.is_generated or self.identity == "a"


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key that refers to entries."""

    name: str
    child: str  # as people write it
    sql: str
    on_delete: str
    on_update: str
    is_seen: bool  # whether this role sees all rows that refer
    columns: frozenset[str]  # of the index table
    condition: str  # between an entry, called t, and a row that refers, called c

    @property
    def unseen(self) -> Reason:
        return (
            f"foreign key {self.name} of {self.child} refers to this index table, and this role "
            f"may not see all rows of {self.child}",
            f"let the role read {self.child}, or repair with one that can",
        )

    def referring(self, does: str) -> Reason:
        return (
            f"rows of {self.child} refer to this entry by foreign key {self.name}; {does}",
            f"remove or change those rows of {self.child} first",
        )


def tree_of(connection: Connection, relation: ServerRelation) -> dict[int, str]:
    """The kinds of a table and of its partitions, by their numbers."""
    return dict(connection.execute(_TREE, (relation.oid, relation.oid)).fetchall())


def columns_beside(connection: Connection, relation: ServerRelation) -> list[ColumnBeside]:
    return [ColumnBeside(*row) for row in connection.execute(_COLUMNS, (relation.oid,))]


def triggers_of(
    connection: Connection, oids: Sequence[int], relation: ServerRelation
) -> list[Fires]:
    rows = connection.execute(_TRIGGERS, (list(oids), [relation.oid])).fetchall()
    return [
        Fires(
            what=f"trigger {name} on {schema}.{table}",
            how_to_disable=f"ALTER TABLE {qualified(schema, table)} "
            f"DISABLE TRIGGER {identifier(name)}",
            events=frozenset(event for bit, event in _EVENTS.items() if kind & bit),
            columns=frozenset(columns),
        )
        for name, schema, table, kind, columns in rows
    ]


def rules_of(connection: Connection, oids: Sequence[int], relation: ServerRelation) -> list[Fires]:
    return [
        Fires(
            what=f"rule {name} on {relation.label}",
            how_to_disable=f"ALTER TABLE {relation.sql} DISABLE RULE {identifier(name)}",
            events=frozenset({_RULE_EVENTS[event]}),
            columns=frozenset(),
        )
        for name, event in connection.execute(_RULES, (list(oids),))
    ]


def references_to(connection: Connection, oids: Sequence[int]) -> list[Reference]:
    return [
        Reference(
            name=name,
            child=f"{schema}.{table}",
            sql=qualified(schema, table),
            on_delete=on_delete,
            on_update=on_update,
            is_seen=is_seen,
            columns=frozenset(columns),
            condition=condition,
        )
        for name, schema, table, on_delete, on_update, is_seen, columns, condition in (
            connection.execute(_REFERENCES, (list(oids),))
        )
    ]


def referred_places(
    connection: Connection,
    relation: ServerRelation,
    reference: Reference,
    places: Sequence[tuple[int, str]],
) -> set[tuple[int, str]]:
    """Those of some entries' places that rows refer to."""
    rows = connection.execute(
        f"SELECT t.tableoid::bigint, t.ctid::text FROM {beside_parameters(relation.sql)} AS t, "
        "unnest(%s::bigint[], %s::tid[]) AS p(relation, place) "
        "WHERE t.tableoid = p.relation AND t.ctid = p.place AND EXISTS (SELECT FROM "
        + beside_parameters(f"{reference.sql} AS c WHERE {reference.condition})"),
        ([place[0] for place in places], [place[1] for place in places]),
    ).fetchall()
    return {(row[0], row[1]) for row in rows}
