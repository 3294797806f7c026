# SPDX-License-Identifier: Apache-2.0
"""What the server's catalogs say of a relation: its columns, its pages, its partitions."""

from dataclasses import dataclass

from scrub.catalog.spelling import closest, did_you_mean
from scrub.errors import RelationMissing
from scrub.stores.postgres.column_types import ServerColumn
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.quoting import qualified

TABLE, PARTITIONED, VIEW, MATERIALIZED, FOREIGN = "r", "p", "v", "m", "f"
_WITH_PAGES = (TABLE, MATERIALIZED)

_FIND = """
    SELECT c.oid, n.nspname, c.relname, c.relkind::text, c.reltuples::float8,
           EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid),
           has_table_privilege(c.oid, 'SELECT'), row_security_active(c.oid),
           pg_get_userbyid(c.relowner)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
BASE = """
           -- A cast without a function: citext's own, where another could call a stranger's.
           CASE WHEN u.typnamespace = 'pg_catalog'::regnamespace
                  OR u.typname = 'citext' AND EXISTS (
                      SELECT FROM pg_cast WHERE castsource = u.oid
                      AND casttarget = 'text'::regtype AND castmethod = 'b')
                THEN u.typname ELSE u.typnamespace::regnamespace || '.' || u.typname END
"""
"""`ServerColumn.base`, of the type u."""
_COLUMNS = f"""
    SELECT a.attname, {BASE},
           format_type(a.atttypid, a.atttypmod),
           CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END,
           u.typtype = 'e',
           coalesce(l.collisdeterministic, true), a.attnotnull,
           has_column_privilege(a.attrelid, a.attnum, 'SELECT')
    FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid
    JOIN pg_type u ON u.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
    LEFT JOIN pg_collation l ON l.oid = a.attcollation
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""
# Not of texts: an order that changed under a unique index, as with a new libc, lets copies in.
_UNIQUE_KEYS = """
    SELECT array_agg(a.attname::text) FROM pg_index i
    CROSS JOIN unnest(i.indkey::int[]) WITH ORDINALITY AS k(attnum, n)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
    WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indisready AND i.indimmediate
      AND i.indpred IS NULL AND i.indexprs IS NULL AND k.n <= i.indnkeyatts
    GROUP BY i.indexrelid HAVING bool_and(a.attnotnull AND a.attcollation = 0)
"""
_LEAVES = "SELECT relid::oid FROM pg_partition_tree(%s) WHERE isleaf"


@dataclass(frozen=True, slots=True)
class ServerRelation:
    """A relation, or one partition of it: a row of `_FIND`."""

    oid: int
    schema: str
    name: str
    kind: str
    tuples: float  # the planner's estimate; -1 when nobody ever looked
    is_parent: bool  # of partitions, or of tables that inherit
    readable: bool  # all of it, not only some columns
    is_filtered: bool  # policies would hide rows of it from this role
    owner: str

    @property
    def sql(self) -> str:
        return qualified(self.schema, self.name)

    @property
    def label(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def grant_hint(self) -> str:
        """What lets this role read all of it."""
        return f"GRANT SELECT ON {self.sql} TO the role that scrub connects as"

    @property
    def rows(self) -> int | None:
        """The planner's estimate, if there is one."""
        return int(self.tuples) if self.tuples >= 0 else None

    @property
    def has_children(self) -> bool:
        """Whether tables inherit from it, which hold rows of their own."""
        return self.is_parent and self.kind != PARTITIONED

    @property
    def has_pages(self) -> bool:
        """Whether its rows can be divided by where they lie, which only full readers may ask."""
        return self.kind in _WITH_PAGES and not self.has_children and self.readable


def places_of(schema: str, written: str) -> list[tuple[str, str]]:
    """The schema and name that a written name may mean: in this schema first, or in its own."""
    other, dot, rest = written.partition(".")
    return [(schema, written), (other, rest)] if dot else [(schema, written)]


def find_relation(connection: Connection, schema: str, relation: str) -> ServerRelation:
    """The relation of that name in the schema, or of a name that says its schema."""
    for of_schema, name in places_of(schema, relation):
        query = _FIND + " AND n.nspname = %s AND c.relname = %s"
        found = connection.execute(query, (of_schema, name)).fetchone()
        if found:
            return ServerRelation(*found)
    names = [
        row[0]
        for row in connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname = %s ORDER BY 1",
            (schema,),
        )
    ]
    raise RelationMissing(
        f"there is no relation {relation} in schema {schema}",
        hint=did_you_mean(relation, names, "relations"),
        near=closest(relation, names),
    )


def leaves_of(connection: Connection, relation: ServerRelation) -> tuple[ServerRelation, ...]:
    """The relations that hold the rows: the partitions, or the relation itself.

    Whoever may read a partitioned table need not be allowed to read its partitions by name.
    """
    if relation.kind != PARTITIONED:
        return (relation,)
    oids = [row[0] for row in connection.execute(_LEAVES, (relation.oid,))]
    rows = connection.execute(_FIND + " AND c.oid = ANY(%s) ORDER BY c.oid", (oids,)).fetchall()
    leaves = tuple(ServerRelation(*row) for row in rows)
    return leaves if all(leaf.readable for leaf in leaves) else (relation,)


def size_of(connection: Connection, relation: ServerRelation) -> int:
    """Bytes of its rows; waits for whoever locks the relation, so lock it first."""
    if relation.kind not in _WITH_PAGES:
        return 0
    row = connection.execute("SELECT pg_relation_size(%s::oid)", (relation.oid,)).fetchone()
    return int(row[0]) if row and row[0] is not None else 0


def columns_of(connection: Connection, relation: ServerRelation) -> dict[str, ServerColumn]:
    """The columns, in their order."""
    rows = connection.execute(_COLUMNS, (relation.oid,))
    return {row[0]: ServerColumn(*row) for row in rows}


def unique_keys_of(connection: Connection, relation: ServerRelation) -> tuple[frozenset[str], ...]:
    """Columns of which the server lets no two rows have the same values."""
    if relation.has_children:
        return ()  # each of the tables that inherit has an index of its own
    return tuple(frozenset(row[0]) for row in connection.execute(_UNIQUE_KEYS, (relation.oid,)))
