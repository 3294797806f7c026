# SPDX-License-Identifier: Apache-2.0
"""Numbers inside keys and values, byte by byte: the compiled primitives of the codec.

Readers take (source, position, end, fault) and return (number, next position); a negative position
means that `fault` is set. Writers take (number, target, position) and return the next position; the
caller has made room. Numbers are signed 64-bit unless the name says otherwise.

Where many bytes are read or written in a row, places are unsigned: one that may be negative counts
from the end, and is looked at each time.
"""

import numpy as np
from numba import int64, uint8, uint64

from scrub.codec.kv.compiled import Fault, Octets, Word, also_loop, compiled, inlined
from scrub.codec.kv.faults import Code, fail

INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1
MAX_INT = np.uint64(INT_MAX)


@inlined
def put_word(word: Word, out: Octets, at: int) -> int:
    """Eight bytes, least significant first: how datums hold numbers between bytes and bytes."""
    for byte in range(8):
        out[uint64(at) + uint64(byte)] = uint8((uint64(word) >> uint64(8 * byte)) & uint64(0xFF))
    return at + 8


@inlined
def get_word(data: Octets, at: int) -> Word:
    word = uint64(0)
    for byte in range(8):
        word |= uint64(data[uint64(at) + uint64(byte)]) << uint64(8 * byte)
    return word


@inlined
def get_int(data: Octets, at: int) -> int:
    return int64(get_word(data, at))


@inlined
def put_big_endian(word: Word, count: int, out: Octets, at: int) -> int:
    # From the end, so that the compiler does not make vectors out of so few bytes.
    for byte in range(count - 1, -1, -1):
        out[uint64(at) + uint64(byte)] = uint8(word & uint64(0xFF))
        word >>= uint64(8)
    return at + count


@inlined
def get_big_endian(data: Octets, at: int, count: int) -> Word:
    word = uint64(0)
    for byte in range(count):
        word = (word << uint64(8)) | uint64(data[uint64(at) + uint64(byte)])
    return word


@inlined
def copy_octets(data: Octets, begin: int, end: int, out: Octets, at: int) -> int:
    for step in range(end - begin):
        out[uint64(at) + uint64(step)] = data[uint64(begin) + uint64(step)]
    return at + end - begin


@inlined
def copy_words(data: Octets, begin: int, end: int, out: Octets, at: int) -> int:
    """The same for what is mostly one word or two, and seldom less."""
    while begin + 8 <= end:
        at = put_word(get_word(data, begin), out, at)
        begin += 8
    while begin < end:
        out[uint64(at)] = data[uint64(begin)]
        begin += 1
        at += 1
    return at


@inlined
def same_octets(
    one: Octets, begin: int, end: int, other: Octets, other_begin: int, other_end: int
) -> bool:
    if end - begin != other_end - other_begin:
        return False
    for step in range(end - begin):
        if one[uint64(begin) + uint64(step)] != other[uint64(other_begin) + uint64(step)]:
            return False
    return True


@inlined
def byte_count(word: Word) -> int:
    """How many bytes the number needs; none for 0."""
    count = 0
    while word:
        word >>= uint64(8)
        count += 1
    return count


# Compiled code may assume that signed numbers never overflow, so only unsigned ones may do so.


@inlined
def wrapped_sum(one: int, other: int) -> int:
    return int64(uint64(one) + uint64(other))


@inlined
def wrapped_product(one: int, other: int) -> int:
    return int64(uint64(one) * uint64(other))


@inlined
def added(one: int, other: int) -> tuple[int, bool]:
    """The sum, and whether 64 bits are enough for it."""
    total = int64(uint64(one) + uint64(other))
    return total, (one ^ total) & (other ^ total) >= 0


@inlined
def saturated_sum(one: int, other: int) -> int:
    """The sum, or the number next to it that fits 64 bits: keys that cannot be stay at the ends."""
    total, fits = added(one, other)
    if fits:
        return total
    return INT_MIN if one < 0 else INT_MAX


@inlined
def subtracted(one: int, other: int) -> tuple[int, bool]:
    """The difference, and whether 64 bits are enough for it."""
    rest = int64(uint64(one) - uint64(other))
    return rest, (one ^ other) & (one ^ rest) >= 0


# Ordered numbers, as keys hold them


@compiled
def _put_long_uvarint(word: Word, descending: bool, out: Octets, at: int) -> int:
    word = uint64(word)
    if descending:
        count = byte_count(word)
        out[at] = 0x88 - count
        return put_big_endian(~word, count, out, at + 1)
    if word <= uint64(109):
        out[at] = uint8(uint64(0x88) + word)
        return at + 1
    count = byte_count(word)
    out[at] = 0xF5 + count
    return put_big_endian(word, count, out, at + 1)


@also_loop
@inlined
def put_uvarint(word: Word, descending: bool, out: Octets, at: int) -> int:
    """Any number; most are small, and not worth a call."""
    if not descending and word <= uint64(109):
        out[at] = uint8(uint64(0x88) + word)
        return at + 1
    return _put_long_uvarint(word, descending, out, at)


@compiled
def _read_long_uvarint(
    data: Octets, at: int, end: int, descending: bool, fault: Fault
) -> tuple[Word, int]:
    if at >= end:
        return uint64(0), fail(fault, Code.CUT_OFF, at)
    tag = int64(data[at])
    if descending:
        if tag < 0x80 or tag > 0x88:
            return uint64(0), fail(fault, Code.INT_TAG, at)
        count = 0x88 - tag
    else:
        if tag < 0x88 or tag > 0xFD:
            return uint64(0), fail(fault, Code.INT_TAG, at)
        if tag <= 0xF5:
            return uint64(tag - 0x88), at + 1
        count = tag - 0xF5
    if at + 1 + count > end:
        return uint64(0), fail(fault, Code.CUT_OFF, end)
    word = get_big_endian(data, at + 1, count)
    if descending and count:
        word = ~word & (uint64(0xFFFFFFFFFFFFFFFF) >> uint64(64 - 8 * count))
    return word, at + 1 + count


@also_loop
@inlined
def read_uvarint(
    data: Octets, at: int, end: int, descending: bool, fault: Fault
) -> tuple[Word, int]:
    if not descending and at < end and 0x88 <= data[at] <= 0xF5:
        return uint64(data[at]) - uint64(0x88), at + 1
    return _read_long_uvarint(data, at, end, descending, fault)


@compiled
def _put_long_varint(number: int, descending: bool, out: Octets, at: int) -> int:
    if descending:
        number = ~number
    if number >= 0:
        return put_uvarint(uint64(number), False, out, at)
    count = byte_count(uint64(-(number + 1)) + uint64(1))
    out[at] = 0x88 - count
    return put_big_endian(uint64(number), count, out, at + 1)


@inlined
def put_varint(number: int, descending: bool, out: Octets, at: int) -> int:
    if not descending and 0 <= number <= 109:
        out[at] = uint8(0x88 + number)
        return at + 1
    return _put_long_varint(number, descending, out, at)


@compiled
def _read_long_varint(
    data: Octets, at: int, end: int, descending: bool, fault: Fault
) -> tuple[int, int]:
    if at >= end:
        return int64(0), fail(fault, Code.CUT_OFF, at)
    tag = int64(data[at])
    if tag < 0x80 or tag > 0xFD:
        return int64(0), fail(fault, Code.INT_TAG, at)
    if tag >= 0x88:
        word, after = read_uvarint(data, at, end, False, fault)
        if after < 0:
            return int64(0), after
        if word > MAX_INT:
            return int64(0), fail(fault, Code.INT_RANGE, at)
        number = int64(word)
    else:
        count = 0x88 - tag
        after = at + 1 + count
        if after > end:
            return int64(0), fail(fault, Code.CUT_OFF, end)
        # What is stored are the low bytes of a negative number; those above them are all ones.
        word = ~get_big_endian(data, at + 1, count)
        word &= uint64(0xFFFFFFFFFFFFFFFF) >> uint64(64 - 8 * count)
        if word > MAX_INT:
            return int64(0), fail(fault, Code.INT_RANGE, at)
        number = ~int64(word)
    return (~number if descending else number), after


@inlined
def read_varint(data: Octets, at: int, end: int, descending: bool, fault: Fault) -> tuple[int, int]:
    if at < end and 0x88 <= data[at] <= 0xF5:
        number = int64(data[at]) - 0x88
        return (~number if descending else number), at + 1
    return _read_long_varint(data, at, end, descending, fault)


# Numbers as values hold them


@compiled
def _put_long_leb128(word: Word, out: Octets, at: int) -> int:
    word = uint64(word)
    while word >= uint64(0x80):
        out[at] = uint8((word & uint64(0x7F)) | uint64(0x80))
        word >>= uint64(7)
        at += 1
    out[at] = uint8(word)
    return at + 1


@inlined
def put_leb128(word: Word, out: Octets, at: int) -> int:
    if word < uint64(0x80):
        out[at] = uint8(word)
        return at + 1
    return _put_long_leb128(word, out, at)


@inlined
def put_zigzag(number: int, out: Octets, at: int) -> int:
    return put_leb128((uint64(number) << uint64(1)) ^ uint64(number >> 63), out, at)


@compiled
def _read_long_leb128(data: Octets, at: int, end: int, fault: Fault) -> tuple[Word, int]:
    word, shift, begin = uint64(0), 0, at
    while True:
        if at >= end:
            return uint64(0), fail(fault, Code.CUT_OFF, at)
        octet = uint64(data[at])
        if shift == 63 and octet > uint64(1):
            return uint64(0), fail(fault, Code.VARINT, begin)
        word |= (octet & uint64(0x7F)) << uint64(shift)
        at += 1
        if octet < uint64(0x80):
            return word, at
        shift += 7


@inlined
def read_leb128(data: Octets, at: int, end: int, fault: Fault) -> tuple[Word, int]:
    if at < end and data[at] < 0x80:
        return uint64(data[at]), at + 1
    return _read_long_leb128(data, at, end, fault)


@inlined
def read_zigzag(data: Octets, at: int, end: int, fault: Fault) -> tuple[int, int]:
    word, after = read_leb128(data, at, end, fault)
    return int64(word >> uint64(1)) ^ -int64(word & uint64(1)), after


@compiled
def _put_long_groups(word: Word, out: Octets, at: int) -> int:
    word = uint64(word)
    groups = 1
    while groups < 10 and word >> uint64(7 * groups):
        groups += 1
    for group in range(groups - 1, -1, -1):
        more = uint64(0x80) if group else uint64(0)
        out[at] = uint8(((word >> uint64(7 * group)) & uint64(0x7F)) | more)
        at += 1
    return at


@inlined
def put_groups(word: Word, out: Octets, at: int) -> int:
    """Groups of seven bits, most significant first."""
    if word < uint64(0x80):
        out[at] = uint8(word)
        return at + 1
    return _put_long_groups(word, out, at)


@compiled
def _read_long_groups(data: Octets, at: int, end: int, fault: Fault) -> tuple[Word, int]:
    word, begin = uint64(0), at
    while True:
        if at >= end:
            return uint64(0), fail(fault, Code.CUT_OFF, at)
        if word >> uint64(57) or at - begin == 10:
            return uint64(0), fail(fault, Code.VARINT, begin)
        octet = uint64(data[at])
        word = (word << uint64(7)) | (octet & uint64(0x7F))
        at += 1
        if octet < uint64(0x80):
            return word, at


@inlined
def read_groups(data: Octets, at: int, end: int, fault: Fault) -> tuple[Word, int]:
    if at < end and data[at] < 0x80:
        return uint64(data[at]), at + 1
    return _read_long_groups(data, at, end, fault)
