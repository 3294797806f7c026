# SPDX-License-Identifier: Apache-2.0
"""How busy others keep the machine: a time measured beside them means little."""

from dataclasses import dataclass

import psutil


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
        """What part of the cores went to processes other than this one and its descendants."""
        others = (self.used - before.used) - (self.ours - before.ours)
        return max(others, 0.0) / max(self.offered - before.offered, 0.01)


def _ours() -> float:
    total = 0.0
    process = psutil.Process()
    for member in (process, *process.children(recursive=True)):
        try:
            # Of user, system, and the same two of children that have ended.
            total += sum(member.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total
