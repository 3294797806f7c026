# SPDX-License-Identifier: Apache-2.0
"""A stream that is paused, taken over, or began with another table."""

from dataclasses import replace
from unittest.mock import patch

import pytest

from repair.streaming.running import Pace, StreamRun
from scrub.model.stream.state import AnotherStream
from scrub.stores.streaming import TakenOver
from tests.repair.streaming.model_stream import IDENTITY, ModelSink, ModelStream
from tests.repair.streaming.model_upstream import Upstream


def stream_of(keys: int, **pace: int) -> ModelStream:
    rows = {(key,): ("first", "long") for key in range(keys)}
    return ModelStream(Upstream(rows), pace=Pace(**pace)).start()


def test_a_pause_stops_history_and_not_the_changes() -> None:
    """A stream whose epochs had to read a row would be stuck here, and its source would grow."""
    stream = stream_of(6, rows_max=3)
    stream.run.epoch()
    stream.pace.rows_max = 0
    stream.upstream.commit(("put", 1, "new"))
    stream.run.epoch()
    assert stream.sink.output[(1,)] == ("new", "long new")
    assert len(stream.sink.output) == 3
    assert stream.source.is_drained
    stream.pace.rows_max = 3
    stream.settle()
    assert not stream.differences()


def test_an_upstream_that_never_pauses_does_not_hold_up_the_history() -> None:
    stream = stream_of(40, rows_max=1)
    epochs = 0
    while not stream.run.state.is_read:
        stream.upstream.commit(("put", epochs % 40, epochs))
        stream.upstream.commit(("put", 39, epochs))
        before = stream.run.state.vnodes[0].rows_read
        stream.run.epoch()
        epochs += 1
        is_read = stream.run.state.is_read
        assert stream.run.state.vnodes[0].rows_read == before + (not is_read)
    assert epochs == 41
    stream.settle()
    assert not stream.differences()


def test_the_number_of_readers_may_change_between_epochs() -> None:
    rows = {(key,): ("first", "long") for key in range(20)}
    stream = ModelStream(Upstream(rows), bounds=[(5,), (10,), (15,)]).start()
    for parallel in (4, 1, 3, 2):
        stream.pace.parallel = parallel
        stream.upstream.commit(("delete", parallel), ("move", 5 + parallel, 30 + parallel))
        stream.run.epoch()
    stream.settle()
    assert not stream.differences()


def test_a_run_that_failed_recovers_before_it_goes_on() -> None:
    """The changes that it had read are gone from its connection to the source."""
    stream = stream_of(3, rows_max=9)
    stream.settle()
    stream.upstream.commit(("put", 1, "new"))
    with (
        patch.object(ModelSink, "commit", side_effect=ConnectionError),
        pytest.raises(ConnectionError),
    ):
        stream.run.epoch()
    with pytest.raises(AssertionError, match="recover"):
        stream.run.epoch()
    stream.run.recover()
    stream.settle()
    assert not stream.differences()


def test_an_idle_stream_commits_now_and_then_only() -> None:
    moments = iter([0.0, 0.2, 0.4, 1.1, 1.1, 1.2])
    stream = stream_of(1, rows_max=9)
    stream.settle()
    stream.start()
    stream.run = StreamRun(
        IDENTITY,
        stream.source,
        stream.history,
        stream.sink,
        first=lambda: pytest.fail("there is a state"),
        pace=Pace(idle_seconds=1.0),
        clock=lambda: next(moments),
    )
    stream.run.recover()
    committed = []
    for _ in range(4):
        stream.run.epoch()
        state = stream.sink.state
        assert state is not None
        committed.append(state.epoch)
    first = committed[0]
    assert committed == [first, first, first + 1, first + 1]


def test_a_process_that_was_taken_over_writes_nothing_more() -> None:
    stream = stream_of(6, rows_max=2)
    first = stream.run
    first.epoch()
    stream.start()
    stream.run.epoch()
    before = dict(stream.sink.output)
    with pytest.raises(TakenOver):
        first.epoch()
    assert stream.sink.output == before


@pytest.mark.parametrize("what", ["table", "source", "index"])
def test_a_state_of_something_made_anew_is_not_taken_for_finished(what: str) -> None:
    stream = stream_of(2)
    stream.settle()
    stream.identity = replace(IDENTITY, **{what: "made anew"})
    with pytest.raises(AnotherStream, match=f"the {what} is not the one"):
        stream.start()
