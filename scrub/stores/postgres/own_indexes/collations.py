# SPDX-License-Identifier: Apache-2.0
"""Collations that have changed since an index was built."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.quoting import identifier, qualified

_WITH_DATABASE_VERSION = 150000  # older servers do not know which one their default collation had
_OF_DATABASE = """
    SELECT datcollversion, pg_database_collation_actual_version(oid)
    FROM pg_database WHERE datname = current_database()
"""


@dataclass(frozen=True, slots=True)
class OutgrownCollation:
    """A collation whose version is not the recorded one, and the statement to refresh it."""

    told: str
    refresh: str


def outgrown_collations(
    connection: Connection, rows: Sequence[Sequence[Any]]
) -> tuple[OutgrownCollation, ...]:
    """Collations of another version than the one that was recorded when they came.

    Each is given as its name, its schema, and both versions.
    """
    found: list[OutgrownCollation] = []
    for collation, schema, *versions in rows:
        recorded, actual = versions
        if collation == "default":
            recorded, actual = _of_database(connection)
            refresh = (
                f"ALTER DATABASE {identifier(connection.info.dbname)} REFRESH COLLATION VERSION"
            )
        elif collation:
            refresh = f"ALTER COLLATION {qualified(schema, collation)} REFRESH VERSION"
        if recorded and actual and recorded != actual:
            told = f"collation {collation} was of version {recorded} and now is of {actual}"
            found.append(OutgrownCollation(told, refresh))
    return tuple(dict.fromkeys(found))


def _of_database(connection: Connection) -> tuple[str | None, str | None]:
    if connection.info.server_version < _WITH_DATABASE_VERSION:
        return None, None
    row = connection.execute(_OF_DATABASE).fetchone()
    return (row[0], row[1]) if row else (None, None)
