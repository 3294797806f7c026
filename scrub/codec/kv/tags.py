# SPDX-License-Identifier: Apache-2.0
"""Tags: what a value, or a column in one, begins with, which says how the rest is to be read."""

from collections.abc import Mapping

import numpy as np
from numba import int64, uint64

from scrub.codec.kv import field, kinds
from scrub.codec.kv.compiled import Fault, Octets, Offsets, also_loop, inlined
from scrub.codec.kv.faults import Code, fail
from scrub.codec.kv.integers import put_groups, read_groups

# Of values
TAG_INT, TAG_FLOAT, TAG_BYTES, TAG_TIME, TAG_DECIMAL, TAG_DURATION = 1, 2, 3, 4, 5, 6
TAG_TUPLE, TAG_BITS, TAG_TIMETZ = 10, 11, 12

# Types, in the tags of columns
NULL_TYPE, INT_TYPE, FLOAT_TYPE, DECIMAL_TYPE, BYTES_TYPE, TIME_TYPE = 1, 3, 4, 5, 6, 8
DURATION_TYPE, TRUE_TYPE, FALSE_TYPE, UUID_TYPE, ARRAY_TYPE, INET_TYPE = 9, 10, 11, 12, 13, 14
ESCAPED_TYPE = 15  # this and larger ones follow in a number of their own
BITS_TYPE, TIMETZ_TYPE = 17, 19


def _for_kinds(numbers: Mapping[int, int], others: int) -> Offsets:
    """A number for each kind of datum, arrays included."""
    of_kind = np.full(kinds.ARRAY + kinds.BIT + 1, others, dtype=np.int64)
    for kind, number in numbers.items():
        of_kind[kind] = number
    return of_kind


_BARE_TAGS = _for_kinds(
    {
        kinds.BOOL: TAG_INT,
        kinds.INT: TAG_INT,
        kinds.FLOAT: TAG_FLOAT,
        kinds.DECIMAL: TAG_DECIMAL,
        kinds.TIMESTAMP: TAG_TIME,
        kinds.INTERVAL: TAG_DURATION,
        kinds.TIMETZ: TAG_TIMETZ,
        kinds.BIT: TAG_BITS,
    },
    TAG_BYTES,
)
_TYPES = _for_kinds(
    {
        kinds.BOOL: TRUE_TYPE,
        kinds.INT: INT_TYPE,
        kinds.FLOAT: FLOAT_TYPE,
        kinds.DECIMAL: DECIMAL_TYPE,
        kinds.BYTES: BYTES_TYPE,
        kinds.COLLATED: BYTES_TYPE,
        kinds.TIMESTAMP: TIME_TYPE,
        kinds.INTERVAL: DURATION_TYPE,
        kinds.TIMETZ: TIMETZ_TYPE,
        kinds.UUID: UUID_TYPE,
        kinds.INET: INET_TYPE,
        kinds.BIT: BITS_TYPE,
    },
    ARRAY_TYPE,
)


@inlined
def tag_of_form(form: int) -> int:
    """The tag of a value with tagged columns."""
    return TAG_BYTES if form == field.ENTRY else TAG_TUPLE


@inlined
def bare_tag(kind: int) -> int:
    """The tag of a value that is one datum."""
    return _BARE_TAGS[kind]


@inlined
def type_number(kind: int) -> int:
    """The type in a column's tag; of a boolean that of true."""
    return _TYPES[kind]


@inlined
def put_tag(delta: int, number: int, out: Octets, at: int) -> int:
    low = min(number, ESCAPED_TYPE)
    at = put_groups((uint64(delta) << uint64(4)) | uint64(low), out, at)
    if low == ESCAPED_TYPE:
        at = put_groups(uint64(number), out, at)
    return at


@also_loop
@inlined
def read_tag(data: Octets, at: int, end: int, fault: Fault) -> tuple[int, int, int]:
    """A column's tag: the step to its id, its type, and the next position."""
    word, at = read_groups(data, at, end, fault)
    if at < 0:
        return int64(0), int64(0), at
    number = word & uint64(15)
    if number == uint64(ESCAPED_TYPE):
        number, at = read_groups(data, at, end, fault)
        if at >= 0 and number > uint64(255):
            return int64(0), int64(0), fail(fault, Code.COLUMN_TYPE, at)
    return int64(word >> uint64(4)), int64(number), at
