# SPDX-License-Identifier: Apache-2.0
"""Renders for a terminal: what is broken, what was not checked, and how certain that is."""

from collections.abc import Iterable

from reports import colours, plan_sections, summary
from reports.context import NO_CONTEXT, ReportContext
from reports.escaping import printable
from reports.grids import checks_grid, defects_grid
from reports.quantities import size
from reports.redaction import redact_result
from reports.screen import Screen
from reports.tables import table
from reports.wrapping import wrapped
from scrub.model.plan import CheckPlan
from scrub.model.result import RunResult, TableResult


def render(result: RunResult, *, redact: bool = False, context: ReportContext = NO_CONTEXT) -> str:
    if redact:
        result = redact_result(result)
    screen = context.screen
    sections = [_headline(of) + "\n" + table(checks_grid(of), screen) for of in result.tables]
    if result.defects:
        title = colours.title("Defects", screen)
        sections.append(f"{title}\n{table(defects_grid(result, context), screen)}")
    if hidden := summary.hidden_defects(result):
        sections.append(hidden)
    for title, lines in summary.lists(result, context.verdict):
        sections += _list(title, lines, screen)
    if result.ran is not None:
        sections.append(f"ran {printable(result.ran)}")
    if result.pace is not None:
        sections.append(f"pace: {printable(result.pace)}")
    sections.append(colours.status(summary.closing_line(result, context.verdict), screen))
    return wrapped("\n\n".join(sections) + "\n", screen)


def render_plan(plan: CheckPlan, context: ReportContext = NO_CONTEXT) -> str:
    """What `--explain` shows: everything a run would do, nothing of which has been done."""
    screen = context.screen
    sections = [f"strategy: {plan.strategy}"]
    if plan.place is not None:
        sections.append(printable(f"runs {plan.place}"))
    if plan.pace is not None:
        sections.append(printable(f"pace: {plan.pace}"))
    for of in plan.tables:
        lines = [plan_sections.headline(of), *_bullets(plan_sections.scan_lines(of))]
        if of.indexes:
            lines += ["", table(plan_sections.indexes_grid(of), screen)]
        if of.constraints:
            lines += ["", table(plan_sections.constraints_grid(of), screen)]
        sections.append("\n".join(lines))
        sections += _list("Notes", plan_sections.notes(of), screen)
    own_indexes = plan_sections.own_indexes(plan)
    sections += _list("Walked through by the database itself", own_indexes, screen)
    sections += _list("Will not be checked", plan_sections.not_checked(plan), screen)
    sections.append("explained only: no row was read")
    return wrapped("\n\n".join(sections) + "\n", screen)


def _headline(of: TableResult) -> str:
    read = "" if of.bytes_read is None else f", {size(of.bytes_read)} read"
    return f"{printable(of.table + summary.snapshot_phrase(of))}{read}"


def _list(title: str, lines: Iterable[str], screen: Screen) -> list[str]:
    bullets = _bullets(lines)
    return ["\n".join([colours.title(title, screen), *bullets])] if bullets else []


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"  - {line}" for line in lines]
