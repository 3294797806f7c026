# SPDX-License-Identifier: Apache-2.0
"""How busy others keep the machine: a time measured beside them means little."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

_SERVERS: set[int] = set()


@dataclass(frozen=True, slots=True)
class ProcessorUse:
    """Processor seconds since the machine started: all there were, those in use, and ours."""

    offered: float
    used: float
    ours: float

    @classmethod
    def now(cls) -> "ProcessorUse":
        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        offered = sum(times[:8])  # beyond those, Linux counts guests a second time
        return cls(offered, offered - idle, _ours())

    def share_of_others_since(self, before: "ProcessorUse") -> float:
        """What part of the cores went to others: not this process, its descendants, its servers."""
        others = (self.used - before.used) - (self.ours - before.ours)
        return max(others, 0.0) / max(self.offered - before.offered, 0.01)


@contextmanager
def counted_as_ours(pid: int) -> Iterator[None]:
    """A server that was started for what is measured, and left its parent."""
    _SERVERS.add(pid)
    try:
        yield
    finally:
        _SERVERS.discard(pid)


def _members() -> Iterator[psutil.Process]:
    roots = [psutil.Process(), *(psutil.Process(p) for p in _SERVERS if psutil.pid_exists(p))]
    for root in roots:
        yield root
        yield from root.children(recursive=True)


def _ours() -> float:
    total = 0.0
    for member in _members():
        try:
            # Of user, system, and the same two of children that have ended.
            total += sum(member.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total
