# SPDX-License-Identifier: Apache-2.0
"""What a store that indexes can be built in has to offer.

`IndexBuilder` is the whole of it: the verbs of `scrub backfill` for some indexes of one table. A
store whose writers keep the index while it is built offers `IndexBuild` besides: the steps of one
build, of which `repair` decides which comes next. A step happens completely or not at all, can be
repeated after a crash, and is recorded in the same transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from scrub.errors import StoreUnavailable
from scrub.model.backfill import BackfillPlan, BackfillResult, BackfillStatus
from scrub.model.build import Method, State
from scrub.stores.base import SessionProvider

LOAD = "load"
"""The phase in which rows are read; each index's merge is a phase of the index's name."""


class GaveWay(Exception):
    """A writer was in the way; nothing was changed, and a smaller step may succeed."""


class Disconnected(StoreUnavailable):
    """The connection to the store was lost; the store may come back."""


class Superseded(Exception):
    """Another process runs this build now."""


class Refused(Exception):
    """Rows of the table are in the way of an index, or its entries are wrong."""


class Unchecked(StoreUnavailable):
    """The check before publishing found no defect, but could not read everything."""


Gate = Callable[[Sequence[str]], Mapping[str, int]]
"""Checks indexes before they are published; returns how many entries each has.

Raises Refused or Unchecked.
"""


class IndexBuilder(Protocol):
    """Builds some indexes of one table. Previews refuse what the verb itself would refuse."""

    def plan(self) -> BackfillPlan:
        """What `run` would do."""

    def run(self, session: SessionProvider, gate: Gate) -> BackfillResult:
        """Build from the beginning, and publish what the gate finds clean."""

    def resume(self, session: SessionProvider, gate: Gate) -> BackfillResult:
        """Continue builds whose process ended."""

    def cancel(self) -> list[BackfillStatus]:
        """Remove builds under way, also those that another process runs."""

    def to_cancel(self) -> list[BackfillStatus]:
        """What `cancel` would remove."""

    def drop(self) -> list[BackfillStatus]:
        """Remove public indexes."""

    def to_drop(self) -> list[BackfillStatus]:
        """What `drop` would remove."""

    def renew(self) -> list[BackfillStatus]:
        """Make again what keeps public indexes up to date."""

    def to_renew(self) -> list[BackfillStatus]:
        """What `renew` would make again."""

    def adjust(self, **values: object) -> BackfillStatus:
        """Change the pace of a build that runs, or pause it."""

    def status(self) -> list[BackfillStatus]:
        """The latest build of each index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """A row whose entry cannot be written, and the row whose entry is in its place."""

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
    slow: bool = False  # the rows were read again under lock
    finished: bool = False  # nothing of the range is left
    clashes: tuple[Clash, ...] = ()
    rows_per_second: int | None = None  # the pace that is asked for now
    paused: bool = False
    others_write: bool = True  # whether a transaction was seen that may wait for a step


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """A transaction that a change of state has to wait for."""

    identity: str  # of the transaction, not of its session
    description: str  # who it is, for people


class IndexBuild(Protocol):
    """The steps of one build: a table and the new indexes that are made of it together."""

    @property
    def method(self) -> Method: ...

    @property
    def state(self) -> State: ...

    @property
    def paused(self) -> bool:
        """Whether workers have to pause. Raises Superseded."""

    @property
    def rows_per_second(self) -> int | None:
        """How many rows all workers together may read in a second; None: no limit."""

    @property
    def indexes(self) -> Sequence[str]: ...

    def advance(self, state: State, failure: str | None = None) -> None:
        """Compile what writers do to the indexes in this state into their triggers; record it."""

    def blockers(self) -> Sequence[Blocker]:
        """Transactions that may still write as in an earlier state."""

    def plan_load(self, ranges: int) -> None:
        """Divide the table's primary key into ranges."""

    def plan_merge(self) -> None:
        """Record which entries of temporary indexes have to be merged: those there now."""

    def unfinished(self, phase: str) -> Sequence[int]:
        """The ranges of a phase that are not finished."""

    def claim(self, phase: str, number: int) -> bool:
        """Take a range for this worker, if it is free."""

    def release(self, phase: str, number: int) -> None:
        """Give a range back to other workers."""

    def load_step(self, number: int, rows: int) -> Step:
        """Put the entries of the next rows of a range. Raises GaveWay."""

    def merge_step(self, index: str, number: int, rows: int) -> Step:
        """Copy the next records of a temporary index into the index. Raises GaveWay."""

    def clear_step(self, rows: int) -> Step:
        """Remove tombstones that are not needed any more. Raises GaveWay."""

    def verify_step(self, rows: int) -> Step:
        """Check rows again whose entry another row may have replaced. Raises GaveWay."""

    def publish(self) -> Sequence[Clash]:
        """Make the indexes public, unless rows clash. Raises GaveWay."""

    def reverse(self) -> None:
        """Remove everything that the build made. Raises GaveWay; repeat it until it succeeds."""

    def close(self) -> None:
        """Close the connection; the next step opens another."""
