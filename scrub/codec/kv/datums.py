# SPDX-License-Identifier: Apache-2.0
"""Single datums: from a key or a value's body into their held form (see kinds), and back.

Readers return (next position in the source, next position in `out`); the first is negative when
`fault` is set. NULL is not a datum: `is_null` looks for it first.

The file is longer than 400 lines because `read_key_scalar`, `put_key_scalar` and their counterparts
for values dispatch over every kind, and the reader and the writer of a kind must agree.
"""

import numpy as np
from numba import float64, int64, uint8, uint64

from scrub.codec.kv import kinds
from scrub.codec.kv.compiled import Fault, Octets, Word, also_loop, compiled, inlined
from scrub.codec.kv.decimals import (
    is_composite_decimal,
    put_key_decimal,
    read_decimal,
    read_key_decimal,
)
from scrub.codec.kv.faults import Code, fail
from scrub.codec.kv.integers import (
    INT_MAX,
    INT_MIN,
    added,
    copy_octets,
    get_big_endian,
    get_int,
    get_word,
    put_big_endian,
    put_groups,
    put_leb128,
    put_uvarint,
    put_varint,
    put_word,
    put_zigzag,
    read_groups,
    read_leb128,
    read_uvarint,
    read_varint,
    read_zigzag,
    saturated_sum,
    subtracted,
    wrapped_product,
    wrapped_sum,
)

NAN_BITS = np.uint64(0x7FF8000000000001)  # the one NaN: Go's math.NaN()
MINUS_ZERO = np.uint64(1 << 63)
INFINITY_BITS = np.uint64(0x7FF0000000000000)
DAY_NANOS = 86_400_000_000_000
SECOND_NANOS = 1_000_000_000
MAX_DAYS = ((1 << 63) - 1) // DAY_NANOS
MAX_MONTHS = (1 << 63) // 30 + 1  # as many as days may take back
MAX_OFFSET = ((1 << 63) - 1) // 1_000_000


@inlined
def is_null(data: Octets, at: int, end: int) -> bool:
    """Either direction's marker, whatever the column's: the wrong one is not canonical."""
    return at < end and (data[at] == 0x00 or data[at] == 0xFF)


@inlined
def put_null(descending: bool, out: Octets, at: int) -> int:
    out[at] = 0xFF if descending else 0x00
    return at + 1


@inlined
def _is_nan(bits: Word) -> bool:
    return (uint64(bits) & ~MINUS_ZERO) > INFINITY_BITS


# Keys


@compiled
def read_key_bytes(
    data: Octets, at: int, end: int, descending: bool, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    if at >= end or data[at] != (0x13 if descending else 0x12):
        return fail(fault, Code.BYTES_TAG, at), o
    flip = uint8(0xFF) if descending else uint8(0)
    at += 1
    while at < end:
        octet = data[at] ^ flip
        if octet != 0:
            out[o] = octet
            o += 1
            at += 1
            continue
        if at + 1 >= end:
            return fail(fault, Code.ESCAPE, at + 1), o
        second = data[at + 1] ^ flip
        if second == 0x01:
            return at + 2, o
        if second != 0xFF:
            return fail(fault, Code.ESCAPE, at + 1), o
        out[o] = 0
        o += 1
        at += 2
    return fail(fault, Code.ESCAPE, at), o


@compiled
def put_key_bytes(
    data: Octets, begin: int, end: int, descending: bool, out: Octets, at: int
) -> int:
    flip = uint8(0xFF) if descending else uint8(0)
    out[at] = 0x13 if descending else 0x12
    at += 1
    for position in range(begin, end):
        octet = data[position]
        out[at] = octet ^ flip
        at += 1
        if octet == 0:
            out[at] = uint8(0xFF) ^ flip
            at += 1
    out[at] = flip
    out[at + 1] = uint8(0x01) ^ flip
    return at + 2


@compiled
def read_key_float(
    data: Octets, at: int, end: int, descending: bool, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    if at >= end or data[at] < 0x02 or data[at] > 0x06:
        return fail(fault, Code.FLOAT_TAG, at), o
    tag = data[at]
    if tag == 0x02 or tag == 0x06:
        return at + 1, put_word(NAN_BITS, out, o)
    if tag == 0x04:
        return at + 1, put_word(uint64(0), out, o)
    if at + 9 > end:
        return fail(fault, Code.CUT_OFF, end), o
    bits = get_big_endian(data, at + 1, 8)
    if tag == 0x03:
        bits = ~bits
    if _is_nan(bits):
        return at + 9, put_word(NAN_BITS, out, o)
    if bits & ~MINUS_ZERO == uint64(0):
        return at + 9, put_word(uint64(0), out, o)
    if descending:
        bits ^= MINUS_ZERO
    return at + 9, put_word(bits, out, o)


@compiled
def put_key_float(bits: Word, descending: bool, out: Octets, at: int) -> int:
    bits = uint64(bits)
    if _is_nan(bits):
        out[at] = 0x06 if descending else 0x02
        return at + 1
    if bits & ~MINUS_ZERO == uint64(0):
        out[at] = 0x04
        return at + 1
    if descending:
        bits ^= MINUS_ZERO
    if bits & MINUS_ZERO:
        out[at] = 0x03
        return put_big_endian(~bits, 8, out, at + 1)
    out[at] = 0x05
    return put_big_endian(bits, 8, out, at + 1)


@compiled
def _read_key_numbers(
    data: Octets,
    at: int,
    end: int,
    count: int,
    descending: bool,
    out: Octets,
    o: int,
    fault: Fault,
) -> tuple[int, int]:
    """Some ordered integers behind a marker, as words."""
    for _ in range(count):
        number, at = read_varint(data, at, end, descending, fault)
        if at < 0:
            return at, o
        o = put_word(uint64(number), out, o)
    return at, o


@inlined
def _normalised_time(out: Octets, o: int) -> bool:
    """Bring nanoseconds of a held timestamp into one second; false if that overflows."""
    seconds, nanos = get_int(out, o), get_int(out, o + 8)
    carry = nanos // SECOND_NANOS
    total, fits = added(seconds, carry)
    if not fits:
        return False
    put_word(uint64(total), out, o)
    put_word(uint64(nanos - carry * SECOND_NANOS), out, o + 8)
    return True


@compiled
def _whole_days(months: int, days: int) -> tuple[int, bool]:
    """Nanoseconds in months of 30 days and days, and whether 64 bits are enough for them.

    If not, the result is the number next to them that fits.
    """
    if (months < 0) == (days < 0):
        fits = -MAX_DAYS <= months <= MAX_DAYS and -MAX_DAYS <= days <= MAX_DAYS
    else:
        fits = -MAX_MONTHS <= months <= MAX_MONTHS
    # Of days that months outweigh, or the reverse, the sum is right even where the product wraps.
    total = wrapped_sum(wrapped_product(months, 30), days)
    fits = fits and -MAX_DAYS <= total <= MAX_DAYS
    if fits:
        return total * DAY_NANOS, True
    # Numbers as large as this keep their sign when they are rounded.
    return (INT_MIN if float64(months) * 30.0 + float64(days) < 0 else INT_MAX), False


@compiled
def _read_key_interval(
    data: Octets, at: int, end: int, descending: bool, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    begin = at
    if at >= end or data[at] != 0x16:
        return fail(fault, Code.INTERVAL_TAG, at), o
    at, after = _read_key_numbers(data, at + 1, end, 3, descending, out, o, fault)
    if at < 0:
        return at, o
    total, months, days = get_int(out, o), get_int(out, o + 8), get_int(out, o + 16)
    whole, fits = _whole_days(months, days)
    nanos, rest_fits = subtracted(total, whole)
    if not fits or not rest_fits:
        return fail(fault, Code.INTERVAL_RANGE, begin), o
    put_word(uint64(months), out, o)
    put_word(uint64(days), out, o + 8)
    put_word(uint64(nanos), out, o + 16)
    return at, after


@compiled
def _put_key_interval(data: Octets, begin: int, descending: bool, out: Octets, at: int) -> int:
    months, days, nanos = get_int(data, begin), get_int(data, begin + 8), get_int(data, begin + 16)
    total, fits = _whole_days(months, days)
    if fits:
        total = saturated_sum(total, nanos)
    out[at] = 0x16
    at = put_varint(total, descending, out, at + 1)
    at = put_varint(months, descending, out, at)
    return put_varint(days, descending, out, at)


@compiled
def _instant(micros: int, offset: int) -> int:
    """A time with zone as one number, or the number next to it that fits 64 bits."""
    if offset > MAX_OFFSET:
        return INT_MAX
    if offset < -MAX_OFFSET:
        return INT_MIN
    return saturated_sum(micros, offset * 1_000_000)


@compiled
def _clear_padding(out: Octets, o: int) -> None:
    """Zero what follows the last bit in a held bit array."""
    used = get_int(out, o) % 64
    if used:
        last = o + 8 + 8 * (get_int(out, o) // 64)
        word = get_big_endian(out, last, 8)
        put_big_endian(word >> uint64(64 - used) << uint64(64 - used), 8, out, last)


@compiled
def _read_key_bits(
    data: Octets, at: int, end: int, descending: bool, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    if at >= end or data[at] != (0x3B if descending else 0x3A):
        return fail(fault, Code.BIT_TAG, at), o
    stop = 0xFF if descending else 0x00
    at += 1
    words, target = 0, o + 8
    while at < end and data[at] != stop:
        word, at = read_uvarint(data, at, end, descending, fault)
        if at < 0:
            return at, o
        target = put_big_endian(word, 8, out, target)
        words += 1
    if at >= end:
        return fail(fault, Code.CUT_OFF, at), o
    begin = at + 1
    last, at = read_uvarint(data, begin, end, descending, fault)
    if at < 0:
        return at, o
    if last > uint64(64) or (words == 0) != (last == uint64(0)):
        return fail(fault, Code.BIT_LAST, begin), o
    bits = 64 * (words - 1) + int64(last) if words else 0
    put_word(uint64(bits), out, o)
    _clear_padding(out, o)
    return at, target


@compiled
def _put_key_bits(
    data: Octets, begin: int, end: int, descending: bool, out: Octets, at: int
) -> int:
    bits = get_int(data, begin)
    out[at] = 0x3B if descending else 0x3A
    at += 1
    for position in range(begin + 8, end, 8):
        at = put_uvarint(get_big_endian(data, position, 8), descending, out, at)
    out[at] = 0xFF if descending else 0x00
    last = 0 if bits == 0 else (bits - 1) % 64 + 1
    return put_uvarint(uint64(last), descending, out, at + 1)


@compiled
def is_inet(data: Octets, begin: int, end: int) -> bool:
    """Whether bytes are one network address."""
    if end - begin < 6:
        return False
    if data[begin] == 0:
        return end - begin == 6 and data[begin + 1] <= 32
    return data[begin] == 1 and end - begin == 18 and data[begin + 1] <= 128


@compiled
def read_key_scalar(
    kind: int,
    data: Octets,
    at: int,
    end: int,
    descending: bool,
    out: Octets,
    o: int,
    fault: Fault,
) -> tuple[int, int]:
    """A datum other than an array, from its ordered form."""
    begin = at
    if kind == kinds.INT:
        number, at = read_varint(data, at, end, descending, fault)
        return at, put_word(uint64(number), out, o)
    if kind == kinds.BYTES or kind == kinds.COLLATED:
        return read_key_bytes(data, at, end, descending, out, o, fault)
    if kind == kinds.DECIMAL:
        return read_key_decimal(data, at, end, descending, out, o, fault)
    if kind == kinds.FLOAT:
        return read_key_float(data, at, end, descending, out, o, fault)
    if kind == kinds.BOOL:
        number, at = read_varint(data, at, end, descending, fault)
        out[o] = 1 if number != 0 else 0
        return at, o + 1
    if kind == kinds.TIMESTAMP:
        if at >= end or data[at] != 0x14:
            return fail(fault, Code.TIME_TAG, at), o
        at, after = _read_key_numbers(data, at + 1, end, 2, descending, out, o, fault)
        if at >= 0 and not _normalised_time(out, o):
            return fail(fault, Code.INT_RANGE, begin), o
        return at, after
    if kind == kinds.TIMETZ:
        if at >= end or data[at] != 0x3C:
            return fail(fault, Code.TIMETZ_TAG, at), o
        at, after = _read_key_numbers(data, at + 1, end, 2, descending, out, o, fault)
        if at < 0:
            return at, o
        offset = get_int(out, o + 8)
        local, fits = subtracted(get_int(out, o), wrapped_product(offset, 1_000_000))
        if offset > MAX_OFFSET or offset < -MAX_OFFSET or not fits:
            return fail(fault, Code.INT_RANGE, begin), o
        put_word(uint64(local), out, o)
        return at, after
    if kind == kinds.INTERVAL:
        return _read_key_interval(data, at, end, descending, out, o, fault)
    if kind == kinds.BIT:
        return _read_key_bits(data, at, end, descending, out, o, fault)
    at, after = read_key_bytes(data, at, end, descending, out, o, fault)
    if at < 0:
        return at, o
    if kind == kinds.UUID and after - o != 16:
        return fail(fault, Code.UUID_LENGTH, begin), o
    if kind == kinds.INET and not is_inet(out, o, after):
        return fail(fault, Code.INET, begin), o
    return at, after


@compiled
def put_key_scalar(
    kind: int, data: Octets, begin: int, end: int, descending: bool, out: Octets, at: int
) -> int:
    """The ordered form of a datum other than an array."""
    if kind == kinds.INT:
        return put_varint(get_int(data, begin), descending, out, at)
    if kind == kinds.DECIMAL:
        return put_key_decimal(data, begin, end, descending, out, at)
    if kind == kinds.FLOAT:
        return put_key_float(get_word(data, begin), descending, out, at)
    if kind == kinds.BOOL:
        return put_varint(int64(data[begin]), descending, out, at)
    if kind == kinds.TIMESTAMP:
        out[at] = 0x14
        at = put_varint(get_int(data, begin), descending, out, at + 1)
        return put_varint(get_int(data, begin + 8), descending, out, at)
    if kind == kinds.TIMETZ:
        offset = get_int(data, begin + 8)
        out[at] = 0x3C
        at = put_varint(_instant(get_int(data, begin), offset), descending, out, at + 1)
        return put_varint(offset, descending, out, at)
    if kind == kinds.INTERVAL:
        return _put_key_interval(data, begin, descending, out, at)
    if kind == kinds.BIT:
        return _put_key_bits(data, begin, end, descending, out, at)
    return put_key_bytes(data, begin, end, descending, out, at)


# Bodies: what follows a column's tag in a value


@compiled
def read_bits_body(
    data: Octets, at: int, end: int, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    begin = at
    bits, at = read_groups(data, at, end, fault)
    if at < 0:
        return at, o
    if bits > uint64(8 * (end - at)):
        return fail(fault, Code.LENGTH, begin), o
    words = (int64(bits) + 63) // 64
    if at + 8 * words > end:
        return fail(fault, Code.CUT_OFF, end), o
    put_word(bits, out, o)
    after = copy_octets(data, at, at + 8 * words, out, o + 8)
    _clear_padding(out, o)
    return at + 8 * words, after


@inlined
def read_decimal_body(
    data: Octets, at: int, end: int, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    begin = at
    length, at = read_leb128(data, at, end, fault)
    if at < 0:
        return at, o
    if length > uint64(end - at):
        return fail(fault, Code.LENGTH, begin), o
    return read_decimal(data, at, at + int64(length), out, o, fault)


@inlined
def read_float_body(
    data: Octets, at: int, end: int, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    if at + 8 > end:
        return fail(fault, Code.CUT_OFF, end), o
    return at + 8, put_word(get_big_endian(data, at, 8), out, o)


@also_loop
@compiled
def read_body_scalar(
    kind: int, data: Octets, at: int, end: int, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    """A datum other than an array or a boolean, from its body."""
    begin = at
    if kind == kinds.INT:
        number, at = read_zigzag(data, at, end, fault)
        return at, put_word(uint64(number), out, o)
    if kind == kinds.BYTES or kind == kinds.COLLATED:
        length, at = read_groups(data, at, end, fault)
        if at < 0:
            return at, o
        if length > uint64(end - at):
            return fail(fault, Code.LENGTH, begin), o
        stop = at + int64(length)
        return stop, copy_octets(data, at, stop, out, o)
    if kind == kinds.DECIMAL:
        return read_decimal_body(data, at, end, out, o, fault)
    if kind == kinds.FLOAT:
        return read_float_body(data, at, end, out, o, fault)
    if kind == kinds.UUID:
        if at + 16 > end:
            return fail(fault, Code.CUT_OFF, end), o
        return at + 16, copy_octets(data, at, at + 16, out, o)
    if kind == kinds.INET:
        stop = at + (18 if at < end and data[at] == 1 else 6)
        if stop > end:
            return fail(fault, Code.CUT_OFF, end), o
        if not is_inet(data, at, stop):
            return fail(fault, Code.INET, at), o
        return stop, copy_octets(data, at, stop, out, o)
    if kind == kinds.BIT:
        return read_bits_body(data, at, end, out, o, fault)
    words = 3 if kind == kinds.INTERVAL else 2
    after = o
    for _ in range(words):
        number, at = read_zigzag(data, at, end, fault)
        if at < 0:
            return at, o
        after = put_word(uint64(number), out, after)
    if kind == kinds.TIMESTAMP and not _normalised_time(out, o):
        return fail(fault, Code.INT_RANGE, begin), o
    return at, after


@compiled
def put_body_scalar(kind: int, data: Octets, begin: int, end: int, out: Octets, at: int) -> int:
    """The body of a datum other than an array or a boolean."""
    if kind == kinds.INT:
        return put_zigzag(get_int(data, begin), out, at)
    if kind == kinds.BYTES or kind == kinds.COLLATED:
        at = put_groups(uint64(end - begin), out, at)
        return copy_octets(data, begin, end, out, at)
    if kind == kinds.DECIMAL:
        at = put_leb128(uint64(end - begin), out, at)
        return copy_octets(data, begin, end, out, at)
    if kind == kinds.FLOAT:
        return put_big_endian(get_word(data, begin), 8, out, at)
    if kind == kinds.UUID or kind == kinds.INET:
        return copy_octets(data, begin, end, out, at)
    if kind == kinds.BIT:
        at = put_groups(get_word(data, begin), out, at)
        return copy_octets(data, begin + 8, end, out, at)
    for position in range(begin, end, 8):
        at = put_zigzag(get_int(data, position), out, at)
    return at


@compiled
def is_composite_scalar(kind: int, data: Octets, begin: int, end: int) -> bool:
    """Whether the ordered form of a datum loses something that the value must keep."""
    if kind == kinds.DECIMAL:
        return is_composite_decimal(data, begin, end)
    if kind == kinds.FLOAT:
        return get_word(data, begin) == MINUS_ZERO
    return kind == kinds.COLLATED
