# SPDX-License-Identifier: Apache-2.0
"""Runs a stream: epoch after epoch, through its check, until it is caught up or interrupted.

What others ask for, with `adjust`, `pause` or `verify`, is read from the record of the stream
before each epoch.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from scrub.app.streaming.checking import CheckBeside, StreamCheck, refusal_of
from scrub.app.streaming.history_pace import HistoryPace
from scrub.app.streaming.session import StreamSession, open_session
from scrub.app.streaming.snapshots import exact_snapshots
from scrub.app.streaming.verify_requests import Answered
from scrub.errors import StoreUnavailable
from scrub.model.progress import Progress, ProgressListener
from scrub.model.stream.changes import ONE_PARTITION
from scrub.model.stream.epochs import Epoch
from scrub.model.stream.heard import InOrder
from scrub.model.stream.requests import Phase, StreamRequest
from scrub.model.stream.state import StreamState
from scrub.stores.postgres.connections import require_psycopg
from scrub.stores.postgres.streaming.opening import PostgresStream
from scrub.stores.postgres.streaming.streams import Stream
from scrub.stores.streaming import NotShown, TakenOver

_LOOK_SECONDS = 0.2  # between two looks at a stream that rests
_NOTED_SECONDS = 1.0  # how often the time is noted at which the stream was current
_AGAIN_SECONDS = 0.5  # before a server that was lost is reached for again


@dataclass(slots=True)
class Refusal:
    """Why the indexes of a stream did not become public."""

    defective: str | None = None
    unchecked: str | None = None


@dataclass(slots=True)
class StreamLoop:
    """One run of one stream; the caller holds its lock."""

    stream: PostgresStream
    record: Stream
    request: StreamRequest
    check: StreamCheck
    on_progress: ProgressListener
    clock: Callable[[], float] = time.monotonic
    _pace: HistoryPace = field(init=False)
    _target: int | None = field(default=None, init=False)  # where a public stream is caught up
    _beside: CheckBeside | None = field(default=None, init=False)
    _checking: ExitStack = field(default_factory=ExitStack, init=False)
    _answered: Answered = field(init=False)
    _lost_at: float | None = field(default=None, init=False)  # the last epoch was before
    _noted_at: float = field(default=0.0, init=False)
    _read_at: float = field(default=0.0, init=False)  # when rows were read, or need not be

    def __post_init__(self) -> None:
        self._pace = HistoryPace(self.request.epoch_seconds)
        self._answered = Answered(self.stream)

    def run(self) -> Refusal | None:
        """Until it is caught up, or the check refuses to publish."""
        while True:
            try:
                with closing(open_session(self.stream, self.record, self.request)) as session:
                    return self._go_on(session)
            except NotShown:
                raise
            except TakenOver as error:
                raise StoreUnavailable(
                    f"another process has taken over the stream of {self.request.table}",
                    hint=f"look at it with: {self.stream.line('status')}",
                ) from error
            except (StoreUnavailable, require_psycopg().OperationalError) as error:
                self._lost_at = self._lost_at or self.clock()
                self._reach_again(self._lost_at, error)

    def close(self) -> None:
        self._checking.close()
        self._answered.close()

    def _reach_again(self, lost_at: float, error: Exception) -> None:
        """Wait for a server that was lost, and hold the lock again. Raises after the limit."""
        self.close()
        self._beside = None
        while True:
            if self.clock() > lost_at + self.request.wait_limit:
                raise error
            self.on_progress(Progress(phase="reaching the servers again"))
            time.sleep(_AGAIN_SECONDS)
            with suppress(StoreUnavailable, require_psycopg().Error):
                self.stream.close()
                self.stream.hold()
                return

    def _go_on(self, session: StreamSession) -> Refusal | None:
        self._read_at = self.clock()
        while True:
            began = self.clock()
            record = self._asked()
            if record.runner != session.sink.runner:
                raise TakenOver
            if record.paused_all:
                self._rest(session.run.state, "paused")
                continue
            ended = self._epoch(session, record)
            self._lost_at = None
            self._answered.look(session, record, self.request.wait_limit)
            if record.phase is Phase.BUILDING and ended.state.is_read:
                if (refusal := self._checked(session, record)) is not None:
                    return refusal
            elif self._is_caught_up(record, ended):
                return None
            self._wait(began, ended, session)

    def _asked(self) -> Stream:
        record = self.stream.streams.get(self.stream.sink, self.record.id)
        if record is None or record.phase is Phase.DROPPING:
            raise TakenOver
        return record

    def _rest(self, state: StreamState, phase: str) -> None:
        self._tell(state, phase)
        time.sleep(_LOOK_SECONDS)

    # One epoch

    def _epoch(self, session: StreamSession, record: Stream) -> Epoch:
        run, file = session.run, self.request.pause_file
        is_paused = record.paused or (file is not None and file.exists())
        began = self.clock()
        rate = record.rows_per_second
        run.pace.rows_max = 0 if is_paused else self._pace.rows_now(began, rate)
        run.pace.parallel = _vnodes_for(run.pace.rows_max, run.state)
        before = run.state
        asked_at = datetime.now(UTC)
        ended = run.epoch()
        rows = sum(part.rows for part in ended.writes.parts)
        self._pace.took(began, self.clock(), rows, rate)
        self._demand_progress(session, before, is_paused)
        self._note(session, ended, asked_at)
        phase = "keeping the index current" if ended.state.is_read else "reading history"
        self._tell(ended.state, f"{phase} (paused)" if is_paused else phase)
        return ended

    def _demand_progress(self, session: StreamSession, before: StreamState, paused: bool) -> None:
        """Raises StoreUnavailable if vnodes have waited for a newer snapshot for too long."""
        now, state = self.clock(), session.run.state
        if paused or not session.run.waiting or state.vnodes != before.vnodes:
            self._read_at = now
        elif now > self._read_at + self.request.wait_limit:
            raise NotShown(
                f"for {self.request.wait_limit:g} seconds, no snapshot of {self.request.table} has "
                "shown what its log says already",
                hint="a synchronous standby may not answer; look at pg_stat_replication. Nothing "
                "is lost, and the same command goes on",
            )

    def _note(self, session: StreamSession, ended: Epoch, asked_at: datetime) -> None:
        """Let `status` know, from wherever it is asked."""
        now = self.clock()
        if now < self._noted_at + _NOTED_SECONDS:
            return
        is_current = sum(ended.counts.values()) < session.run.pace.changes_max
        known = {"waiting": len(session.run.waiting)}
        if is_current and not session.arriving.is_holding_back:
            self._change(current_at=asked_at, **known)
        else:
            self._change(**known)
        self._noted_at = now

    def _change(self, **values: object) -> None:
        self.stream.streams.change(self.stream.sink, self.record.id, **values)

    def _tell(self, state: StreamState, phase: str) -> None:
        """A stream that has read all of the history has no share to tell."""
        if state.is_read:
            self.on_progress(Progress(phase=phase))
            return
        done = sum(vnode.rows_read for vnode in state.vnodes)
        self.on_progress(Progress(phase=phase, rows_done=done, rows_total=rows_in_all(state)))

    def _wait(self, began: float, ended: Epoch, session: StreamSession) -> None:
        """Commit about as often as asked for: while there is much to do, at once."""
        is_busy = not ended.state.is_read and session.run.pace.rows_max
        is_full = sum(ended.counts.values()) >= session.run.pace.changes_max
        rest = began + self.request.epoch_seconds - self.clock()
        if rest > 0 and not (is_busy or is_full):
            time.sleep(rest)

    # Becoming public, and being current

    def _checked(self, session: StreamSession, record: Stream) -> Refusal | None:
        """Check beside the epochs; publish, or say why not."""
        if self._beside is None:
            limit = self.request.wait_limit
            pair = self._checking.enter_context(
                exact_snapshots(self.stream, session.run, session.arriving, limit)
            )
            self._beside = CheckBeside(self.check, record.indexes, pair)
            return None
        if self._beside.is_running:
            return None
        beside, self._beside = self._beside, None
        self._checking.close()
        defective, unchecked = refusal_of(beside)
        if defective or unchecked:
            self._change(failure=defective or unchecked)
            return Refusal(defective, unchecked)
        self._change(phase=Phase.PUBLIC, failure=None)
        return None

    def _is_caught_up(self, record: Stream, ended: Epoch) -> bool:
        """Whether the index shows everything that was in the log when it was public already."""
        if record.phase is not Phase.PUBLIC or not self.request.until_caught_up:
            return False
        if self._target is None:
            self._target = self.stream.log_end()
        heard = ended.state.heard
        assert isinstance(heard, InOrder), "a replication slot is ordered"
        return heard.marks.get(ONE_PARTITION, ()) >= (self._target,)


def _vnodes_for(rows: int, state: StreamState) -> int:
    """How many vnodes so many rows are read of: an epoch may read more than one has."""
    expected = sum(vnode.rows_expected for vnode in state.vnodes)
    return max(1, rows * len(state.vnodes) // max(1, expected))


def rows_in_all(state: StreamState) -> int:
    """About how many rows the history has: of vnodes that are finished, as many as were read."""
    return sum(
        vnode.rows_read if vnode.is_finished else max(vnode.rows_expected, vnode.rows_read)
        for vnode in state.vnodes
    )
