# SPDX-License-Identifier: Apache-2.0
"""Indexes in PostgreSQL and the state of their stream, in one transaction for each epoch.

A process signs the stream when it restores the state. One that was taken over finds another
signature or another epoch, and writes nothing more.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from scrub.errors import ScrubError, StoreUnavailable
from scrub.model.stream.changes import Values
from scrub.model.stream.epochs import Cleared, Epoch, Verdict, Writes
from scrub.model.stream.keys import Key
from scrub.model.stream.state import StreamState
from scrub.stores.postgres.changes.streamed_table import WantedColumn
from scrub.stores.postgres.connections import (
    Connection,
    connect,
    require_psycopg,
    safe_message,
)
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.streaming.carried import Arrival, Carried, key_values
from scrub.stores.postgres.streaming.entry_writes import BY_KEY, EntryWrites
from scrub.stores.postgres.streaming.streams import Streams
from scrub.stores.streaming import TakenOver

_COUNTED = {
    "applied": Verdict.APPLIED,
    "covered": Verdict.COVERED,
    "dropped": Verdict.DROPPED,
    "duplicates": Verdict.DUPLICATE,
}
# The source forgets what is committed here, so a crash of this server must not take it back.
_LASTING = """
    SELECT pg_catalog.set_config('synchronous_commit', 'on', true)
    WHERE pg_catalog.current_setting('synchronous_commit') = 'off'
"""


class NotWritable(ScrubError):
    """A row has no place in an index: a value does not fit, or an expression cannot be computed."""

    exit_code = 3


class PostgresSink:
    """The tables of some indexes of one table."""

    def __init__(
        self,
        conninfo: str,
        schema: str,
        stream: int,
        runner: str,
        carried: Carried,
        entries: Sequence[EntrySql],
        key: Sequence[WantedColumn],
    ) -> None:
        self._conninfo = conninfo
        self._streams = Streams(schema)
        self.runner = runner
        self._stream = stream
        self._carried = carried
        self._writes = [EntryWrites(carried, entry, key) for entry in entries]
        self._connection: Connection | None = None
        self._committed: StreamState | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def restore(self) -> StreamState | None:
        """Sign the stream, and return the state of the last commit."""
        with self._transaction() as connection:
            self._streams.change(connection, self._stream, runner=self.runner)
            state = self._streams.read(connection, self._stream)
        self._committed = state
        return state

    def begin(self, state: StreamState) -> None:
        signed = replace(state, runner=self.runner)
        with self._transaction() as connection:
            if not self._streams.write_first(connection, self._stream, signed):
                raise TakenOver
        self._committed = signed

    def commit(self, epoch: Epoch) -> None:
        before = self._committed
        if before is None or before.epoch + 1 != epoch.state.epoch:
            raise TakenOver
        with self._transaction() as connection:
            written = self._write(connection, epoch.writes)
            counted = {name: epoch.counts[of] for name, of in _COUNTED.items()}
            counted["entries_written"] = written
            kept = self._streams.write(connection, self._stream, before, epoch.state, counted)
            if not kept:
                raise TakenOver
        self._committed = replace(epoch.state, runner=self.runner)

    def _write(self, connection: Connection, writes: Writes) -> int:
        rows = list(_arrivals(writes))
        if not rows and not writes.cleared:
            return 0
        connection.execute(self._carried.creating())
        for statement in BY_KEY:
            connection.execute(statement)
        self._carried.copy(connection, rows)
        has_changes = any(arrival is not Arrival.READ for arrival, _ in rows)
        written = 0
        for of in self._writes:
            statements = [of.clearing(cleared) for cleared in writes.cleared]
            statements += [of.removing()] if has_changes else []
            statements += [of.putting()]
            written += sum(connection.execute(statement).rowcount for statement in statements)
        return written

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        driver = require_psycopg()
        try:
            if self._connection is None or self._connection.closed:
                self._connection = connect(self._conninfo)
            with self._connection.transaction():
                self._connection.execute(_LASTING)
                yield self._connection
        except (driver.DataError, driver.IntegrityError) as error:
            self.close()
            raise NotWritable(
                f"an entry cannot be written: {safe_message(error, self._conninfo)}",
                hint="correct the row or the index; nothing is lost, and the stream goes on where "
                "it stopped",
            ) from error
        except driver.Error as error:
            reason = safe_message(error, self._conninfo)
            self.close()
            raise StoreUnavailable(f"PostgreSQL: {reason}") from error
        except BaseException:
            self.close()
            raise


def _arrivals(writes: Writes) -> Iterator[tuple[Arrival, Values]]:
    """What the table looks like at the end of the epoch: a change hides the row that was read."""
    changes = writes.changes
    for part in writes.parts:
        for key, values in part.data:
            if key not in changes and not _is_cleared(key, writes.cleared):
                yield Arrival.READ, values
    for key, put in changes.items():
        if put is None:
            yield Arrival.GONE, key_values(key)
        else:
            yield Arrival.CHANGED, put.values


def _is_cleared(key: Key, cleared: Sequence[Cleared]) -> bool:
    return any(one.slice.holds(key) and one.stretch.holds(key) for one in cleared)
