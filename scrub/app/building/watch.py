# SPDX-License-Identifier: Apache-2.0
"""Watching the workers of a build in PostgreSQL, from the process that runs it."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scrub.errors import ScrubError
from scrub.model.progress import Progress, ProgressListener
from scrub.model.table import Table
from scrub.stores.building import LOAD
from scrub.stores.postgres.building.builds import Build
from scrub.stores.postgres.building.opening import PostgresBuilds
from scrub.stores.postgres.building.place import BuildPlace

WATCH_SECONDS = 0.5
_LOOK_SECONDS = 0.1
_RATE_SECONDS, _RATE_SECONDS_MAX = 1.0, 3.0


def rows_a_second(builds: PostgresBuilds, record: Build) -> float | None:
    """How fast rows are loaded, from the end of one chunk to the end of another."""
    began = (time.monotonic(), _loaded(builds, record))
    ends: list[tuple[float, int]] = []
    while time.monotonic() < began[0] + _RATE_SECONDS_MAX and _length(ends) < _RATE_SECONDS:
        time.sleep(_LOOK_SECONDS)
        rows = _loaded(builds, record)
        if rows > (ends[-1] if ends else began)[1]:
            ends.append((time.monotonic(), rows))
    if len(ends) > 1:
        return (ends[-1][1] - ends[0][1]) / (ends[-1][0] - ends[0][0])
    # Only one chunk ended in all the time, and much of it may have been done before.
    return (ends[0][1] - began[1]) / (time.monotonic() - began[0]) if ends else None


def _length(ends: Sequence[tuple[float, int]]) -> float:
    return ends[-1][0] - ends[0][0] if ends else 0.0


def _loaded(builds: PostgresBuilds, record: Build) -> int:
    return sum(of.rows for of in builds.ranges(record) if of.phase == LOAD)


@dataclass(frozen=True, slots=True)
class LoadWatch:
    """Shows how far workers are, and watches the pause file, which they cannot see."""

    opened: Callable[[], AbstractContextManager[PostgresBuilds]]
    table: Table
    place: BuildPlace
    phase: str
    pause_file: Path | None
    on_progress: ProgressListener

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch while the workers work."""
        done = threading.Event()
        watch = threading.Thread(target=self._watch, args=(done,), daemon=True)
        watch.start()
        try:
            yield
        finally:
            done.set()
            watch.join()

    def _watch(self, done: threading.Event) -> None:
        file: bool | None = None
        while not done.wait(WATCH_SECONDS):
            try:
                with self.opened() as builds:
                    while not done.wait(WATCH_SECONDS):
                        if builds.holder(self.table) is None:
                            builds.hold(self.table)  # the connection that held it is gone
                        self._look(builds)
                        file = self._pass_on(builds, file)
            except (ScrubError, OSError):
                continue  # this only watches; the workers report what is wrong

    def _look(self, builds: PostgresBuilds) -> None:
        record = builds.builds.get(builds.connection, self.place.build)
        rows = sum(of.rows for of in builds.ranges(record) if of.phase == self.phase)
        is_load = self.phase == LOAD
        what = "loading entries" if is_load else f"merging records of {self.phase}"
        shown = f"{what} (paused)" if record.paused else what
        total = record.rows_expected if is_load else None
        self.on_progress(Progress(phase=shown, rows_done=rows, rows_total=total))

    def _pass_on(self, builds: PostgresBuilds, before: bool | None) -> bool | None:
        """Pause when the file appears, go on when it disappears; `adjust` applies in between."""
        if self.pause_file is None:
            return None
        there = self.pause_file.exists()
        if there != before:
            builds.adjust(builds.builds.get(builds.connection, self.place.build), paused=there)
        return there
