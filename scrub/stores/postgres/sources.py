# SPDX-License-Identifier: Apache-2.0
"""The columns of a table as entries are made of them: numbers, types, and operators by schema."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from scrub.errors import RelationMismatch
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.entry_parts import KeyColumn, SourceColumn
from scrub.stores.postgres.equality import ABOVE, AT_LEAST, UP_TO, equalities_of, operators_of
from scrub.stores.postgres.quoting import identifier
from scrub.stores.postgres.relations import ServerRelation

_ORDERS = (ABOVE, AT_LEAST, UP_TO)

# Types of others with their schema, whatever the path; and none with the length that it has here.
TYPE_SHOWN = """
    CASE WHEN n.nspname = 'pg_catalog' THEN pg_catalog.format_type(t.oid, -1)
         ELSE pg_catalog.format('%%I.%%I', n.nspname, t.typname) END
"""
_COLUMNS = f"""
    WITH RECURSIVE behind(number, depth, type) AS (
        SELECT a.attnum, 0, a.atttypid FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT b.number, b.depth + 1, t.typbasetype FROM behind b
        JOIN pg_catalog.pg_type t ON t.oid = b.type WHERE t.typtype = 'd'
    ), shown(number, depth, type) AS (
        SELECT b.number, b.depth, {TYPE_SHOWN} FROM behind b
        JOIN pg_catalog.pg_type t ON t.oid = b.type
        JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
    )
    SELECT a.attname, a.attnum, a.atttypid, own.type,
           (SELECT s.type FROM shown s WHERE s.number = a.attnum ORDER BY s.depth DESC LIMIT 1)
    FROM shown own
    JOIN pg_catalog.pg_attribute a ON a.attrelid = %s AND a.attnum = own.number
    WHERE own.depth = 0 ORDER BY a.attnum
"""


@dataclass(frozen=True, slots=True)
class Sources:
    """What a build must know of the table's columns."""

    relation: ServerRelation
    columns: Mapping[str, SourceColumn]
    equalities: Mapping[str, str | None]
    orders: Sequence[Mapping[str, str | None]]  # for each of _ORDERS

    def needed(self, names: Set[str]) -> tuple[SourceColumn, ...]:
        return tuple(column for name, column in self.columns.items() if name in names)

    def equality(self, name: str, index: str) -> str:
        """How its values are equal, as a unique index sees it."""
        found = self.equalities[name]
        if found is None:
            raise RelationMismatch(
                f"index {index}: {self.relation.label}.{name} is of type "
                f"{self.columns[name].type}, which has no order, so no unique index can "
                "distinguish its values",
                hint="leave the column out of the index, or index an expression of it, such as "
                "its text",
            )
        return found

    def key(self, name: str) -> KeyColumn:
        """A column of the primary key; there is a unique index on it, so its type has an order."""
        equality = self.equality(name, "of the primary key")
        # Whoever has one operator of a class has them all.
        orders = [operators[name] or equality for operators in self.orders]
        return KeyColumn(identifier(name), self.columns[name].value_type, equality, *orders)


def read_sources(connection: Connection, relation: ServerRelation) -> Sources:
    rows = connection.execute(_COLUMNS, (relation.oid, relation.oid)).fetchall()
    return Sources(
        relation=relation,
        columns={row[0]: SourceColumn(*row) for row in rows},
        equalities=equalities_of(connection, relation.oid),
        orders=[operators_of(connection, relation.oid, order) for order in _ORDERS],
    )
