# SPDX-License-Identifier: Apache-2.0
"""A gate's verdict in words: how each defect stands, what was decided, and why."""

from reports.escaping import printable
from reports.truncation import truncate
from scrub.model.gate import JudgedDefect, KnownDefect, Severity, Standing, Verdict

DECISIONS = {0: "passed", 1: "failed", 3: "failed, because not everything required was looked at"}
_GONE_NAMED_MAX = 20
UNKNOWN = (Standing.NEW, Standing.CHANGED)
"""The standings of defects that stop a gate."""


def standing_words(judged: JudgedDefect | None) -> str:
    """How a defect stands, with who answers for it and until when; `-` if nobody judged it."""
    if judged is None:
        return "-"
    words = judged.standing.value
    if judged.standing is Standing.WAIVED:
        words += f" {waiver_words(judged)}"
    elif judged.since is not None:
        words += (
            f" since {judged.since}"
            if judged.standing is Standing.KNOWN
            else (f", known since {judged.since}")
        )
    if judged.waiver is not None and judged.standing is not Standing.WAIVED:
        words += f", waived only until {judged.waiver.until}"
    return printable(truncate(words))


def waiver_words(judged: JudgedDefect) -> str:
    """Who answers for a waived defect, until when, and why."""
    waiver = judged.waiver
    return "" if waiver is None else f"until {waiver.until} by {waiver.by}: {waiver.reason}"


def decision_line(verdict: Verdict) -> str:
    """What the gate decided, and how many defects stand how: `2 new, 40 known, 1 gone`."""
    found = [
        f"{number:,} {standing}"
        for standing in Standing
        if (number := verdict.counts.get(standing))
    ]
    decided = DECISIONS.get(verdict.exit_code, "failed")
    return f"gate {decided}: {', '.join(found) or 'no defects'}; exit code {verdict.exit_code}"


def reason_lines(verdict: Verdict) -> list[str]:
    """Why the gate decided so, and what else somebody should know; one printable line each."""
    warnings = (f"warning: {text}" for text in verdict.warnings)
    return [printable(truncate(text)) for text in (*verdict.reasons, *warnings)]


def gone_lines(verdict: Verdict) -> list[str]:
    """The defects of the baseline that were not found any more: some, and how many there are."""
    more = len(verdict.gone) - _GONE_NAMED_MAX
    named = [_gone_text(known) for known in verdict.gone[:_GONE_NAMED_MAX]]
    return [*named, f"and {more:,} more"] if more > 0 else named


def _gone_text(known: KnownDefect) -> str:
    of = [known.table, known.index, known.constraint]
    place = ".".join(name for name in of if name is not None)
    return printable(f"{known.kind} {known.id} of {place}, known since {known.since}")


def level_of(judged: JudgedDefect | None) -> Severity:
    """How much a defect weighs for a reader; what is known or waived is worth a note."""
    if judged is None:
        return Severity.ERROR
    return judged.severity if judged.standing in UNKNOWN else Severity.NOTE


def is_failing(judged: JudgedDefect | None) -> bool:
    """Whether a gate fails because of a defect; one that nobody judged counts."""
    return judged is None or judged.fails
