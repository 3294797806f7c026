# SPDX-License-Identifier: Apache-2.0
"""Streams: one use case for each verb of `scrub stream`."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from scrub.app.streaming.checking import StreamCheck
from scrub.app.streaming.loop import StreamLoop
from scrub.app.streaming.place import found, opened
from scrub.app.streaming.plan import steps_of
from scrub.app.streaming.session import open_session
from scrub.app.streaming.snapshots import SnapshotPair, exact_snapshots
from scrub.app.streaming.status import status_of
from scrub.app.streaming.verify_requests import snapshots_of_runner
from scrub.errors import UsageError
from scrub.model.gate import Judged
from scrub.model.progress import ProgressListener, ignore_progress
from scrub.model.request import SparkOptions
from scrub.model.stream.requests import (
    Phase,
    StreamPlan,
    StreamRequest,
    StreamResult,
    StreamStatus,
)
from scrub.stores.postgres.session_locks import try_lock
from scrub.stores.postgres.streaming.beginning import begin, rehearse
from scrub.stores.postgres.streaming.opening import PostgresStream
from scrub.stores.postgres.streaming.removing import remove, take_over_to_remove
from scrub.stores.postgres.streaming.streams import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAMED_BY_VERIFY = 100


def plan_stream(request: StreamRequest) -> StreamPlan:
    """What `run_stream` would do; refuses what it would refuse, and changes nothing."""
    with opened(request) as stream:
        record = stream.record()
        if record is None:
            rehearse(stream)
        else:
            _demand_usable(stream, record)
        return StreamPlan(
            table=request.table,
            indexes=tuple(index.name for index in stream.indexes),
            rows=stream.rows_expected() if record is None else None,
            steps=steps_of(stream, record, request),
        )


def run_stream(
    request: StreamRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> StreamResult:
    """Build, check and publish the indexes, and keep them current until interrupted."""
    with opened(request) as stream:
        stream.hold()
        record = stream.record() or begin(stream)
        _demand_usable(stream, record)
        pace = request.rows_per_second  # if none is named, the one that it was adjusted to
        rate = {} if pace is None else {"rows_per_second": pace}
        stream.streams.change(stream.sink, record.id, failure=None, verify=None, **rate)
        check = StreamCheck(request, spark, spark_options)
        with closing(StreamLoop(stream, record, request, check, on_progress)) as loop:
            refusal = loop.run()
        stream.let_go()
        status = status_of(stream, stream.record() or record)
        if refusal is None:
            return StreamResult(status=status)
        return StreamResult(status=status, refused=refusal.defective, unchecked=refusal.unchecked)


def resume_stream(
    request: StreamRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> StreamResult:
    """Lift a pause; where no process runs the stream, go on with it."""
    with found(request) as (stream, record):
        changed = {"paused": False, "paused_all": False}
        stream.streams.change(stream.sink, record.id, **changed)
        if stream.holder() is not None:
            now = stream.record() or record
            return StreamResult(status=status_of(stream, now))
        again = replace(request, indexes=record.indexes, rows_per_second=record.rows_per_second)
    return run_stream(again, spark=spark, spark_options=spark_options, on_progress=on_progress)


def stream_status(request: StreamRequest) -> StreamStatus:
    """How far the stream of a table has come; reads only."""
    with found(request) as (stream, record):
        return status_of(stream, record, measures=True)


def adjust_stream(request: StreamRequest, **values: object) -> StreamStatus:
    """Change the pace of a stream (`rows_per_second`), or pause it (`paused`, `paused_all`)."""
    with found(request) as (stream, record):
        stream.streams.change(stream.sink, record.id, **values)
        return status_of(stream, stream.record() or record)


def verify_stream(
    request: StreamRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> Judged:
    """Check the indexes at one moment of table and indexes, whoever runs the stream.

    If nobody does, changes are applied up to that moment first.
    """
    with found(request) as (_, begun):
        asked = replace(request, indexes=begun.indexes)
    with opened(asked) as stream, _snapshots(stream, asked) as pair:
        check = StreamCheck(asked, spark, spark_options, on_progress, _NAMED_BY_VERIFY)
        return check(begun.indexes, pair)


@contextmanager
def _snapshots(stream: PostgresStream, request: StreamRequest) -> Iterator[SnapshotPair]:
    record = stream.record()
    assert record is not None, "it was found a moment ago"
    _demand_usable(stream, record)
    state = stream.streams.read(stream.sink, record.id)
    if state is None or not state.is_read:
        raise UsageError(
            f"the history of {request.table} has not been read yet, so its index has not all "
            "entries",
            hint=f"go on with it: {stream.line('resume')}",
        )
    if not try_lock(stream.sink, stream.lock_name):
        with snapshots_of_runner(stream, record, request.wait_limit) as pair:
            yield pair
        return
    with (
        closing(open_session(stream, record, request)) as session,
        exact_snapshots(stream, session.run, session.arriving, request.wait_limit) as pair,
    ):
        yield pair


def drop_preview(request: StreamRequest) -> StreamStatus:
    """What `drop_stream` would remove; reads only."""
    with found(request) as (stream, record):
        return status_of(stream, record)


def drop_stream(request: StreamRequest) -> StreamStatus:
    """Remove the indexes and everything else that the stream made; whoever runs it stops."""
    with found(request) as (stream, record):
        before = status_of(stream, record)
        take_over_to_remove(stream, record, request.wait_limit)
        remove(stream, record, request.wait_limit)
        return replace(before, phase=Phase.DROPPING, runner=None)


def _demand_usable(stream: PostgresStream, record: Stream) -> None:
    if record.phase is Phase.DROPPING:
        raise UsageError(
            f"the stream of {record.table_name} is being dropped",
            hint=f"finish that first: {stream.line('drop', '--execute')}",
        )
    if record.slot != stream.feed.slot:
        raise UsageError(
            f"the catalog names the slot {stream.feed.slot}, and the stream of "
            f"{record.table_name} was begun with {record.slot}",
            hint="name that one, or drop the stream",
        )
