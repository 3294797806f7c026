# SPDX-License-Identifier: Apache-2.0
"""Everything that one process holds open while it runs a stream."""

from dataclasses import dataclass

from repair.streaming.arriving import Arriving
from repair.streaming.beginning import first_state
from repair.streaming.cutting import cut
from repair.streaming.running import Pace, StreamRun
from scrub.model.stream.requests import Phase, StreamRequest
from scrub.model.stream.state import StreamState
from scrub.stores.postgres.changes.history import PostgresHistory
from scrub.stores.postgres.changes.source import PostgresChanges
from scrub.stores.postgres.streaming.beginning import bounds, start
from scrub.stores.postgres.streaming.opening import PostgresStream
from scrub.stores.postgres.streaming.sink import PostgresSink
from scrub.stores.postgres.streaming.streams import Stream

_IDLE_SECONDS = 5.0  # an epoch without news is committed now and then, so that the slot moves on


@dataclass(frozen=True, slots=True)
class StreamSession:
    """A stream that has been recovered, and can do epochs."""

    source: PostgresChanges
    history: PostgresHistory
    sink: PostgresSink
    arriving: Arriving
    run: StreamRun

    def close(self) -> None:
        self.source.close()
        self.history.close()
        self.sink.close()


def open_session(stream: PostgresStream, record: Stream, request: StreamRequest) -> StreamSession:
    """Restore the state, or begin; the caller holds the lock of the stream."""
    source, history = stream.open_source(), stream.open_history()
    sink = stream.open_sink(record)
    arriving = Arriving(source, history, wait_limit=request.wait_limit)
    identity = stream.identity(record, source)

    def first() -> StreamState:
        """The change source is opened before anything is read of the table."""
        began = start(stream)
        cuts = cut(bounds(stream, request.vnodes), stream.rows_expected())
        stream.streams.change(stream.sink, record.id, phase=Phase.BUILDING)
        return first_state(identity, cuts, began, runner=sink.runner)

    run = StreamRun(
        identity, arriving, history, sink, first=first, pace=Pace(idle_seconds=_IDLE_SECONDS)
    )
    session = StreamSession(source, history, sink, arriving, run)
    try:
        run.recover()
    except BaseException:
        session.close()
        raise
    return session
