# SPDX-License-Identifier: Apache-2.0
"""Faults that other streaming backfills shipped, each by name."""

from unittest.mock import patch

import pytest

from repair.streaming.running import Pace
from tests.repair.streaming.model_stream import ModelSource, ModelStream
from tests.repair.streaming.model_upstream import Upstream

BOUNDS = [(5,), (10,), (15,)]


def stream_of(keys: int, **pace: int) -> ModelStream:
    rows = {(key,): ("first", "long") for key in range(keys)}
    return ModelStream(Upstream(rows), bounds=BOUNDS, pace=Pace(**pace)).start()


def entries(stream: ModelStream) -> int:
    return len(stream.sink.output)


def test_no_change_is_discarded_while_the_reader_is_being_reached_at_recovery() -> None:
    stream = stream_of(20, parallel=4, rows_max=100)
    stream.settle()
    stream.upstream.commit(("delete", 3), ("put", 4, "new"))
    with patch.object(ModelSource, "open", side_effect=ConnectionError):
        for _ in range(3):
            with pytest.raises(ConnectionError):
                stream.start()
            stream.upstream.commit(("delete", 7))
    stream.start()
    stream.settle()
    assert not stream.differences()


def test_no_deletion_is_buffered_over_a_commit() -> None:
    """What an epoch heard is decided in its own commit: a crash right after it loses nothing."""
    stream = stream_of(20, parallel=4, rows_max=8)
    stream.upstream.commit(("delete", 0), ("delete", 19))
    stream.run.epoch()
    assert (0,) not in stream.sink.output
    stream.upstream.commit(("delete", 1))
    stream.run.epoch()
    stream.start()
    stream.settle()
    assert not stream.differences()


def test_no_deletion_is_lost_when_scaling_in_after_a_part_was_finished() -> None:
    stream = stream_of(20, parallel=2, rows_max=12)
    stream.run.epoch()
    finished = [vnode.is_finished for vnode in stream.run.state.vnodes]
    assert finished == [True, True, False, False]
    stream.upstream.commit(("delete", 2), ("delete", 12), ("move", 4, 24))
    stream.pace.parallel = 1
    stream.start()
    assert [vnode.is_finished for vnode in stream.run.state.vnodes] == finished
    stream.settle()
    assert not stream.differences()


def test_a_pause_reaches_every_reader() -> None:
    stream = stream_of(20, parallel=4, rows_max=4)
    stream.run.epoch()
    assert entries(stream) == 4
    stream.pace.rows_max = 0
    for parallel in (1, 2, 4):
        stream.pace.parallel = parallel
        stream.run.epoch()
    assert entries(stream) == 4


@pytest.mark.parametrize("parallel", [1, 2, 4])
def test_a_rate_limit_is_one_for_all_readers(parallel: int) -> None:
    stream = stream_of(20, parallel=parallel, rows_max=3)
    read = []
    for _ in range(4):
        before = entries(stream)
        stream.run.epoch()
        read.append(entries(stream) - before)
    assert all(1 <= rows <= 3 for rows in read)


def test_a_stream_whose_pace_allows_no_row_is_not_stuck() -> None:
    stream = stream_of(20, parallel=4, rows_max=0)
    for number in range(5):
        stream.upstream.commit(("put", number, number))
        stream.run.epoch()
        assert stream.source.is_drained
    stream.pace.rows_max = 9
    stream.settle()
    assert not stream.differences()
