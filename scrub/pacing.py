# SPDX-License-Identifier: Apache-2.0
"""Reading no faster than allowed, and not at all during a pause.

Whoever reads rows calls `paced` for its batches, or `passed` for what a statement has read, and
knows nothing of who has set limits. These are a matter of the run, so they are set around it, for
the thread that runs it; tasks are given them by whoever runs tasks. Without limits all of this does
nothing.

What was read is paid for afterwards, by waiting until it could have been read at the rate allowed.
So over any time, no more is read than the rate allows for it, but for one step of each reader.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from scrub.model.pace import Limits

STEPS_A_SECOND = 4  # at least, where the pace is limited: rests stay short
LOOK_SECONDS = 0.2  # between two looks at a pause file

Batch = TypeVar("Batch")
Size = tuple[float, float]  # rows and bytes


class Unwanted(BaseException):
    """Nobody wants the rest of this work any more; no error, so nothing takes it for one."""


def rows_in_a_step(rows: int, rows_per_second: float | None) -> int:
    """The number of rows, but no more than may be read in a fraction of a second."""
    if not rows_per_second:
        return rows
    return min(rows, max(1, int(rows_per_second / STEPS_A_SECOND)))


def paid_at(began: float, amount: float, per_second: float) -> float:
    """When so much, which somebody began to read then, could have been read at this rate."""
    return began + amount / per_second


@dataclass(slots=True)
class Allowance:
    """A rate that several readers share."""

    per_second: float | None
    paid: float = float("-inf")  # when all that was read before is paid for

    def take(self, began: float, amount: float) -> float:
        """When what was read since `began` is paid for."""
        if self.per_second is None:
            return began
        # Time before `began` is no credit: somebody may have rested, or looked at other things.
        self.paid = paid_at(max(self.paid, began), amount, self.per_second)
        return self.paid


@dataclass(slots=True)
class Pace:
    """The limits of one run, kept by all its threads together."""

    limits: Limits
    sleep: Callable[[float], None] | None = None  # None: until the work is unwanted
    clock: Callable[[], float] = time.monotonic
    exists: Callable[[Path], bool] = Path.exists
    seconds_paused: float = 0.0  # in which somebody waited for the file to go
    tasks_wait: bool = (
        False  # whether tasks in other processes see the file, and wait by themselves
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _rows: Allowance = field(init=False)
    _bytes: Allowance = field(init=False)
    _looked_at: float = float("-inf")
    _waiting: int = 0
    _paused_at: float = 0.0
    _owed: Size = (0.0, 0.0)

    def __post_init__(self) -> None:
        self._rows = Allowance(self.limits.rows_per_second)
        self._bytes = Allowance(self.limits.bytes_per_second)

    def passed(self, began: float, rows: float, octets: float) -> None:
        """Rest until what was read since `began` is paid for, and as long as there is a pause."""
        with self._lock:
            due = max(self._rows.take(began, rows), self._bytes.take(began, octets))
        while (left := due - self.clock()) > 0:
            self._wait(left)
        self.hold()

    def hold(self) -> None:
        """Wait while the pause file exists."""
        file = self.limits.pause_file
        if file is None or self.clock() < self._looked_at + LOOK_SECONDS:
            return
        if not self.exists(file):
            self._looked_at = self.clock()
            return
        self._note_wait(1)
        try:
            while self.exists(file):
                self._wait(LOOK_SECONDS)
        finally:
            self._note_wait(-1)

    @property
    def is_paused(self) -> bool:
        """Whether the pause file exists now."""
        return self.limits.pause_file is not None and self.exists(self.limits.pause_file)

    def owe(self, rows: float, octets: float) -> None:
        """Note what others will read when they are told to."""
        self._owed = (self._owed[0] + rows, self._owed[1] + octets)

    @contextmanager
    def paying(self) -> Iterator[None]:
        """Around something that reads what is owed."""
        self.hold()
        began = self.clock()
        try:
            yield
        finally:
            owed, self._owed = self._owed, (0.0, 0.0)
        self.passed(began, *owed)

    def _note_wait(self, more: int) -> None:
        """Several threads that wait at the same time wait but once."""
        with self._lock:
            if self._waiting == 0:
                self._paused_at = self.clock()
            self._waiting += more
            if self._waiting == 0:
                self.seconds_paused += self.clock() - self._paused_at

    def _wait(self, seconds: float) -> None:
        if self.sleep is not None:
            self.sleep(seconds)
            return
        unwanted = _unwanted.get()
        if unwanted is None:
            time.sleep(seconds)
        elif unwanted.wait(seconds):
            raise Unwanted


_pace: ContextVar[Pace | None] = ContextVar("pace", default=None)
_unwanted: ContextVar[threading.Event | None] = ContextVar("unwanted", default=None)


@contextmanager
def keeping(pace: Pace | None) -> Iterator[None]:
    """Whatever this thread reads in the block keeps to the limits.

    What was before is set again rather than reset: a generator may be left in another context than
    the one it was entered in.
    """
    before = _pace.get()
    _pace.set(pace)
    try:
        yield
    finally:
        _pace.set(before)


def unwanted_when(event: threading.Event) -> None:
    """What this thread reads from now on ends with `Unwanted` when the event is set."""
    _unwanted.set(event)


def current() -> Pace | None:
    """What this thread must keep to, if there are limits."""
    return _pace.get()


def paced(batches: Iterable[Batch], size_of: Callable[[Batch], Size]) -> Iterator[Batch]:
    """The batches, no faster than allowed."""
    pace, unwanted = _pace.get(), _unwanted.get()
    began = pace.clock() if pace else 0.0
    for batch in batches:
        if unwanted is not None and unwanted.is_set():
            raise Unwanted
        if pace is not None:
            pace.passed(began, *size_of(batch))
            began = pace.clock()
        yield batch


def batch_rows(rows: int, row_bytes: float = 0.0) -> int:
    """How many rows a batch should have: no more than so many, and no more than a step."""
    pace = _pace.get()
    if pace is None:
        return rows
    limits = pace.limits
    if limits.bytes_per_second and row_bytes:
        rows = rows_in_a_step(rows, limits.bytes_per_second / row_bytes)
    return rows_in_a_step(rows, limits.rows_per_second)
