# SPDX-License-Identifier: Apache-2.0
import io
import re
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrub.cli.course import Course
from scrub.cli.progress import LogLines, StatusLine, logged_progress, shown_progress
from scrub.codec.compiling.notice import COMPILING, compiling
from scrub.model.progress import Progress

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
        "comparing, 1,000,000 of 4,000,000 rows (25%), 500,000 rows/s, 6 s left",
        "",
    ]


def test_a_terminal_is_told_once_that_loops_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TERM", raising=False)
    terminal = Terminal()
    with shown_progress(terminal) as listener:
        listener(Progress(phase="reading"))
        compiling()
        compiling()
        listener(Progress(phase="comparing"))
    compiling()
    assert terminal.lines == ["reading", f"{COMPILING}\n", "comparing", ""]


def test_a_log_is_not_told_that_loops_are_compiled() -> None:
    log = io.StringIO()
    with shown_progress(log):
        compiling()
    assert log.getvalue() == ""


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


def test_data_in_a_phase_never_writes_to_the_terminal() -> None:
    terminal = Terminal()
    StatusLine(terminal)(Progress(phase="checking a\x1b[31m\nb"))
    assert terminal.lines == ["checking a\\x1b[31m\\nb"]


def test_a_log_gets_a_plain_line_every_30_seconds_however_many_reports_come() -> None:
    log, clock, waited = io.StringIO(), Clock(), []
    reported, written = threading.Event(), threading.Event()

    def wait(seconds: float) -> bool:
        """Thirty seconds pass at once, twice; then the run ends."""
        waited.append(seconds)
        if len(waited) == 3:
            written.set()
            return True
        assert reported.wait(10)
        clock.now += seconds
        return False

    with logged_progress(log, clock, wait) as listener:
        for rows in range(0, 2_000_000, 20_000):
            listener(Progress(phase="comparing", rows_done=rows, rows_total=4_000_000))
        listener(Progress(phase="comparing", rows_done=1_500_000, rows_total=4_000_000))
        reported.set()
        assert written.wait(10)
    assert waited == [30.0, 30.0, 30.0]
    assert log.getvalue().splitlines() == [
        "progress: comparing, 1,980,000 of 4,000,000 rows (49%), 66,000 rows/s, 31 s left",
        "progress: comparing, 1,980,000 of 4,000,000 rows (49%), 33,000 rows/s, 1 min 1 s left",
    ]


def test_a_short_run_leaves_no_line_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, term in ((io.StringIO(), "xterm"), (Terminal(), "dumb")):
        monkeypatch.setenv("TERM", term)
        with shown_progress(stream) as listener:
            listener(Progress(phase="comparing", rows_done=5))
        assert stream.getvalue() == ""


def test_a_log_that_nobody_reads_any_more_does_not_end_the_run() -> None:
    log, stream = LogLines(closed := io.StringIO(), Clock()), "comparing"
    log(Progress(phase=stream))
    closed.close()
    log.write()


def test_late_reports_do_not_lower_what_is_shown() -> None:
    course = Course()
    course.take(Progress(phase="comparing", rows_done=300, rows_total=400), 0.0)
    course.take(Progress(phase="comparing", rows_done=0, rows_total=400), 1.0)
    assert course.describe(1.0) == "comparing, 300 of 400 rows (75%)"


def test_more_rows_than_estimated_are_no_more_than_all() -> None:
    course = Course()
    course.take(Progress(phase="loading", rows_done=500, rows_total=400), 0.0)
    assert course.describe(0.0) == "loading, 500 rows (100%)"


def test_a_part_that_is_nearly_all_is_not_called_all() -> None:
    course = Course()
    course.take(Progress(phase="loading", rows_done=999, rows_total=1000), 0.0)
    assert "(99%)" in course.describe(0.0)


def test_a_total_that_grows_leaves_out_the_percentage_rather_than_lower_it() -> None:
    course = Course()
    course.take(Progress(phase="loading", rows_done=50, rows_total=100), 0.0)
    course.take(Progress(phase="loading", rows_done=60, rows_total=200), 1.0)
    assert course.describe(0.0) == "loading, 60 of 200 rows"


def test_rows_that_start_again_are_another_pass() -> None:
    course = Course()
    course.take(Progress(phase="comparing", rows_done=100, rows_total=100), 0.0)
    course.take(Progress(phase="naming defects"), 1.0)
    course.take(Progress(phase="comparing", rows_done=0, rows_total=100), 2.0)
    course.take(Progress(phase="comparing", rows_done=10, rows_total=100), 3.0)
    assert course.describe(3.0) == "comparing, pass 2, 10 of 100 rows (10%), 10 rows/s, 9 s left"
    course.take(Progress(phase="comparing", rows_done=0, rows_total=70), 4.0)
    assert course.describe(4.0) == "comparing, pass 3"


def test_a_rate_leaves_out_the_time_in_which_nothing_is_scanned() -> None:
    course = Course()
    course.take(Progress(phase="loading", rows_done=0), 0.0)
    course.take(Progress(phase="loading", rows_done=100), 1.0)
    course.take(Progress(phase="loading (paused)", rows_done=100), 1.0)
    course.take(Progress(phase="loading (paused)", rows_done=100), 3600.0)
    assert "rows/s" not in course.describe(3600.0)
    course.take(Progress(phase="loading", rows_done=100), 3600.0)
    course.take(Progress(phase="loading", rows_done=200), 3601.0)
    assert course.describe(3601.0) == "loading, 200 rows, 100 rows/s"


REPORTS = st.lists(
    st.builds(
        Progress,
        phase=st.sampled_from(["comparing", "naming defects", "loading"]),
        rows_done=st.integers(0, 50),
        rows_total=st.none() | st.integers(0, 40),
    ),
    max_size=40,
)
SHOWN = re.compile(r"(?P<label>[a-z ]+(?:, pass \d+)?)(?:, (?P<rows>[\d,]+)(?: of [\d,]+)? rows)?"
                   r"(?: \((?P<percent>\d+)%\))?(?:, .*)?")  # fmt: skip


@given(REPORTS)
def test_whatever_is_reported_nothing_shown_goes_back_or_beyond_all(
    reports: list[Progress],
) -> None:
    course = Course()
    seen: dict[str, tuple[int, int]] = {}
    for now, report in enumerate(reports):
        course.take(report, float(now))
        shown = SHOWN.fullmatch(course.describe(float(now)))
        assert shown is not None
        rows, percent = seen.get(shown["label"], (0, 0))
        assert int(shown["rows"] or 0) >= rows
        assert percent <= int(shown["percent"] or percent) <= 100
        seen[shown["label"]] = int(shown["rows"] or 0), int(shown["percent"] or percent)


@given(st.lists(st.integers(0, 1000), min_size=1), st.data())
def test_the_order_in_which_threads_report_does_not_matter(rows: list[int], data) -> None:
    def end(order: list[int]) -> str:
        course = Course()
        for done in order:
            course.take(Progress(phase="loading", rows_done=done, rows_total=1000), 0.0)
        return course.describe(0.0)

    assert end(data.draw(st.permutations(rows))) == end(sorted(rows))


def test_reports_of_many_threads_show_the_most_that_was_reported() -> None:
    terminal = Terminal()
    line = StatusLine(terminal)

    def work() -> None:
        for rows in range(1, 201):
            line(Progress(phase="loading", rows_done=rows, rows_total=200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = [int(found) for text in terminal.lines for found in re.findall(r"(\d+)%", text)]
    assert shown == sorted(shown)
