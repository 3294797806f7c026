# SPDX-License-Identifier: Apache-2.0
"""How long something takes, measured several times after it is warm."""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.processor_use import ProcessorUse


@dataclass(frozen=True, slots=True)
class Timing:
    """The seconds of each run; ratios are made from medians."""

    seconds: tuple[float, ...]
    disturbance: float = 0.0  # the most that other processes took of the cores during a run

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def timed(
    what: str, warm: Sequence[Callable[[], object]], work: Callable[[], object], repeat: int
) -> Timing:
    """Run each of `warm`, then `work` several times; standard error tells what is going on."""
    print(f"measuring: {what} ", end="", flush=True, file=sys.stderr)
    for make_warm in warm:
        make_warm()
    seconds, disturbance = [], 0.0
    for _ in range(repeat):
        use, began = ProcessorUse.now(), time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
        disturbance = max(disturbance, ProcessorUse.now().share_of_others_since(use))
        print(f" {seconds[-1]:.2f} s", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    return Timing(tuple(seconds), disturbance)
