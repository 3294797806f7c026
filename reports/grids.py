# SPDX-License-Identifier: Apache-2.0
"""The tables of a report as headers and printable cells, for text and Markdown alike."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from reports.context import NO_CONTEXT, ReportContext
from reports.entry_cells import entry_cells, fields, hex_cell
from reports.escaping import column_name, printable
from reports.quantities import count
from reports.standing import standing_words
from reports.summary import not_compared, status_words
from reports.truncation import truncate
from scrub.model.defect import Defect
from scrub.model.result import CheckOutcome, RunResult, TableResult

Item = TypeVar("Item")


NUMBERS = frozenset({"rows", "entries", "undecided", "transient"})
"""The headers whose cells read best aligned to the right."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Headers and rows; a line break in a cell separates its lines and is never data.

    The rest is for screens, which may have less room than the rows want.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = NUMBERS
    first: tuple[str, ...] = ()  # the columns that matter most
    heads: tuple[str, ...] = ()  # those that name a row when it is shown line by line
    spare: tuple[str, ...] = ()  # those that may be left out, beginning with the first

    @property
    def alignments(self) -> tuple[str, ...]:
        return tuple("right" if header in self.numbers else "left" for header in self.headers)


def checks_grid(table: TableResult) -> Grid:
    """One line per check, with its exact counts."""
    checks = table.checks
    columns: list[tuple[str, Callable[[CheckOutcome], str]]] = []
    if any(outcome.check != "index" for outcome in checks):
        columns.append(("check", lambda outcome: printable(outcome.check)))
    columns += [
        ("index", lambda outcome: printable(outcome.index or "-")),
    ]
    if any(outcome.constraint for outcome in checks):
        columns.append(("constraint", lambda outcome: printable(outcome.constraint or "-")))
    columns += [
        ("status", _status),
        ("snapshot", lambda outcome: printable(outcome.snapshot or "-")),
        ("rows", lambda outcome: count(outcome.rows)),
        ("entries", _entries),
        ("defects", _defects),
    ]
    if any(outcome.undecided for outcome in checks):
        columns.append(("undecided", lambda outcome: count(outcome.undecided)))
    if any(outcome.transient for outcome in checks):
        columns.append(("transient", lambda outcome: count(outcome.transient)))
    place = ("check", "index", "constraint", "status")
    return replace(
        _grid(columns, checks),
        first=(*place, "defects", "undecided", "transient"),
        heads=place,
        spare=("snapshot", "entries", "rows"),
    )


def defects_grid(result: RunResult, context: ReportContext = NO_CONTEXT) -> Grid:
    """One line per defect: where it is, what differs, and how it stands if it was judged."""
    defects = result.defects
    columns: list[tuple[str, Callable[[Defect], str]]] = [("kind", lambda defect: defect.kind)]
    if len(result.tables) > 1:
        columns.append(("table", lambda defect: printable(defect.table)))
    columns.append(("index", lambda defect: printable(defect.index or "-")))
    if any(defect.constraint for defect in defects):
        columns.append(("constraint", lambda defect: printable(defect.constraint or "-")))
    columns.append(("primary key", lambda defect: fields(defect.primary_key)))
    if not all(defect.column for defect in defects):  # of values, there is nothing to compare
        columns += [
            ("index key", _index_key),
            ("expected", lambda defect: entry_cells(defect)[0]),
            ("actual", lambda defect: entry_cells(defect)[1]),
        ]
    if any(defect.column and not defect.detail for defect in defects):
        columns.append(
            ("column", lambda defect: column_name(defect.column) if defect.column else "-")
        )
    if any(defect.file and not defect.detail for defect in defects):
        columns.append(("file", lambda defect: printable(defect.file or "-")))
    if any(defect.detail for defect in defects):
        columns.append(("detail", lambda defect: printable(truncate(defect.detail))))
    place = ("kind", "table", "index", "constraint")
    first = (*place, "primary key", "standing")
    grid = replace(_grid(columns, defects), first=first, heads=(*place, "standing"))
    return grid if context.verdict is None else _with_standings(grid, defects, context)


def _with_standings(grid: Grid, defects: Sequence[Defect], context: ReportContext) -> Grid:
    """Also how each stands, and its id: whoever waives a defect names it so."""
    rows = zip(grid.rows, defects, context.judged(defects), strict=True)
    return replace(
        grid,
        headers=(*grid.headers, "standing", "id"),
        rows=tuple((*row, standing_words(judged), defect.id) for row, defect, judged in rows),
    )


def _grid(columns: Sequence[tuple[str, Callable[[Item], str]]], items: Iterable[Item]) -> Grid:
    return Grid(
        headers=tuple(header for header, _ in columns),
        rows=tuple(tuple(cell(item) for _, cell in columns) for item in items),
    )


def _status(outcome: CheckOutcome) -> str:
    if outcome.error:
        return "error"
    words = status_words(outcome.status, incomplete=outcome.is_incomplete)
    apart = not_compared(outcome)
    return f"{words} ({apart})" if apart else words


def _entries(outcome: CheckOutcome) -> str:
    """Only an index has entries; of one that was not counted nobody knows how many."""
    return count(outcome.entries) if outcome.check == "index" else "-"


def _defects(outcome: CheckOutcome) -> str:
    found = [f"{count(number)} {kind}" for kind, number in outcome.counts.items() if number]
    if outcome.unnamed:
        found.append(f"at least {count(outcome.unnamed)} unnamed")
    return "\n".join(found) or "-"


def _index_key(defect: Defect) -> str:
    if defect.index_key is None and defect.key_hex is not None:
        return hex_cell(defect.key_hex)
    return fields(defect.index_key)
