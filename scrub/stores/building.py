# SPDX-License-Identifier: Apache-2.0
"""The steps that a build consists of, each short and each repeatable after a crash.

A store says what a step does; `repair` decides which one comes next. A step either happens whole or
not at all, and what was done is recorded in the same moment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from scrub.errors import StoreUnavailable
from scrub.model.build import Method, State

LOAD = "load"
"""The phase in which rows are read; each index's merge is a phase of the index's name."""


class GaveWay(Exception):
    """A writer was in the way; nothing was changed, and less may succeed."""


class Disconnected(StoreUnavailable):
    """The store went away; it may come back."""


class Superseded(Exception):
    """Another process runs this build now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """A row whose entry cannot be written, and the row that has its place."""

    index: str
    key: Mapping[str, Any]  # as text, by column
    row: Mapping[str, Any]  # primary keys, as text
    owner: Mapping[str, Any]

    def __str__(self) -> str:
        return f"unique index {self.index}: {self.rows}"

    @property
    def rows(self) -> str:
        return f"rows {_shown(self.owner)} and {_shown(self.row)} both have {_shown(self.key)}"


def _shown(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step did."""

    rows: int
    entries: int = 0
    slow: bool = False  # read again under lock
    finished: bool = False  # nothing of the range is left
    clashes: tuple[Clash, ...] = ()
    rows_per_second: int | None = None  # the pace that is asked for now
    paused: bool = False
    others_write: bool = True  # whether somebody was seen who may have to wait for a step


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """A transaction that a change of state has to wait for."""

    identity: str  # of the transaction, not of its session
    description: str  # who it is, for people


class IndexBuild(Protocol):
    """One build: a table and the new indexes that are made of it together."""

    @property
    def method(self) -> Method: ...

    @property
    def state(self) -> State: ...

    @property
    def paused(self) -> bool:
        """Whether workers are to rest. Raises Superseded."""

    @property
    def rows_per_second(self) -> int | None:
        """How many rows all workers together may read; None: as many as they can."""

    @property
    def indexes(self) -> Sequence[str]: ...

    def advance(self, state: State, failure: str | None = None) -> None:
        """Compile what writers owe the indexes in this state, and record it."""

    def blockers(self) -> Sequence[Blocker]:
        """Transactions that may still write as in an earlier state."""

    def plan_load(self, ranges: int) -> None:
        """Divide the table's primary key into ranges."""

    def plan_merge(self) -> None:
        """Fix which records of temporary indexes must be merged: those that are there now."""

    def unfinished(self, phase: str) -> Sequence[int]:
        """The ranges of a phase that are not done."""

    def claim(self, phase: str, number: int) -> bool:
        """Whether the range is this worker's now."""

    def release(self, phase: str, number: int) -> None:
        """Let others have the range."""

    def load_step(self, number: int, rows: int) -> Step:
        """Put the entries of the next rows of a range. Raises GaveWay."""

    def merge_step(self, index: str, number: int, rows: int) -> Step:
        """Copy the next records of a temporary index over. Raises GaveWay."""

    def clear_step(self, rows: int) -> Step:
        """Remove tombstones that nobody needs any more. Raises GaveWay."""

    def verify_step(self, rows: int) -> Step:
        """Look again at rows whose entry another row may have taken. Raises GaveWay."""

    def publish(self) -> Sequence[Clash]:
        """Make the indexes public, unless rows clash. Raises GaveWay."""

    def reverse(self) -> None:
        """Remove everything that the build made. Raises GaveWay; to be repeated until done."""

    def close(self) -> None:
        """Let go of the session; the next step opens another."""
