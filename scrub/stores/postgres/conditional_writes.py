# SPDX-License-Identifier: Apache-2.0
"""Conditional writes to index tables in PostgreSQL, whoever made them."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from scrub.errors import StoreUnavailable
from scrub.model.entry_shape import EntryShape
from scrub.model.table import Store
from scrub.stores.building import GaveWay
from scrub.stores.entry_states import EntryStates, comparable
from scrub.stores.postgres.building.briefly import briefly, patience
from scrub.stores.postgres.connections import connect, conninfo_of, first_line, require_psycopg
from scrub.stores.postgres.entry_writing import NotWritten, write_entries
from scrub.stores.postgres.index_table import IndexTable, in_types
from scrub.stores.writing import Outcome

if TYPE_CHECKING:
    import psycopg

ATTEMPTS_MAX = 60
_PAUSE_SECONDS_MAX = 1.0


class PostgresWriter:
    """A store opened for writing; there is no way to write without a condition."""

    def __init__(self, store: Store, sleep: Callable[[float], None] = time.sleep) -> None:
        self.name = store.name
        self.schema = store.schema or "public"
        self._conninfo = conninfo_of(store.url, store.options)
        self._sleep = sleep
        self._of_thread = threading.local()  # a transaction is nothing that threads can share

    @property
    def connection(self) -> "psycopg.Connection[Any]":
        connection: psycopg.Connection[Any] | None = getattr(self._of_thread, "connection", None)
        if connection is None or connection.closed:
            connection = connect(self._conninfo)
            connection.autocommit = True
            self._of_thread.connection = connection
        return connection

    def close(self) -> None:
        self.connection.close()

    def init_put(
        self, shape: EntryShape, entries: pa.Table, *, fail_on_tombstones: bool
    ) -> Sequence[Outcome]:
        given = in_types(shape.columns, entries)
        values = comparable(given)

        def judge(states: EntryStates) -> list[Outcome]:
            return [states.init_put(v, n, fail_on_tombstones) for n, v in enumerate(values)]

        return self._write(shape, given, judge)

    def delete_if_equal(self, shape: EntryShape, entries: pa.Table) -> Sequence[Outcome]:
        given = in_types(shape.columns, entries)
        values = comparable(given)

        def judge(states: EntryStates) -> list[Outcome]:
            return [states.delete(v, n) for n, v in enumerate(values)]

        return self._write(shape, given, judge)

    def replace_if_equal(
        self, shape: EntryShape, before: pa.Table, after: pa.Table
    ) -> Sequence[Outcome]:
        given = in_types(shape.columns, after)
        old = comparable(in_types(shape.columns, before))
        pairs = list(zip(old, comparable(given), strict=True))

        def judge(states: EntryStates) -> list[Outcome]:
            return [states.replace(b, a, n) for n, (b, a) in enumerate(pairs)]

        return self._write(shape, given, judge)

    def read_entries(self, shape: EntryShape, keys: pa.Table) -> Sequence[dict[str, Any] | None]:
        wanted = in_types(shape.indexed + shape.suffix, keys)
        if not wanted.num_rows:
            return []
        with _told(), briefly(self.connection, patience(self.connection)) as brief:
            relation = IndexTable.of(brief, self.schema, shape)
            found = relation.find(brief, wanted, lock=False)
        states = EntryStates.of(shape, comparable(found.entries), found.marks)
        padding = (None,) * len(shape.stored)
        numbers = [states.number_found(values + padding) for values in comparable(wanted)]
        return [None if n is None else found.entries.slice(n, 1).to_pylist()[0] for n in numbers]

    def _write(
        self, shape: EntryShape, given: pa.Table, judge: Callable[[EntryStates], list[Outcome]]
    ) -> Sequence[Outcome]:
        if not given.num_rows:
            return []
        reason = ""
        for number in range(ATTEMPTS_MAX):
            try:
                with _told(), briefly(self.connection, patience(self.connection)) as brief:
                    relation = IndexTable.of(brief, self.schema, shape)
                    return write_entries(brief, relation, given, judge).outcomes
            except GaveWay as error:
                reason = str(error)
            except require_psycopg().errors.UniqueViolation as error:
                reason = first_line(error)  # somebody else put an entry of the same key
            except NotWritten as error:
                raise StoreUnavailable(f"{shape.relation}: {error.reason}") from error
            self._sleep(random.uniform(0, min(_PAUSE_SECONDS_MAX, 0.02 * 2**number)))
        raise StoreUnavailable(
            f"{shape.relation}: other writers were in the way, {ATTEMPTS_MAX} times in a row "
            f"({reason})",
            hint="try again when fewer others write",
        )


@contextmanager
def _told() -> Iterator[None]:
    """The server's errors in our words."""
    psycopg = require_psycopg()
    try:
        yield
    except psycopg.errors.UniqueViolation:
        raise  # whoever writes looks again
    except psycopg.Error as error:
        raise StoreUnavailable(f"PostgreSQL: {first_line(error)}") from error
