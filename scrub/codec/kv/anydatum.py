# SPDX-License-Identifier: Apache-2.0
"""Datums of any kind, arrays included: the four ways between bytes and held forms, and tags.

An array is held as its canonical body: a byte with the number of dimensions (always one) and
whether any element is NULL, the elements' type, their number, a bitmap of NULLs if there are any,
and the other elements' bodies.
"""

import numpy as np
from numba import int64, uint8, uint64

from scrub.codec.kv.compiled import Fault, Octets, allocating, compiled, inlined
from scrub.codec.kv.datums import (
    is_composite_scalar,
    put_body_scalar,
    put_key_scalar,
    read_body_scalar,
    read_key_scalar,
)
from scrub.codec.kv.faults import Code, fail
from scrub.codec.kv.integers import (
    copy_octets,
    put_groups,
    read_groups,
)
from scrub.codec.kv.kinds import (
    ARRAY,
    BIT,
    BOOL,
    COLLATED,
    DECIMAL,
    FLOAT,
    INET,
    INT,
    INTERVAL,
    TIMESTAMP,
    TIMETZ,
    UUID,
)

NULL_TYPE, INT_TYPE, FLOAT_TYPE, DECIMAL_TYPE, BYTES_TYPE = 1, 3, 4, 5, 6
TRUE_TYPE, FALSE_TYPE, ARRAY_TYPE = 10, 11, 13
ESCAPED_TYPE = 15  # this and larger ones follow in a number of their own
_ROOM = 32  # bytes that hold any element which takes one byte in a key


@inlined
def type_number(kind: int) -> int:
    """The type in a column's tag; of a boolean that of true."""
    if kind >= ARRAY:
        return ARRAY_TYPE
    if kind == INT:
        return INT_TYPE
    if kind == FLOAT:
        return FLOAT_TYPE
    if kind == DECIMAL:
        return DECIMAL_TYPE
    if kind == TIMESTAMP:
        return 8
    if kind == INTERVAL:
        return 9
    if kind == BOOL:
        return TRUE_TYPE
    if kind == UUID:
        return 12
    if kind == INET:
        return 14
    if kind == BIT:
        return 17
    if kind == TIMETZ:
        return 19
    return BYTES_TYPE


@inlined
def put_tag(delta: int, number: int, out: Octets, at: int) -> int:
    low = min(number, ESCAPED_TYPE)
    at = put_groups((uint64(delta) << uint64(4)) | uint64(low), out, at)
    if low == ESCAPED_TYPE:
        at = put_groups(uint64(number), out, at)
    return at


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


# Arrays


@compiled
def _read_element(
    kind: int, data: Octets, at: int, end: int, held: Octets, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    """An element's body, made canonical: read into its held form and written again."""
    if kind == BOOL:
        if at >= end or (data[at] != TRUE_TYPE and data[at] != FALSE_TYPE):
            return fail(fault, Code.BOOL, at), o
        out[o] = data[at]
        return at + 1, o + 1
    at, stop = read_body_scalar(kind, data, at, end, held, 0, fault)
    if at < 0:
        return at, o
    return at, put_body_scalar(kind, held, 0, stop, out, o)


@compiled
def _put_array(
    kind: int, nulls: Octets, count: int, elements: Octets, length: int, out: Octets, o: int
) -> int:
    any_null = False
    for position in range(count):
        any_null = any_null or nulls[position] == 1
    out[o] = 0x11 if any_null else 0x01
    o = put_tag(0, type_number(kind), out, o + 1)
    o = put_groups(uint64(count), out, o)
    if any_null:
        size = (count + 7) // 8
        for position in range(size):
            out[o + position] = 0
        for position in range(count):
            if nulls[position] == 1:
                out[o + position // 8] |= uint8(1 << (position % 8))
        o += size
    return copy_octets(elements, 0, length, out, o)


@allocating
def read_array_body(
    kind: int, data: Octets, at: int, end: int, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    """An array's body, which ends where the bytes do."""
    begin = at
    if at >= end or (data[at] != 0x01 and data[at] != 0x11):
        return fail(fault, Code.ARRAY_BODY, at), o
    has_nulls = data[at] == 0x11
    _, number, at = read_tag(data, at + 1, end, fault)
    if at < 0:
        return at, o
    if number != type_number(kind):
        return fail(fault, Code.ARRAY_BODY, begin + 1), o
    word, at = read_groups(data, at, end, fault)
    if at < 0:
        return at, o
    if word > uint64(8 * (end - begin)):
        return fail(fault, Code.LENGTH, at), o
    count = int64(word)
    nulls = np.zeros(count, dtype=np.uint8)
    if has_nulls:
        size = (count + 7) // 8
        if at + size > end:
            return fail(fault, Code.CUT_OFF, end), o
        for position in range(count):
            nulls[position] = (data[at + position // 8] >> uint8(position % 8)) & 1
        at += size
    room = 16 * (end - at) + 64
    elements, held = np.empty(room, dtype=np.uint8), np.empty(room, dtype=np.uint8)
    length = 0
    for position in range(count):
        if nulls[position] == 0:
            at, length = _read_element(kind, data, at, end, held, elements, length, fault)
            if at < 0:
                return at, o
    if at != end:
        return fail(fault, Code.LEFT_OVER, at), o
    return at, _put_array(kind, nulls, count, elements, length, out, o)


@allocating
def _read_key_array(
    kind: int, data: Octets, at: int, end: int, descending: bool, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    if at >= end or data[at] != (0x40 if descending else 0x3F):
        return fail(fault, Code.ARRAY_TAG, at), o
    stop, null = (0xFF, 0xFE) if descending else (0x00, 0x01)
    at += 1
    room = _ROOM * (end - at) + 64
    nulls = np.zeros(end - at + 1, dtype=np.uint8)
    elements, held = np.empty(room, dtype=np.uint8), np.empty(room, dtype=np.uint8)
    count, length = 0, 0
    while at < end and data[at] != stop:
        if data[at] == null:
            nulls[count] = 1
            at += 1
        else:
            at, size = read_key_scalar(kind, data, at, end, descending, held, 0, fault)
            if at < 0:
                return at, o
            if kind == BOOL:
                elements[length] = TRUE_TYPE if held[0] else FALSE_TYPE
                length += 1
            else:
                length = put_body_scalar(kind, held, 0, size, elements, length)
        count += 1
    if at >= end:
        return fail(fault, Code.CUT_OFF, at), o
    return at + 1, _put_array(kind, nulls, count, elements, length, out, o)


@compiled
def elements_of(data: Octets, begin: int, end: int, fault: Fault) -> tuple[int, int, int]:
    """Of a held array: the number of elements, where the bitmap is (or -1) and the elements."""
    _, _, at = read_tag(data, begin + 1, end, fault)
    count, at = read_groups(data, at, end, fault)
    if data[begin] == 0x11:
        return int64(count), at, at + (int64(count) + 7) // 8
    return int64(count), int64(-1), at


@allocating
def _put_key_array(
    kind: int, data: Octets, begin: int, end: int, descending: bool, out: Octets, at: int
) -> int:
    fault = np.zeros(2, dtype=np.int64)
    count, bitmap, position = elements_of(data, begin, end, fault)
    held = np.empty(16 * (end - begin) + 64, dtype=np.uint8)
    out[at] = 0x40 if descending else 0x3F
    at += 1
    for element in range(count):
        if bitmap >= 0 and (data[bitmap + element // 8] >> uint8(element % 8)) & 1:
            out[at] = 0xFE if descending else 0x01
            at += 1
        elif kind == BOOL:
            held[0] = 1 if data[position] == TRUE_TYPE else 0
            position += 1
            at = put_key_scalar(kind, held, 0, 1, descending, out, at)
        else:
            position, size = read_body_scalar(kind, data, position, end, held, 0, fault)
            at = put_key_scalar(kind, held, 0, size, descending, out, at)
    out[at] = 0xFF if descending else 0x00
    return at + 1


@allocating
def _is_composite_array(kind: int, data: Octets, begin: int, end: int) -> bool:
    if kind != DECIMAL and kind != FLOAT and kind != COLLATED:
        return False
    fault = np.zeros(2, dtype=np.int64)
    count, bitmap, position = elements_of(data, begin, end, fault)
    held = np.empty(16 * (end - begin) + 64, dtype=np.uint8)
    for element in range(count):
        if bitmap >= 0 and (data[bitmap + element // 8] >> uint8(element % 8)) & 1:
            continue
        position, size = read_body_scalar(kind, data, position, end, held, 0, fault)
        if is_composite_scalar(kind, held, 0, size):
            return True
    return False


# Any kind


@compiled
def read_key(
    kind: int, data: Octets, at: int, end: int, descending: bool, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    """A datum from its ordered form."""
    if kind >= ARRAY:
        return _read_key_array(kind - ARRAY, data, at, end, descending, out, o, fault)
    return read_key_scalar(kind, data, at, end, descending, out, o, fault)


@compiled
def put_key(
    kind: int, data: Octets, begin: int, end: int, descending: bool, out: Octets, at: int
) -> int:
    """The ordered form of a held datum."""
    if kind >= ARRAY:
        return _put_key_array(kind - ARRAY, data, begin, end, descending, out, at)
    return put_key_scalar(kind, data, begin, end, descending, out, at)


@compiled
def read_tagged(
    kind: int, number: int, data: Octets, at: int, end: int, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    """What follows a column's tag, whose type is `number`, which must be one of this kind."""
    if kind == BOOL:
        if number != TRUE_TYPE and number != FALSE_TYPE:
            return fail(fault, Code.COLUMN_TYPE, at), o
        out[o] = 1 if number == TRUE_TYPE else 0
        return at, o + 1
    if number != type_number(kind):
        return fail(fault, Code.COLUMN_TYPE, at), o
    if kind >= ARRAY:
        begin = at
        length, at = read_groups(data, at, end, fault)
        if at < 0:
            return at, o
        if length > uint64(end - at):
            return fail(fault, Code.LENGTH, begin), o
        return read_array_body(kind - ARRAY, data, at, at + int64(length), out, o, fault)
    return read_body_scalar(kind, data, at, end, out, o, fault)


@compiled
def put_tagged(
    kind: int, delta: int, data: Octets, begin: int, end: int, out: Octets, at: int
) -> int:
    """A column's tag and its body."""
    if kind == BOOL:
        return put_tag(delta, TRUE_TYPE if data[begin] else FALSE_TYPE, out, at)
    at = put_tag(delta, type_number(kind), out, at)
    if kind >= ARRAY:
        at = put_groups(uint64(end - begin), out, at)
        return copy_octets(data, begin, end, out, at)
    return put_body_scalar(kind, data, begin, end, out, at)


@compiled
def _kind_of_type(number: int) -> int:
    """A kind that is written with this type, or -1."""
    for kind in range(BOOL, BIT + 1):
        if type_number(kind) == number:
            return kind
    return -1


@allocating
def skip_tagged(number: int, data: Octets, at: int, end: int, fault: Fault) -> int:
    """The position after a body of a column that is not expected here."""
    if number == NULL_TYPE or number == TRUE_TYPE or number == FALSE_TYPE:
        return at
    held = np.empty(16 * (end - at) + 64, dtype=np.uint8)
    kind = _kind_of_type(number)
    if kind >= 0:
        return read_body_scalar(kind, data, at, end, held, 0, fault)[0]
    if number != ARRAY_TYPE:
        return fail(fault, Code.COLUMN_TYPE, at)
    length, after = read_groups(data, at, end, fault)
    if after < 0:
        return after
    if length > uint64(end - after):
        return fail(fault, Code.LENGTH, at)
    stop = after + int64(length)
    if after == stop:
        return fail(fault, Code.ARRAY_BODY, after)
    _, element, inside = read_tag(data, after + 1, stop, fault)
    if inside < 0:
        return inside
    kind = _kind_of_type(element)
    if kind < 0:
        return fail(fault, Code.ARRAY_BODY, after)
    return read_array_body(kind, data, after, stop, held, 0, fault)[0]


@compiled
def is_composite(kind: int, data: Octets, begin: int, end: int) -> bool:
    """Whether a held datum's ordered form loses something, so that a value must keep it."""
    if kind >= ARRAY:
        return _is_composite_array(kind - ARRAY, data, begin, end)
    return is_composite_scalar(kind, data, begin, end)
