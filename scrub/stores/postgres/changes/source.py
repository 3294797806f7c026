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
from scrub.stores.postgres.changes.replication import (
    ReplicationConnection,
    StreamEnded,
    quoted,
)
from scrub.stores.postgres.changes.slots import demand_usable, find_slot
from scrub.stores.postgres.changes.streamed_table import StreamedTable
from scrub.stores.postgres.connections import connect
from scrub.stores.postgres.quoting import identifier

WAIT_SECONDS = 0.1
_RECENT = "SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text"


class PostgresChanges:
    """The changes of one table in the order of their commits.

    A lost connection is reported once; the next read opens another one where the last commit of
    the sink was.
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
        self._connection, self._decoder = replication, Decoder(self._table, int(recent))

    def changes(self, limit: int) -> Changes:
        """Whole transactions only; the rest of one is kept for the next call."""
        if self._connection is None:
            self.open(lsn_text(self._kept))
        connection, decoder = self._opened()
        try:
            self._read(connection, decoder, limit)
        except StreamEnded:
            self.close()  # what it had read is read again
            raise
        if decoder.heard_to is None:
            return Changes()
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

    def _read(self, connection: ReplicationConnection, decoder: Decoder, limit: int) -> None:
        # The reply says how far the server is: without changes of this table, it still moves on.
        self._answer(connection, wants_reply=True)
        until = time.monotonic() + self._wait_seconds
        while decoder.waiting < limit:
            rest = until - time.monotonic()
            frame = connection.receive(0.0 if decoder.waiting else max(0.0, rest))
            if frame is None:
                return
            match parse_frame(frame):
                case Keepalive(wal_end, wants_reply):
                    decoder.alive(wal_end)
                    if wants_reply:
                        self._answer(connection, wants_reply=False)
                case payload:
                    decoder.take(payload.message)
            if rest < 0:
                return  # in the midst of a long transaction: the history goes on meanwhile

    def _answer(self, connection: ReplicationConnection, *, wants_reply: bool) -> None:
        connection.send(status_update(self._kept, self._kept, wants_reply=wants_reply))

    def _opened(self) -> tuple[ReplicationConnection, Decoder]:
        assert self._connection is not None
        assert self._decoder is not None
        return self._connection, self._decoder
