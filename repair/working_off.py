# SPDX-License-Identifier: Apache-2.0
"""What a worker does: claim a free range, do it chunk by chunk, claim the next."""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from repair.pacing import ChunkSize, ChunkTime, Pace
from scrub.errors import ScrubError, StoreUnavailable
from scrub.model.backfill import one_a_line
from scrub.model.build import State
from scrub.stores.building import (
    LOAD,
    Clash,
    Disconnected,
    GaveWay,
    IndexBuild,
    Step,
    Superseded,
)

T = TypeVar("T")

_IDLE_SECONDS = 0.2
_RETRY_SECONDS = 0.05
_NAMED_MAX = 5


def named(clashes: Sequence[Clash]) -> str:
    """The first few rows that clash, for each index."""
    reasons = []
    for index in dict.fromkeys(clash.index for clash in clashes):
        pairs = [clash.rows for clash in clashes if clash.index == index]
        more = max(0, len(pairs) - _NAMED_MAX)
        reasons.append(one_a_line(f"unique index {index}:", pairs[:_NAMED_MAX], more))
    return "\n".join(reasons)


class Stuck(StoreUnavailable):
    """Nothing could be done for too long; what was done stays done."""


@dataclass(frozen=True, slots=True)
class WorkSettings:
    """How workers work."""

    workers: int
    chunk_seconds: float | None = None  # of a transaction; None: short while others write
    wait_limit: float = 60.0


@dataclass(slots=True)
class Worker:
    """One of several that work off the ranges of a phase."""

    build: IndexBuild
    settings: WorkSettings
    sleep: Callable[[float], None] = time.sleep
    is_wanted: Callable[[], bool] = lambda: True  # whether anybody waits for the work
    _time: ChunkTime = field(init=False)
    _size: ChunkSize = field(init=False)
    _pace: Pace = field(init=False)

    def __post_init__(self) -> None:
        self._time = ChunkTime(self.settings.chunk_seconds)
        self._size = ChunkSize(self._time.seconds())
        self._pace = Pace(self.settings.workers, self.sleep)

    def work_off(self, phase: str) -> tuple[Clash, ...]:
        """Work until all ranges are done, also by others, or rows clash."""
        self._pace.rest(0, self._patiently(lambda: self.build.rows_per_second))
        while numbers := self._patiently(lambda: self.build.unfinished(phase)):
            if not self.is_wanted():
                return ()
            claimed = self._claim(phase, numbers)
            if claimed is None:
                self.sleep(_IDLE_SECONDS)  # others are at it
                continue
            try:
                clashes = self._work_on(phase, claimed)
            finally:
                self._let_go(phase, claimed)
            if clashes:
                self._stop_all(clashes)
                return clashes
        return ()

    def _stop_all(self, clashes: Sequence[Clash]) -> None:
        """Stop the other workers before they read the rest of the table."""
        with suppress(ScrubError, Superseded):  # then whoever runs the build does it
            self._patiently(lambda: self.build.advance(State.REVERSING, named(clashes)))

    def _claim(self, phase: str, numbers: Sequence[int]) -> int | None:
        """Claim any free range; in one order, all workers would try the same range first."""
        shuffled = random.sample(list(numbers), len(numbers))
        for number in shuffled:
            if self._patiently(partial(self.build.claim, phase, number)):
                return number
        return None

    def _let_go(self, phase: str, number: int) -> None:
        try:
            self.build.release(phase, number)
        except Disconnected:
            self.build.close()  # and with the session, the claim

    def _work_on(self, phase: str, number: int) -> tuple[Clash, ...]:
        while True:
            step = self._patiently(lambda: self._step(phase, number))
            if step.clashes:
                return step.clashes
            if step.finished or not self.is_wanted():
                return ()
            self._pace.rest(step.rows, step.rows_per_second)
            while step.paused and self.is_wanted() and self._patiently(lambda: self.build.paused):
                self.sleep(_IDLE_SECONDS)

    def _step(self, phase: str, number: int) -> Step:
        rows = self._pace.most(self._size.rows)
        began = time.monotonic()
        if phase == LOAD:
            step = self.build.load_step(number, rows)
        else:
            step = self.build.merge_step(phase, number, rows)
        self._size.target_seconds = self._time.seconds(step.others_write)
        if not step.slow:
            self._size.took(step.rows, time.monotonic() - began)
        return step

    def _patiently(self, step: Callable[[], T]) -> T:
        return patiently(step, self.settings.wait_limit, self.build, self._size, self.sleep)


def patiently(
    step: Callable[[], T],
    limit: float,
    build: IndexBuild,
    size: ChunkSize | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Repeat a step while writers are in its way or the server is unreachable.

    The limit counts from the first failure: a step may take long by itself.
    """
    deadline: float | None = None
    pause = _RETRY_SECONDS
    while True:
        try:
            return step()
        except GaveWay as error:
            if size is not None:
                size.gave_way()
            reason = f"writers were in the way for {limit:.0f} seconds ({error})"
            cause: Exception = error
        except Disconnected as error:
            build.close()
            reason, cause = str(error), error
        deadline = time.monotonic() + limit if deadline is None else deadline
        if time.monotonic() > deadline:
            raise Stuck(reason, hint="wait until they are done, or the server is back") from cause
        sleep(pause * random.uniform(0.5, 1.5))
        pause = min(1.0, pause * 1.5)
