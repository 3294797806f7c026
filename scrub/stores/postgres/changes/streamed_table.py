# SPDX-License-Identifier: Apache-2.0
"""The table whose changes are wanted, as it is when a stream is opened."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrub.errors import RelationMismatch
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.relations import find_relation

_TYPES = """
    SELECT attname::text, atttypid::bigint FROM pg_catalog.pg_attribute
    WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
"""


@dataclass(frozen=True, slots=True)
class WantedColumn:
    """A column that a stream carries, with the type that it has when the stream is opened."""

    name: str
    type_oid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedTable:
    """A table, the columns of it that a stream carries, and its primary key."""

    oid: int
    label: str
    sql: str
    columns: tuple[WantedColumn, ...]
    primary_key: tuple[str, ...]

    @property
    def key_columns(self) -> tuple[WantedColumn, ...]:
        by_name = {column.name: column for column in self.columns}
        return tuple(by_name[name] for name in self.primary_key)


def describe_table(
    connection: Connection,
    schema: str,
    relation: str,
    columns: Sequence[str],
    primary_key: Sequence[str],
) -> StreamedTable:
    """Look up a table; the columns of its key are carried, too. Raises RelationMismatch."""
    found = find_relation(connection, schema, relation)
    types = {str(name): int(oid) for name, oid in connection.execute(_TYPES, (found.oid,))}
    names = tuple(dict.fromkeys((*primary_key, *columns)))
    absent = [name for name in names if name not in types]
    if absent:
        raise RelationMismatch(
            f"{found.label} has no column {', '.join(absent)}",
            hint="correct the columns in the catalog",
        )
    return StreamedTable(
        oid=found.oid,
        label=found.label,
        sql=found.sql,
        columns=tuple(WantedColumn(name, types[name]) for name in names),
        primary_key=tuple(primary_key),
    )
