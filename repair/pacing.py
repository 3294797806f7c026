# SPDX-License-Identifier: Apache-2.0
"""How many rows a step reads, and how long the worker rests after it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from scrub.pacing import paid_at, rows_in_a_step

_FIRST = 1_000
_MOST = 400_000
CHUNK_SECONDS = 0.2  # while others write, who may have to wait for a transaction
ALONE_SECONDS = 2.0  # while nobody does: entries that are put together lie together
_ALONE_STEPS = 5
_GROWTH_MAX = 2.0
_SHRINKING = 4
_REST_MAX_SECONDS = 1.0


@dataclass(slots=True)
class ChunkSize:
    """Rows in a chunk, so that its transaction takes about the wanted time.

    Writers may have to wait for a transaction, so its time is kept constant, not its rows.
    """

    target_seconds: float
    rows: int = _FIRST

    def took(self, rows: int, seconds: float) -> None:
        """Learn from a chunk that was committed; a short one only shows whether it was too slow."""
        factor = min(_GROWTH_MAX, self.target_seconds / max(seconds, 1e-6))
        if rows < self.rows and factor >= 1:
            return
        least = self.rows // _SHRINKING  # one slow chunk is not the rule
        self.rows = max(1, least, min(_MOST, int(rows * factor)))

    def gave_way(self) -> None:
        self.rows = max(1, self.rows // _SHRINKING)


@dataclass(slots=True)
class ChunkTime:
    """How long a transaction may take: longer while nobody was seen who could wait for it."""

    asked: float | None  # by the user; None: as others allow
    _alone: int = 0  # steps in a row during which nobody else wrote

    def seconds(self, others_write: bool = True) -> float:
        """The time for the next step, given what the last one saw."""
        self._alone = 0 if others_write else self._alone + 1
        if self.asked is not None:
            return self.asked
        return ALONE_SECONDS if self._alone >= _ALONE_STEPS else CHUNK_SECONDS


@dataclass(slots=True)
class Pace:
    """Rests between steps, so that on average no more rows are done than allowed.

    A step reads at most what is allowed in a quarter of a second, so that rests stay short and
    changes of the pace are seen soon.
    """

    workers: int = 1  # who share the allowance
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    rows_per_second: int | None = None  # of all workers together
    _began: float = field(init=False)  # with the step that is being done

    def __post_init__(self) -> None:
        self._began = self.clock()

    def most(self, rows: int) -> int:
        """The number of rows, but no more than a step may read."""
        each = self.rows_per_second / self.workers if self.rows_per_second else None
        return rows_in_a_step(rows, each)

    def rest(self, rows: int, rows_per_second: int | None) -> None:
        """Rest after a step of so many rows; the allowance may change from step to step."""
        self.rows_per_second = rows_per_second
        if rows_per_second:
            left = paid_at(self._began, rows * self.workers, rows_per_second) - self.clock()
            # A longer rest follows only a step that began when more was allowed.
            longest = max(_REST_MAX_SECONDS, self.workers / rows_per_second)
            if left > 0:
                self.sleep(min(left, longest))
        self._began = self.clock()
