# SPDX-License-Identifier: Apache-2.0
"""The tables of indexes that a stream keeps.

An entry is found by the primary key of its row, which is all that some changes tell. So that, and
not the indexed columns, is what the unique index is on: also for an index that is unique, since
between two commits of the table a stream may show one row twice.
"""

from collections.abc import Iterator, Sequence

from scrub.errors import UsageError
from scrub.stores.postgres.building.free_names import demand_free
from scrub.stores.postgres.building.ownership import giving
from scrub.stores.postgres.connections import (
    Connection,
    only_row,
    require_psycopg,
    server_message,
)
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import qualified
from scrub.stores.postgres.streaming.carried import Arrival, Carried

_NUMBER = "SELECT pg_catalog.to_regclass(%s)::oid::bigint"
_MADE = """
    SELECT n.nspname::text, c.relname::text FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = %s AND c.relkind = 'r'
"""


def make_index_tables(
    connection: Connection, carried: Carried, entries: Sequence[EntrySql], owner: str | None
) -> list[int]:
    """Make a table for each index, and return their numbers. Refuses names that are taken."""
    connection.execute(carried.creating())
    numbers = []
    for entry in entries:
        _demand_absent(connection, entry)
        demand_immutable(connection, carried, entry)
        for statement in creating(carried, entry):
            connection.execute(statement)
        if owner is not None:
            for statement in giving(entry, owner):
                connection.execute(statement)
        numbers.append(number_of(connection, entry.relation))
    return [number for number in numbers if number is not None]


def number_of(connection: Connection, relation: str) -> int | None:
    """What the server calls a relation, however it is named; None if it is not there."""
    (number,) = only_row(connection, _NUMBER, (relation,))
    return None if number is None else int(number)


def creating(carried: Carried, entry: EntrySql) -> Iterator[str]:
    """What makes the table of one index."""
    rows = f"{carried.presented(Arrival.READ)} AS r"
    yield f"CREATE TABLE {entry.relation} AS SELECT {entry.typed_values} FROM {rows} WITH NO DATA"
    for part in entry.indexed + entry.suffix:
        if not part.nullable:
            yield f"ALTER TABLE {entry.relation} ALTER COLUMN {part.name} SET NOT NULL"
    yield f"ALTER TABLE {entry.relation} ADD PRIMARY KEY ({', '.join(entry.owner)})"
    looked_up = ", ".join(part.name for part in entry.indexed + entry.suffix)
    yield f"CREATE INDEX ON {entry.relation} ({looked_up})"


def drop_index_table(connection: Connection, number: int) -> bool:
    """Drop a table by its number: another of the same name is somebody else's."""
    row = connection.execute(_MADE, (number,)).fetchone()
    if row is not None:
        connection.execute(f"DROP TABLE {qualified(*row)}")
    return row is not None


def demand_immutable(connection: Connection, carried: Carried, entry: EntrySql) -> None:
    """What an entry holds must follow from its row alone, whenever it is made."""
    if not entry.computed:
        return
    psycopg = require_psycopg()
    with connection.transaction(force_rollback=True):
        rows = f"{carried.presented(Arrival.READ)} AS r"
        connection.execute(f"CREATE TEMP TABLE scrub_trial AS SELECT * FROM {rows} WITH NO DATA")
        for expression in entry.computed:
            try:
                # The server demands the same of its own indexes.
                connection.execute(f"CREATE INDEX ON pg_temp.scrub_trial (({expression} IS NULL))")
            except psycopg.ProgrammingError as error:
                raise UsageError(
                    f"index {entry.index}: the database cannot keep {expression}: "
                    f"{server_message(error)}",
                    hint="use only the row's own values and functions that are IMMUTABLE",
                ) from error


def _demand_absent(connection: Connection, entry: EntrySql) -> None:
    if number_of(connection, entry.relation) is not None:
        raise UsageError(
            f"index {entry.index}: a relation {entry.relation} already exists, which no stream of "
            "this table has made",
            hint=f"rename or drop {entry.relation}, or describe the index by another `relation:`",
        )
    demand_free(connection, entry)
