# SPDX-License-Identifier: Apache-2.0
"""How much a worker does at a time, and how long it rests; with a clock that tests move."""

from dataclasses import dataclass, field

import pytest

from repair.pacing import ALONE_SECONDS, CHUNK_SECONDS, ChunkSize, ChunkTime, Pace


@dataclass
class Clock:
    """Time that passes only when somebody sleeps or works."""

    now: float = 100.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.slept.append(seconds)
        self.now += seconds


def pace(clock: Clock, workers: int = 1) -> Pace:
    return Pace(workers, clock.sleep, clock)


def test_a_chunk_grows_until_it_takes_as_long_as_wanted() -> None:
    size = ChunkSize(0.2, rows=1_000)
    for _ in range(20):
        size.took(size.rows, size.rows / 20_000)  # a server that does 20,000 rows a second
    assert size.rows == pytest.approx(4_000, rel=0.01)


@pytest.mark.parametrize(
    ("rows", "done", "seconds", "then"),
    [
        pytest.param(1_000, 1_000, 0.0, 2_000, id="at most doubles"),
        pytest.param(10_000, 10_000, 0.4, 5_000, id="shrinks at once when it took too long"),
        pytest.param(1_000, 10, 0.001, 1_000, id="the short end of a range says nothing"),
        pytest.param(1_000, 500, 0.4, 250, id="a short one that took too long does"),
        pytest.param(1_000, 3, 5.0, 250, id="one slow moment costs a quarter at most"),
        pytest.param(1, 1, 0.001, 2, id="one of a row grows again"),
    ],
)
def test_the_next_chunk(rows: int, done: int, seconds: float, then: int) -> None:
    size = ChunkSize(0.2, rows=rows)
    size.took(done, seconds)
    assert size.rows == then


def test_a_chunk_has_a_limit_however_fast_the_server_is() -> None:
    size = ChunkSize(0.2, rows=1_000)
    for _ in range(30):
        size.took(size.rows, 0.0001)
    assert size.rows == 400_000


def test_giving_way_makes_chunks_smaller_down_to_a_row() -> None:
    size = ChunkSize(0.2, rows=1_000)
    size.gave_way()
    assert size.rows == 250
    for _ in range(10):
        size.gave_way()
    assert size.rows == 1


def test_without_a_limit_nobody_rests() -> None:
    clock = Clock()
    pace(clock).rest(1_000_000, None)
    assert not clock.slept


def test_no_more_rows_than_allowed_on_average() -> None:
    clock = Clock()
    working = pace(clock)
    rows = 0
    for _ in range(100):
        clock.now += 0.02  # the work itself
        rows += 100
        working.rest(100, 1_000)
    assert rows / (clock.now - 100.0) == pytest.approx(1_000, rel=0.01)


def test_the_time_of_the_work_counts() -> None:
    clock = Clock()
    working = pace(clock)
    clock.now += 0.3
    working.rest(1_000, 2_000)
    assert clock.slept == [pytest.approx(0.2)]


def test_who_was_slower_than_allowed_does_not_rest_and_may_not_catch_up() -> None:
    clock = Clock()
    working = pace(clock)
    clock.now += 60
    working.rest(100, 1_000)
    assert not clock.slept
    working.rest(100, 1_000)
    assert clock.slept == [pytest.approx(0.1)]


def test_workers_share_the_allowance() -> None:
    clock = Clock()
    pace(clock, workers=4).rest(100, 1_000)
    assert clock.slept == [pytest.approx(0.4)]


def test_a_chunk_is_no_more_than_a_quarter_of_a_second_of_the_allowance() -> None:
    clock = Clock()
    working = pace(clock, workers=2)
    assert working.most(50_000) == 50_000, "nothing is known of a limit yet"
    working.rest(0, 1_000)
    assert working.most(50_000) == 125
    assert working.most(100) == 100


def test_at_least_a_row_is_done_at_a_time() -> None:
    clock = Clock()
    working = pace(clock, workers=8)
    working.rest(0, 1)
    assert working.most(1_000) == 1
    working.rest(1, 1)
    assert clock.slept == [pytest.approx(8.0)]


def test_a_lower_pace_does_not_make_up_for_what_was_done_at_the_higher_one() -> None:
    clock = Clock()
    working = pace(clock)
    working.rest(50_000, None)
    working.rest(50_000, 10)  # at once: 5,000 seconds, in which nobody would hear of any change
    assert sum(clock.slept) <= 1.0
    assert working.most(50_000) == 2


def test_a_higher_pace_counts_from_the_next_chunk() -> None:
    clock = Clock()
    working = pace(clock)
    working.rest(10, 10)
    working.rest(10, 1_000)
    assert clock.slept == [pytest.approx(1.0), pytest.approx(0.01)]
    working.rest(10, None)
    assert working.most(50_000) == 50_000


def test_transactions_get_longer_when_nobody_was_seen_for_a_while_and_shorter_at_once() -> None:
    time = ChunkTime(None)
    alone = [time.seconds(others_write=False) for _ in range(6)]
    assert alone == [CHUNK_SECONDS] * 4 + [ALONE_SECONDS] * 2
    assert time.seconds(others_write=True) == CHUNK_SECONDS
    assert time.seconds(others_write=False) == CHUNK_SECONDS


def test_the_time_that_was_asked_for_is_kept_however_alone() -> None:
    time = ChunkTime(0.05)
    assert {time.seconds(others_write=False) for _ in range(9)} == {0.05}
