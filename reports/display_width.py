# SPDX-License-Identifier: Apache-2.0
"""How many columns of a terminal a text takes, and where to part it.

In doubt a character counts as wider than some terminal shows it: a line may end early, but never
runs over.
"""

import re
import unicodedata
from itertools import accumulate

from reports.truncation import whole_until

ELLIPSIS = "..."
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # ours only: escapes of the data are spelled out
_AS_EMOJI = "\ufe0f"  # makes the character before it a picture, which is two columns wide


def display_width(text: str) -> int:
    """Columns; colours take none."""
    text = _COLOURS.sub("", text)
    return len(text) if text.isascii() else sum(map(_columns, text))


def parted(text: str, width: int) -> tuple[str, str]:
    """As much of a text as fits, but at least one character with its marks; and the rest."""
    taken = accumulate(map(_columns, text))
    fits = next((end for end, columns in enumerate(taken) if columns > width), None)
    if fits is None:
        return text, ""
    end = whole_until(text, fits) or _first_character(text)
    return text[:end], text[end:]


def cut(text: str, width: int) -> str:
    """The text; or its beginning, and dots that say so."""
    if display_width(text) <= width:
        return text
    return f"{parted(text, width - len(ELLIPSIS))[0]}{ELLIPSIS}"


def padded(text: str, width: int, *, right: bool = False) -> str:
    """The text with blanks up to a width."""
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks


def _columns(char: str) -> int:
    if char.isascii():
        return 1
    if char == _AS_EMOJI:
        return 1
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _first_character(text: str) -> int:
    """Where the second character begins."""
    marks = (place for place, char in enumerate(text) if place and not _is_mark(char))
    return next(marks, len(text))


def _is_mark(char: str) -> bool:
    return char == _AS_EMOJI or unicodedata.category(char) in ("Mn", "Me")
