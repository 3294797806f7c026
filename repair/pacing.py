# SPDX-License-Identifier: Apache-2.0
"""How much a step does, and how long to rest after it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

_FIRST = 1_000
_MOST = 100_000
_GROWTH_MAX = 2.0
_SHRINKING = 4


@dataclass(slots=True)
class ChunkSize:
    """Rows in a chunk, such that its transaction takes about as long as wanted.

    Writers may have to wait for a transaction; so it is time that is kept constant, not rows.
    """

    target_seconds: float
    rows: int = _FIRST

    def took(self, rows: int, seconds: float) -> None:
        """Learn from a chunk that came through; one that was cut short by its range tells less."""
        if rows < self.rows:
            return
        factor = min(_GROWTH_MAX, self.target_seconds / max(seconds, 1e-6))
        self.rows = max(1, min(_MOST, int(self.rows * factor)))

    def gave_way(self) -> None:
        self.rows = max(1, self.rows // _SHRINKING)


@dataclass(slots=True)
class Pace:
    """Rests between steps, so that on average no more rows are done than allowed."""

    workers: int = 1  # who share the allowance
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    _free_at: float = field(default=0.0)

    def rest(self, rows: int, rows_per_second: int | None) -> None:
        """After so many rows; the allowance may change from step to step."""
        if not rows_per_second:
            return
        now = self.clock()
        self._free_at = max(self._free_at, now) + rows * self.workers / rows_per_second
        self.sleep(self._free_at - now)
