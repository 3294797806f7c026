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
    """Resident bytes, summed over the driver, its JVM and the Python workers."""

    resident: int = 0


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
        peak.resident = max(peak.resident, _resident(pid))


def _resident(pid: int) -> int:
    total = 0
    try:
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            total += process.memory_info().rss
    except psutil.NoSuchProcess:
        # One that ended meanwhile; the next sample will be whole again.
        return 0
    return total
