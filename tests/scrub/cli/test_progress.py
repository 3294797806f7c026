# SPDX-License-Identifier: Apache-2.0
import io
from contextlib import suppress

import pytest

from scrub.cli.progress import StatusLine, shown_progress
from scrub.model.progress import Progress, ignore_progress

CLEAR = "\r\x1b[2K"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        return self.getvalue().split(CLEAR)[1:]


def test_a_line_shows_phase_rows_rate_and_time_left() -> None:
    terminal, clock = Terminal(), Clock()
    line = StatusLine(terminal, clock)
    line(Progress(phase="comparing", rows_done=0, rows_total=4_000_000))
    clock.now += 2
    line(Progress(phase="comparing", rows_done=1_000_000, rows_total=4_000_000))
    line.close()
    assert terminal.lines == [
        "comparing",
        "comparing, 1,000,000 of 4,000,000 (25%) rows, 500,000 rows/s, 6 s left",
        "",
    ]


def test_updates_are_rare_but_a_new_phase_shows_at_once() -> None:
    terminal, clock = Terminal(), Clock()
    line = StatusLine(terminal, clock)
    for rows in range(1000):
        clock.now += 0.001
        line(Progress(phase="comparing", rows_done=rows))
    assert 5 < len(terminal.lines) < 12
    line(Progress(phase="naming defects"))
    assert terminal.lines[-1] == "naming defects"


def test_the_rate_is_that_of_the_phase_and_not_of_the_start_before_it() -> None:
    terminal, clock = Terminal(), Clock()
    line = StatusLine(terminal, clock)
    line(Progress(phase="starting Spark"))
    clock.now += 60
    line(Progress(phase="comparing", rows_done=500, rows_total=9_100))
    clock.now += 1
    line(Progress(phase="comparing", rows_done=600, rows_total=9_100))
    assert terminal.lines[-1].endswith("100 rows/s, 1 min 25 s left")


def test_a_line_never_wraps() -> None:
    terminal = Terminal()
    StatusLine(terminal)(Progress(phase="x" * 500))
    assert len(terminal.lines[0]) == 79


def test_nothing_is_shown_after_the_end() -> None:
    terminal = Terminal()
    with suppress(KeyboardInterrupt), shown_progress(terminal) as listener:
        listener(Progress(phase="comparing"))
        raise KeyboardInterrupt
    listener(Progress(phase="too late"))
    assert terminal.getvalue().endswith(CLEAR)


def test_a_file_gets_no_status_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with shown_progress(io.StringIO()) as listener:
        assert listener is ignore_progress
    monkeypatch.setenv("TERM", "dumb")
    with shown_progress(Terminal()) as listener:
        assert listener is ignore_progress
