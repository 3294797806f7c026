# SPDX-License-Identifier: Apache-2.0
"""Each check of a result as a test case, for JUnit and pytest: whether it passed, and why not."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from reports.context import ReportContext
from reports.entry_cells import defect_text
from reports.escaping import printable
from reports.standing import UNKNOWN, is_failing, standing_words
from reports.summary import unnamed
from reports.truncation import truncate
from scrub.model.defect import Defect
from scrub.model.gate import JudgedDefect
from scrub.model.result import CheckOutcome, RunResult, Status, TableResult

Found = tuple[Defect, JudgedDefect | None]


class Ending(StrEnum):
    """How a test case ends."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A check and how it ended; all its texts are printable."""

    table: str
    name: str
    outcome: CheckOutcome
    ending: Ending
    message: str = ""
    lines: tuple[str, ...] = ()  # what there is to say beyond the message, whatever the ending


def cases(result: RunResult, table: TableResult, context: ReportContext) -> Iterator[Case]:
    """A case for each check of a table, in its order."""
    for outcome, found in zip(table.checks, _by_check(result, table, context), strict=True):
        ending, message = _ending(outcome, found, context)
        yield Case(
            table=printable(table.table),
            name=case_name(outcome),
            outcome=outcome,
            ending=ending,
            message=message,
            lines=tuple(_lines(outcome, found)),
        )


def case_name(outcome: CheckOutcome) -> str:
    """What a check is called: `index by_email`, `constraint positive_amount`, `physical`."""
    names = (outcome.check, outcome.index, outcome.constraint)
    return printable(" ".join(name for name in names if name is not None))


def decision_ending(exit_code: int) -> Ending:
    """How the decision about a whole run ends, as a case of its own."""
    return {0: Ending.PASSED, 1: Ending.FAILED}.get(exit_code, Ending.ERROR)


def _ending(
    outcome: CheckOutcome,
    found: list[Found],
    context: ReportContext,
) -> tuple[Ending, str]:
    passed = context.verdict is not None and context.verdict.exit_code == 0
    match outcome.status:
        case Status.DEFECTIVE:
            fails = not passed and _has_failing(outcome, found, context)
            return Ending.FAILED if fails else _of_forgiven(outcome, passed), _counts(outcome)
        case Status.INCOMPLETE:
            reason = printable(truncate(outcome.reason or "not everything was checked"))
            told = f"incomplete, which the gate allows: {reason}"
            return (Ending.SKIPPED, told) if passed else (Ending.ERROR, reason)
        case Status.NOT_APPLICABLE:
            return Ending.SKIPPED, printable(truncate(outcome.reason or ""))
        case Status.CLEAN:
            return Ending.PASSED, ""


def _of_forgiven(outcome: CheckOutcome, gate_passed: bool) -> Ending:
    """Every defect is known or waived; what was not looked at is still open."""
    return Ending.ERROR if outcome.is_incomplete and not gate_passed else Ending.PASSED


def _has_failing(
    outcome: CheckOutcome,
    found: list[Found],
    context: ReportContext,
) -> bool:
    if context.verdict is None or outcome.unnamed or any(is_failing(one) for _, one in found):
        return True
    if outcome.defects <= len(found):
        return False
    # Some are not shown; they fail this check if any that is not shown could be unknown.
    unknown = sum(context.verdict.counts.get(standing, 0) for standing in UNKNOWN)
    shown = sum(judged.standing in UNKNOWN for judged in context.verdict.defects)
    return unknown > shown


def _counts(outcome: CheckOutcome) -> str:
    counts = [f"{count:,} {kind}" for kind, count in outcome.counts.items()]
    if outcome.unnamed:
        counts.append(unnamed(outcome.unnamed))
    return ", ".join(counts)


def _lines(outcome: CheckOutcome, found: list[Found]) -> Iterator[str]:
    if outcome.status is not Status.DEFECTIVE:
        return
    for defect, judged in found:
        stands = f" ({standing_words(judged)})" if judged else ""
        yield f"{defect_text(defect)}{stands}"
    if outcome.defects > len(found):
        yield f"and {outcome.defects - len(found):,} more"
    if outcome.is_incomplete:
        yield f"incomplete: {printable(truncate(outcome.reason or 'some are undecided'))}"


def _by_check(result: RunResult, table: TableResult, context: ReportContext) -> list[list[Found]]:
    """The defects of a table, each with the check that fits it best of those that counted it."""
    by_check: list[list[Found]] = [[] for _ in table.checks]
    for defect, judged in zip(result.defects, context.judged(result.defects), strict=True):
        if defect.table != table.table:
            continue
        counted = [n for n, one in enumerate(table.checks) if defect.kind in one.counts]
        if counted:
            best = max(counted, key=lambda n: _fit(defect, table.checks[n]))
            by_check[best].append((defect, judged))
    return by_check


def _fit(defect: Defect, outcome: CheckOutcome) -> tuple[bool, bool]:
    return outcome.index == defect.index, outcome.constraint == defect.constraint
