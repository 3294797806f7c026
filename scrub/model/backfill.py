# SPDX-License-Identifier: Apache-2.0
"""What is asked of a backfill, what it would do, and how far it has come."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from scrub.model.build import Method, State
from scrub.model.command_line import DEFAULT_CATALOG

CANCELLED = "cancelled"
DROPPED = "dropped"
"""Why an index is gone that a user removed."""


def one_a_line(head: str, named: Sequence[str], more: int) -> str:
    """A reason that names several things, one in a line; line breaks in values are escaped."""
    lines = [line.replace("\n", "\\n") for line in named]
    if len(lines) == 1 and not more:
        return f"{head} {lines[0]}"
    return "\n".join([head, *lines, *([f"and {more:,} more"] if more else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRequest:
    """The indexes of one table to build, and how gently."""

    table: str
    indexes: tuple[str, ...]
    catalog: Path = DEFAULT_CATALOG
    method: Method | None = None  # None: the one that suits the indexes
    parallel: int = 2
    rows_per_second: int | None = None
    bytes_per_second: int | None = None  # of `verify`
    chunk_seconds: float | None = None  # None: short while others write
    wait_limit: float = 60.0
    pause_file: Path | None = None
    owner: str | None = None  # of index tables and functions; None: whoever owns the table


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """What a build would do."""

    table: str
    indexes: tuple[str, ...]
    method: Method | None  # None where the store has one way only
    rows: int | None  # about
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillStatus:
    """A build as it is now; of several indexes only while they share one state."""

    table: str
    indexes: tuple[str, ...]
    state: State
    method: Method | None = None
    rows: int = 0
    rows_expected: int | None = None
    entries: int = 0
    rows_a_second: float | None = None  # now, while it runs
    fast_chunks: int = 0
    slow_chunks: int = 0
    gave_way: int = 0
    conflicts: int = 0
    merged: int = 0
    rows_per_second: int | None = None  # allowed
    paused: bool = False
    runner: str | None = None  # who runs it, if anybody does
    failure: str | None = None  # why it is not public; may have several lines
    started: datetime | None = None
    changed: datetime | None = None
    waiting_for: tuple[str, ...] = field(default=())
    to_renew: tuple[str, ...] = field(default=())  # what `renew` would put in order
    to_check: tuple[str, ...] = field(default=())  # what only another build or a repair would
    shown_version: int | None = None  # of the table, where tables have versions
    table_version: int | None = None

    @property
    def seconds_left(self) -> float | None:
        """Of reading the table, at the present rate."""
        if self.state is not State.BACKFILLING or not self.rows_a_second:
            return None
        if self.rows_expected is None:
            return None
        return max(0, self.rows_expected - self.rows) / self.rows_a_second


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillResult:
    """How a run ended, for each index."""

    builds: tuple[BackfillStatus, ...]
    unchecked: tuple[str, ...] = ()  # not published, and no defect was found in them either

    @property
    def exit_code(self) -> int:
        """0 if all are public, 1 if rows are in the way of one, 3 if one could not be checked."""
        left = [build for build in self.builds if build.state is not State.PUBLIC]
        is_refused = any(not {*build.indexes} <= {*self.unchecked} for build in left)
        return 1 if is_refused else 3 if left else 0
