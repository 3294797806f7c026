# SPDX-License-Identifier: Apache-2.0
"""Renders for a terminal: what is broken, what was not checked, and how certain that is."""

from collections.abc import Iterable

from tabulate import tabulate

from reports import plan_sections, summary
from reports.context import NO_CONTEXT, ReportContext
from reports.escaping import printable
from reports.grids import Grid, checks_grid, defects_grid
from reports.quantities import size
from reports.redaction import redact_result
from scrub.model.plan import CheckPlan
from scrub.model.result import RunResult, TableResult


def render(result: RunResult, *, redact: bool = False, context: ReportContext = NO_CONTEXT) -> str:
    if redact:
        result = redact_result(result)
    sections = [_headline(table) + "\n" + _table(checks_grid(table)) for table in result.tables]
    if result.defects:
        sections.append("Defects\n" + _table(defects_grid(result, context)))
    if hidden := summary.hidden_defects(result):
        sections.append(hidden)
    for title, lines in summary.lists(result, context.verdict):
        sections += _list(title, lines)
    if result.ran is not None:
        sections.append(f"ran {printable(result.ran)}")
    sections.append(summary.closing_line(result, context.verdict))
    return "\n\n".join(sections) + "\n"


def render_plan(plan: CheckPlan) -> str:
    """What `--explain` shows: everything a run would do, nothing of which has been done."""
    sections = [f"strategy: {plan.strategy}"]
    if plan.place is not None:
        sections.append(printable(f"runs {plan.place}"))
    for table in plan.tables:
        lines = [plan_sections.headline(table), *_bullets(plan_sections.scan_lines(table))]
        if table.indexes:
            lines += ["", _table(plan_sections.indexes_grid(table))]
        if table.constraints:
            lines += ["", _table(plan_sections.constraints_grid(table))]
        sections.append("\n".join(lines))
        sections += _list("Notes", plan_sections.notes(table))
    sections += _list("Walked through by the database itself", plan_sections.own_indexes(plan))
    sections += _list("Will not be checked", plan_sections.not_checked(plan))
    sections.append("explained only: no row was read")
    return "\n\n".join(sections) + "\n"


def _headline(table: TableResult) -> str:
    read = "" if table.bytes_read is None else f", {size(table.bytes_read)} read"
    return f"{printable(table.table + summary.snapshot_phrase(table))}{read}"


def _table(grid: Grid) -> str:
    # Cells are text already; parsing them as numbers would change what they say.
    return tabulate(
        grid.rows, headers=grid.headers, colalign=grid.alignments, disable_numparse=True
    )


def _list(title: str, lines: Iterable[str]) -> list[str]:
    bullets = _bullets(lines)
    return ["\n".join([title, *bullets])] if bullets else []


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"  - {line}" for line in lines]
