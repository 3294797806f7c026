# SPDX-License-Identifier: Apache-2.0
"""A replication connection: statements of its own, then frames for as long as it streams.

psycopg has no interface for it, but its libpq has all that is needed.
"""

import selectors
from collections.abc import Sequence
from typing import Any

from scrub.errors import StoreUnavailable
from scrub.stores.postgres.connections import require_psycopg, safe_message

_SETTINGS = {
    # Between two reads, a stream writes an epoch. A server that hears nothing for longer gives up.
    "wal_sender_timeout": "600000",
}
_OBJECT_IN_USE = b"55006"
_ENDED, _NOTHING_YET = -1, 0


class StreamEnded(StoreUnavailable):
    """The server or the network ended a replication connection; another one may be opened."""


class SlotInUse(StoreUnavailable):
    """Another process reads the slot, or one that has ended did a moment ago."""


class ReplicationConnection:
    """One connection that can stream changes. Raises StreamEnded when it is lost."""

    def __init__(self, conninfo: str) -> None:
        psycopg = require_psycopg()
        self._psycopg = psycopg
        self._conninfo = conninfo
        given = psycopg.conninfo.conninfo_to_dict(conninfo)
        settings = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
        options = f"{given.get('options') or ''} {settings}".strip()
        text = psycopg.conninfo.make_conninfo(conninfo, replication="database", options=options)
        self._connection: Any = psycopg.pq.PGconn.connect(text.encode())
        if self._connection.status != psycopg.pq.ConnStatus.OK:
            reason = self._reason(self._connection.error_message)
            self.close()
            raise StoreUnavailable(f"no replication connection to PostgreSQL: {reason}")
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._connection.socket, selectors.EVENT_READ)

    def row(self, statement: str) -> Sequence[str | None]:
        """The first row of a statement; empty if it has none."""
        result = self._done(statement, "TUPLES_OK", "COMMAND_OK")
        if not result.ntuples:
            return ()
        values = (result.get_value(0, number) for number in range(result.nfields))
        return [None if value is None else value.decode() for value in values]

    def start(self, statement: str) -> None:
        """Begin to stream; nothing else can be asked for afterwards."""
        self._done(statement, "COPY_BOTH")

    def receive(self, seconds: float) -> bytes | None:
        """The next frame; None if none comes within that time."""
        frame = self._frame()
        if frame is None and seconds > 0 and self._selector.select(seconds):
            frame = self._frame()
        return frame

    def send(self, frame: bytes) -> None:
        try:
            self._connection.put_copy_data(frame)
            self._connection.flush()
        except self._psycopg.Error as error:
            raise StreamEnded(self._said(error)) from error

    def close(self) -> None:
        self._connection.finish()

    def _frame(self) -> bytes | None:
        try:
            length, data = self._connection.get_copy_data(1)
            if length == _NOTHING_YET:
                self._connection.consume_input()
                length, data = self._connection.get_copy_data(1)
        except self._psycopg.Error as error:
            raise StreamEnded(self._said(error)) from error
        if length == _ENDED:
            result = self._connection.get_result()
            message = b"" if result is None else result.error_message
            raise StreamEnded(f"PostgreSQL ended the stream of changes: {self._reason(message)}")
        return bytes(data) if length > 0 else None

    def _done(self, statement: str, *expected: str) -> Any:
        try:
            result = self._connection.exec_(statement.encode())
        except self._psycopg.Error as error:
            raise StreamEnded(self._said(error)) from error
        pq = self._psycopg.pq
        if pq.ExecStatus(result.status).name not in expected:
            reason = f"PostgreSQL: {self._reason(result.error_message)}"
            if result.error_field(pq.DiagnosticField.SQLSTATE) == _OBJECT_IN_USE:
                raise SlotInUse(reason)
            raise StoreUnavailable(reason)
        return result

    def _said(self, error: Exception) -> str:
        return f"the connection to PostgreSQL was lost: {safe_message(error, self._conninfo)}"

    def _reason(self, message: bytes) -> str:
        error = RuntimeError(message.decode(errors="replace"))
        return safe_message(error, self._conninfo)


def quoted(text: str) -> str:
    """A text as replication statements write it; they have no escapes but the doubled quote."""
    return "'" + text.replace("'", "''") + "'"
