# SPDX-License-Identifier: Apache-2.0
"""What a run says nothing about, and why: no report may let it pass for clean."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from reports.escaping import printable
from reports.quantities import counted
from reports.truncation import truncate
from scrub.model.result import CheckOutcome, RunResult, Status, TableResult


class GapKind(StrEnum):
    """Why something was not looked at."""

    ERROR = "error"  # the check could not even begin
    INCOMPLETE = "incomplete"
    NOT_APPLICABLE = "not applicable"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One thing that a run says nothing about; no outcome: the whole run."""

    kind: GapKind
    text: str  # a printable line
    table: str = ""
    outcome: CheckOutcome | None = None

    @property
    def identity(self) -> tuple[str | None, ...]:
        """The same for the same gap in every run."""
        of = self.outcome
        place = (of.check, of.index, of.constraint) if of else ()
        return (self.kind, self.table, *place)


def outcome_name(table: TableResult, outcome: CheckOutcome) -> str:
    """How a check is called in a list: `orders.by_email`, or `orders (physical)`."""
    name = table.table if outcome.index is None else f"{table.table}.{outcome.index}"
    if outcome.constraint is not None:
        return printable(f"{name} ({outcome.check} {outcome.constraint})")
    return printable(name if outcome.check == "index" else f"{name} ({outcome.check})")


def gaps(result: RunResult) -> Iterator[Gap]:
    """Everything that was not looked at, in the order of the result."""
    if not result.outcomes:
        yield Gap(kind=GapKind.INCOMPLETE, text="nothing was checked")
    for table in result.tables:
        for outcome in table.checks:
            yield from _gaps_of(table, outcome)


def _gaps_of(table: TableResult, outcome: CheckOutcome) -> Iterator[Gap]:
    def gap(kind: GapKind, text: str) -> Gap:
        told = f"{outcome_name(table, outcome)}{text}"
        return Gap(kind=kind, text=told, table=table.table, outcome=outcome)

    if outcome.is_incomplete:
        kind = GapKind.ERROR if outcome.error else GapKind.INCOMPLETE
        reason = outcome.reason or "no reason was given"
        yield gap(kind, f", {kind}: {printable(truncate(reason))}")
    elif outcome.status is Status.NOT_APPLICABLE:
        reason = printable(truncate(outcome.reason or ""))
        yield gap(GapKind.NOT_APPLICABLE, f", not applicable: {reason}")
    if outcome.undecided:
        differences = counted(outcome.undecided, "undecided difference")
        what = "which data that was not read, or that proves nothing, could explain"
        yield gap(GapKind.UNDECIDED, f": {differences}, {what}")
