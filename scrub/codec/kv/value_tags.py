# SPDX-License-Identifier: Apache-2.0
"""The tag of a value: how what follows is to be read."""

from scrub.codec.kv.compiled import compiled, inlined
from scrub.codec.kv.kinds import (
    BIT,
    BOOL,
    DECIMAL,
    FLOAT,
    INT,
    INTERVAL,
    TIMESTAMP,
    TIMETZ,
)
from scrub.codec.kv.layouts import ENTRY

TAG_INT, TAG_FLOAT, TAG_BYTES, TAG_TIME, TAG_DECIMAL, TAG_DURATION = 1, 2, 3, 4, 5, 6
TAG_TUPLE, TAG_BITS, TAG_TIMETZ = 10, 11, 12


@inlined
def tag_of_form(form: int) -> int:
    """The tag of a value with tagged columns."""
    return TAG_BYTES if form == ENTRY else TAG_TUPLE


@compiled
def bare_tag(kind: int) -> int:
    """The tag of a value that is one datum."""
    if kind == INT or kind == BOOL:
        return TAG_INT
    if kind == FLOAT:
        return TAG_FLOAT
    if kind == DECIMAL:
        return TAG_DECIMAL
    if kind == TIMESTAMP:
        return TAG_TIME
    if kind == INTERVAL:
        return TAG_DURATION
    if kind == TIMETZ:
        return TAG_TIMETZ
    if kind == BIT:
        return TAG_BITS
    return TAG_BYTES
