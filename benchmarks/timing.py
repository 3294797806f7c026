# SPDX-License-Identifier: Apache-2.0
"""How long something takes, measured several times after it is warm."""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.processor_use import ProcessorUse

DISTURBANCE_MAX = 0.05
_LOOK_SECONDS = 2.0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How often things are run, and how long to wait for a machine that others use."""

    warm: int
    repeat: int
    patience_seconds: float = 0.0  # for each measurement; disturbed runs are made again meanwhile


def timed(
    what: str, warm: Sequence[Callable[[], object]], work: Callable[[], object], effort: Effort
) -> Timing:
    """Run each of `warm`, then `work` several times; standard error tells what is going on."""
    _say(f"measuring: {what} ")
    for make_warm in warm:
        make_warm()
    runs: list[tuple[float, float]] = []
    deadline = time.monotonic() + effort.patience_seconds
    while len(runs) < effort.repeat:
        _wait_for_quiet(deadline)
        seconds, disturbance = _run(work)
        again = disturbance > DISTURBANCE_MAX and time.monotonic() < deadline
        _say(f" ({seconds:.2f} s, disturbed)" if again else f" {seconds:.2f} s")
        if not again:
            runs.append((seconds, disturbance))
    _say("\n")
    return Timing(tuple(seconds for seconds, _ in runs), max(others for _, others in runs))


def joined(timings: Sequence[Timing]) -> Timing:
    """Runs that were measured one by one."""
    seconds = tuple(seconds for timing in timings for seconds in timing.seconds)
    return Timing(seconds, max(timing.disturbance for timing in timings))


def _run(work: Callable[[], object]) -> tuple[float, float]:
    before, began = ProcessorUse.now(), time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    return seconds, ProcessorUse.now().share_of_others_since(before)


def _wait_for_quiet(deadline: float) -> None:
    others = 1.0
    while others > DISTURBANCE_MAX and time.monotonic() < deadline:
        before = ProcessorUse.now()
        time.sleep(_LOOK_SECONDS)
        others = ProcessorUse.now().share_of_others_since(before)


def _say(text: str) -> None:
    print(text, end="", flush=True, file=sys.stderr)
