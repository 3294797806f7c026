# SPDX-License-Identifier: Apache-2.0
"""Fits the rows of a grid to a screen: as a table if there is room, otherwise line by line.

Columns that matter come first. If there is not enough room, columns that can be spared are left
out, then long cells go on in further lines, and then each row becomes a block with a line for each
cell. What names a row is always shown whole; other cells that are very long end in dots.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports import colours
from reports.display_width import ELLIPSIS, cut, display_width, padded
from reports.grids import Grid
from reports.screen import Screen
from reports.wrapping import parts_of_cell

_GAP = "  "
_WORD_MAX = 24  # longer words may be parted; the names of kinds are not
_CELL_MIN = 16  # narrower, a column with text reads badly
_LINES_MAX = 3  # of a cell in a table
_BLOCK_LINES_MAX = 4  # of a cell in a line of its own
_NAMES = frozenset(
    {"kind", "table", "index", "constraint", "primary key", "index key", "id", "run", "undone by"}
)
"""What a row is found by: cutting it would cost the reader the row."""
_VALUES = frozenset(
    {"status", "expected", "actual", "before", "after", "as it was left", "comes back"}
)
"""What a row says: a table cuts none of it, and a block only what is very long."""
_UNBROKEN = frozenset({"defects"})  # each of its lines is a number with its kind
_NOTHING = ("", "-")


@dataclass(frozen=True, slots=True)
class _Column:
    header: str
    cells: tuple[str, ...]
    is_number: bool

    @property
    def is_name(self) -> bool:
        """Whether a row is found by it."""
        return self.header in _NAMES

    @property
    def natural(self) -> int:
        """Wide enough for every cell."""
        return max(map(display_width, self._words_of_header + self._lines))

    @property
    def least(self) -> int:
        """Less would part words that people know as one."""
        if self.is_number or self.header in _UNBROKEN:
            return self.natural
        words = [word for line in self._lines for word in line.split(" ")]
        longest = max(map(display_width, words), default=0)
        wanted = max(min(longest, _WORD_MAX), min(self.natural, _CELL_MIN))
        return max(wanted, *map(display_width, self._words_of_header))

    @property
    def _words_of_header(self) -> list[str]:
        return self.header.split(" ")

    @property
    def _lines(self) -> list[str]:
        return [line for cell in self.cells for line in cell.split("\n")]


def fitted(grid: Grid, screen: Screen) -> str:
    """The grid in lines that are no wider than the screen."""
    assert screen.width is not None, "paper has room for everything"
    columns = _ordered(grid)
    chosen = _that_fit(columns, grid.spare, screen.width)
    if chosen is None:
        return "\n".join(_blocks(columns, grid, screen))
    kept, widths = chosen
    left_out = [column.header for column in columns if column not in kept]
    return "\n".join([*_table(kept, widths, screen), *_remark(left_out, screen)])


def _remark(left_out: Sequence[str], screen: Screen) -> list[str]:
    """What a file or a wider screen would show."""
    if not left_out:
        return []
    text = f"not shown in {screen.width} columns: {', '.join(left_out)}"
    return [colours.aside(text, screen)]


def _ordered(grid: Grid) -> list[_Column]:
    """The columns that matter most first, the others as they are."""
    columns = [
        _Column(header, tuple(row[number] for row in grid.rows), header in grid.numbers)
        for number, header in enumerate(grid.headers)
    ]
    rank = {header: number for number, header in enumerate(grid.first)}
    return sorted(columns, key=lambda column: rank.get(column.header, len(rank)))


def _that_fit(
    columns: Sequence[_Column], spare: Sequence[str], width: int
) -> tuple[list[_Column], list[int]] | None:
    """The columns to show and their widths; None if there is no room for what must be shown.

    A column that can be spared is left out before a cell is wrapped.
    """
    choices = [
        [column for column in columns if column.header not in spare[:number]]
        for number in range(len(spare) + 1)
    ]
    for give_way in (_in_one_line, _widths):
        for kept in choices:
            widths = give_way(kept, width)
            if widths is not None and not _is_cut(kept, widths):
                return kept, widths
    return None


def _in_one_line(columns: Sequence[_Column], width: int) -> list[int] | None:
    """Widths for columns of which no cell is wrapped; headers are, if need be."""
    natural = [column.natural for column in columns]
    whole = [max(column.natural, display_width(column.header)) for column in columns]
    return next((widths for widths in (whole, natural) if _total(widths) <= width), None)


def _widths(columns: Sequence[_Column], width: int) -> list[int] | None:
    """Widths with which the table fits: the widest columns give way first, each to its least."""
    natural = [column.natural for column in columns]
    least = [column.least for column in columns]
    for most in range(max(natural, default=0), 0, -1):
        widths = [max(low, min(high, most)) for low, high in zip(least, natural, strict=True)]
        if _total(widths) <= width:
            return widths
    return None


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _is_cut(columns: Sequence[_Column], widths: Sequence[int]) -> bool:
    """Whether a table of these widths would cut what must not be cut."""
    return any(
        len(parts_of_cell(cell, width)) > _LINES_MAX
        for column, width in zip(columns, widths, strict=True)
        if column.header in _NAMES | _VALUES
        for cell in column.cells
    )


def _table(columns: Sequence[_Column], widths: Sequence[int], screen: Screen) -> Iterator[str]:
    headers = [parts_of_cell(column.header, w) for column, w in zip(columns, widths, strict=True)]
    most = max(map(len, headers))
    above = [[""] * (most - len(lines)) + lines for lines in headers]
    yield from _side_by_side(columns, widths, above)
    yield _GAP.join("-" * width for width in widths)
    for row in zip(*(column.cells for column in columns), strict=True):
        cells = [
            [
                colours.cell(column.header, cell, part, screen)
                for part in _first_lines(cell, width, 0 if "\n" in cell else _LINES_MAX)
            ]
            for column, cell, width in zip(columns, row, widths, strict=True)
        ]
        yield from _side_by_side(columns, widths, cells)


def _side_by_side(
    columns: Sequence[_Column], widths: Sequence[int], cells: Sequence[Sequence[str]]
) -> Iterator[str]:
    for number in range(max(map(len, cells))):
        parts = [
            padded(lines[number] if number < len(lines) else "", width, right=column.is_number)
            for column, lines, width in zip(columns, cells, widths, strict=True)
        ]
        yield _GAP.join(parts).rstrip(" ")


def _blocks(columns: Sequence[_Column], grid: Grid, screen: Screen) -> Iterator[str]:
    """Each row as a block: a line that names it, and a line for each of its other cells."""
    heads = grid.heads or (columns[0].header,)
    beside = max((len(c.header) for c in columns if c.header not in heads), default=0)
    for row in zip(*(column.cells for column in columns), strict=True):
        told = [
            (column, cell)
            for column, cell in zip(columns, row, strict=True)
            if cell not in _NOTHING or column is columns[0]
        ]
        yield from _heading([(c.header, cell) for c, cell in told if c.header in heads], screen)
        for column, cell in told:
            if column.header not in heads:
                yield from _labelled(column, cell, beside, screen)


def _heading(named: Sequence[tuple[str, str]], screen: Screen) -> Iterator[str]:
    """What names a row, in one line if it fits."""
    assert screen.width is not None
    line = indent = ""
    for header, cell in named:
        coloured = colours.cell(header, cell, cell, screen)
        longer = f"{line}{_GAP}{coloured}" if line else coloured
        if display_width(longer) <= screen.width:
            line = longer
            continue
        if line:
            yield line
            indent = _GAP
        parts = parts_of_cell(cell, screen.width - len(indent))
        *whole, line = (indent + colours.cell(header, cell, part, screen) for part in parts)
        yield from whole
    yield line


def _labelled(column: _Column, cell: str, beside: int, screen: Screen) -> Iterator[str]:
    assert screen.width is not None
    label = f"{_GAP}{column.header:<{beside}}{_GAP}"
    most = 0 if column.is_name or "\n" in cell else _BLOCK_LINES_MAX
    for part in _first_lines(cell, screen.width - len(label), most):
        yield label + colours.cell(column.header, cell, part, screen)
        label = " " * len(label)


def _first_lines(cell: str, width: int, most: int) -> list[str]:
    """The lines of a cell; if there are more than that, the last one ends in dots. 0: all."""
    lines = parts_of_cell(cell, width)
    if not most or len(lines) <= most:
        return lines
    last = lines[most - 1]
    ended = last + ELLIPSIS if display_width(last) + len(ELLIPSIS) <= width else None
    return [*lines[: most - 1], ended or cut(last + ELLIPSIS * 2, width)]
