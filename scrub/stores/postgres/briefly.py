# SPDX-License-Identifier: Apache-2.0
"""Transactions that give way: over before the server looks for deadlocks.

A writer that waits for the builder looks for a deadlock after `deadlock_timeout`, and is the one
who fails if there is one. So no transaction of the builder lives that long: its statements share
less time than that, and when the time is up the builder takes back what it did and tries less.
What cannot be divided, or seldom has anybody wait for it, may take longer: until somebody does.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from scrub.stores.building import GaveWay
from scrub.stores.postgres.connections import Connection, only_row, require_psycopg, server_message

_SHARE_OF_DEADLOCK_TIMEOUT = 0.7
_LOOK_SECONDS = 0.1
_LOCK_MILLISECONDS = 200
_CANCEL_SECONDS = 5.0
_EXCLUSIVE_MILLISECONDS = 100  # in which to get a lock that keeps writers out
UNHURRIED_PATIENCE_MIN = 0.5
"""With less, a writer could be the victim of a deadlock before anybody has seen it wait."""

# Whoever waits to make a relation larger waits for a moment, not for a transaction.
_WAITED_FOR = """
    EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype <> 'extend'
            AND %s = ANY(pg_blocking_pids(pid)))
"""
_GAVE_WAY = ("57014", "55P03", "40P01", "40001")  # out of time, no lock, deadlock, not serializable


@dataclass(slots=True)
class Brief:
    """A transaction that has little time, mostly."""

    connection: Connection
    deadline: float | None = None  # None: as much as it takes

    def live(self, seconds: float) -> None:
        """From now on: for what nobody could wait for so far, and somebody can from here."""
        self.deadline = time.monotonic() + seconds

    def execute(self, statement: str, values: Sequence[object] | None = None) -> "Any":
        """Run a statement in what is left of the time."""
        if self.deadline is not None:
            left = max(1, int((self.deadline - time.monotonic()) * 1000))
            self.connection.execute(f"SET LOCAL statement_timeout = {left}")
        return self.connection.execute(statement, values)

    def keep_writers_out(self, table: str, mode: str = "SHARE ROW EXCLUSIVE") -> None:
        """Lock a table, given as SQL; not for long, since writers queue behind whoever waits."""
        self.execute(f"SET LOCAL lock_timeout = {_EXCLUSIVE_MILLISECONDS}")
        self.execute(f"LOCK TABLE {table} IN {mode} MODE")


@contextmanager
def briefly(connection: Connection, seconds: float, durable: bool = True) -> Iterator[Brief]:
    """A transaction of its own; raises GaveWay when somebody else must go first.

    What is not `durable` may be gone after a crash of the server, but then whole, and with it the
    record that it was done.
    """
    with _giving_way(connection, durable):
        yield Brief(connection, time.monotonic() + seconds)


class Lookout:
    """Sees, in a session of its own, whether anybody waits for a transaction, and stops it then.

    So it does when the transaction is no longer wanted.
    """

    def __init__(self, connection: Connection, other: Connection) -> None:
        self.connection = connection
        self._other = other
        # The server's word: a pooler in between has one of its own.
        (self._pid,) = only_row(connection, "SELECT pg_backend_pid()")

    def close(self) -> None:
        self._other.close()

    @contextmanager
    def unhurriedly(
        self, durable: bool = True, queues: bool = False, unless: str = "false"
    ) -> Iterator[Brief]:
        """A transaction that goes on until somebody waits for it; raises GaveWay then.

        `unless` is a condition, in SQL, under which it is not wanted any more.

        One that `queues` waits for others as long as any session of ours: only then does the server
        send an autovacuum away that is in the way of a lock.
        """
        done = threading.Event()
        with _giving_way(self.connection, durable):
            if not queues:
                # Two that wait for each other are seen to wait; and we never do so for long.
                self.connection.execute(f"SET LOCAL lock_timeout = {_LOCK_MILLISECONDS}")
            watcher = threading.Thread(target=self._watch, args=(done, unless), daemon=True)
            watcher.start()
            try:
                yield Brief(self.connection)
            finally:
                done.set()
                watcher.join()  # so that it stops nothing else

    def _watch(self, done: threading.Event, unless: str) -> None:
        psycopg = require_psycopg()
        query = f"SELECT {_WAITED_FOR % self._pid} OR {unless}"
        try:
            while not done.wait(_LOOK_SECONDS):
                row = self._other.execute(query).fetchone()
                if row is not None and row[0]:
                    self._other.execute("SELECT pg_cancel_backend(%s)", (self._pid,))
        except psycopg.Error:
            self._stop(done)  # nobody looks out any more

    def _stop(self, done: threading.Event) -> None:
        """Again and again: between two statements the server has nothing to stop."""
        psycopg = require_psycopg()
        while not done.wait(_LOOK_SECONDS):
            with suppress(psycopg.Error):
                self.connection.cancel_safe(timeout=_CANCEL_SECONDS)


@contextmanager
def _giving_way(connection: Connection, durable: bool) -> Iterator[None]:
    psycopg = require_psycopg()
    try:
        with connection.transaction():
            if not durable:
                connection.execute("SET LOCAL synchronous_commit = off")
            yield
    except psycopg.Error as error:
        _roll_back(connection)
        if error.sqlstate in _GAVE_WAY:
            raise GaveWay(server_message(error)) from error
        raise


def _roll_back(connection: Connection) -> None:
    """Out of time in the middle of its commit, a transaction is left as it is, failed but open."""
    psycopg = require_psycopg()
    if connection.closed:
        return
    try:
        connection.rollback()
    except psycopg.Error:
        connection.close()  # whoever goes on opens another


def patience(connection: Connection) -> float:
    """How many seconds a transaction may live."""
    query = "SELECT setting::float8 / 1000 FROM pg_settings WHERE name = 'deadlock_timeout'"
    return float(only_row(connection, query)[0]) * _SHARE_OF_DEADLOCK_TIMEOUT
