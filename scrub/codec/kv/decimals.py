# SPDX-License-Identifier: Apache-2.0
"""Decimals of any size: in keys as pairs of digits, in values as a big-endian coefficient.

Between the two, a decimal is held as its canonical value form: a tag with sign and sign of the
exponent, the exponent e of 0.d1d2.. * 10^e, and the coefficient's bytes.
"""

import numpy as np
from numba import int64, uint8, uint64

from scrub.codec.kv.compiled import Fault, Octets, Word, allocating, compiled, inlined
from scrub.codec.kv.faults import Code, fail
from scrub.codec.kv.integers import (
    byte_count,
    copy_octets,
    get_big_endian,
    put_big_endian,
    put_uvarint,
    read_uvarint,
)

NAN, NAN_DESC, MINUS_INFINITY, PLUS_INFINITY, ZERO = 0x18, 0x36, 0x19, 0x35, 0x27
EXPONENT_MAX = np.uint64(1 << 31)  # what CockroachDB's decimals can hold
HUNDREDS_MAX = np.uint64(1 << 30)
WORD_MAX = np.uint64(10**18)  # below it, a digit more still fits a word
POWERS = np.array([10**power for power in range(19)], dtype=np.uint64)


@inlined
def is_special(tag: int) -> bool:
    """Whether a tag is all there is."""
    return tag == NAN or tag == MINUS_INFINITY or tag == PLUS_INFINITY or tag == ZERO


@inlined
def is_negative(tag: int) -> bool:
    return tag == 0x1A or tag == 0x25 or tag == 0x26


@inlined
def _put_head(negative: bool, exponent: int, out: Octets, at: int) -> int:
    """What a finite decimal's value form has before its coefficient."""
    if exponent > 0:
        out[at] = 0x1A if negative else 0x34
        return put_uvarint(uint64(exponent), False, out, at + 1)
    if exponent == 0:
        out[at] = 0x25 if negative else 0x29
        return at + 1
    out[at] = 0x26 if negative else 0x28
    return put_uvarint(uint64(-exponent), False, out, at + 1)


@compiled
def put_decimal(
    negative: bool, exponent: int, coefficient: Octets, begin: int, end: int, out: Octets, at: int
) -> int:
    """The canonical value form of a finite decimal."""
    while begin < end and coefficient[begin] == 0:
        begin += 1
    if begin == end and not negative and exponent == 1:
        out[at] = ZERO
        return at + 1
    at = _put_head(negative, exponent, out, at)
    return copy_octets(coefficient, begin, end, out, at)


@compiled
def read_decimal(
    data: Octets, at: int, end: int, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    """A value's decimal, which ends where the bytes do, in canonical form into `out`."""
    if at >= end:
        return fail(fault, Code.DECIMAL_TAG, at), o
    tag = int64(data[at])
    if is_special(tag):
        if at + 1 != end:
            return fail(fault, Code.LEFT_OVER, at + 1), o
        out[o] = tag
        return end, o + 1
    exponent, after = int64(0), at + 1
    if tag == 0x1A or tag == 0x34 or tag == 0x26 or tag == 0x28:
        word, after = read_uvarint(data, at + 1, end, False, fault)
        if after < 0:
            return after, o
        if word > EXPONENT_MAX:
            return fail(fault, Code.DECIMAL_EXPONENT, at + 1), o
        exponent = int64(word) if tag == 0x1A or tag == 0x34 else -int64(word)
    elif tag != 0x25 and tag != 0x29:
        return fail(fault, Code.DECIMAL_TAG, at), o
    return end, put_decimal(is_negative(tag), exponent, data, after, end, out, o)


@inlined
def head_of(data: Octets, begin: int) -> tuple[int, int]:
    """The exponent of a canonical decimal that has one, and where its coefficient starts."""
    tag = data[begin]
    if tag == 0x25 or tag == 0x29:
        return int64(0), begin + 1
    octet = int64(data[begin + 1])
    start, magnitude = begin + 2, octet - 0x88
    if octet > 0xF5:
        start += octet - 0xF5
        magnitude = int64(get_big_endian(data, begin + 2, octet - 0xF5))
    return (magnitude if tag == 0x1A or tag == 0x34 else -magnitude), start


@compiled
def _is_multiple_of_ten(data: Octets, start: int, end: int) -> bool:
    remainder = 0
    for position in range(start, end):
        remainder = (remainder * 256 + int64(data[position])) % 10
    return remainder == 0


@inlined
def is_composite_decimal(data: Octets, begin: int, end: int) -> bool:
    """Whether a canonical decimal's key loses something: zeros at the end, or all but the kind."""
    if is_special(data[begin]):
        return True
    _, start = head_of(data, begin)
    if end - start <= 8:
        return get_big_endian(data, start, end - start) % uint64(10) == uint64(0)
    return _is_multiple_of_ten(data, start, end)


@allocating
def digits_of(data: Octets, begin: int, end: int, digits: Octets) -> int:
    """A big-endian number's decimal digits, into the end of `digits`; returns where they begin."""
    at = len(digits)
    if end - begin <= 8:
        word = get_big_endian(data, begin, end - begin)
        while word:
            at -= 1
            digits[at] = uint8(word % uint64(10))
            word //= uint64(10)
        return at
    rest = data[begin:end].copy()
    first = 0
    while first < len(rest):
        remainder = 0
        for position in range(first, len(rest)):
            remainder = remainder * 256 + int64(rest[position])
            rest[position] = remainder // 100
            remainder %= 100
        digits[at - 1] = remainder % 10
        digits[at - 2] = remainder // 10
        at -= 2
        while first < len(rest) and rest[first] == 0:
            first += 1
    while at < len(digits) and digits[at] == 0:
        at += 1
    return at


@allocating
def _long_fits_digits(
    data: Octets, exponent: int, start: int, end: int, whole: int, fraction: int
) -> bool:
    digits = np.empty(3 * (end - start) + 2, dtype=np.uint8)
    first, last = digits_of(data, start, end, digits), len(digits)
    while last > first and digits[last - 1] == 0:
        last -= 1
    return exponent <= whole and last - first - exponent <= fraction


@compiled
def fits_digits(data: Octets, begin: int, end: int, whole: int, fraction: int) -> bool:
    """Whether a canonical decimal has no more digits before the point, and behind it, than that.

    Zeros at its end do not count. Numbers that are none, and infinities, fit everywhere.
    """
    if is_special(data[begin]):
        return True
    exponent, start = head_of(data, begin)
    if end - start > 8:
        return _long_fits_digits(data, exponent, start, end, whole, fraction)
    word, digits = get_big_endian(data, start, end - start), int64(0)
    if word == uint64(0):
        return True
    while word % uint64(10) == uint64(0):
        word //= uint64(10)
    while word:
        word //= uint64(10)
        digits += 1
    return exponent <= whole and digits - exponent <= fraction


@inlined
def _put_pairs_of_word(word: Word, pad: int, flip: int, out: Octets, at: int) -> int:
    """Pairs of digits, after `pad` digits 0 and without zeros at the end."""
    while word % uint64(100) == uint64(0):
        word //= uint64(100)
    if word % uint64(10) == uint64(0):
        word //= uint64(10)
    digits = 1
    while digits < len(POWERS) and word >= POWERS[digits]:
        digits += 1
    digits += pad
    if digits & 1:
        word *= uint64(10)
    pairs = (digits + 1) >> 1
    more = 0  # set on every pair but the last
    for pair in range(pairs - 1, -1, -1):
        rest = word // uint64(100)
        out[at + pair] = (2 * int64(word - rest * uint64(100)) + more) ^ flip
        word, more = rest, 1
    return at + pairs


@allocating
def _put_pairs(
    data: Octets, start: int, end: int, pad: int, flip: int, out: Octets, at: int
) -> int:
    """The same for coefficients of any size."""
    digits = np.empty(3 * (end - start) + 4, dtype=np.uint8)
    first, last = digits_of(data, start, end, digits), len(digits)
    while digits[last - 1] == 0:
        last -= 1
    position = first - pad
    while position < last:
        tens = int64(digits[position]) if position >= first else 0
        units = int64(digits[position + 1]) if position + 1 < last else 0
        position += 2
        more = 1 if position < last else 0
        out[at] = (2 * (10 * tens + units) + more) ^ flip
        at += 1
    return at


@inlined
def _put_exponent(hundreds: int, negative: bool, out: Octets, at: int) -> int:
    if hundreds < 0:
        out[at] = 0x26 if negative else 0x28
        return put_uvarint(uint64(-hundreds), not negative, out, at + 1)
    if hundreds <= 10:
        out[at] = 0x25 - hundreds if negative else 0x29 + hundreds
        return at + 1
    out[at] = 0x1A if negative else 0x34
    return put_uvarint(uint64(hundreds), negative, out, at + 1)


@compiled
def put_key_decimal(
    data: Octets, begin: int, end: int, descending: bool, out: Octets, at: int
) -> int:
    """The ordered form of a canonical decimal."""
    tag = int64(data[begin])
    if tag == NAN:
        out[at] = NAN_DESC if descending else NAN
        return at + 1
    if tag == MINUS_INFINITY or tag == PLUS_INFINITY:
        out[at] = MINUS_INFINITY if (tag == MINUS_INFINITY) != descending else PLUS_INFINITY
        return at + 1
    if tag == ZERO:
        out[at] = ZERO
        return at + 1
    exponent, start = head_of(data, begin)
    if start == end:
        out[at] = ZERO
        return at + 1
    hundreds = (exponent + 1) >> 1 if exponent >= 0 else -((-exponent) >> 1)
    negative = is_negative(tag) != descending
    at = _put_exponent(hundreds, negative, out, at)
    pad = 0 if 2 * hundreds == exponent else 1
    flip = 0xFF if negative else 0
    word = get_big_endian(data, start, end - start) if end - start <= 8 else WORD_MAX
    if word < WORD_MAX:
        at = _put_pairs_of_word(word, pad, flip, out, at)
    else:
        at = _put_pairs(data, start, end, pad, flip, out, at)
    out[at] = 0
    return at + 1


@compiled
def _pairs_to_number(data: Octets, begin: int, end: int, flip: int, number: Octets) -> int:
    """Pairs of digits as a number, without the zero that made up the last pair.

    It goes into the end of `number`; returns where it starts.
    """
    start = len(number)
    drop = ((data[end - 1] ^ flip) >> 1) % 10 == 0
    for position in range(begin, end):
        carry, factor = int64((data[position] ^ flip) >> 1), 100
        if position == end - 1 and drop:
            carry, factor = carry // 10, 10
        for place in range(len(number) - 1, start - 1, -1):
            carry += int64(number[place]) * factor
            number[place] = carry & 0xFF
            carry >>= 8
        while carry:
            start -= 1
            number[start] = carry & 0xFF
            carry >>= 8
    return start


@allocating
def _read_digits(
    data: Octets,
    after: int,
    end: int,
    negative: bool,
    descending: bool,
    hundreds: int,
    out: Octets,
    o: int,
    fault: Fault,
) -> tuple[int, int]:
    """Digits that are many, wrong, or spelled with needless zeros."""
    stop = after
    while stop < end and data[stop] != 0:
        stop += 1
    if stop >= end or stop == after:
        return fail(fault, Code.DECIMAL_END, stop), o
    terminator = stop
    flip = 0xFF if negative else 0
    for position in range(after, stop):
        if (data[position] ^ flip) >> 1 > 99:
            return fail(fault, Code.DECIMAL_PAIR, position), o
    while stop > after and (data[stop - 1] ^ flip) >> 1 == 0:
        stop -= 1  # zeros at the end, which only a careless writer leaves
    zeros = 0
    while after < stop and (data[after] ^ flip) >> 1 == 0:
        after += 1
        zeros += 2
    if after == stop:
        out[o] = ZERO
        return terminator + 1, o + 1
    if (data[after] ^ flip) >> 1 < 10:
        zeros += 1
    exponent = 2 * hundreds - zeros
    coefficient = np.empty(stop - after + 8, dtype=np.uint8)
    begin = _pairs_to_number(data, after, stop, flip, coefficient)
    o = put_decimal(negative != descending, exponent, coefficient, begin, len(coefficient), out, o)
    return terminator + 1, o


@compiled
def read_key_decimal(
    data: Octets, at: int, end: int, descending: bool, out: Octets, o: int, fault: Fault
) -> tuple[int, int]:
    """A key's decimal in canonical value form into `out`."""
    if at >= end:
        return fail(fault, Code.DECIMAL_TAG, at), o
    tag = int64(data[at])
    if tag == NAN or tag == NAN_DESC:
        out[o] = NAN
        return at + 1, o + 1
    if tag == MINUS_INFINITY or tag == PLUS_INFINITY:
        out[o] = MINUS_INFINITY if (tag == MINUS_INFINITY) != descending else PLUS_INFINITY
        return at + 1, o + 1
    if tag == ZERO:
        out[o] = ZERO
        return at + 1, o + 1
    if tag < 0x1A or tag > 0x34:
        return fail(fault, Code.DECIMAL_TAG, at), o
    negative = tag <= 0x26
    after = at + 1
    if 0x1B <= tag <= 0x25:
        hundreds = int64(0x25 - tag)
    elif 0x29 <= tag <= 0x33:
        hundreds = int64(tag - 0x29)
    else:
        is_small = tag == 0x26 or tag == 0x28
        word, after = read_uvarint(data, at + 1, end, negative != is_small, fault)
        if after < 0:
            return after, o
        if word > HUNDREDS_MAX:
            return fail(fault, Code.DECIMAL_EXPONENT, at + 1), o
        hundreds = -int64(word) if is_small else int64(word)
    flip = 0xFF if negative else 0
    word, stop, pair = uint64(0), after, 0
    limit = min(end, after + 10)  # nine pairs fit a word
    while stop < limit and data[stop] != 0:
        pair = (int64(data[stop]) ^ flip) >> 1
        if pair > 99:
            break
        word = word * uint64(100) + uint64(pair)
        stop += 1
    first = (int64(data[after]) ^ flip) >> 1 if after < end else 0
    if stop == limit or data[stop] != 0 or first == 0 or pair == 0:
        return _read_digits(data, after, end, negative, descending, hundreds, out, o, fault)
    if pair % 10 == 0:
        word //= uint64(10)  # the zero that made up the last pair
    exponent = 2 * hundreds - (1 if first < 10 else 0)
    o = _put_head(negative != descending, exponent, out, o)
    return stop + 1, put_big_endian(word, byte_count(word), out, o)
