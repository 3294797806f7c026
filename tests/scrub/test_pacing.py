# SPDX-License-Identifier: Apache-2.0
"""Reading no faster than allowed; with a clock that tests move, and threads of their own."""

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scrub.model.pace import Limits, parse_rate
from scrub.pacing import (
    Allowance,
    Pace,
    Unwanted,
    batch_rows,
    current,
    keeping,
    paced,
    rows_in_a_step,
    unwanted_when,
)

FILE = Path("pause")


@dataclass
class Clock:
    """Time that passes only when somebody waits or works; a file that goes at some moment."""

    now: float = 100.0
    slept: list[float] = field(default_factory=list)
    pauses: tuple[tuple[float, float], ...] = ()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.slept.append(seconds)
        self.now += seconds

    def exists(self, path: Path) -> bool:
        assert path == FILE
        return any(begin <= self.now < end for begin, end in self.pauses)


def pace_of(clock: Clock, **limits: object) -> Pace:
    return Pace(Limits(**limits), clock.sleep, clock, clock.exists)  # type: ignore[arg-type]


def read(clock: Clock, pace: Pace, steps: int, rows: float, seconds: float = 0.0) -> list[float]:
    """When each of some steps of a reader was allowed to go on."""
    done, began = [], clock()
    for _ in range(steps):
        clock.now += seconds
        pace.passed(began, rows, rows * 10)
        began = clock()
        done.append(clock())
    return done


def test_so_many_rows_take_their_time() -> None:
    clock = Clock()
    assert read(clock, pace_of(clock, rows_per_second=100), 4, 25) == [100.25, 100.5, 100.75, 101]


def test_the_time_of_reading_counts() -> None:
    clock = Clock()
    done = read(clock, pace_of(clock, rows_per_second=100), 4, 25, seconds=0.2)
    assert done == pytest.approx([100.25, 100.5, 100.75, 101])
    assert clock.slept == pytest.approx([0.05] * 4)


def test_slow_reading_is_no_credit_for_what_follows() -> None:
    clock = Clock()
    pace = pace_of(clock, rows_per_second=100)
    read(clock, pace, 1, 25, seconds=60)
    assert clock.slept == []
    assert read(clock, pace, 2, 25) == [160.25, 160.5]


def test_the_stricter_limit_holds() -> None:
    clock = Clock()
    pace = pace_of(clock, rows_per_second=100, bytes_per_second=100)
    assert read(clock, pace, 1, 25)[0] == pytest.approx(102.5)


def test_several_readers_share_a_rate() -> None:
    shared = Allowance(100)
    # Two began at the same time, and each has read half a second's worth.
    assert [shared.take(0.0, 50), shared.take(0.0, 50)] == [0.5, 1.0]
    # A third one that comes later gets nothing of the time before it came.
    assert shared.take(10.0, 50) == 10.5


@pytest.mark.parametrize(
    ("rows", "rate", "step"),
    [(32_768, None, 32_768), (32_768, 1_000, 250), (10, 1_000, 10), (32_768, 0.1, 1)],
)
def test_a_step_takes_a_fraction_of_a_second(rows: int, rate: float | None, step: int) -> None:
    assert rows_in_a_step(rows, rate) == step


def test_a_batch_is_a_step_of_the_stricter_limit() -> None:
    assert batch_rows(32_768, 10.0) == 32_768
    with keeping(Pace(Limits(rows_per_second=1_000))):
        assert batch_rows(32_768, 10.0) == 250
    with keeping(Pace(Limits(rows_per_second=1_000, bytes_per_second=2_000))):
        assert batch_rows(32_768, 10.0) == 50
        assert batch_rows(32_768) == 250  # nobody knows how large a row is
    with keeping(Pace(Limits(pause_file=FILE))):
        assert batch_rows(32_768, 10.0) == 32_768


def test_while_the_file_exists_nothing_goes_on_and_the_time_is_known() -> None:
    clock = Clock(pauses=((100, 103),))
    pace = pace_of(clock, rows_per_second=100, pause_file=FILE)
    assert read(clock, pace, 2, 25) == pytest.approx([103.05, 103.3], abs=0.21)
    assert pace.seconds_paused == pytest.approx(2.8, abs=0.21)


def test_a_pause_is_seen_soon_and_the_file_is_not_looked_at_all_the_time() -> None:
    clock = Clock(pauses=((101, 102),))
    looks: list[float] = []

    def exists(path: Path) -> bool:
        looks.append(clock.now)
        return clock.exists(path)

    pace = Pace(Limits(pause_file=FILE), clock.sleep, clock, exists)
    read(clock, pace, 3_000, 1, seconds=0.001)
    assert pace.seconds_paused == pytest.approx(1, abs=0.41)
    assert len(looks) < 40


def test_after_a_pause_nothing_is_caught_up() -> None:
    clock = Clock(pauses=((100.1, 110),))
    pace = pace_of(clock, rows_per_second=100, pause_file=FILE)
    first, *others = read(clock, pace, 5, 25)
    assert first == pytest.approx(110.1, abs=0.21)
    assert others == pytest.approx([first + 0.25 * n for n in range(1, 5)])


def test_what_others_read_is_paid_for_once() -> None:
    clock = Clock()
    pace = pace_of(clock, rows_per_second=100)
    pace.owe(50, 0)
    pace.owe(50, 0)
    with pace.paying():
        clock.now += 0.3
    assert clock() == 101
    with pace.paying():
        pass
    assert clock() == 101


def test_threads_keep_to_one_rate_together() -> None:
    pace = Pace(Limits(rows_per_second=2_000))

    def reader() -> None:
        with keeping(pace):
            assert list(paced(range(5), lambda _: (100, 0))) == list(range(5))

    began = time.monotonic()
    threads = [threading.Thread(target=reader) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0.5 <= time.monotonic() - began < 5
    assert current() is None


def test_threads_that_wait_together_wait_once(tmp_path: Path) -> None:
    file = tmp_path / "pause"
    file.touch()
    pace = Pace(Limits(pause_file=file))
    threads = [threading.Thread(target=pace.hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    file.unlink()
    for thread in threads:
        thread.join(10)
    assert 0.4 < pace.seconds_paused < 1.5


def test_a_reader_that_nobody_wants_any_more_ends_at_once(tmp_path: Path) -> None:
    (tmp_path / "pause").touch()
    limits = [Limits(rows_per_second=0.001), Limits(pause_file=tmp_path / "pause"), None]
    stopping, ended = threading.Event(), []

    def reader(of: Limits | None) -> None:
        unwanted_when(stopping)
        with keeping(Pace(of) if of else None):
            try:
                for _ in paced(iter(lambda: time.sleep(0.01), 1), lambda _: (1, 1)):
                    pass
            except Unwanted:
                ended.append(of)

    threads = [threading.Thread(target=reader, args=(of,), daemon=True) for of in limits]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    stopping.set()
    for thread in threads:
        thread.join(5)
    assert len(ended) == len(limits)


def test_without_limits_nothing_is_slowed_down_or_counted() -> None:
    def never(_: int) -> tuple[float, float]:
        raise AssertionError("counted")

    assert list(paced(range(3), never)) == [0, 1, 2]


def test_a_share_is_a_part_of_each_rate_and_of_every_pause() -> None:
    share = Limits(rows_per_second=100, bytes_per_second=50, pause_file=FILE).divided(4)
    assert share == Limits(rows_per_second=25, bytes_per_second=12.5, pause_file=FILE)
    assert Limits(pause_file=FILE).divided(4) == Limits(pause_file=FILE)
    assert not Limits()


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (Limits(), ""),
        (Limits(rows_per_second=1_500_000), "at most 1,500,000 rows a second"),
        (
            Limits(rows_per_second=5, bytes_per_second=50 << 20, pause_file=Path("/tmp/x")),
            "at most 5 rows and 50 MiB a second; paused while /tmp/x exists",
        ),
        (Limits(pause_file=Path("x")), "paused while x exists"),
    ],
)
def test_limits_in_words(limits: Limits, told: str) -> None:
    assert str(limits) == told


@pytest.mark.parametrize("text", ["0", "0 MiB", "-1", "fast", "", "1.5MiB", "inf"])
def test_no_rate(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no number of bytes|must be more than 0"):
        parse_rate(text)


def test_a_rate() -> None:
    assert parse_rate("50MiB") == 50 << 20
