# SPDX-License-Identifier: Apache-2.0
"""A change source over a replication slot. Implements `ChangeSource`."""

import time

from scrub.model.stream.changes import ONE_PARTITION, Changes
from scrub.model.stream.coverage import Coverage
from scrub.model.stream.visibility_coverage import VisibilityCoverage
from scrub.stores.postgres.changes.decoding import Decoder
from scrub.stores.postgres.changes.lsn import lsn_number, lsn_text
from scrub.stores.postgres.changes.messages import Keepalive
from scrub.stores.postgres.changes.pgoutput import parse_frame, status_update
from scrub.stores.postgres.changes.quiet_log import QuietLog
from scrub.stores.postgres.changes.replication import (
    ReplicationConnection,
    StreamEnded,
    quoted,
)
from scrub.stores.postgres.changes.slots import demand_usable, find_slot
from scrub.stores.postgres.changes.streamed_table import StreamedTable
from scrub.stores.postgres.connections import connect, only_row
from scrub.stores.postgres.quoting import identifier

WAIT_SECONDS = 0.1
"""So long a read waits if there is nothing."""
BUSY_SECONDS = 0.5
"""So long a read takes at most while there is something all the time."""
_HAS_COLUMN = """
    SELECT EXISTS (SELECT FROM pg_catalog.pg_attribute
                   WHERE attrelid = %s AND attname = %s AND NOT attisdropped)
"""
_RECENT = "SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text"


class PostgresChanges:
    """The changes of one table in the order of their commits.

    After an error it has to be opened again: what it had read and nobody kept is read again.
    """

    def __init__(
        self,
        conninfo: str,
        table: StreamedTable,
        *,
        slot: str,
        publication: str,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self.coverage: Coverage = VisibilityCoverage()
        self._conninfo = conninfo
        self._table = table
        self._slot = slot
        self._publication = publication
        self._wait_seconds = wait_seconds
        self._connection: ReplicationConnection | None = None
        self._decoder: Decoder | None = None
        self._kept = 0  # what the sink has
        self._quiet = QuietLog(conninfo)

    def identity(self) -> str:
        """The server, its time line, the database and the slot."""
        replication = ReplicationConnection(self._conninfo)
        try:
            system, timeline, _, database = replication.row("IDENTIFY_SYSTEM")
        finally:
            replication.close()
        return f"{system}/{timeline}/{database}/{self._slot}"

    def open(self, resume: str) -> None:
        """Continue behind this place. Raises SlotLost or SlotInUse."""
        self.close()
        with connect(self._conninfo) as connection:
            demand_usable(find_slot(connection, self._slot), self._slot, resume)
        self._kept = lsn_number(resume)
        replication = ReplicationConnection(self._conninfo)
        try:
            (recent,) = replication.row(_RECENT)
            assert recent is not None
            replication.start(
                f"START_REPLICATION SLOT {identifier(self._slot)} LOGICAL {resume} "
                f"(proto_version '1', publication_names {quoted(identifier(self._publication))})"
            )
        except BaseException:
            replication.close()
            raise
        decoder = Decoder(self._table, int(recent), self._kept, self._has_column)
        self._connection, self._decoder = replication, decoder

    def _has_column(self, name: str) -> bool:
        """Rows without a column may be older than it; or it was dropped since the stream began."""
        with connect(self._conninfo) as connection:
            return bool(only_row(connection, _HAS_COLUMN, (self._table.oid, name))[0])

    def changes(self, limit: int) -> Changes:
        """Whole transactions only; the rest of one is kept for the next call."""
        connection, decoder = self._opened()
        before = decoder.heard_to
        try:
            self._read(connection, decoder, limit)
        except StreamEnded:
            self.close()
            raise
        self._quiet.heard(has_moved=decoder.heard_to > before or decoder.is_in_a_transaction)
        return Changes(
            changes=decoder.take_out(),
            heard_to={ONE_PARTITION: decoder.heard_to},
            resume=lsn_text(decoder.heard_to[0]),
        )

    def acknowledge(self, resume: str) -> None:
        """Let the server forget what the sink has; it only keeps what comes behind."""
        self._kept = max(self._kept, lsn_number(resume))
        if self._connection is not None:
            self._answer(self._connection, wants_reply=False)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._decoder = None
        self._quiet.close()

    def _read(self, connection: ReplicationConnection, decoder: Decoder, limit: int) -> None:
        # The reply says how far the server is: without changes of this table, it still moves on.
        self._answer(connection, wants_reply=True)
        began = time.monotonic()
        while decoder.waiting < limit:
            passed = time.monotonic() - began
            if passed > BUSY_SECONDS:
                return  # perhaps in the midst of a long transaction: the history goes on meanwhile
            rest = 0.0 if decoder.waiting else max(0.0, self._wait_seconds - passed)
            frame = connection.receive(rest)
            if frame is None:
                return
            match parse_frame(frame):
                case Keepalive(wal_end, wants_reply):
                    decoder.alive(wal_end)
                    if wants_reply:
                        self._answer(connection, wants_reply=False)
                case payload:
                    decoder.take(payload.message)

    def _answer(self, connection: ReplicationConnection, *, wants_reply: bool) -> None:
        connection.send(status_update(self._kept, self._kept, wants_reply=wants_reply))

    def _opened(self) -> tuple[ReplicationConnection, Decoder]:
        if self._connection is None or self._decoder is None:
            raise StreamEnded("the change source is closed")
        return self._connection, self._decoder
