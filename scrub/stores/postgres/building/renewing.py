# SPDX-License-Identifier: Apache-2.0
"""Making the functions of a public index anew, from the catalog as it is now.

For functions of earlier versions, for a table that was restored, and for columns that were renamed:
then the columns of the index table are renamed with them, while writers are kept out for a moment.
"""

from collections.abc import Iterator
from pathlib import Path

from scrub.errors import UsageError
from scrub.model.build import Duties, Duty
from scrub.stores.postgres.briefly import briefly, patience
from scrub.stores.postgres.building.firing import build_again, note_in
from scrub.stores.postgres.building.functions import making
from scrub.stores.postgres.building.ownership import demand_able, giving, owner_of
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import identifier
from scrub.stores.postgres.relations import ServerRelation, columns_of, find_relation

_SOURCE = """
    SELECT p.prosrc FROM pg_catalog.pg_proc p
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = %s AND p.proname = %s AND p.pronargs = 0
"""


def renew(
    connection: Connection,
    relation: ServerRelation,
    entry: EntrySql,
    owner: str | None = None,
    catalog: Path | None = None,
) -> None:
    """Replace both functions, close them to others, and give them to the owner."""
    owner = owner or owner_of(connection, relation.oid)
    renames = demand_renewable(connection, relation, entry, owner, catalog)
    with briefly(connection, patience(connection)) as brief:
        if renames:
            # No writer may be in the middle of a function that knows the old names.
            brief.keep_writers_out(relation.sql)
        for old, new in renames:
            brief.execute(f"ALTER TABLE {entry.relation} RENAME COLUMN {old} TO {new}")
        for statement in (*making(entry, Duties(Duty.ENFORCE)), *giving(entry, owner)):
            brief.execute(statement)


def demand_renewable(
    connection: Connection,
    relation: ServerRelation,
    entry: EntrySql,
    owner: str | None,
    catalog: Path | None = None,
) -> tuple[tuple[str, str], ...]:
    """Columns of the index table to be renamed, as columns of the table were; changes nothing.

    Refuses an index table that does not have what the catalog says it has.
    """
    demand_able(connection, owner or owner_of(connection, relation.oid), relation, entry.schema)
    held = columns_of(connection, find_relation(connection, entry.schema, entry.relation_name))
    absent = {name for name in entry.names if name not in map(identifier, held)}
    renames = tuple((old, new) for old, new in _followed(connection, entry) if new in absent)
    if missing := absent - {new for _, new in renames}:
        raise UsageError(
            f"index {entry.index}: {entry.relation} has no column {', '.join(sorted(missing))}",
            hint=f"correct the catalog, or {build_again(entry, catalog)}",
        )
    return renames


def _followed(connection: Connection, entry: EntrySql) -> Iterator[tuple[str, str]]:
    """How each column of the index table was called, and is to be called."""
    row = connection.execute(_SOURCE, (entry.schema, entry.name_with("keep"))).fetchone()
    note = None if row is None else note_in(row[0])
    if note is None or note["table"][0] != entry.table_number:
        return
    before = {identifier(name): number for name, number, _ in note["columns"]}
    now = {identifier(of.name): of.number for of in entry.sources}
    for (old, old_value), part in zip(note["entry"], entry.parts, strict=False):
        if old_value in before and before[old_value] == now.get(part.value):
            yield old, part.name
