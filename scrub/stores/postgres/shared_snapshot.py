# SPDX-License-Identifier: Apache-2.0
"""One snapshot for all readers, and the locks that keep it true.

A snapshot alone does not survive TRUNCATE or a rewrite of the table: those replace its file at
once, and an old snapshot then sees nothing, or too much. So the transaction that exports the
snapshot holds ACCESS SHARE on every relation that is read, which only those commands wait for.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrub.errors import AccessDenied, StoreUnavailable
from scrub.stores.postgres.connections import (
    PIN_PATH,
    Connection,
    connect,
    only_row,
    require_psycopg,
    safe_message,
)
from scrub.stores.postgres.quoting import literal
from scrub.stores.postgres.relations import MATERIALIZED

if TYPE_CHECKING:
    from scrub.stores.postgres.relations import ServerRelation

BEGIN_READING = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
_HOLDERS = """
    SELECT DISTINCT l.pid, coalesce(nullif(a.application_name, ''), 'unnamed'), a.usename
    FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.relation = %s AND l.granted AND l.mode = 'AccessExclusiveLock'
"""


class SharedSnapshot:
    """The connection whose snapshot everybody reads; it lives as long as the run."""

    def __init__(self, conninfo: str, exported: str | None = None) -> None:
        """Of a session that has exported one, as long as that session keeps it; else a new one."""
        self._conninfo = conninfo
        self.connection: Connection = connect(conninfo)
        self.connection.execute(BEGIN_READING)
        if exported is not None:
            self._take_part_in(exported)
        self._identifier: str | None = None

    @property
    def identifier(self) -> str:
        """What another session gives to SET TRANSACTION SNAPSHOT; fixed by the first look."""
        if self._identifier is None:
            (identifier,) = only_row(self.connection, "SELECT pg_export_snapshot()")
            self._identifier = str(identifier)
        return self._identifier

    def _take_part_in(self, exported: str) -> None:
        psycopg = require_psycopg()
        try:
            self.connection.execute(f"SET TRANSACTION SNAPSHOT {literal(exported)}")
        except psycopg.Error as error:
            self.close()
            reason = safe_message(error, self._conninfo)
            raise StoreUnavailable(f"PostgreSQL: {reason}", hint="run it again") from error

    def cover(self, relations: Sequence["ServerRelation"]) -> None:
        """Lock relations until the end, and make sure that the snapshot is older than no rewrite.

        Locks come before the snapshot where possible. A relation that was locked later must have
        the same file as in the snapshot's view of the catalogs.
        """
        psycopg = require_psycopg()
        for relation in relations:
            try:
                # A savepoint: what one relation refuses must not end the snapshot of the others.
                with self.connection.transaction():
                    self.connection.execute(_locking(relation))
            except psycopg.errors.LockNotAvailable as error:
                raise StoreUnavailable(
                    f"{relation.label} is locked by {self._holders(relation)}, "
                    "so it cannot be read now",
                    hint="try again, or give the store a longer lock_timeout",
                ) from error
            except psycopg.errors.InsufficientPrivilege as error:
                reason = safe_message(error, self._conninfo)
                raise AccessDenied(
                    f"{relation.label}: {reason}", hint=relation.grant_hint
                ) from error
            except psycopg.Error as error:
                reason = safe_message(error, self._conninfo)
                raise StoreUnavailable(f"{relation.label}: {reason}") from error
        assert self.identifier
        for relation in relations:
            self._demand_same_file(relation)

    def _demand_same_file(self, relation: "ServerRelation") -> None:
        row = self.connection.execute(
            "SELECT relfilenode, coalesce(pg_relation_filenode(oid), 0) FROM pg_class "
            "WHERE oid = %s",
            (relation.oid,),
        ).fetchone()
        if row is None or (row[0] != 0 and row[0] != row[1]):
            raise StoreUnavailable(
                f"{relation.label} was rewritten or truncated while the check began",
                hint="run the check again",
            )

    def _holders(self, relation: "ServerRelation") -> str:
        """Who holds the lock; the query and age of others are hidden from ordinary roles."""
        with connect(self._conninfo) as other:
            rows = other.execute(_HOLDERS, (relation.oid,)).fetchall()
        if not rows:
            return "a session that has ended"
        return ", ".join(f"process {pid} ({name}, user {user})" for pid, name, user in rows)

    def close(self) -> None:
        self.connection.close()


def _locking(relation: "ServerRelation") -> str:
    """A statement that takes ACCESS SHARE.

    LOCK TABLE is for roles that read all columns, and not for materialized views.
    """
    if relation.readable and relation.kind != MATERIALIZED:
        return f"LOCK TABLE {relation.sql} IN ACCESS SHARE MODE"
    return f"SELECT FROM {relation.sql} LIMIT 0"


def read_at(identifier: str) -> tuple[str, ...]:
    """The statements that begin a transaction at a shared snapshot, for any driver."""
    return BEGIN_READING, f"SET TRANSACTION SNAPSHOT {literal(identifier)}", PIN_PATH
