# SPDX-License-Identifier: Apache-2.0
"""What a result says nothing about, although it should: such a gap never passes for clean."""

from collections.abc import Collection, Iterator, Sequence

from scrub.model.constraint import NOT_NULL, PRIMARY_KEY
from scrub.model.defect import PHYSICAL_KINDS, DefectKind
from scrub.model.gate import KnownDefect, Requirement
from scrub.model.result import CheckOutcome, RunResult, Status


def missing_coverage(
    result: RunResult, required: Sequence[Requirement], of_pairs: Collection[str] = ()
) -> tuple[str, ...]:
    """One line for everything that was required, or begun, and not looked at in full.

    `of_pairs` are the tables that are kept as key-value pairs.
    """
    return tuple(dict.fromkeys(_missing(result, required, of_pairs)))


def _missing(
    result: RunResult, required: Sequence[Requirement], of_pairs: Collection[str]
) -> Iterator[str]:
    if not any(has_looked(outcome) for outcome in result.outcomes):
        yield "nothing was looked at"
    if result.where is not None:
        yield f"only rows for which {result.where} were looked at (--where)"
    for requirement in required:
        of_table = [
            outcome
            for table in result.tables
            if table.table == requirement.table
            for outcome in table.checks
        ]
        is_of_pairs = requirement.table in of_pairs
        if any(_stands_in(outcome, requirement, is_of_pairs) for outcome in of_table):
            continue
        found = [outcome for outcome in of_table if _answers(outcome, requirement)]
        if not found:
            yield f"{_name(requirement)} was not looked at"
        for outcome in found:
            if (gap := gap_of(outcome)) is not None:
                yield f"{_name(requirement)} {gap}"
    # Nobody required these, but they were begun: half a look must not look like a whole one.
    for table in result.tables:
        for outcome in table.checks:
            if outcome.is_incomplete or outcome.undecided:
                begun = Requirement(
                    check=outcome.check,
                    table=table.table,
                    index=outcome.index,
                    constraint=outcome.constraint,
                )
                yield f"{_name(begun)} {gap_of(outcome)}"


def has_looked(outcome: CheckOutcome) -> bool:
    """Whether a check looked at anything."""
    return outcome.status in (Status.CLEAN, Status.DEFECTIVE)


def gap_of(outcome: CheckOutcome) -> str | None:
    """How a check fell short of a whole look, and why; None if it did not."""
    reason = outcome.reason or "no reason was given"
    if outcome.status is Status.NOT_APPLICABLE:
        return f"was not looked at: {reason}"
    if outcome.is_incomplete and (outcome.reason or not outcome.undecided):
        return f"was not looked at in full: {reason}"
    if outcome.undecided:
        plural = "" if outcome.undecided == 1 else "s"
        return f"has {outcome.undecided:,} undecided difference{plural}"
    if outcome.not_looked_for:
        kinds = ", ".join(outcome.not_looked_for)
        return f"was not looked at in full: {kinds} was not looked for"
    return None


def looked_for(known: KnownDefect, result: RunResult, of_pairs: bool = False) -> bool:
    """Whether a known defect would have been found: its place was looked at in full.

    In pairs, every check that reads the rows of a table finds those that are there twice.
    """
    if result.where is not None:
        return False
    outcomes = [
        outcome
        for table in result.tables
        if table.table == known.table
        for outcome in table.checks
        if has_looked(outcome) and gap_of(outcome) is None
    ]
    if of_pairs and known.kind is DefectKind.DUPLICATE_KEY and known.index is None:
        return bool(outcomes)
    return any(_would_find(outcome, known) for outcome in outcomes)


def _would_find(outcome: CheckOutcome, known: KnownDefect) -> bool:
    is_physical = known.kind in PHYSICAL_KINDS
    if known.kind is DefectKind.NULL_VIOLATION and outcome.constraint == NOT_NULL:
        return True
    if outcome.check == "physical":
        return is_physical
    if outcome.check == "index":
        of_index = not is_physical or known.kind is DefectKind.KEY_ORDER
        return of_index and known.constraint is None and outcome.index == known.index
    return outcome.constraint is not None and outcome.constraint == known.constraint


def _answers(outcome: CheckOutcome, requirement: Requirement) -> bool:
    return (
        outcome.check == requirement.check
        and requirement.index in (None, outcome.index)
        and requirement.constraint in (None, outcome.constraint)
    )


def _stands_in(outcome: CheckOutcome, requirement: Requirement, is_of_pairs: bool) -> bool:
    """Whether a whole look of another check says the same.

    The physical one reports NULLs, too, and of pairs the rows that are there twice.
    """
    reported = (NOT_NULL, PRIMARY_KEY) if is_of_pairs else (NOT_NULL,)
    is_physical = outcome.check == "physical" and requirement.constraint in reported
    return is_physical and has_looked(outcome) and gap_of(outcome) is None


def _name(requirement: Requirement) -> str:
    name = requirement.table or ""
    if requirement.index is not None:
        name += f".{requirement.index}"
    if requirement.constraint is not None:
        return f"{name} ({requirement.check} {requirement.constraint})"
    return name if requirement.check == "index" else f"{name} ({requirement.check})"
