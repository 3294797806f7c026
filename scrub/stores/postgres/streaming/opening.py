# SPDX-License-Identifier: Apache-2.0
"""One stream from a table in PostgreSQL to indexes in PostgreSQL, described and opened.

One process at a time runs a stream. It holds a lock that ends with its session, and it signs the
state, so that one which lost its session without noticing writes nothing more.
"""

import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import psycopg

from scrub.errors import RelationMismatch, StoreUnavailable, UsageError
from scrub.model.command_line import command_line
from scrub.model.stream.state import StreamIdentity
from scrub.model.table import ChangeFeed, Index, Store, Table
from scrub.stores.postgres.changes.history import PostgresHistory
from scrub.stores.postgres.changes.slots import (
    Slot,
    find_slot,
)
from scrub.stores.postgres.changes.source import PostgresChanges
from scrub.stores.postgres.changes.streamed_table import StreamedTable, describe_table
from scrub.stores.postgres.connections import (
    SEE_ALL_ROWS,
    Connection,
    connect,
    conninfo_of,
    only_row,
)
from scrub.stores.postgres.entry_sql import EntrySql, entry_sql
from scrub.stores.postgres.relations import ServerRelation, find_relation
from scrub.stores.postgres.session_locks import holder_of, try_lock, unlock_all
from scrub.stores.postgres.streaming.carried import Carried, carried_columns
from scrub.stores.postgres.streaming.index_tables import (
    number_of,
)
from scrub.stores.postgres.streaming.sink import PostgresSink
from scrub.stores.postgres.streaming.streams import Stream, Streams
from scrub.stores.postgres.streaming.vnode_bounds import rows_expected

_POLL_SECONDS = 0.1
_WAIT_SECONDS = 0.01  # for changes: whoever has nothing else to do rests by itself


@dataclass(frozen=True, slots=True)
class Described:
    """What the catalog and the server say of a table and its indexes."""

    table: StreamedTable
    relation: ServerRelation
    carried: Carried
    entries: tuple[EntrySql, ...]


class PostgresStream:
    """A stream of some indexes of one table, through two sessions: one at the table, one at them.

    Without indexes it is whatever stream of the table there is.
    """

    def __init__(
        self,
        source: Store,
        sink: Store,
        table: Table,
        feed: ChangeFeed,
        indexes: Sequence[Index],
    ) -> None:
        self.table = table
        self.feed = feed
        self.indexes = tuple(indexes)
        self.source_conninfo = conninfo_of(source.url, source.options)
        self.sink_conninfo = conninfo_of(sink.url, sink.options)
        self.source_schema = source.schema or "public"
        self.schema = sink.schema or "public"
        self.streams = Streams(self.schema)
        self.is_one_store = source.name == sink.name

    @cached_property
    def source(self) -> Connection:
        connection = connect(self.source_conninfo)
        connection.autocommit = True
        return connection

    @cached_property
    def sink(self) -> Connection:
        connection = connect(self.sink_conninfo)
        connection.autocommit = True
        return connection

    def close(self) -> None:
        for name in ("source", "sink"):
            if name in self.__dict__:
                connection = self.__dict__.pop(name)
                with suppress(psycopg.Error):
                    unlock_all(connection)
                connection.close()

    # Looking

    def record(self) -> Stream | None:
        """The stream of these indexes. Refuses indexes of which another one has some."""
        names = {index.name for index in self.indexes}
        found = self.streams.of_table(self.sink, self.table.name)
        if not names:
            return next(iter(found), None)
        for stream in found:
            if names == {*stream.indexes}:
                return stream
            if shared := sorted(names & {*stream.indexes}):
                raise UsageError(
                    f"index {', '.join(shared)} of {self.table.name} belongs to a stream of "
                    f"{', '.join(stream.indexes)}",
                    hint=f"name all of them: {self.line('run', *stream.indexes)}",
                )
        if found:
            raise UsageError(
                f"table {self.table.name} has a stream of {', '.join(found[0].indexes)}, which "
                f"reads the slot {found[0].slot}",
                hint="a table has one stream: drop it, and name all indexes in the next one: "
                + self.line("drop", *found[0].indexes, "--execute"),
            )
        return None

    def let_go(self) -> None:
        """Be no longer the one that runs the stream."""
        unlock_all(self.sink)

    @cached_property
    def described(self) -> Described:
        relation = find_relation(self.source, self.source_schema, self.table.relation)
        if relation.is_filtered:
            raise RelationMismatch(
                f"{relation.label}: row security hides rows from this role, so an index of all "
                "rows cannot be built",
                hint=SEE_ALL_ROWS,
            )
        made = (
            entry_sql(self.source, self.source_schema, self.table, index) for index in self.indexes
        )
        entries = tuple(replace(entry, schema=self.schema) for entry in made)
        names = dict.fromkeys(source.name for entry in entries for source in entry.sources)
        key = self.table.primary_key
        table = describe_table(
            self.source, self.source_schema, self.table.relation, tuple(names), key
        )
        carried = carried_columns(
            self.source,
            self.source_schema,
            self.table.relation,
            [column.name for column in table.columns],
            len(key),
        )
        return Described(table, relation, carried, entries)

    def holder(self) -> str | None:
        """The session that runs the stream now."""
        return holder_of(self.sink, self.lock_name)

    def slot(self) -> Slot | None:
        return find_slot(self.source, self.feed.slot)

    def rows_expected(self) -> int:
        return rows_expected(self.source, self.described.relation)

    def log_end(self) -> int:
        """The place in the log up to which something was written."""
        query = "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')"
        return int(only_row(self.source, query)[0])

    # One at a time

    @property
    def lock_name(self) -> str:
        return f"scrub streams {self.schema} {self.table.name}"

    def hold(self, patience_seconds: float = 0.0) -> None:
        """Be the one that runs the stream. Raises StoreUnavailable."""
        deadline = time.monotonic() + patience_seconds
        while not try_lock(self.sink, self.lock_name):
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"another process runs the stream of {self.table.name}: "
                    + (self.holder() or "it has just begun"),
                    hint=f"look at it with: {self.line('status')}",
                )
            time.sleep(_POLL_SECONDS)

    # Running

    def identity(self, stream: Stream, source: PostgresChanges) -> StreamIdentity:
        """What the state belongs to: things of the same name that were made anew are others."""
        table = self.described.table
        relations = [
            f"{entry.relation} {number_of(self.sink, entry.relation)}"
            for entry in sorted(self.described.entries, key=lambda entry: entry.index)
        ]
        return StreamIdentity(
            table=f"{table.sql} {table.oid}",
            source=source.identity(),
            index=f"stream {stream.id}: {', '.join(relations)}",
        )

    def open_source(self) -> PostgresChanges:
        return PostgresChanges(
            self.source_conninfo,
            self.described.table,
            slot=self.feed.slot,
            publication=self.feed.publication,
            wait_seconds=_WAIT_SECONDS,
        )

    def open_history(self) -> PostgresHistory:
        return PostgresHistory(self.source_conninfo, self.described.table)

    def open_sink(self, stream: Stream) -> PostgresSink:
        described = self.described
        return PostgresSink(
            self.sink_conninfo,
            self.schema,
            stream.id,
            uuid.uuid4().hex,
            described.carried,
            described.entries,
            described.table.key_columns,
        )

    def line(self, verb: str, *more: str) -> str:
        return command_line(f"stream {verb}", self.table.name, *more, catalog=self.table.catalog)
