# SPDX-License-Identifier: Apache-2.0
"""The few colours of a report: they repeat what words say, and never say anything alone."""

from reports.screen import Screen
from scrub.model.defect import DefectKind

_BOLD, _DIM, _RED, _GREEN, _YELLOW = "1", "2", "31", "32", "33"
_KINDS = frozenset(kind.value for kind in DefectKind)
# The beginnings of cells, for each column that tells how something stands; longer ones first.
_BEGINNINGS = {
    "status": {
        "defective": _RED,
        "incomplete": _YELLOW,
        "error": _YELLOW,
        "clean": _GREEN,
        "not applicable": _DIM,
        "passed": _GREEN,
        "failed": _RED,
    },
    "standing": {"new": _RED, "changed": _RED, "known": _DIM, "waived": _DIM},
    "outcome": {
        "done": _GREEN,
        "undone": _GREEN,
        "it was so already": _GREEN,
        "left alone": _YELLOW,
        "refused": _YELLOW,
        "deleted and put back": _YELLOW,
    },
    "verdict": {"found": _GREEN, "NOT FOUND": _RED},
}


def title(text: str, screen: Screen) -> str:
    return _in(_BOLD, text, screen)


def aside(text: str, screen: Screen) -> str:
    """What is said about the report and not about the data."""
    return _in(_DIM, text, screen)


def status(text: str, screen: Screen) -> str:
    """A sentence that begins with a status and a colon."""
    word, colon, rest = text.partition(":")
    code = _code("status", word)
    return f"{_in(code, word, screen)}{colon}{rest}" if colon and code else text


def cell(header: str, whole: str, part: str, screen: Screen) -> str:
    """A part of a cell, in the colour of the whole."""
    code = _code(header, whole)
    return _in(code, part, screen) if code else part


def _code(header: str, text: str) -> str | None:
    if header == "kind" and text in _KINDS:
        return _BOLD
    for beginning, code in _BEGINNINGS.get(header, {}).items():
        if text.startswith(beginning):
            return code
    return None


def _in(code: str | None, text: str, screen: Screen) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if screen.colour and code and text.strip() else text
