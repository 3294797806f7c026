# SPDX-License-Identifier: Apache-2.0
"""Transactions of others that write: who they are, and whether there are any.

Holders of locks on a table may still write as in an earlier state of its build. A transaction that
locks the table after a trigger function was replaced calls the new function. So only transactions
that held a lock at that moment must be waited for, prepared ones included.
"""

from collections.abc import Sequence
from typing import Any

from scrub.stores.building import Blocker
from scrub.stores.postgres.connections import APPLICATION_NAME, Connection
from scrub.stores.postgres.quoting import literal
from scrub.stores.postgres.relations import find_relation, leaves_of

_WRITING = (
    "RowExclusiveLock",
    "ShareRowExclusiveLock",
    "ExclusiveLock",
    "AccessExclusiveLock",
)
_BLOCKERS = """
    SELECT DISTINCT coalesce('prepared ' || x.transactionid::text, l.virtualtransaction),
           l.pid, a.usename, a.application_name, a.state,
           date_trunc('second', clock_timestamp() - a.xact_start)::text,
           p.gid, date_trunc('second', clock_timestamp() - p.prepared)::text
    FROM pg_locks l
    LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    -- A prepared transaction has no session, but it goes on holding the lock on its own number.
    LEFT JOIN pg_locks x
           ON l.pid IS NULL AND x.pid IS NULL AND x.locktype = 'transactionid'
          AND x.mode = 'ExclusiveLock' AND x.virtualtransaction = l.virtualtransaction
    LEFT JOIN pg_prepared_xacts p ON p.transaction = x.transactionid
    WHERE l.locktype = 'relation' AND l.granted AND l.mode = ANY(%s)
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.relation = ANY(%s::oid[]) AND l.pid IS DISTINCT FROM pg_backend_pid()
    ORDER BY 1
"""
# Whoever writes holds a lock on its own transaction, and every role may see that.
OTHERS_WRITE = f"""
    EXISTS (SELECT FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
            WHERE l.locktype = 'transactionid' AND l.granted AND l.pid <> pg_backend_pid()
              AND a.application_name IS DISTINCT FROM {literal(APPLICATION_NAME)})
"""
"""A condition: true at moments when another session than one of ours has written something."""


def writers_of(connection: Connection, schema: str, relation: str) -> list[Blocker]:
    """The transactions that write to a table or to a partition of it now."""
    return blockers_of(connection, numbers_of(connection, schema, relation))


def numbers_of(connection: Connection, schema: str, relation: str) -> list[int]:
    """The numbers of a relation and of all that hold its rows."""
    table = find_relation(connection, schema, relation)
    return [table.oid, *(leaf.oid for leaf in leaves_of(connection, table))]


def blockers_of(connection: Connection, oids: Sequence[int]) -> list[Blocker]:
    """The transactions that write to these relations now."""
    rows = connection.execute(_BLOCKERS, (list(_WRITING), list(oids))).fetchall()
    return [Blocker(identity=row[0], description=_described(row[1:])) for row in rows]


def _described(row: Sequence[Any]) -> str:
    pid, user, application, state, age, prepared, prepared_age = row
    if pid is None:
        since = f", prepared {prepared_age} ago" if prepared_age else ""
        return f"prepared transaction {prepared!r}{since}" if prepared else "a prepared transaction"
    who = f"session {pid}" + (f" of {user}" if user else "")
    if application:
        who += f" ({application})"
    if state is None:
        return f"{who}; what it does is hidden from this role"
    return f"{who}, {state}, its transaction began {age} ago" if age else f"{who}, {state}"
