# SPDX-License-Identifier: Apache-2.0
"""Says on standard error how far a run has come.

On a terminal this is one line, which leaves nothing behind, except that it may say once why a
first run takes longer. Elsewhere it is a line of plain text now and then, so that a log shows that
the run is alive and what it does.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from reports.display_width import cut
from reports.escaping import printable
from scrub.cli.course import Course
from scrub.codec.compiling.notice import COMPILING, on_compiling
from scrub.model.progress import Progress, ProgressListener

_SECONDS_BETWEEN_UPDATES = 0.1
_SECONDS_BETWEEN_LINES = 30.0
_CLEAR_LINE = "\r\x1b[2K"

Clock = Callable[[], float]
Wait = Callable[[float], bool]  # for so many seconds; true if the end came before


@contextmanager
def shown_progress(stream: TextIO | None = None) -> Iterator[ProgressListener]:
    """A listener for one run that shows what is reported to it."""
    stream = stream or sys.stderr
    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        with logged_progress(stream) as listener:
            yield listener
        return
    line = StatusLine(stream)
    try:
        with on_compiling(lambda: line.say(COMPILING)):
            yield line
    finally:
        line.close()


@contextmanager
def logged_progress(
    stream: TextIO, clock: Clock = time.monotonic, wait: Wait | None = None
) -> Iterator[ProgressListener]:
    """A listener whose state is written as a line every 30 s, however many reports come."""
    ended = threading.Event()
    log = LogLines(stream, clock)

    def write_now_and_then() -> None:
        while not (wait or ended.wait)(_SECONDS_BETWEEN_LINES):
            log.write()

    writer = threading.Thread(target=write_now_and_then, name="scrub-progress-log", daemon=True)
    writer.start()
    try:
        yield log
    finally:
        ended.set()
        writer.join()


class LogLines:
    """The listener for logs; reports may come from any thread."""

    def __init__(self, stream: TextIO, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock
        self._lock = threading.Lock()
        self._course = Course()

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            self._course.take(progress, self._clock())

    def write(self) -> None:
        """Write how far the run has come, if anything has been reported."""
        with self._lock:
            text = self._course.describe(self._clock())
        if text:
            with suppress(OSError, ValueError):  # nobody reads it, which must not end the run
                self._stream.write(f"progress: {printable(text)}\n")
                self._stream.flush()


class StatusLine:
    """The listener for terminals; reports may come from any thread."""

    def __init__(self, stream: TextIO, clock: Clock = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = False
        self._shown_at = -_SECONDS_BETWEEN_UPDATES
        self._course = Course()

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            now = self._clock()
            has_changed = self._course.take(progress, now)
            if self._closed:
                return
            if has_changed or now - self._shown_at >= _SECONDS_BETWEEN_UPDATES:
                self._shown_at = now
                self._show(printable(self._course.describe(now)))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._show("")

    def say(self, text: str) -> None:
        """Write a line that stays."""
        with self._lock:
            self._show(text)
            self._stream.write("\n")
            self._stream.flush()

    def _show(self, text: str) -> None:
        # A line that wraps could not be cleared.
        self._stream.write(_CLEAR_LINE + cut(text, _columns(self._stream) - 1))
        self._stream.flush()


def _columns(stream: TextIO) -> int:
    """Of the terminal itself: with a wrong COLUMNS the line would wrap."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80
