# SPDX-License-Identifier: Apache-2.0
"""Commands that a report suggests: found in its sentences, and kept so that they can be pasted."""

import re
import shlex

from reports.display_width import display_width, parted

VERBS = (
    *("check", "gate", "index", "backfill", "stream", "repair", "undo", "journal", "catalog"),
    *("kv", "gx", "init", "demo", "selftest", "prepare", "completion"),
)
# Words of our sentences that follow a command, as in "scrub check table orders shows them".
_AFTER = r"(?:and|or|to|if|in|is|shows?|checks?|knows|judges|names|reads|writes|would|looks)\b"
_QUOTED = r"'[^']*'|\"[^\"]*\""
_ARGUMENT = rf"""(?:{_QUOTED}|[^\s;,()'"])+"""
_COMMAND = re.compile(
    rf"(?<![\w-])scrub (?:{'|'.join(VERBS)})\b(?:(?<![.:]) (?!{_AFTER}){_ARGUMENT})*"
)
_QUANTITY = re.compile(r"(?<=\d) (?=(?:s|min|rows|rows/s|columns|[kMGT]?B)\b)")
_BLANK = "\0"  # stands for a blank inside a word; printable text has none of its own
_DEEPER = "    "


def words_of(text: str) -> list[str]:
    """A line's words. A command is one word, with the punctuation around it; so is a quantity."""
    joined = _COMMAND.sub(lambda found: found[0].replace(" ", _BLANK), text)
    joined = _QUANTITY.sub(_BLANK, joined)
    # Of several blanks in a row each may be data, so a line does not end there.
    return [word.replace(_BLANK, " ") for word in re.split(r"(?<! ) (?! )", joined)]


def is_command(word: str) -> bool:
    return _COMMAND.search(word) is not None


def continued(command: str, width: int, first: str, other: str) -> list[str]:
    """A command on several lines, each but the last ending in a backslash, as shells want it.

    The first one begins with the first indent.
    """
    lines, line = [], ""
    room = width - len(" \\")
    for argument in _arguments(command):
        if not line:
            line = first + argument
        elif display_width(f"{line} {argument}") <= room:
            line += f" {argument}"
        else:
            lines.append(f"{line} \\")
            line = other + _DEEPER + argument
        if display_width(line) > room:
            *whole, line = _within(line, width)
            lines += whole
    return [*lines, line]


def _arguments(command: str) -> list[str]:
    """Parted at blanks that are not between quotes."""
    return re.findall(rf"""(?:{_QUOTED}|[^\s'"])+|['"]""", command)


def _within(line: str, width: int) -> list[str]:
    """A line whose argument alone is too long: parted inside of it, where no blank may follow."""
    indent = line[: len(line) - len(line.lstrip(" "))]
    try:
        (value,) = shlex.split(line)
    except ValueError:  # no word of a shell: it can be shown, but not pasted
        return _raw(line, width)
    lines, start = [], indent
    while display_width(start + shlex.quote(value)) > width - len(" \\"):
        part, value = _quoted_part(value, width - len(start) - 1)
        lines.append(f"{start}{part}\\")
        start = ""
    return [*lines, start + shlex.quote(value)]


def _quoted_part(value: str, room: int) -> tuple[str, str]:
    """The longest beginning of a value that fits when it is quoted."""
    size = room
    while True:
        part, rest = parted(value, size)
        if display_width(shlex.quote(part)) <= room or size == 1:
            return shlex.quote(part), rest
        size -= 1


def _raw(line: str, width: int) -> list[str]:
    lines = []
    while display_width(line) > width - len(" \\"):
        part, line = parted(line, width - 1)
        lines.append(f"{part}\\")
    return [*lines, line]
