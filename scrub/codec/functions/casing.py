# SPDX-License-Identifier: Apache-2.0
"""Upper and lower case, as Unicode has it without regard to any language.

Spark's casing is that of its version of Unicode, Python's that of its own. They agree on all code
points but those that gained a counterpart lately. A text with one of these is in doubt, and so is
one with code points that Python does not know, or with a capital sigma beside anything but letters
and spaces: at the end of a word its lower case is another one, and versions differ on where.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scrub.codec.functions.doubt import InDoubt
from scrub.codec.functions.text import demand_utf8, is_ascii

_GAINED_CASE = re.compile(
    "[\u019b\u0264\u1c80-\u1c8f\u2c2f\u2c5f\ua7c0-\ua7ff"
    "\U00010570-\U000105bf\U00010d40-\U00010d8f\U00016ea0-\U00016edf]"
)
"""Letters whose case is different in Unicode 13 (which Java 17 has) and in Unicode 17."""
_PLAIN = r"A-Za-z \t\n\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03ce"
_SIGMA_IN_DOUBT = re.compile(f"[^{_PLAIN}\0]\u03a3|\u03a3[^{_PLAIN}\0]")
_BETWEEN = "\0"  # as far as sigmas go, it is the end of a text
_REASON = "letters whose case depends on the version of Unicode"


def lower(text: Any) -> Any:
    return _cased(text, pc.ascii_lower, str.lower, _SIGMA_IN_DOUBT)


def upper(text: Any) -> Any:
    return _cased(text, pc.ascii_upper, str.upper)


def _cased(
    text: Any,
    of_ascii: Callable[[Any], Any],
    of_text: Callable[[str], str],
    in_doubt: re.Pattern[str] | None = None,
) -> Any:
    cased = of_ascii(text)
    if is_ascii(text):
        return cased
    demand_utf8(text)
    others = pc.fill_null(pc.invert(pc.string_is_ascii(text)), False)
    given = text.filter(others).to_pylist()
    joined = _BETWEEN.join(given)
    if _GAINED_CASE.search(joined) or (in_doubt is not None and in_doubt.search(joined)):
        raise InDoubt(_REASON)
    if any(unicodedata.category(letter) == "Cn" for letter in set(joined)):
        raise InDoubt(_REASON)
    if joined.count(_BETWEEN) >= max(len(given), 1):
        raise InDoubt("texts with the character U+0000")  # where a word ends is not certain
    changed = of_text(joined).split(_BETWEEN) if given else []
    return pc.replace_with_mask(cased, others, pa.array(changed, pa.string()))
