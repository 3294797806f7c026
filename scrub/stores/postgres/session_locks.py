# SPDX-License-Identifier: Apache-2.0
"""Locks on names, held by a session and gone with it: a dead process holds nobody up."""

from scrub.stores.postgres.connections import Connection

_TRY = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
_HOLDER = """
    SELECT a.pid, a.usename, date_trunc('second', a.backend_start)::text
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(%s, 0)
"""


def try_lock(connection: Connection, name: str) -> bool:
    """Whether the name is this session's now."""
    row = connection.execute(_TRY, (name,)).fetchone()
    return row is not None and bool(row[0])


def holder_of(connection: Connection, name: str) -> str | None:
    """The session that holds a name, for people; None if nobody does."""
    row = connection.execute(_HOLDER, (name,)).fetchone()
    return f"session {row[0]} of {row[1]}, since {row[2]}" if row else None


def unlock_all(connection: Connection) -> None:
    connection.execute("SELECT pg_advisory_unlock_all()")
