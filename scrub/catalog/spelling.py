# SPDX-License-Identifier: Apache-2.0
"""Hints for a name that is not known: the closest known name, or all of them."""

from collections.abc import Iterable
from difflib import get_close_matches

_LISTED_MAX = 12
_LIKENESS_MIN = 0.65  # less than that was hardly meant


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a word, whatever its case; None if none is close."""
    spelling = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), spelling, n=1, cutoff=_LIKENESS_MIN)
    return spelling[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str], what: str) -> str:
    """A hint that names the closest known name, or else all of them; `what` is their plural."""
    names = list(dict.fromkeys(known))
    if close := closest(word, names):
        return f"did you mean {close}?"
    if not names:
        return f"there are no {what}"
    more = ", ..." if len(names) > _LISTED_MAX else ""
    return f"known {what}: {', '.join(sorted(names)[:_LISTED_MAX])}{more}"
