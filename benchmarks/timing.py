# SPDX-License-Identifier: Apache-2.0
"""How long something takes, measured several times after it is warm."""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """The seconds of each run; ratios are made from medians."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def timed(what: str, repeat: int, warm: Callable[[], object], work: Callable[[], object]) -> Timing:
    """Run `warm` once and `work` several times; says on standard error what it is doing."""
    print(f"measuring: {what} ", end="", flush=True, file=sys.stderr)
    warm()
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
        print(f" {seconds[-1]:.2f} s", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    return Timing(tuple(seconds))
