# SPDX-License-Identifier: Apache-2.0
"""Changes are held back until the table shows them, and are filled in with what they left out."""

from dataclasses import replace

import pytest

from repair.streaming.arriving import Arriving
from repair.streaming.running import StreamRun
from scrub.model.stream.changes import Changes
from scrub.model.stream.coverage import HistorySnapshot
from scrub.stores.streaming import NotShown
from tests.repair.streaming.model_stream import IDENTITY, ModelStream
from tests.repair.streaming.model_upstream import Rows, Upstream

ROWS: Rows = {(key,): ("first", "long") for key in range(6)}


class Ahead:
    """A source that has heard everything that it will, and says so."""

    def __init__(self, stream: ModelStream) -> None:
        self._source = stream.source
        self._upstream = stream.upstream
        self.coverage = stream.source.coverage

    def open(self, resume: str) -> None:
        self._source.open(resume)

    def acknowledge(self, resume: str) -> None:
        self._source.acknowledge(resume)

    def changes(self, limit: int) -> Changes:
        found = self._source.changes(limit)
        is_all = self._source.is_drained
        return replace(found, heard_to=self._upstream.ends(self._upstream.log) if is_all else {})


def a_stream(*, wait_limit: float = 1.0) -> tuple[ModelStream, Arriving]:
    stream = ModelStream(Upstream(dict(ROWS), shows_transactions=True))
    stream.pace.rows_max = 100
    arriving = Arriving(Ahead(stream), stream.history, wait_limit=wait_limit, sleep=lambda _: None)
    stream.run = StreamRun(
        IDENTITY, arriving, stream.history, stream.sink, first=stream._first, pace=stream.pace
    )
    stream.run.recover()
    stream.run.epoch()
    return stream, arriving


def test_a_commit_that_no_snapshot_shows_is_held_back() -> None:
    """The index would otherwise be ahead of its table."""
    stream, _ = a_stream()
    xid = stream.upstream.commit(("put", 1, "held"), hold=True)
    stream.upstream.commit(("put", 2, "behind it"))
    before = dict(stream.sink.output)
    stream.run.epoch()
    assert stream.sink.output == before
    stream.upstream.release(xid)
    stream.run.epoch()
    assert not stream.differences()


def test_what_was_held_back_comes_again_after_a_crash() -> None:
    stream, arriving = a_stream()
    stream.upstream.commit(("put", 1, "held"), hold=True)
    stream.run.epoch()
    stream.upstream.release()
    stream.run = StreamRun(
        IDENTITY, arriving, stream.history, stream.sink, first=stream._first, pace=stream.pace
    )
    stream.run.recover()
    stream.run.epoch()
    assert not stream.differences()


def test_values_that_were_left_out_are_read_from_the_table() -> None:
    stream, _ = a_stream()
    stream.upstream.commit(("note", 3, "new"))
    stream.run.epoch()
    assert stream.sink.output[(3,)] == ("new", "long")
    assert not stream.differences()


@pytest.mark.parametrize("then", [("delete", 3), ("move", 3, 30)], ids=["deleted", "moved"])
def test_a_row_that_has_gone_since_has_no_entry(then: tuple[object, ...]) -> None:
    """The value that was left out cannot be read any more, and need not be."""
    stream, _ = a_stream()
    stream.upstream.commit(("note", 3, "new"))
    stream.upstream.commit(then)
    stream.source.deliver = 1
    stream.run.epoch()
    assert (3,) not in stream.sink.output
    stream.source.deliver = None
    stream.run.epoch()
    assert not stream.differences()


def test_an_exact_epoch_shows_what_its_snapshot_shows() -> None:
    stream, arriving = a_stream()
    stream.upstream.commit(("put", 1, "before"), ("move", 2, 20))
    with stream.history.snapshot() as held:
        shown = dict(stream.upstream.rows)
        stream.upstream.commit(("put", 1, "after"), ("delete", 3))
        changes = arriving.up_to(held)
        assert changes is not None
        stream.run.exact_epoch(held, changes)
    assert stream.sink.output == shown
    stream.run.epoch()
    assert not stream.differences()


def test_after_a_crash_an_exact_epoch_has_lost_nothing() -> None:
    stream, arriving = a_stream()
    stream.upstream.commit(("put", 1, "before"))
    with stream.history.snapshot() as held:
        stream.upstream.commit(("put", 1, "after"), ("put", 9, "new"))
        changes = arriving.up_to(held)
        assert changes is not None
        stream.run.exact_epoch(held, changes)
    stream.run = StreamRun(
        IDENTITY, arriving, stream.history, stream.sink, first=stream._first, pace=stream.pace
    )
    stream.run.recover()
    stream.run.epoch()
    assert not stream.differences()


def test_a_held_commit_before_a_shown_one_makes_a_snapshot_no_place_to_stop_at() -> None:
    stream, arriving = a_stream()
    xid = stream.upstream.commit(("put", 1, "held"), hold=True)
    stream.upstream.commit(("put", 2, "shown"))
    with stream.history.snapshot() as held:
        assert arriving.up_to(held) is None
    stream.upstream.release(xid)
    with stream.history.snapshot() as held:
        changes = arriving.up_to(held)
        assert changes is not None
        stream.run.exact_epoch(held, changes)
    assert not stream.differences()


def test_changes_that_do_not_come_as_far_as_the_snapshot_are_not_waited_for_for_ever() -> None:
    stream, arriving = a_stream(wait_limit=0.0)
    with stream.history.snapshot() as held:
        held.snapshot = HistorySnapshot(held.snapshot.token, {"0": (10**9, 0)})
        with pytest.raises(NotShown, match="have not come as far as the snapshot"):
            arriving.up_to(held)
