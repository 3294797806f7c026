# SPDX-License-Identifier: Apache-2.0
"""Keeping a check to the pace that was asked for, and saying when it is paused."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from scrub.model.pace import Limits
from scrub.model.progress import Progress, ProgressListener
from scrub.pacing import LOOK_SECONDS, Pace, keeping


@dataclass(slots=True)
class KeptPace:
    """The pace of one run, and whoever hears of its progress."""

    pace: Pace | None
    listener: ProgressListener
    _last: Progress | None = None
    _is_paused: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def on_progress(self, progress: Progress) -> None:
        """Pass it on, but for what is reported during a pause: that is told when it ends.

        Readers see the end of a pause before whoever watches for it does, and may be done by then.
        """
        if self._is_paused and self.pace is not None:
            self.look(self.pace, 0.0)
        with self._lock:
            self._last = progress
            if not self._is_paused:
                self.listener(progress)

    @property
    def seconds_paused(self) -> float:
        return self.pace.seconds_paused if self.pace else 0.0

    @property
    def told(self) -> str | None:
        """What the run was limited to, for its report."""
        if self.pace is None:
            return None
        paused = self.pace.seconds_paused
        return f"{self.pace.limits}, which took {paused:.1f} s" if paused else f"{self.pace.limits}"

    def look(self, pace: Pace, seconds: float) -> None:
        """Tell that a pause has begun, or is over; so much time went by since the last look."""
        is_paused = pace.is_paused
        if is_paused and self._is_paused and pace.tasks_wait:
            pace.seconds_paused += seconds
        with self._lock:
            if is_paused == self._is_paused:
                return
            self._is_paused = is_paused
            if is_paused:
                self.listener(Progress(phase=f"paused: {pace.limits.pause_file} exists"))
            elif self._last is not None:
                self.listener(self._last)


@contextmanager
def kept_pace(limits: Limits, on_progress: ProgressListener) -> Iterator[KeptPace]:
    """Whatever is read in the block keeps to the limits."""
    if not limits:
        yield KeptPace(None, on_progress)
        return
    pace = Pace(limits)
    kept = KeptPace(pace, on_progress)
    ended = threading.Event()

    def watch() -> None:
        kept.look(pace, 0.0)
        while not ended.wait(LOOK_SECONDS):
            kept.look(pace, LOOK_SECONDS)

    watcher = threading.Thread(target=watch, name="scrub-pauses", daemon=True)
    if limits.pause_file is not None:
        watcher.start()
    try:
        with keeping(pace):
            yield kept
    finally:
        ended.set()
        if limits.pause_file is not None:
            watcher.join()
