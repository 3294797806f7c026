# SPDX-License-Identifier: Apache-2.0
"""Snapshots for `verify` of a stream that another process runs.

Whoever verifies writes a name into the record of the stream and holds a lock on it. The runner ends
an epoch at a snapshot, writes down what both snapshots are called, and keeps them until the lock is
gone, while it goes on.
"""

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from scrub.app.streaming.session import StreamSession
from scrub.app.streaming.snapshots import SnapshotPair, exact_snapshots
from scrub.errors import StoreUnavailable
from scrub.stores.postgres.session_locks import holder_of, try_lock
from scrub.stores.postgres.streaming.opening import PostgresStream
from scrub.stores.postgres.streaming.streams import Stream

_ASKED, _TABLE, _INDEXES = "asked", "table", "indexes"
_LOOK_SECONDS = 0.1


@dataclass(slots=True)
class Answered:
    """The side of the runner."""

    stream: PostgresStream
    _name: str | None = field(default=None, init=False)  # of the request that was answered
    _kept: ExitStack = field(default_factory=ExitStack, init=False)

    def look(self, session: StreamSession, record: Stream, wait_limit: float) -> None:
        """Answer a request, or let go what nobody needs any more."""
        if self._name is not None and not self._is_wanted(self._name):
            self.close()
        if record.verify is None or not session.run.state.is_read or self._name is not None:
            return
        name = record.verify[_ASKED]
        if _TABLE in record.verify or not self._is_wanted(name):
            return
        pair = self._kept.enter_context(
            exact_snapshots(self.stream, session.run, session.arriving, wait_limit)
        )
        answer = {_ASKED: name, _TABLE: pair.table, _INDEXES: pair.indexes}
        self.stream.streams.change(self.stream.sink, record.id, verify=json.dumps(answer))
        self._name = name

    def close(self) -> None:
        self._kept.close()
        self._name = None

    def _is_wanted(self, name: str) -> bool:
        return holder_of(self.stream.sink, name) is not None


@contextmanager
def snapshots_of_runner(
    stream: PostgresStream, record: Stream, wait_limit: float
) -> Iterator[SnapshotPair]:
    """The side of whoever verifies: ask the process that runs the stream."""
    name = f"scrub verifies {uuid.uuid4().hex}"
    try_lock(stream.sink, name)
    stream.streams.change(stream.sink, record.id, verify=json.dumps({_ASKED: name}))
    try:
        yield _answer(stream, record, name, wait_limit)
    finally:
        stream.streams.change(stream.sink, record.id, verify=None)


def _answer(stream: PostgresStream, record: Stream, name: str, wait_limit: float) -> SnapshotPair:
    deadline = time.monotonic() + wait_limit
    while time.monotonic() < deadline:
        now = stream.streams.get(stream.sink, record.id)
        told = None if now is None else now.verify
        if told is not None and told[_ASKED] == name and _TABLE in told:
            return SnapshotPair(told[_TABLE], told[_INDEXES])
        time.sleep(_LOOK_SECONDS)
    raise StoreUnavailable(
        f"for {wait_limit:g} seconds, the process that runs the stream has not come to a moment at "
        "which table and indexes can be compared",
        hint=f"look at it with: {stream.line('status')}",
    )
