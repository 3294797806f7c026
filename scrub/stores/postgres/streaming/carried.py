# SPDX-License-Identifier: Apache-2.0
"""Rows that a stream carries, in the database of the index.

They lie in a temporary table for the length of a commit. Values are copied as texts, so that the
input functions of their types read them, and no cast of somebody else's is called.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scrub.errors import RelationMismatch
from scrub.model.stream.changes import UNCHANGED, Values
from scrub.model.stream.keys import Key
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.quoting import identifier, qualified
from scrub.stores.postgres.relations import find_relation
from scrub.stores.postgres.sources import read_sources

ARRIVED = "pg_temp.scrub_arrived"
_COLLATIONS = """
    SELECT a.attname::text, n.nspname::text, l.collname::text, l.collisdeterministic,
           l.collname = 'default' AND n.nspname = 'pg_catalog'
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
    JOIN pg_catalog.pg_namespace n ON n.oid = l.collnamespace
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
"""


class Arrival(StrEnum):
    """How a row arrived."""

    READ = "r"  # from the history
    CHANGED = "c"
    GONE = "g"  # only its key is known


@dataclass(frozen=True, slots=True)
class CarriedColumn:
    """A column of the table as the database of the index has it."""

    name: str
    type: str  # behind a domain, without a length
    collation: str | None  # None: that of the database


@dataclass(frozen=True, slots=True)
class Carried:
    """The columns that are carried, of which the first are the primary key."""

    columns: tuple[CarriedColumn, ...]
    key_columns: int

    @property
    def key(self) -> tuple[CarriedColumn, ...]:
        return self.columns[: self.key_columns]

    def creating(self) -> str:
        """What makes the table, once in each session."""
        columns = ", ".join(
            f"c{number} {column.type}"
            + (f" COLLATE {column.collation}" if column.collation else "")
            for number, column in enumerate(self.columns)
        )
        return (
            f'CREATE TEMP TABLE IF NOT EXISTS {ARRIVED} (arrival "char", {columns}) '
            "ON COMMIT DELETE ROWS"
        )

    def presented(self, *arrivals: Arrival) -> str:
        """The rows that arrived in these ways, under the names of the table's columns."""
        columns = ", ".join(
            f"x.c{number} AS {identifier(column.name)}"
            for number, column in enumerate(self.columns)
        )
        listed = ", ".join(f"'{arrival}'" for arrival in arrivals)
        return f"(SELECT {columns} FROM {ARRIVED} AS x WHERE x.arrival IN ({listed}))"

    def copy(
        self,
        connection: Connection,
        rows: Iterable[tuple[Arrival, Values]],
    ) -> None:
        """Put rows into the table; of those that are gone, keys are enough."""
        missing = (None,) * (len(self.columns) - self.key_columns)
        with connection.cursor() as cursor, cursor.copy(f"COPY {ARRIVED} FROM STDIN") as copy:
            for arrival, values in rows:
                assert UNCHANGED not in values, "values that were left out are filled in before"
                copy.write_row((arrival, *values, *(missing if arrival is Arrival.GONE else ())))


def key_values(key: Key) -> Values:
    """A key as texts that the input functions of its types read."""
    return tuple(
        ("t" if value else "f") if isinstance(value, bool) else str(value) for value in key
    )


def carried_columns(
    source: Connection, schema: str, relation: str, names: Sequence[str], key_columns: int
) -> Carried:
    """The columns of a table by these names, of which the first so many are the key.

    Refuses keys in which different texts count as equal: a stream tells them apart.
    """
    found = find_relation(source, schema, relation)
    sources = read_sources(source, found).columns
    collations: dict[str, str | None] = {}
    for name, of_schema, collation, is_deterministic, is_default in source.execute(
        _COLLATIONS, (found.oid,)
    ):
        if name in names[:key_columns] and not is_deterministic:
            raise RelationMismatch(
                f"{found.label}.{name} of the primary key has a collation in which different texts "
                "are equal, and a stream tells them apart",
                hint="give the column another collation",
            )
        collations[name] = None if is_default else qualified(of_schema, collation)
    columns = tuple(
        CarriedColumn(name, sources[name].value_type, collations.get(name)) for name in names
    )
    return Carried(columns, key_columns)
