# SPDX-License-Identifier: Apache-2.0
"""Joins a source, the history and a sink: epoch after epoch, and again after a crash.

This module decides what comes first, and nothing else. The state is restored before the first
change is taken. A snapshot is taken before the changes of its epoch are read. The source is
acknowledged after the commit, never before: what it forgets, nobody has.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from repair.streaming.choosing import choose_parts
from repair.streaming.cutting import split
from repair.streaming.epoch import end_epoch
from scrub.model.stream.changes import Changes
from scrub.model.stream.epochs import Epoch
from scrub.model.stream.keys import Key
from scrub.model.stream.state import StreamIdentity, StreamState, demand_same
from scrub.stores.streaming import ChangeSource, HistoryReader, OpenSnapshot, StreamSink

CHANGES_MAX = 10_000
ROWS_MAX = 10_000
UNSEEN_MAX = 1_000
"""So many transactions are remembered for `may_end_at`; then a snapshot says which are old."""


@dataclass(slots=True)
class Pace:
    """How much an epoch does. It may change between epochs."""

    parallel: int = 1
    rows_max: int = ROWS_MAX  # 0 pauses the history; changes still flow
    changes_max: int = CHANGES_MAX
    idle_seconds: float = 1.0  # between commits that only say how far the source was heard


class StreamRun:
    """One process that runs a stream."""

    def __init__(
        self,
        identity: StreamIdentity,
        source: ChangeSource,
        history: HistoryReader,
        sink: StreamSink,
        *,
        first: Callable[[], StreamState],
        pace: Pace,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pace = pace
        self._clock = clock
        self._committed = clock()
        self.waiting: tuple[int, ...] = ()  # vnodes that the last snapshot was too old for
        self._identity = identity
        self._source = source
        self._history = history
        self._sink = sink
        self._first = first
        self._state: StreamState | None = None

    @property
    def state(self) -> StreamState:
        """The last state that was committed, and what was adjusted since."""
        assert self._state is not None, "recover() comes first"
        return self._state

    def recover(self) -> None:
        """Restore the state, or begin; only then is the source opened for reading."""
        state = self._sink.restore()
        if state is None:
            state = self._first()
            self._sink.begin(state)
        demand_same(state.identity, self._identity)
        self._source.open(state.resume)
        self._state = state

    def split(self, at: Key) -> None:
        """Cut a vnode in two. It is kept with the next epoch."""
        self._state = replace(self.state, vnodes=split(self.state.vnodes, at))

    def epoch(self) -> Epoch:
        """Do one epoch and return it. After an error, the state has to be recovered first.

        Changes that were read and not committed are gone from the source's connection.
        """
        try:
            ended = self._read_epoch()
            self._conclude(ended)
        except BaseException:
            self._state = None
            raise
        return ended

    def exact_epoch(self, held: OpenSnapshot, changes: Changes) -> Epoch:
        """Commit the changes that make the output what the snapshot shows.

        The source is asked to keep what it has: its place is behind changes that are held back.
        """
        assert self.state.is_read, "an index is like a snapshot only when all of it was read"
        ended = end_epoch(self.state, changes, self._source.coverage, snapshot=held.snapshot)
        self._sink.commit(ended)
        self._state = ended.state
        return ended

    def _read_epoch(self) -> Epoch:
        state, coverage = self.state, self._source.coverage
        self.waiting = ()
        if state.is_read and len(state.unseen.transactions) < UNSEEN_MAX:
            return end_epoch(state, self._source.changes(self.pace.changes_max), coverage)
        with self._history.snapshot() as held:
            choice = choose_parts(
                state.vnodes,
                held.snapshot,
                coverage,
                parallel=self.pace.parallel,
                rows_max=self.pace.rows_max,
                rereads=state.rereads,
            )
            parts = held.read(choice.wanted)
            reread = held.read_again(choice.again) if choice.again else None
        self.waiting = choice.waiting
        changes = self._source.changes(self.pace.changes_max)
        return end_epoch(
            state, changes, coverage, snapshot=held.snapshot, parts=parts, reread=reread
        )

    def _conclude(self, ended: Epoch) -> None:
        if self._may_wait(ended):
            # Nothing was decided: after a crash, the source says the same again.
            self._state = replace(ended.state, epoch=self.state.epoch)
            return
        self._sink.commit(ended)
        self._state = ended.state
        self._committed = self._clock()
        self._source.acknowledge(ended.state.resume)

    def _may_wait(self, ended: Epoch) -> bool:
        """Whether the epoch only heard that nothing happened, and another one did just before."""
        before, after, writes = self.state, ended.state, ended.writes
        is_idle = not (writes.parts or writes.cleared or writes.changes or ended.late)
        is_same = after.vnodes == before.vnodes and after.rereads == before.rereads
        is_soon = self._clock() - self._committed < self.pace.idle_seconds
        return is_idle and is_same and is_soon
