# SPDX-License-Identifier: Apache-2.0
"""What a run found and how much of it was looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from scrub.model.defect import Defect, DefectKind
from scrub.model.definition import Definition


class Status(StrEnum):
    """How a check ended; a run's status is never `not_applicable`."""

    CLEAN = "clean"
    DEFECTIVE = "defective"
    NOT_APPLICABLE = "not_applicable"
    INCOMPLETE = "incomplete"


EXIT_CODES: Mapping[Status, int] = {Status.CLEAN: 0, Status.DEFECTIVE: 1, Status.INCOMPLETE: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """One check of one index, of one constraint, or of a whole table if both are None."""

    check: str
    index: str | None
    status: Status
    constraint: str | None = None
    reason: str | None = None  # why not applicable or incomplete
    error: bool = False  # it could not even begin: what it compares is not there, or not as said
    rows: int | None = None
    entries: int | None = None
    transient: int = 0  # differences that were gone in a later snapshot
    undecided: int = 0  # differences that data unread, or that proves nothing, could explain
    unnamed: int = 0  # at least so many differences were found and could not be named
    counts: Mapping[DefectKind, int] = field(default_factory=dict)
    snapshot: str | None = None  # of the index's relation
    engine: str | None = None
    strategy: str | None = None
    notes: tuple[str, ...] = ()  # what else a reader should know of the coverage
    remedies: tuple[str, ...] = ()  # what to do now about what was found
    ignored: tuple[str, ...] = ()  # columns of the index's relation that were not compared
    not_looked_for: tuple[DefectKind, ...] = ()  # what cannot be found with this --where

    @property
    def defects(self) -> int:
        return sum(self.counts.values())

    @property
    def is_incomplete(self) -> bool:
        """Whether something it should have read was not; a defective check can be that too."""
        if self.status is Status.DEFECTIVE:
            return self.reason is not None or self.undecided > 0
        return self.status is Status.INCOMPLETE


@dataclass(frozen=True, slots=True, kw_only=True)
class TableResult:
    """All checks of one table."""

    table: str
    snapshot: str
    checks: tuple[CheckOutcome, ...]
    bytes_read: int | None = None

    @property
    def error(self) -> str | None:
        """Why it could not be looked at, or not at all of it, if that is so."""
        reasons = [outcome.reason or "" for outcome in self.checks if outcome.error]
        return "; ".join(dict.fromkeys(reasons)) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A whole run; `defects` are at most `--limit`, the counts are exact."""

    run_id: str
    started_at: datetime
    seconds: float  # without those that Spark took to start
    tables: tuple[TableResult, ...]
    defects: tuple[Defect, ...]
    seconds_starting: float = 0.0  # of Spark, which says nothing about the check's speed
    seconds_waiting: float = 0.0  # for a pause to end, or to look again, with --settle; nor do they
    pace: str | None = None  # what reading was limited to
    definitions: Mapping[str, Definition] = field(default_factory=dict)  # of the tables, by name
    where: str | None = None  # only rows for which this is true were looked at
    ran: str | None = None  # where its tasks ran, and why there
    redacted: bool = False  # of its defects, only keys and the names of columns are left

    @property
    def outcomes(self) -> tuple[CheckOutcome, ...]:
        return tuple(outcome for table in self.tables for outcome in table.checks)

    @property
    def defects_total(self) -> int:
        return sum(outcome.defects for outcome in self.outcomes)

    @property
    def unnamed_total(self) -> int:
        """Differences beyond the defects: at least so many, which nobody could name."""
        return sum(outcome.unnamed for outcome in self.outcomes)

    @property
    def status(self) -> Status:
        return worst(self.outcomes)

    @property
    def is_incomplete(self) -> bool:
        """Whether something was not looked at, or nothing at all."""
        return self.status is Status.INCOMPLETE or any(one.is_incomplete for one in self.outcomes)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]


def worst(outcomes: Sequence[CheckOutcome]) -> Status:
    """A defect outweighs everything; a run that looked at nothing, or not at all, is incomplete."""
    statuses = {outcome.status for outcome in outcomes}
    if Status.DEFECTIVE in statuses:
        return Status.DEFECTIVE
    if Status.INCOMPLETE in statuses or Status.CLEAN not in statuses:
        return Status.INCOMPLETE
    return Status.CLEAN
