# SPDX-License-Identifier: Apache-2.0
"""Epochs take about as long as they should, and read no faster than allowed."""

import pytest

from scrub.app.streaming.history_pace import ROWS_MAX, ROWS_MIN, HistoryPace


def test_epochs_grow_until_they_take_as_long_as_they_should() -> None:
    pace, now = HistoryPace(epoch_seconds=0.5), 0.0
    for _ in range(20):
        rows = pace.rows_now(now, None)
        ended = now + rows / 50_000
        pace.took(now, ended, rows, None)
        now = ended
    assert 20_000 <= pace.rows <= 30_000


def test_slow_epochs_shrink_but_always_read_something() -> None:
    pace = HistoryPace(epoch_seconds=0.1)
    for _ in range(50):
        pace.took(0.0, 100.0, pace.rows, None)
    assert pace.rows == ROWS_MIN


def test_they_do_not_grow_for_ever() -> None:
    pace = HistoryPace(epoch_seconds=10.0)
    for _ in range(50):
        pace.took(0.0, 0.001, pace.rows, None)
    assert pace.rows == ROWS_MAX


def test_an_epoch_that_had_less_to_read_says_nothing_about_the_pace() -> None:
    pace = HistoryPace(epoch_seconds=1.0)
    pace.took(0.0, 0.01, 3, None)
    assert pace.rows == HistoryPace(epoch_seconds=1.0).rows


@pytest.mark.parametrize("rate", [1, 7, 100, 3_000])
def test_no_more_is_read_than_the_rate_allows(rate: int) -> None:
    """A rate of less than a row for each epoch still reads, now and then."""
    pace, now, read = HistoryPace(epoch_seconds=0.1), 0.0, 0
    while now < 20.0:
        rows = pace.rows_now(now, rate)
        read += rows
        pace.took(now, now + 0.01, rows, rate)
        now += 0.1
    assert rate * 20 * 0.8 <= read <= rate * 20 + max(1, rate * 0.1) + 1


def test_a_new_rate_holds_at_once() -> None:
    pace = HistoryPace(epoch_seconds=0.1)
    pace.took(0.0, 0.1, 100, 1)
    assert pace.rows_now(0.2, 1) == 0
    assert pace.rows_now(0.2, None) > 0
