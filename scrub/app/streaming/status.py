# SPDX-License-Identifier: Apache-2.0
"""What the databases say of a stream, from wherever it is asked, also when nobody runs it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from scrub.model.stream.changes import ONE_PARTITION
from scrub.model.stream.heard import InOrder
from scrub.model.stream.requests import Phase, StreamStatus, VnodeProgress
from scrub.model.stream.state import StreamState
from scrub.stores.postgres.changes.slots import Slot
from scrub.stores.postgres.streaming.opening import PostgresStream
from scrub.stores.postgres.streaming.streams import Stream

RATE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Look:
    at: float
    rows: int
    entries: int


def status_of(stream: PostgresStream, record: Stream, *, measures: bool = False) -> StreamStatus:
    """The status; with `measures`, it looks for a moment how fast a stream that runs is."""
    runner = stream.holder()
    rates: tuple[float, float] | None = None
    if measures and runner is not None:
        rates = _rates(lambda: _look(stream, record))
        record = stream.streams.get(stream.sink, record.id) or record
    state = stream.streams.read(stream.sink, record.id)
    slot = stream.slot()
    vnodes = () if state is None else state.vnodes
    is_read = state is not None and state.is_read
    return StreamStatus(
        table=record.table_name,
        indexes=record.indexes,
        phase=record.phase,
        epochs=record.epoch or 0,
        progress=record.progress_shown,
        rows=sum(vnode.rows_read for vnode in vnodes),
        rows_expected=sum(vnode.rows_expected for vnode in vnodes),
        rows_a_second=None if rates is None or is_read else rates[0],
        changes_applied=record.applied,
        changes_covered=record.covered,
        changes_dropped=record.dropped,
        changes_repeated=record.duplicates,
        entries_written=record.entries_written,
        entries_a_second=None if rates is None else rates[1],
        lag_bytes=_lag_bytes(stream, state),
        lag_seconds=_lag_seconds(record),
        log_kept=None if slot is None else slot.wal_kept,
        slot=record.slot,
        slot_lost=_why_lost(record, slot),
        paused=record.paused,
        paused_all=record.paused_all,
        rows_per_second=record.rows_per_second,
        waiting=record.waiting if runner is not None else 0,
        runner=runner,
        failure=record.failure,
        started=record.started,
        changed=record.changed,
        vnodes=tuple(
            VnodeProgress(
                rows_read=vnode.rows_read,
                rows_expected=vnode.rows_expected,
                is_finished=vnode.is_finished,
            )
            for vnode in vnodes
        ),
    )


def _look(stream: PostgresStream, record: Stream) -> _Look:
    state = stream.streams.read(stream.sink, record.id)
    now = stream.streams.get(stream.sink, record.id)
    rows = 0 if state is None else sum(vnode.rows_read for vnode in state.vnodes)
    return _Look(time.monotonic(), rows, 0 if now is None else now.entries_written)


def _rates(look: Callable[[], _Look]) -> tuple[float, float]:
    first = look()
    time.sleep(RATE_SECONDS)
    last = look()
    seconds = last.at - first.at
    return (last.rows - first.rows) / seconds, (last.entries - first.entries) / seconds


def _lag_bytes(stream: PostgresStream, state: StreamState | None) -> int | None:
    if state is None or not isinstance(state.heard, InOrder):
        return None
    mark = state.heard.marks.get(ONE_PARTITION)
    return None if mark is None else max(0, stream.log_end() - mark[0])


def _lag_seconds(record: Stream) -> float | None:
    if record.phase is Phase.BEGINNING or record.current_at is None:
        return None
    return max(0.0, (datetime.now(UTC) - record.current_at).total_seconds())


def _why_lost(record: Stream, slot: Slot | None) -> str | None:
    """Why the changes that the stream still needs are gone; a lag is something else."""
    if record.phase in (Phase.BEGINNING, Phase.DROPPING):
        return None
    if slot is None:
        return "it is gone"
    if slot.wal_status == "lost" or slot.invalidation:
        return slot.invalidation or "the log it needs was removed"
    return None
