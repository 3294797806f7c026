# SPDX-License-Identifier: Apache-2.0
"""The connection of one repair: short transactions that give way to writers and are retried."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TypeVar

from scrub.errors import RelationMismatch, StoreUnavailable, UsageError
from scrub.model.table import Store, Table
from scrub.stores.building import GaveWay
from scrub.stores.postgres.blocking import blockers_of, numbers_of
from scrub.stores.postgres.briefly import Brief, briefly, patience
from scrub.stores.postgres.connections import (
    PIN_PATH_LOCALLY,
    Connection,
    connect,
    conninfo_of,
    require_psycopg,
    server_message,
)
from scrub.stores.postgres.repairs.received import hand_over_all_times
from scrub.stores.postgres.session_locks import holder_of, try_lock

T = TypeVar("T")

_POLL_SECONDS = 0.05
_ATTEMPTS_MAX = 60
_LOCK_ATTEMPTS_MAX = 20


class RepairSession:
    """A connection to one schema, opened when it is first needed."""

    def __init__(self, store: Store, sleep: Callable[[float], None] = time.sleep) -> None:
        self.schema = store.schema or "public"
        self.sleep = sleep
        self._conninfo = conninfo_of(store.url, store.options)

    @cached_property
    def connection(self) -> Connection:
        connection = connect(self._conninfo)
        connection.autocommit = True
        # Whatever the server's default: each statement must see what was committed before it.
        connection.isolation_level = require_psycopg().IsolationLevel.READ_COMMITTED
        hand_over_all_times(connection)
        return connection

    def close(self) -> None:
        if "connection" in self.__dict__:
            self.connection.close()

    def demand_alone(self, table: str) -> None:
        """Hold the table against other repairs.

        A session that has just ended releases its lock a moment later: that is no holder.
        """
        name = f"scrub repair {self.schema}.{table}"
        for _ in range(_LOCK_ATTEMPTS_MAX):
            if try_lock(self.connection, name):
                return
            self.sleep(_POLL_SECONDS)
        holder = holder_of(self.connection, name) or "it has just begun"
        raise StoreUnavailable(
            f"another repair of table {table} is at work: {holder}",
            hint="wait for it to end, or terminate its connection, which releases the lock",
        )

    @contextmanager
    def reading(self) -> Iterator[Brief]:
        """A transaction that only reads."""
        with in_words(), self.connection.transaction():
            self.connection.execute(PIN_PATH_LOCALLY)
            yield Brief(self.connection)

    def insistently(self, work: Callable[[Brief], list[T]]) -> list[T]:
        """Do some work in a short transaction, again and again until nobody is in the way."""
        reason = ""
        for number in range(_ATTEMPTS_MAX):
            try:
                with in_words(), briefly(self.connection, patience(self.connection)) as brief:
                    brief.execute(PIN_PATH_LOCALLY)
                    return work(brief)
            except GaveWay as error:
                reason = str(error)
            self.sleep(random.uniform(0, min(1.0, 0.02 * 2**number)))
        raise StoreUnavailable(
            f"other writers were in the way, {_ATTEMPTS_MAX} times in a row ({reason})",
            hint="run the same again: what is repaired is left alone",
        )

    def wait_for_writers(self, table: Table, seconds: float) -> None:
        """Until all who write now have ended; raises StoreUnavailable after so long."""
        oids = self._written_by_writers(table)
        waiting = {blocker.identity for blocker in blockers_of(self.connection, oids)}
        deadline = time.monotonic() + seconds
        while waiting:
            left = [b for b in blockers_of(self.connection, oids) if b.identity in waiting]
            waiting = {blocker.identity for blocker in left}
            if waiting and time.monotonic() > deadline:
                raise StoreUnavailable(
                    "rows whose entries were deleted could not be checked again, because of "
                    + "; ".join(blocker.description for blocker in left[:5]),
                    hint="end them, and run the same again: it looks at those rows first",
                )
            if waiting:
                self.sleep(_POLL_SECONDS)

    def _written_by_writers(self, table: Table) -> list[int]:
        """The table and its indexes: a writer may begin with either."""
        oids: list[int] = []
        for name in [table.relation, *(i.relation for i in table.indexes if not i.is_own)]:
            # An index that is not there is written by nobody.
            with suppress(RelationMismatch):
                oids += numbers_of(self.connection, self.schema, name)
        return oids


@contextmanager
def in_words() -> Iterator[None]:
    """What the server refuses, in words for people."""
    psycopg = require_psycopg()
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise UsageError(
            f"the database refuses it: {server_message(error)}",
            hint="the role needs SELECT and UPDATE on the table (its rows are locked), SELECT, "
            "INSERT, UPDATE and DELETE on the index, for the journal CREATE on the schema, and to "
            "put lost rows back INSERT on the table (DELETE to undo that)",
        ) from error
    except psycopg.errors.UndefinedFunction as error:
        raise UsageError(
            f"the database cannot evaluate what the catalog says: {server_message(error)}",
            hint="functions and operators of expressions are looked up in pg_catalog only: write "
            "the others with their schema in the catalog, as shop.shout(v)",
        ) from error
    except psycopg.DataError as error:
        raise UsageError(
            f"the database rejects a value of a defect: {server_message(error)}",
            hint="the type of the column may have changed since the check: check again, and repair "
            "from that; what was done is in the journal",
        ) from error
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"the database did not do it: {server_message(error)}",
            hint="what was done is in the journal; run the same again",
        ) from error
