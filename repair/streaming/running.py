# SPDX-License-Identifier: Apache-2.0
"""Joins a source, the history and a sink: epoch after epoch, and again after a crash.

This module decides what comes first, and nothing else. The state is restored before the first
change is taken. A snapshot is taken before the changes of its epoch are read. The source is
acknowledged after the commit, never before: what it forgets, nobody has.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from repair.streaming.choosing import choose_parts
from repair.streaming.cutting import split
from repair.streaming.epoch import end_epoch
from scrub.model.stream.epochs import Epoch
from scrub.model.stream.keys import Key
from scrub.model.stream.state import StreamIdentity, StreamState, demand_same
from scrub.stores.streaming import ChangeSource, HistoryReader, StreamSink

CHANGES_MAX = 10_000
ROWS_MAX = 10_000


@dataclass(slots=True)
class Pace:
    """How much an epoch does. It may change between epochs."""

    parallel: int = 1
    rows_max: int = ROWS_MAX  # 0 pauses the history; changes still flow
    changes_max: int = CHANGES_MAX


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
    ) -> None:
        self.pace = pace
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
        """Do one epoch and return it, committed."""
        ended = self._read_epoch()
        self._conclude(ended)
        return ended

    def _read_epoch(self) -> Epoch:
        state, coverage = self.state, self._source.coverage
        self.waiting = ()
        if state.is_read or not self.pace.rows_max:
            return end_epoch(state, self._source.changes(self.pace.changes_max), coverage)
        with self._history.snapshot() as held:
            choice = choose_parts(
                state.vnodes,
                held.snapshot,
                coverage,
                parallel=self.pace.parallel,
                rows_max=self.pace.rows_max,
            )
            parts = held.read(choice.wanted)
        self.waiting = choice.waiting
        changes = self._source.changes(self.pace.changes_max)
        return end_epoch(state, changes, coverage, snapshot=held.snapshot, parts=parts)

    def _conclude(self, ended: Epoch) -> None:
        self._sink.commit(ended)
        self._state = ended.state
        self._source.acknowledge(ended.state.resume)
