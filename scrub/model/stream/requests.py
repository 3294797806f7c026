# SPDX-License-Identifier: Apache-2.0
"""What is asked of a stream, what it would do, and how far it has come."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from scrub.model.command_line import DEFAULT_CATALOG

VNODES = 256
EPOCH_SECONDS = 0.5
_WHOLE = 10_000


class Phase(StrEnum):
    """How far a stream has come. The words appear in results: never change one."""

    BEGINNING = "beginning"  # index tables are made, the change source is not open yet
    BUILDING = "building"  # history is read, and changes to what was read are applied
    PUBLIC = "public"  # checked, and kept current while a process runs it
    DROPPING = "dropping"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRequest:
    """The stream of some indexes of one table, and how gently it runs."""

    table: str
    indexes: tuple[str, ...] = ()
    catalog: Path = DEFAULT_CATALOG
    until_caught_up: bool = False
    rows_per_second: int | None = None
    epoch_seconds: float = EPOCH_SECONDS
    wait_limit: float = 60.0
    pause_file: Path | None = None
    vnodes: int = VNODES


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """What a stream would do."""

    table: str
    indexes: tuple[str, ...]
    rows: int | None  # about; None if it goes on
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VnodeProgress:
    """How far one vnode was read."""

    rows_read: int
    rows_expected: int
    is_finished: bool

    @property
    def share(self) -> float:
        """Below 1 until its end was reached."""
        if self.is_finished:
            return 1.0
        return min(self.rows_read / max(1, self.rows_expected), 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamStatus:
    """A stream as it is now."""

    table: str
    indexes: tuple[str, ...]
    phase: Phase
    epochs: int = 0
    progress: int = 0  # in ten-thousandths; never goes back
    rows: int = 0
    rows_expected: int = 0
    rows_a_second: float | None = None  # now, while history is read
    changes_applied: int = 0
    changes_covered: int = 0  # the history showed them already
    changes_dropped: int = 0  # the history will show them
    changes_repeated: int = 0
    entries_written: int = 0
    entries_a_second: float | None = None
    lag_bytes: int | None = None  # of the log that is behind what the index shows
    lag_seconds: float | None = None  # since there was last nothing more to apply
    log_kept: int | None = None  # bytes that the slot keeps on the server
    slot: str = ""
    slot_lost: str | None = None  # why the server has given it up
    paused: bool = False
    paused_all: bool = False
    rows_per_second: int | None = None
    waiting: int = 0  # vnodes that wait for a newer snapshot
    runner: str | None = None
    failure: str | None = None
    started: datetime | None = None
    changed: datetime | None = None
    vnodes: tuple[VnodeProgress, ...] = ()

    @property
    def percent(self) -> float:
        """Of the history. It is 100 only when all of it was read."""
        return self.progress * 100 / _WHOLE

    @property
    def writes_per_row(self) -> float | None:
        """Entries written for each row that was read or changed."""
        arrived = self.rows + self.changes_applied
        return self.entries_written / (arrived * len(self.indexes)) if arrived else None

    @property
    def seconds_left(self) -> float | None:
        """Of reading the history, at the present rate."""
        if self.phase is not Phase.BUILDING or not self.rows_a_second:
            return None
        return max(0, self.rows_expected - self.rows) / self.rows_a_second


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamResult:
    """How a run ended."""

    status: StreamStatus
    refused: str | None = None  # what the check before publishing found
    unchecked: str | None = None  # what kept it from looking at everything

    @property
    def exit_code(self) -> int:
        """0 if the indexes are public and current, 1 if they are defective, 3 if unchecked."""
        return 1 if self.refused else 3 if self.unchecked else 0
