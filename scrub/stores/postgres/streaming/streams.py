# SPDX-License-Identifier: Apache-2.0
"""What the database of an index remembers of its stream, in columns and JSON.

Everything is written in the transaction that makes it true. The state changes only for the process
that has signed it, and only from the epoch that this process knows.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from scrub.model.stream.records import (
    Record,
    awaited_record,
    heard_of,
    heard_record,
    vnode_of,
    vnode_record,
    with_awaited,
)
from scrub.model.stream.requests import Phase
from scrub.model.stream.state import StreamIdentity, StreamState
from scrub.model.stream.vnodes import Vnode
from scrub.stores.postgres.connections import Connection, only_row
from scrub.stores.postgres.own_relations import are_there, demand_own
from scrub.stores.postgres.quoting import qualified

_STREAMS, _VNODES = "scrub_streams", "scrub_stream_vnodes"
_AS_JSON = ("low", "high", "passed_to", "floors", "must_cover")
_AS_THEY_ARE = ("is_finished", "rows_read", "rows_expected")
_VNODE_COLUMNS = ("number", *_AS_JSON, *_AS_THEY_ARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One stream: a row of its relation, without the state."""

    id: int
    table_name: str
    indexes: tuple[str, ...]
    relations: tuple[int, ...]  # the numbers of the index tables that it made, in this order
    slot: str
    publication: str
    made_publication: bool
    phase: Phase
    runner: str | None  # changes with each process that runs it
    epoch: int | None  # None: nothing has begun
    progress_shown: int
    paused: bool  # the history rests
    paused_all: bool  # and so do the changes
    rows_per_second: int | None
    parallel: int
    waiting: int  # vnodes that the last snapshot was too old for
    applied: int
    covered: int
    dropped: int
    duplicates: int
    entries_written: int
    failure: str | None
    current_at: datetime | None  # when there was last nothing more to hear
    verify: dict[str, str] | None  # somebody asks for snapshots to check at, or has got them
    started: datetime
    changed: datetime


_STREAM_COLUMNS = tuple(field.name for field in fields(Stream))


class Streams:
    """The streams of one schema."""

    def __init__(self, schema: str) -> None:
        self.streams = qualified(schema, _STREAMS)
        self.vnodes = qualified(schema, _VNODES)

    def create(self, connection: Connection) -> None:
        """Make the relations, unless they are there; one transaction at a time may do so."""
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self.streams,))
        connection.execute(
            f"""
            CREATE TABLE IF NOT EXISTS {self.streams} (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                table_name text NOT NULL, indexes text[] NOT NULL, relations bigint[] NOT NULL,
                slot text NOT NULL, publication text NOT NULL,
                made_publication boolean NOT NULL DEFAULT false,
                phase text NOT NULL, runner text, epoch bigint,
                identity jsonb, heard jsonb, awaited jsonb, resume text NOT NULL DEFAULT '',
                progress_shown integer NOT NULL DEFAULT 0,
                paused boolean NOT NULL DEFAULT false, paused_all boolean NOT NULL DEFAULT false,
                rows_per_second integer, parallel integer NOT NULL DEFAULT 1,
                waiting integer NOT NULL DEFAULT 0,
                applied bigint NOT NULL DEFAULT 0, covered bigint NOT NULL DEFAULT 0,
                dropped bigint NOT NULL DEFAULT 0, duplicates bigint NOT NULL DEFAULT 0,
                entries_written bigint NOT NULL DEFAULT 0, failure text, current_at timestamptz,
                verify jsonb,
                started timestamptz NOT NULL DEFAULT clock_timestamp(),
                changed timestamptz NOT NULL DEFAULT clock_timestamp())"""
        )
        connection.execute(
            f"""
            CREATE TABLE IF NOT EXISTS {self.vnodes} (
                stream bigint NOT NULL REFERENCES {self.streams} ON DELETE CASCADE,
                number integer NOT NULL, low jsonb, high jsonb, passed_to jsonb,
                is_finished boolean NOT NULL, floors jsonb NOT NULL, must_cover jsonb NOT NULL,
                rows_read bigint NOT NULL, rows_expected bigint NOT NULL,
                PRIMARY KEY (stream, number))"""
        )
        demand_own(connection, self.streams, self.vnodes)

    def are_there(self, connection: Connection) -> bool:
        """Refuses those of a stranger."""
        return are_there(connection, self.streams, self.vnodes)

    def add(self, connection: Connection, **values: object) -> int:
        """A stream of which nothing has begun."""
        names, places = ", ".join(values), ", ".join(["%s"] * len(values))
        query = f"INSERT INTO {self.streams} ({names}) VALUES ({places}) RETURNING id"
        return int(only_row(connection, query, tuple(values.values()))[0])

    def of_table(self, connection: Connection, table: str) -> list[Stream]:
        """The streams of a table, in the order that they began."""
        if not self.are_there(connection):
            return []
        return self._select(connection, "WHERE table_name = %s ORDER BY id", (table,))

    def get(self, connection: Connection, stream: int) -> Stream | None:
        return next(iter(self._select(connection, "WHERE id = %s", (stream,))), None)

    def change(self, connection: Connection, stream: int, **values: object) -> None:
        """Set columns that are no part of the state."""
        names = ", ".join(f"{name} = %s" for name in values)
        connection.execute(
            f"UPDATE {self.streams} SET {names}, changed = clock_timestamp() WHERE id = %s",
            (*values.values(), stream),
        )

    def remove(self, connection: Connection, stream: int) -> None:
        connection.execute(f"DELETE FROM {self.streams} WHERE id = %s", (stream,))

    def _select(self, connection: Connection, where: str, values: Sequence[object]) -> list[Stream]:
        query = f"SELECT {', '.join(_STREAM_COLUMNS)} FROM {self.streams} {where}"
        return [
            _stream(dict(zip(_STREAM_COLUMNS, row, strict=True)))
            for row in connection.execute(query, values)
        ]

    # The state

    def read(self, connection: Connection, stream: int) -> StreamState | None:
        """The state of the last commit; None if nothing has begun."""
        query = (
            "SELECT identity, heard, awaited, resume, epoch, progress_shown, runner "
            f"FROM {self.streams} WHERE id = %s AND epoch IS NOT NULL"
        )
        row = connection.execute(query, (stream,)).fetchone()
        if row is None:
            return None
        identity, heard, awaited, resume, epoch, progress_shown, runner = row
        state = StreamState(
            identity=StreamIdentity(**identity),
            vnodes=tuple(self._read_vnodes(connection, stream)),
            heard=heard_of(heard),
            resume=resume,
            epoch=epoch,
            progress_shown=progress_shown,
            runner=runner or "",
        )
        return with_awaited(state, awaited)

    def _read_vnodes(self, connection: Connection, stream: int) -> list[Vnode]:
        rows = connection.execute(
            f"SELECT {', '.join(_VNODE_COLUMNS)} FROM {self.vnodes} "
            "WHERE stream = %s ORDER BY number",
            (stream,),
        )
        return [vnode_of(dict(zip(_VNODE_COLUMNS, row, strict=True))) for row in rows]

    def write_first(self, connection: Connection, stream: int, state: StreamState) -> bool:
        """Whether the state was kept: nothing had begun, and the process has signed the stream."""
        identity = {
            "table": state.identity.table,
            "source": state.identity.source,
            "index": state.identity.index,
        }
        written = connection.execute(
            f"UPDATE {self.streams} SET identity = %s, heard = %s, awaited = %s, resume = %s, "
            "epoch = %s, "
            "progress_shown = %s, changed = clock_timestamp() "
            "WHERE id = %s AND runner = %s AND epoch IS NULL",
            (
                json.dumps(identity),
                json.dumps(heard_record(state.heard)),
                json.dumps(awaited_record(state)),
                state.resume,
                state.epoch,
                state.progress_shown,
                stream,
                state.runner,
            ),
        )
        if written.rowcount:
            self._write_vnodes(connection, stream, dict(enumerate(state.vnodes)))
        return bool(written.rowcount)

    def write(
        self,
        connection: Connection,
        stream: int,
        before: StreamState,
        state: StreamState,
        counted: Mapping[str, int],
    ) -> bool:
        """Whether the state was kept: the sink still has the one before, of the same process."""
        sums = "".join(f", {name} = {name} + %s" for name in counted)
        written = connection.execute(
            f"UPDATE {self.streams} SET heard = %s, awaited = %s, resume = %s, epoch = %s, "
            "progress_shown = %s, "
            f"changed = clock_timestamp(){sums} "
            "WHERE id = %s AND runner = %s AND epoch = %s",
            (
                json.dumps(heard_record(state.heard)),
                json.dumps(awaited_record(state)),
                state.resume,
                state.epoch,
                state.progress_shown,
                *counted.values(),
                stream,
                before.runner,
                before.epoch,
            ),
        )
        if not written.rowcount:
            return False
        changed = {
            number: vnode
            for number, vnode in enumerate(state.vnodes)
            if number >= len(before.vnodes) or before.vnodes[number] is not vnode
        }
        self._write_vnodes(connection, stream, changed)
        return True

    def _write_vnodes(
        self, connection: Connection, stream: int, vnodes: Mapping[int, Vnode]
    ) -> None:
        if not vnodes:
            return
        values = ", ".join(f"{name} = excluded.{name}" for name in _VNODE_COLUMNS[1:])
        places = ", ".join(["%s"] * (len(_VNODE_COLUMNS) + 1))
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {self.vnodes} (stream, {', '.join(_VNODE_COLUMNS)}) "
                f"VALUES ({places}) ON CONFLICT (stream, number) DO UPDATE SET {values}",
                [(stream, number, *_values(vnode_record(of))) for number, of in vnodes.items()],
            )


def _values(record: Record) -> list[object]:
    as_json = [None if record[name] is None else json.dumps(record[name]) for name in _AS_JSON]
    return [*as_json, *(record[name] for name in _AS_THEY_ARE)]


def _stream(row: Mapping[str, Any]) -> Stream:
    return Stream(
        **{
            **row,
            "indexes": tuple(row["indexes"]),
            "relations": tuple(row["relations"]),
            "phase": Phase(row["phase"]),
        }
    )
