# SPDX-License-Identifier: Apache-2.0
"""Renders Markdown for tickets and pull requests."""

from collections.abc import Iterable

from reports import summary
from reports.context import NO_CONTEXT, ReportContext
from reports.escaping import markdown
from reports.grids import Grid, checks_grid, defects_grid
from reports.redaction import redact_result
from scrub.model.result import RunResult, TableResult


def render(result: RunResult, *, redact: bool = False, context: ReportContext = NO_CONTEXT) -> str:
    if redact:
        result = redact_result(result)
    sections = [f"**{markdown(summary.closing_line(result, context.verdict))}**"]
    for table in result.tables:
        sections += [_headline(table), _table(checks_grid(table))]
    if result.defects:
        sections += ["## Defects", _table(defects_grid(result, context))]
    if hidden := summary.hidden_defects(result):
        sections.append(markdown(hidden))
    for title, lines in summary.lists(result, context.verdict):
        sections += _list(title, lines)
    return "\n\n".join(sections) + "\n"


def _headline(table: TableResult) -> str:
    return f"## {markdown(table.table + summary.snapshot_phrase(table))}"


def _table(grid: Grid) -> str:
    rule = tuple("--:" if alignment == "right" else "---" for alignment in grid.alignments)
    rows = [tuple(map(_cell, row)) for row in (grid.headers, *grid.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]])


def _cell(text: str) -> str:
    # Line by line: a grid's line breaks are its own, any in the data are spelled out by now.
    return "<br>".join(map(markdown, text.split("\n")))


def _list(title: str, lines: Iterable[str]) -> list[str]:
    bullets = [f"- {markdown(line)}" for line in lines]
    return [f"## {title}", "\n".join(bullets)] if bullets else []
