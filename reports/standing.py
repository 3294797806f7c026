# SPDX-License-Identifier: Apache-2.0
"""A defect's standing in words, and the verdict of a gate as the case of a test report."""

from reports.escaping import printable
from reports.truncation import truncate
from scrub.model.gate import JudgedDefect, Standing, Verdict


def standing_words(judged: JudgedDefect | None) -> str:
    """How a defect stands, with who answers for it and until when; `-` if nobody judged it."""
    if judged is None:
        return "-"
    words = judged.standing.value
    if judged.standing is Standing.WAIVED and (waiver := judged.waiver) is not None:
        words += f" until {waiver.until} by {waiver.by}: {waiver.reason}"
    elif judged.standing in (Standing.KNOWN, Standing.CHANGED) and judged.since is not None:
        words += (
            f", known since {judged.since}"
            if judged.standing is Standing.CHANGED
            else (f" since {judged.since}")
        )
    return printable(truncate(words))


def counts_words(verdict: Verdict) -> str:
    """How many defects stand how: `2 new, 40 known, 1 gone`."""
    found = [
        f"{number:,} {standing}"
        for standing in Standing
        if (number := verdict.counts.get(standing))
    ]
    return ", ".join(found) or "no defects"


def reason_lines(verdict: Verdict) -> list[str]:
    """Why the gate decided as it did, and what else somebody should know; one printable line each."""
    reasons = [printable(truncate(reason)) for reason in verdict.reasons]
    return reasons + [f"warning: {printable(truncate(text))}" for text in verdict.warnings]
