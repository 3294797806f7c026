# SPDX-License-Identifier: Apache-2.0
"""Summarises a result: its status in words, its size, and what was not checked."""

from collections.abc import Iterable, Iterator, Mapping

from reports.escaping import column_name, printable
from reports.gaps import gaps, outcome_name
from reports.quantities import count, counted, rate
from reports.standing import decision_line, gone_lines, reason_lines
from reports.truncation import truncate
from scrub.model.defect import DefectKind
from scrub.model.gate import Verdict
from scrub.model.result import CheckOutcome, RunResult, Status, TableResult

EXIT_MEANINGS: Mapping[int, str] = {
    0: "clean",
    1: "defects found",
    3: "no defect found, but not everything could be checked",
}

_NAMED_MAX = 3
_ENTRIES = {DefectKind.DANGLING: "dangling entries"}
_WORTH_TELLING = 0.05  # seconds: less would be shown as none


def status_words(status: Status, *, incomplete: bool) -> str:
    """The status in words; a run can be both defective and incomplete."""
    both = status is Status.DEFECTIVE and incomplete
    return "defective and incomplete" if both else status.value.replace("_", " ")


def not_compared(outcome: CheckOutcome) -> str | None:
    """Which columns of an index's relation its check said nothing about: part of the verdict."""
    if not outcome.ignored:
        return None
    shown = ", ".join(map(column_name, outcome.ignored[:_NAMED_MAX]))
    more = len(outcome.ignored) - _NAMED_MAX
    return f"not compared: {shown}" + (f" and {more} more" if more > 0 else "")


def not_looked_for(result: RunResult) -> str:
    """What no defect of which could be found: part of the verdict, or nothing."""
    kinds = [kind for outcome in result.outcomes for kind in outcome.not_looked_for]
    named = ", ".join(_ENTRIES[kind] for kind in dict.fromkeys(kinds))
    return f"; {named} not looked for" if named else ""


def snapshot_phrase(table: TableResult) -> str:
    """What follows a table's name in a headline: the snapshot it was read at, if it was."""
    return ", not read" if table.snapshot == "not read" else f" at {table.snapshot}"


def rows_read(result: RunResult) -> int:
    """Rows and entries; a table's rows count once, since one scan serves all its indexes."""
    return sum(
        max((outcome.rows or 0 for outcome in table.checks), default=0)
        + sum(outcome.entries or 0 for outcome in table.checks)
        for table in result.tables
    )


def not_looked_at(result: RunResult) -> Iterator[str]:
    """One line for everything that this run says nothing about, and why."""
    return (gap.text for gap in gaps(result))


def coverage_notes(result: RunResult) -> Iterator[str]:
    """One line for everything else a reader should know of the coverage."""
    concerned: dict[str, list[str]] = {}  # note -> the checks it is a note of
    for table in result.tables:
        for outcome in table.checks:
            texts = [printable(truncate(note)) for note in outcome.notes]
            if outcome.transient:
                differences = counted(outcome.transient, "transient difference")
                texts.append(f"{differences}, gone in a later snapshot")
            for text in texts:
                concerned.setdefault(text, []).append(outcome_name(table, outcome))
    for text, names in concerned.items():
        yield f"{', '.join(names)}: {text}"


def remedies(result: RunResult) -> Iterator[str]:
    """One line for everything to be done about what was found, however many checks ask for it."""
    found = [printable(remedy) for outcome in result.outcomes for remedy in outcome.remedies]
    yield from dict.fromkeys(found)


def lists(result: RunResult, verdict: Verdict | None) -> Iterator[tuple[str, Iterable[str]]]:
    """What a report says below its tables: titles, and the lines of each."""
    yield "Not checked", not_looked_at(result)
    if verdict is not None:
        yield "Gate", reason_lines(verdict)
        yield "Gone", gone_lines(verdict)
    yield "Notes", coverage_notes(result)
    yield "What to do", remedies(result)


def exit_meaning(result: RunResult) -> str:
    """What the exit code says of this run."""
    statuses = {outcome.status for outcome in result.outcomes}
    if statuses == {Status.NOT_APPLICABLE}:
        return "no check applies to what was asked for, so nothing was checked"
    return EXIT_MEANINGS[result.exit_code]


def unnamed(number: int) -> str:
    """Differences that are known and have no name."""
    return f"at least {counted(number, 'difference')} that could not be named"


def found_in_all(result: RunResult) -> str:
    """How many defects there are, and what is known beyond them."""
    found = counted(result.defects_total, "defect")
    if not result.unnamed_total:
        return found
    known = unnamed(result.unnamed_total)
    return f"{found} and {known}" if result.defects_total else known


def hidden_defects(result: RunResult) -> str | None:
    """What to say when not every defect is shown."""
    shown, total = len(result.defects), result.defects_total
    if shown >= total:
        return None
    return (
        f"showing {count(shown)} of {counted(total, 'defect')}; "
        "--limit N shows more, --all-defects FILE writes them all"
    )


def closing_line(result: RunResult, verdict: Verdict | None = None) -> str:
    """Status, counts, speed, and what the exit code means, or what a gate decided."""
    rows = rows_read(result)
    ignored = sum(len(outcome.ignored) for outcome in result.outcomes)
    apart = f" ({counted(ignored, 'column')} of indexes not compared)" if ignored else ""
    starting = f", after {result.seconds_starting:,.1f} s in which Spark started"
    ending = f"exit code {result.exit_code} ({exit_meaning(result)})"
    return (
        f"{status_words(result.status, incomplete=result.is_incomplete)}: "
        f"{found_in_all(result)} in {counted(len(result.outcomes), 'check')}{apart}"
        f"{not_looked_for(result)}; "
        f"{counted(rows, 'row')} in {result.seconds:,.1f} s "
        f"({rate(rows, result.seconds - result.seconds_waiting)})"
        f"{starting if result.seconds_starting >= _WORTH_TELLING else ''}; "
        f"{ending if verdict is None else decision_line(verdict)}"
    )
