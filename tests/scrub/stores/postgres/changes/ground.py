# SPDX-License-Identifier: Apache-2.0
"""A table `t`, its slot and its publication."""

import time
from collections.abc import Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any

from scrub.model.stream.changes import Change, Changes
from scrub.model.stream.coverage import HistorySnapshot, MustCover
from scrub.model.stream.state import Start
from scrub.stores.postgres.changes.history import PostgresHistory
from scrub.stores.postgres.changes.lsn import lsn_number
from scrub.stores.postgres.changes.slots import (
    create_slot,
    drop_publication,
    drop_slot,
    find_slot,
    publish,
)
from scrub.stores.postgres.changes.source import PostgresChanges
from scrub.stores.postgres.changes.streamed_table import StreamedTable, describe_table
from scrub.stores.postgres.connections import conninfo_of
from tests.postgres_server import Database

TABLE = "CREATE TABLE public.t (id int PRIMARY KEY, v text, w text)"
PATIENCE_SECONDS = 20


class Ground:
    """Everything about one stream but its sink."""

    def __init__(self, database: Database, create: str = TABLE) -> None:
        self.database = database
        self.conninfo = conninfo_of(database.url, {})
        self.slot = f"slot_{database.name}"
        self.publication = "the publication"
        self.source: PostgresChanges | None = None
        self.began: Start | None = None
        database.run(create)

    def table(self, *columns: str, key: Sequence[str] = ("id",)) -> StreamedTable:
        with self.database.connect() as connection:
            return describe_table(connection, "public", "t", columns or ("v", "w"), key)

    def start(self, *columns: str, key: Sequence[str] = ("id",)) -> Start:
        """Make slot and publication, and open a source where they begin."""
        with self.database.connect() as connection:
            publish(connection, self.publication, "public.t")
        self.began = create_slot(self.conninfo, self.slot)
        self.open(self.began.resume, *columns, key=key)
        return self.began

    def open(
        self, resume: str, *columns: str, key: Sequence[str] = ("id",), wait_seconds: float = 0.05
    ) -> PostgresChanges:
        table = self.table(*columns, key=key)
        self.source = PostgresChanges(
            self.conninfo,
            table,
            slot=self.slot,
            publication=self.publication,
            wait_seconds=wait_seconds,
        )
        self.source.open(resume)
        return self.source

    def hear(self, number: int, limit: int = 1000) -> list[Change]:
        """So many changes, and not one more."""
        assert self.source is not None
        heard: list[Change] = []
        until = time.monotonic() + PATIENCE_SECONDS
        while len(heard) < number and time.monotonic() < until:
            heard += self.source.changes(limit).changes
        heard += self.source.changes(limit).changes
        assert len(heard) == number, heard
        return heard

    def hear_of(self, lsn: int) -> Changes:
        """Read until the stream is past a place in the log."""
        assert self.source is not None
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            heard = self.source.changes(1000)
            if heard.heard_to.get("", (0,))[0] >= lsn:
                return heard
        raise AssertionError("the stream does not move on")

    def hear_all(self) -> list[Change]:
        """Everything that was committed before now."""
        (end,) = self.database.rows("SELECT pg_current_wal_insert_lsn()::text")[0]
        return list(self.hear_of(lsn_number(end)).changes)

    def start_demand(self) -> MustCover:
        assert self.began is not None
        return self.began.before

    def start_in_the_background(self) -> Thread:
        """Making a slot waits for transactions that are open."""
        thread = Thread(target=self.start)
        thread.start()
        return thread

    def close_source(self) -> None:
        """And wait until the server has noticed."""
        if self.source is not None:
            self.source.close()
        until = time.monotonic() + PATIENCE_SECONDS
        while (slot := self.found_slot()) and slot.reader:
            assert time.monotonic() < until, "the slot is still read"
            time.sleep(0.02)

    def snapshot(self) -> HistorySnapshot:
        history = PostgresHistory(self.conninfo, self.table())
        with history.snapshot() as held:
            found = held.snapshot
        history.close()
        return found

    def found_slot(self) -> Any:
        with self.database.connect() as connection:
            return find_slot(connection, self.slot)

    def close(self) -> None:
        self.close_source()
        with self.database.connect() as connection:
            drop_slot(connection, self.slot)
            drop_publication(connection, self.publication)


@contextmanager
def held_commits(database: Database) -> Any:
    """While it lasts, commits of other sessions wait for a standby that does not exist."""
    setting = "ALTER SYSTEM SET synchronous_standby_names = %s"
    database.run(setting.replace("%s", "'nobody'"), "SELECT pg_reload_conf()")
    _wait_for(database, "nobody")
    try:
        yield
    finally:
        database.run(setting.replace("%s", "''"), "SELECT pg_reload_conf()")
        _wait_for(database, "")


def _wait_for(database: Database, names: str) -> None:
    while database.rows("SHOW synchronous_standby_names") != [(names,)]:
        time.sleep(0.01)


def in_the_background(database: Database, statement: str) -> Thread:
    thread = Thread(target=database.run, args=(statement,))
    thread.start()
    return thread
