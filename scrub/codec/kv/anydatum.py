# SPDX-License-Identifier: Apache-2.0
"""Datums of any kind, arrays included: the four ways between bytes and held forms.

An array is held as its canonical body: a byte with the number of dimensions (always one) and
whether any element is NULL, the elements' type, their number, a bitmap of NULLs if there are any,
and the other elements' bodies.
"""

import numpy as np
from numba import int64, uint8, uint64

from scrub.codec.kv import kinds, tags
from scrub.codec.kv.compiled import Fault, Octets, allocating, also_loop, compiled
from scrub.codec.kv.datums import (
    is_composite_scalar,
    put_body_scalar,
    put_key_scalar,
    read_body_scalar,
    read_key_scalar,
)
from scrub.codec.kv.faults import Code, fail
from scrub.codec.kv.integers import copy_octets, put_groups, read_groups

_ROOM = 32  # bytes that hold any element which takes one byte in a key


# Arrays


@compiled
def _read_element(
    kind: int, data: Octets, at: int, end: int, held: Octets, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    """An element's body, made canonical: read into its held form and written again."""
    if kind == kinds.BOOL:
        if at >= end or (data[at] != tags.TRUE_TYPE and data[at] != tags.FALSE_TYPE):
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
    o = tags.put_tag(0, tags.type_number(kind), out, o + 1)
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
    _, number, at = tags.read_tag(data, at + 1, end, fault)
    if at < 0:
        return at, o
    if number != tags.type_number(kind):
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
            if kind == kinds.BOOL:
                elements[length] = tags.TRUE_TYPE if held[0] else tags.FALSE_TYPE
                length += 1
            else:
                length = put_body_scalar(kind, held, 0, size, elements, length)
        count += 1
    if at >= end:
        return fail(fault, Code.CUT_OFF, at), o
    return at + 1, _put_array(kind, nulls, count, elements, length, out, o)


@also_loop
@compiled
def elements_of(data: Octets, begin: int, end: int, fault: Fault) -> tuple[int, int, int]:
    """Of a held array: the number of elements, where the bitmap is (or -1) and the elements."""
    _, _, at = tags.read_tag(data, begin + 1, end, fault)
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
        elif kind == kinds.BOOL:
            held[0] = 1 if data[position] == tags.TRUE_TYPE else 0
            position += 1
            at = put_key_scalar(kind, held, 0, 1, descending, out, at)
        else:
            position, size = read_body_scalar(kind, data, position, end, held, 0, fault)
            at = put_key_scalar(kind, held, 0, size, descending, out, at)
    out[at] = 0xFF if descending else 0x00
    return at + 1


@allocating
def _is_composite_array(kind: int, data: Octets, begin: int, end: int) -> bool:
    if kind != kinds.DECIMAL and kind != kinds.FLOAT and kind != kinds.COLLATED:
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
    if kind >= kinds.ARRAY:
        return _read_key_array(kind - kinds.ARRAY, data, at, end, descending, out, o, fault)
    return read_key_scalar(kind, data, at, end, descending, out, o, fault)


@compiled
def put_key(
    kind: int, data: Octets, begin: int, end: int, descending: bool, out: Octets, at: int
) -> int:
    """The ordered form of a held datum."""
    if kind >= kinds.ARRAY:
        return _put_key_array(kind - kinds.ARRAY, data, begin, end, descending, out, at)
    return put_key_scalar(kind, data, begin, end, descending, out, at)


@compiled
def read_tagged(
    kind: int, number: int, data: Octets, at: int, end: int, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    """What follows a column's tag, whose type is `number`, which must be one of this kind."""
    if kind == kinds.BOOL:
        if number != tags.TRUE_TYPE and number != tags.FALSE_TYPE:
            return fail(fault, Code.COLUMN_TYPE, at), o
        out[o] = 1 if number == tags.TRUE_TYPE else 0
        return at, o + 1
    if number != tags.type_number(kind):
        return fail(fault, Code.COLUMN_TYPE, at), o
    if kind >= kinds.ARRAY:
        begin = at
        length, at = read_groups(data, at, end, fault)
        if at < 0:
            return at, o
        if length > uint64(end - at):
            return fail(fault, Code.LENGTH, begin), o
        return read_array_body(kind - kinds.ARRAY, data, at, at + int64(length), out, o, fault)
    return read_body_scalar(kind, data, at, end, out, o, fault)


@compiled
def put_tagged(
    kind: int, delta: int, data: Octets, begin: int, end: int, out: Octets, at: int
) -> int:
    """A column's tag and its body."""
    if kind == kinds.BOOL:
        return tags.put_tag(delta, tags.TRUE_TYPE if data[begin] else tags.FALSE_TYPE, out, at)
    at = tags.put_tag(delta, tags.type_number(kind), out, at)
    if kind >= kinds.ARRAY:
        at = put_groups(uint64(end - begin), out, at)
        return copy_octets(data, begin, end, out, at)
    return put_body_scalar(kind, data, begin, end, out, at)


@compiled
def _kind_of_type(number: int) -> int:
    """A kind that is written with this type, or -1."""
    for kind in range(kinds.BOOL, kinds.BIT + 1):
        if tags.type_number(kind) == number:
            return kind
    return -1


@also_loop
@allocating
def skip_tagged(number: int, data: Octets, at: int, end: int, fault: Fault) -> int:
    """The position after a body of a column that is not expected here."""
    if number == tags.NULL_TYPE or number == tags.TRUE_TYPE or number == tags.FALSE_TYPE:
        return at
    held = np.empty(16 * (end - at) + 64, dtype=np.uint8)
    kind = _kind_of_type(number)
    if kind >= 0:
        return read_body_scalar(kind, data, at, end, held, 0, fault)[0]
    if number != tags.ARRAY_TYPE:
        return fail(fault, Code.COLUMN_TYPE, at)
    length, after = read_groups(data, at, end, fault)
    if after < 0:
        return after
    if length > uint64(end - after):
        return fail(fault, Code.LENGTH, at)
    stop = after + int64(length)
    if after == stop:
        return fail(fault, Code.ARRAY_BODY, after)
    _, element, inside = tags.read_tag(data, after + 1, stop, fault)
    if inside < 0:
        return inside
    kind = _kind_of_type(element)
    if kind < 0:
        return fail(fault, Code.ARRAY_BODY, after)
    return read_array_body(kind, data, after, stop, held, 0, fault)[0]


@compiled
def is_composite(kind: int, data: Octets, begin: int, end: int) -> bool:
    """Whether a held datum's ordered form loses something, so that a value must keep it."""
    if kind >= kinds.ARRAY:
        return _is_composite_array(kind - kinds.ARRAY, data, begin, end)
    return is_composite_scalar(kind, data, begin, end)
