# SPDX-License-Identifier: Apache-2.0
"""Beginning a build: everything it needs is made in one transaction, or nothing is."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrub.errors import RelationMismatch, UsageError
from scrub.model.build import Method, State, duties_in
from scrub.model.command_line import backfill_line
from scrub.model.table import Index, Table
from scrub.stores.postgres.briefly import Brief, briefly, patience
from scrub.stores.postgres.building.builds import Builds
from scrub.stores.postgres.building.free_names import demand_free
from scrub.stores.postgres.building.functions import making
from scrub.stores.postgres.building.ownership import demand_able, giving, owner_of
from scrub.stores.postgres.building.relations_made import creating
from scrub.stores.postgres.building.triggers import creating_triggers
from scrub.stores.postgres.connections import (
    PIN_PATH_LOCALLY,
    SEE_ALL_ROWS,
    Connection,
    require_psycopg,
    server_message,
)
from scrub.stores.postgres.entry_sql import EntrySql, entry_sql
from scrub.stores.postgres.quoting import identifier, qualified
from scrub.stores.postgres.relations import (
    PARTITIONED,
    TABLE,
    ServerRelation,
    find_relation,
    leaves_of,
    size_of,
)

_BYTES_PER_ROW_GUESSED = 100
_SECONDS_UNSEEN = 60.0  # for relations that nobody else knows of yet
_ORDERED = """
    SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_am m ON m.oid = c.relam
    WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
      AND m.amname = 'btree' AND i.indnkeyatts = %s
      AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = i.indrelid
                      AND a.attname = ANY(%s) AND NOT a.attnotnull)
      AND (SELECT array_agg(a.attname::text ORDER BY k.n)
           FROM unnest(i.indkey::int[]) WITH ORDINALITY AS k(attnum, n)
           JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
           WHERE k.n <= i.indnkeyatts) = %s::text[]
"""
_OF_OTHERS = """
    SELECT current_user, relname FROM pg_class
    WHERE oid = ANY(%s) AND NOT pg_has_role(relowner, 'USAGE') ORDER BY relname LIMIT 1
"""


def entries_of(
    connection: Connection, schema: str, table: Table, indexes: Sequence[Index]
) -> tuple[EntrySql, ...]:
    """The indexes in the server's words; raises what cannot be built, and why."""
    relation = find_relation(connection, schema, table.relation)
    _demand_buildable(connection, relation, table)
    return tuple(entry_sql(connection, schema, table, index) for index in indexes)


@dataclass(frozen=True, slots=True)
class NewBuild:
    """A build that is to begin."""

    schema: str
    owner: str | None  # of all that is made; that of the table, unless another is named
    table: Table
    method: Method
    entries: tuple[EntrySql, ...]

    def relation(self, connection: Connection) -> ServerRelation:
        return find_relation(connection, self.schema, self.table.relation)


def begin(connection: Connection, new: NewBuild, rows_per_second: int | None) -> int:
    """Make relations, functions and triggers, and record the build. Raises GaveWay.

    All of it, but not the record, belongs to the owner.
    """
    builds = Builds(new.schema)
    relation = new.relation(connection)
    leaves = leaves_of(connection, relation)
    patient = patience(connection)
    with briefly(connection, _SECONDS_UNSEEN) as brief:
        brief.execute(f"SET LOCAL lock_timeout = {int(patient * 1000)}")
        builds.create(connection)
        _make(brief, relation, new)
        brief.live(patient)
        brief.keep_writers_out(relation.sql)  # last, and briefly
        for entry in new.entries:
            for statement in creating_triggers(entry, relation, leaves):
                brief.execute(statement)
        names = [entry.index for entry in new.entries]
        expected = _rows_expected(connection, leaves)
        return builds.add(connection, new.table.name, names, new.method, expected, rows_per_second)


def rehearse(connection: Connection, new: NewBuild) -> None:
    """Refuse what `begin` would: all but triggers is made, and taken back at once."""
    relation = new.relation(connection)
    with connection.transaction(force_rollback=True):
        _make(Brief(connection), relation, new)


def _make(brief: Brief, relation: ServerRelation, new: NewBuild) -> None:
    """Relations and functions, which nobody else knows of yet."""
    duties = duties_in(new.method, State.DELETE_ONLY)
    owner = new.owner or owner_of(brief.connection, relation.oid)
    demand_able(brief.connection, owner, relation, new.schema)
    version = brief.connection.info.server_version
    brief.execute(PIN_PATH_LOCALLY)
    for entry in new.entries:
        _demand_absent(brief.connection, new.table, entry)
        _demand_immutable(brief, entry)
        for statement in creating(entry, version, new.method):
            brief.execute(statement)
        for statement in making(entry, duties, anew=True):
            brief.execute(statement)
    leaves = leaves_of(brief.connection, relation)
    _demand_owned(brief.connection, new.schema, new.table, [relation, *leaves])
    for entry in new.entries:
        for statement in giving(entry, owner, entry.helpers):
            brief.execute(statement)


def rights_needed(schema: str, table: Table) -> str:
    """Who can build indexes of a table."""
    return (
        f"connect as the owner of {table.relation}, who may also create tables and functions in "
        f"schema {schema}"
    )


def _demand_owned(
    connection: Connection, schema: str, table: Table, relations: Sequence[ServerRelation]
) -> None:
    """Triggers that fire always, whoever writes, are for owners to create."""
    row = connection.execute(_OF_OTHERS, ([relation.oid for relation in relations],)).fetchone()
    if row is not None:
        role, name = row
        raise UsageError(
            f"PostgreSQL: the role {role} does not own {name}", hint=rights_needed(schema, table)
        )


def _demand_buildable(connection: Connection, relation: ServerRelation, table: Table) -> None:
    if relation.kind not in (TABLE, PARTITIONED):
        raise RelationMismatch(f"{relation.label} is not a table, so no index can be kept on it")
    if relation.is_filtered:
        raise RelationMismatch(
            f"{relation.label}: row security hides rows from this role, so an index of all rows "
            "cannot be built",
            hint=SEE_ALL_ROWS,
        )
    if relation.has_children:
        raise RelationMismatch(
            f"{relation.label} has tables that inherit from it, whose rows no trigger of it sees",
            hint="build the index on each of them, or partition the table instead",
        )
    keys = table.primary_key
    row = connection.execute(_ORDERED, (relation.oid, len(keys), list(keys), list(keys))).fetchone()
    if row is None:
        named = ", ".join(identifier(name) for name in keys)
        raise RelationMismatch(
            f"{relation.label} has no unique index on ({', '.join(keys)}), without NULLs, by which "
            "it could be read in order",
            hint=f"CREATE UNIQUE INDEX CONCURRENTLY ON {relation.sql} ({named}), and declare its "
            "columns NOT NULL",
        )


def _demand_absent(connection: Connection, table: Table, entry: EntrySql) -> None:
    """Refuse to build where something is already."""
    row = connection.execute("SELECT to_regclass(%s)", (entry.relation,)).fetchone()
    if row is None or row[0] is None:
        return demand_free(connection, entry)
    verify = backfill_line("verify", table, entry.index)
    if _is_built(connection, table, entry):
        drop = backfill_line("drop", table, entry.index, "--execute")
        raise UsageError(
            f"index {entry.index} of table {table.name} is already built and public",
            hint=f"check it with: {verify}; to rebuild it, first remove it with: {drop}",
        )
    raise UsageError(
        f"index {entry.index}: a relation {entry.relation} already exists",
        hint=f"if it is this index, check it with: {verify}; else rename or drop {entry.relation}",
    )


def _is_built(connection: Connection, table: Table, entry: EntrySql) -> bool:
    builds = Builds(entry.schema).of_table(connection, table.name)
    return any(of.indexes == (entry.index,) and of.state is State.PUBLIC for of in builds)


def _demand_immutable(brief: Brief, entry: EntrySql) -> None:
    """What writers compute must be what the builder computes, so the row alone may decide."""
    if not entry.computed:
        return
    psycopg = require_psycopg()
    trial = qualified(entry.schema, entry.name_with("trial"))
    brief.execute(f"CREATE TABLE {trial} AS SELECT * FROM {entry.table} WITH NO DATA")
    for expression in entry.computed:
        try:
            # The server demands the same of its own indexes.
            brief.execute(f"CREATE INDEX ON {trial} (({expression} IS NULL))")
        except psycopg.ProgrammingError as error:
            raise UsageError(
                f"index {entry.index}: the database cannot keep {expression}: "
                f"{server_message(error)}",
                hint="use only the row's own values and functions that are IMMUTABLE, and write "
                "those that are not in pg_catalog with the name of their schema; what depends on "
                "the time zone must name it: (at AT TIME ZONE 'Europe/Berlin')::date",
            ) from error
    brief.execute(f"DROP TABLE {trial}")


def _rows_expected(connection: Connection, leaves: Sequence[ServerRelation]) -> int:
    """The planner's estimate, or what the size suggests."""
    return sum(
        size_of(connection, leaf) // _BYTES_PER_ROW_GUESSED if leaf.rows is None else leaf.rows
        for leaf in leaves
    )
