# SPDX-License-Identifier: Apache-2.0
"""What code hosts show at a line of a file: defects, what was not looked at, a gate's reasons."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reports.context import Place, ReportContext
from reports.entry_cells import defect_text
from reports.escaping import printable
from reports.gaps import Gap, GapKind, gaps
from reports.quantities import counted
from reports.standing import gone_lines, level_of, standing_words
from reports.summary import hidden_defects
from reports.truncation import truncate
from scrub.model.defect import Defect
from scrub.model.gate import JudgedDefect, Severity
from scrub.model.result import RunResult

_GAP_LEVELS = {
    GapKind.ERROR: Severity.ERROR,
    GapKind.INCOMPLETE: Severity.ERROR,
    GapKind.UNDECIDED: Severity.ERROR,
    GapKind.NOT_APPLICABLE: Severity.NOTE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One line of text at a place; its id is the same for the same remark of every run."""

    id: str
    rule: str  # a kind of defect, or why there is something to remark
    level: Severity
    text: str  # printable
    place: Place
    defect: Defect | None = None
    judged: JudgedDefect | None = None


def defect_remarks(result: RunResult, context: ReportContext) -> list[Remark]:
    """A remark for each defect that is shown, the weightiest first, each with an id of its own."""
    seen = Counter[str]()
    remarks: list[Remark] = []
    for defect, judged in zip(result.defects, context.judged(result.defects), strict=True):
        seen[defect.id] += 1
        remarks.append(_defect_remark(defect, judged, context, seen[defect.id]))
    order = list(Severity)
    return sorted(remarks, key=lambda remark: order.index(remark.level))


def gap_remarks(result: RunResult, context: ReportContext) -> Iterator[Remark]:
    """A remark for everything that was not looked at; weightless where a gate did not need it."""
    passed = context.verdict is not None and context.verdict.exit_code == 0
    for gap in gaps(result):
        level = _GAP_LEVELS[gap.kind]
        yield Remark(
            id=_digest(gap.identity),
            rule=gap.kind.value.replace(" ", "_"),
            level=Severity.WARNING if passed and level is Severity.ERROR else level,
            text=gap.text,
            place=_place_of_gap(gap, context),
        )


def gate_remarks(context: ReportContext) -> Iterator[Remark]:
    """Why the gate decided as it did, and what is known and gone."""
    verdict = context.verdict
    if verdict is None:
        return
    level = Severity.ERROR if verdict.exit_code else Severity.NOTE
    for reason in verdict.reasons:
        yield _remark_of_file("gate", level, reason, context)
    for warning in verdict.warnings:
        yield _remark_of_file("gate_warning", Severity.WARNING, warning, context)
    if verdict.gone:
        text = (
            f"{counted(len(verdict.gone), 'known defect')} gone: {'; '.join(gone_lines(verdict))}"
        )
        yield _remark_of_file("gone", Severity.NOTE, text, context)


def hidden_remark(result: RunResult, context: ReportContext) -> Iterator[Remark]:
    """That `--limit` hides defects, if it does."""
    if hidden := hidden_defects(result):
        level = Severity.NOTE if context.exit_code(result) == 0 else Severity.WARNING
        yield _remark_of_file("hidden_defects", level, hidden, context)


def all_names(names: Iterable[str | None]) -> str:
    """A table and what of it is meant, with dots."""
    return ".".join(name for name in names if name is not None)


def _defect_remark(
    defect: Defect, judged: JudgedDefect | None, context: ReportContext, copy: int
) -> Remark:
    where = printable(truncate(all_names((defect.table, defect.index, defect.constraint))))
    stands = "" if judged is None else f" ({standing_words(judged)})"
    return Remark(
        id=defect.id if copy == 1 else f"{defect.id}:{copy}",
        rule=defect.kind,
        level=level_of(judged),
        text=f"{where}: {defect_text(defect)}{stands}",
        place=context.place_of(defect),
        defect=defect,
        judged=judged,
    )


def _remark_of_file(rule: str, level: Severity, text: str, context: ReportContext) -> Remark:
    told = printable(truncate(text))
    place = context.places.place("")
    return Remark(id=_digest((rule, told)), rule=rule, level=level, text=told, place=place)


def _place_of_gap(gap: Gap, context: ReportContext) -> Place:
    of = gap.outcome
    index, constraint = (of.index, of.constraint) if of else (None, None)
    return context.places.place(gap.table, index, constraint)


def _digest(identity: Iterable[str | None]) -> str:
    text = json.dumps(list(identity), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
