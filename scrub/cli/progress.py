# SPDX-License-Identifier: Apache-2.0
"""One line on the terminal that says how far a run has come, and leaves nothing behind."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from scrub.model.progress import Progress, ProgressListener, ignore_progress

_SECONDS_BETWEEN_UPDATES = 0.1
_CLEAR_LINE = "\r\x1b[2K"
_MINUTE = 60


@contextmanager
def shown_progress(stream: TextIO | None = None) -> Iterator[ProgressListener]:
    """A listener that shows progress on a terminal, and one that ignores it elsewhere."""
    stream = stream or sys.stderr
    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield ignore_progress
        return
    line = StatusLine(stream)
    try:
        yield line
    finally:
        line.close()


class StatusLine:
    """The listener itself; reports may come from any thread."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = False
        self._shown_at = -_SECONDS_BETWEEN_UPDATES
        self._phase: Progress | None = None  # its first report
        self._phase_began = 0.0

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            now = self._clock()
            if self._phase is None or self._phase.phase != progress.phase:
                self._phase, self._phase_began = progress, now
            elif now - self._shown_at < _SECONDS_BETWEEN_UPDATES:
                return
            if not self._closed:
                self._shown_at = now
                rows = progress.rows_done - self._phase.rows_done
                self._show(describe(progress, rows=rows, seconds=now - self._phase_began))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._show("")

    def _show(self, text: str) -> None:
        # A line that wraps could not be cleared.
        self._stream.write(_CLEAR_LINE + text[: _columns(self._stream) - 1])
        self._stream.flush()


def describe(progress: Progress, *, rows: int, seconds: float) -> str:
    """Phase, rows done, rate (that of `rows` in `seconds`) and time left."""
    parts = [progress.phase]
    total = progress.rows_total
    if progress.rows_done:
        of_total = f" of {total:,} ({min(1.0, progress.rows_done / total):.0%})" if total else ""
        parts.append(f"{progress.rows_done:,}{of_total} rows")
    if rows > 0 and seconds > 0:
        rate = rows / seconds
        parts.append(f"{rate:,.0f} rows/s")
        if total and total > progress.rows_done:
            parts.append(f"{_duration((total - progress.rows_done) / rate)} left")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < _MINUTE else f"{whole // _MINUTE} min {whole % _MINUTE} s"


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80
