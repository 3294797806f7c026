# SPDX-License-Identifier: Apache-2.0
"""Wraps sentences at words, so that no line is wider than the screen."""

import re
from collections.abc import Iterator, Sequence

from reports.display_width import display_width, parted
from reports.screen import Screen
from reports.shell_lines import continued, is_command, words_of

_INDENT = re.compile(r" *(?:- )?")


def wrapped(text: str, screen: Screen) -> str:
    """The text; lines that are too wide go on below their own beginning."""
    if screen.width is None:
        return text
    width = screen.width
    lines = text.split("\n")
    return "\n".join(part for line in lines for part in _parts(line, width))


def parts_of_cell(cell: str, width: int) -> list[str]:
    """The lines of a cell. It is data: what looks like a command in it is none."""
    return [part for line in cell.split("\n") for part in _filled(line.split(" "), width)]


def _filled(words: Sequence[str], width: int, first: str = "", other: str = "") -> Iterator[str]:
    """Words in lines that begin with these indents."""
    line, is_empty = first, True
    for word in words:
        if not is_empty and display_width(f"{line} {word}") <= width:
            line += f" {word}"
            continue
        if not is_empty:
            yield line
            line = other
        if display_width(line + word) <= width:
            line += word
        elif is_command(word):
            *whole, line = continued(word, width, line, other)
            yield from whole
        else:
            *whole, line = _hard(line, word, width, other)
            yield from whole
        is_empty = False
    yield line


def _parts(line: str, width: int) -> Iterator[str]:
    if display_width(line) <= width:
        yield line
        return
    found = _INDENT.match(line)
    first = found[0] if found else ""
    hanging = " " * len(first) if first.endswith("- ") or not first else first + "  "
    yield from _filled(words_of(line[len(first) :]), width, first, hanging)


def _hard(indent: str, word: str, width: int, other: str) -> Iterator[str]:
    """A word that no line has room for, parted anywhere."""
    rest = word
    while display_width(indent + rest) > width:
        part, rest = parted(rest, width - len(indent))
        yield indent + part
        indent = other
    yield indent + rest
