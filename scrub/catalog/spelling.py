# SPDX-License-Identifier: Apache-2.0
"""What was probably meant by a word that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches

_LISTED_MAX = 12


def did_you_mean(word: str, known: Iterable[str], what: str) -> str:
    """A hint that names the closest known word, or else all of them."""
    spelling = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), spelling, n=1)
    if close:
        return f"did you mean '{spelling[close[0]]}'?"
    if not spelling:
        return f"there are no {what}"
    names = sorted(spelling.values())
    more = ", ..." if len(names) > _LISTED_MAX else ""
    return f"known {what}: {', '.join(names[:_LISTED_MAX])}{more}"
