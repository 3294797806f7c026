# SPDX-License-Identifier: Apache-2.0
"""The most memory that a process and all its descendants had at one moment."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

_INTERVAL_SECONDS = 0.05


@dataclass(slots=True)
class PeakMemory:
    """Resident bytes: summed over the driver, its JVM and the Python workers, and of some alone."""

    resident: int = 0
    driver: int = 0  # the Python process of the driver


@contextmanager
def watched_memory(pid: int) -> Iterator[PeakMemory]:
    """Sample the process tree in a thread until the block ends."""
    peak, done = PeakMemory(), threading.Event()
    thread = threading.Thread(target=_watch, args=(pid, peak, done), daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def _watch(pid: int, peak: PeakMemory, done: threading.Event) -> None:
    while not done.wait(_INTERVAL_SECONDS):
        root, total = _resident(pid)
        peak.resident, peak.driver = max(peak.resident, total), max(peak.driver, root)


def _resident(pid: int) -> tuple[int, int]:
    """Of the process itself, and of it with its descendants."""
    try:
        root = psutil.Process(pid)
        own = root.memory_info().rss
        return own, own + sum(of.memory_info().rss for of in root.children(recursive=True))
    except psutil.NoSuchProcess:
        # One that ended meanwhile; the next sample will be whole again.
        return 0, 0
