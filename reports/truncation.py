# SPDX-License-Identifier: Apache-2.0
"""Truncates text that is too long to read; formats for programs keep everything."""

import unicodedata

TEXT_CHARACTERS_MAX = 1_000
"""Of a reason, a detail, or whatever else may quote values."""
_JOINED_MAX = 16  # marks on one character; more is nobody's writing
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


def truncate(text: str, limit: int = TEXT_CHARACTERS_MAX) -> str:
    """The text; if it is longer than the limit, its beginning and its length."""
    if len(text) <= limit:
        return text
    return f"{text[: whole_until(text, limit)]}{told_length(len(text))}"


def told_length(number: int, noun: str = "characters") -> str:
    """The suffix that replaces the rest of a truncated text."""
    return f"... ({number:,} {noun})"


def whole_until(text: str, end: int) -> int:
    """The end, or a place shortly before it, so that no character loses its combining marks."""
    for place in range(end, max(end - _JOINED_MAX, 0), -1):
        if place >= len(text) or not _belongs_together(text[place - 1], text[place]):
            return place
    return end


def whole_from(text: str, start: int) -> int:
    """The same for a beginning."""
    return whole_until(text, start) if start else 0


def _belongs_together(before: str, after: str) -> bool:
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True  # the halves of one character, in text that was never joined
    return after in _JOINERS or before == "\u200d" or unicodedata.category(after) in ("Mn", "Me")
