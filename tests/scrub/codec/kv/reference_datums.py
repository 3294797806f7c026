# SPDX-License-Identifier: Apache-2.0
"""One datum at a time in CockroachDB's key and value encodings, as plainly as Python allows.

The compiled codec is compared with this. Nothing here is fast and nothing is clever: every function
writes or reads one rule of the format. A datum is bool, int, float, Decimal, bytes (BYTES, UUID and
the buffer of an INET), (collation key, contents), (seconds, nanoseconds), (months, days,
nanoseconds), (microseconds, seconds west of UTC), a text of 0 and 1, or a list of such; NULL is
None.
"""

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from typing import Any

from scrub.model.kv import DatumKind, DatumType

Datum = Any  # what a datum is depends on its DatumType, which types cannot tell

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
UINT64_MAX = 2**64 - 1
UINT32_MAX = 2**32 - 1
NANOS_PER_SECOND = 10**9
NANOS_PER_DAY = 86_400 * NANOS_PER_SECOND
MICROS_PER_SECOND = 10**6
DAYS_PER_MONTH = 30
BITS_PER_WORD = 64


class Invalid(Exception):
    """These bytes are no encoding of what is expected at this place."""

    def __init__(self, position: int, expected: str) -> None:
        super().__init__(f"expected {expected} at byte {position}")
        self.position = position
        self.expected = expected


def big_endian(count: int, value: int) -> bytes:
    return value.to_bytes(count, "big")


def inverted(data: bytes) -> bytes:
    return bytes(byte ^ 0xFF for byte in data)


def take(data: bytes, at: int, count: int, expected: str) -> bytes:
    if at + count > len(data):
        raise Invalid(at, f"{count} bytes of {expected}")
    return data[at : at + count]


def byte_at(data: bytes, at: int, expected: str) -> int:
    return take(data, at, 1, expected)[0]


def within_int64(value: int, at: int, expected: str) -> int:
    if not INT64_MIN <= value <= INT64_MAX:
        raise Invalid(at, f"{expected} within 64 bits")
    return value


def bytes_needed(value: int) -> int:
    return max(1, (value.bit_length() + 7) // 8)


# ----------------------------------------------------------------------------- numbers in keys


def encode_unsigned(value: int, descending: bool) -> bytes:
    count = bytes_needed(value)
    if descending:
        return b"\x88" if value == 0 else bytes([0x88 - count]) + inverted(big_endian(count, value))
    if value <= 109:
        return bytes([0x88 + value])
    return bytes([0xF5 + count]) + big_endian(count, value)


def decode_unsigned(data: bytes, at: int, descending: bool) -> tuple[int, int]:
    tag = byte_at(data, at, "an unsigned number")
    if descending:
        if not 0x80 <= tag <= 0x88:
            raise Invalid(at, "a descending unsigned number")
        count = 0x88 - tag
        return int.from_bytes(inverted(take(data, at + 1, count, "a number"))), at + 1 + count
    if not 0x88 <= tag <= 0xFD:
        raise Invalid(at, "an unsigned number")
    if tag <= 0xF5:
        return tag - 0x88, at + 1
    count = tag - 0xF5
    return int.from_bytes(take(data, at + 1, count, "a number")), at + 1 + count


def encode_signed(value: int, descending: bool) -> bytes:
    if descending:
        return encode_signed(~value, descending=False)
    if value >= 0:
        return encode_unsigned(value, descending=False)
    # How many bytes follow depends on the absolute value, so that -256 takes two.
    count = bytes_needed(-value)
    return bytes([0x88 - count]) + big_endian(count, value % 256**count)


def decode_signed(data: bytes, at: int, descending: bool) -> tuple[int, int]:
    if descending:
        value, end = decode_signed(data, at, descending=False)
        return ~value, end
    tag = byte_at(data, at, "a signed number")
    if not 0x80 <= tag <= 0xFD:
        raise Invalid(at, "a signed number")
    if tag < 0x88:
        count = 0x88 - tag
        value = ~int.from_bytes(inverted(take(data, at + 1, count, "a number")))
        end = at + 1 + count
    else:
        value, end = decode_unsigned(data, at, descending=False)
    return within_int64(value, at, "a signed number"), end


# ----------------------------------------------------------------------------- keys


def encode_key(datum: Datum, datum_type: DatumType, descending: bool) -> bytes:
    if datum is None:
        return b"\xff" if descending else b"\x00"
    if datum_type.kind is DatumKind.ARRAY:
        return encode_array_key(datum, element_of(datum_type), descending)
    return encode_scalar_key(datum, datum_type.kind, descending)


def decode_key(
    data: bytes, at: int, datum_type: DatumType, descending: bool
) -> tuple[Datum | None, int]:
    if byte_at(data, at, "a key column") in (0x00, 0xFF):
        return None, at + 1  # either direction's NULL is understood
    if datum_type.kind is DatumKind.ARRAY:
        return decode_array_key(data, at, element_of(datum_type), descending)
    return decode_scalar_key(data, at, datum_type.kind, descending)


def element_of(array: DatumType) -> DatumKind:
    assert array.element is not None
    return array.element


def encode_scalar_key(datum: Datum, kind: DatumKind, descending: bool) -> bytes:
    match kind:
        case DatumKind.BOOL | DatumKind.INT:
            return encode_signed(int(datum), descending)
        case DatumKind.FLOAT:
            return encode_float_key(datum, descending)
        case DatumKind.DECIMAL:
            return encode_decimal_key(datum, descending)
        case DatumKind.BYTES | DatumKind.UUID | DatumKind.INET:
            return encode_bytes_key(datum, descending)
        case DatumKind.COLLATED:
            return encode_bytes_key(datum[0], descending)
        case DatumKind.TIMESTAMP:
            return encode_numbers_key(0x14, datum, descending)
        case DatumKind.INTERVAL:
            months, days, nanos = datum
            whole_days = (months * DAYS_PER_MONTH + days) * NANOS_PER_DAY
            total = saturated_sum(whole_days, nanos)
            return encode_numbers_key(0x16, (total, months, days), descending)
        case DatumKind.TIMETZ:
            micros, offset = datum
            utc = saturated_sum(offset * MICROS_PER_SECOND, micros)
            return encode_numbers_key(0x3C, (utc, offset), descending)
        case DatumKind.BIT:
            return encode_bit_key(datum, descending)
        case DatumKind.ARRAY:
            raise TypeError("arrays do not nest")


def decode_scalar_key(data: bytes, at: int, kind: DatumKind, descending: bool) -> tuple[Datum, int]:
    match kind:
        case DatumKind.BOOL:
            number, end = decode_signed(data, at, descending)
            return number != 0, end
        case DatumKind.INT:
            return decode_signed(data, at, descending)
        case DatumKind.FLOAT:
            return decode_float_key(data, at, descending)
        case DatumKind.DECIMAL:
            return decode_decimal_key(data, at, descending)
        case DatumKind.BYTES | DatumKind.COLLATED | DatumKind.UUID | DatumKind.INET:
            content, end = decode_bytes_key(data, at, descending)
            return datum_of_bytes(content, kind, at), end
        case DatumKind.TIMESTAMP:
            (seconds, nanos), end = decode_numbers_key(data, at, 0x14, 2, descending)
            return normalised_time(seconds, nanos, at), end
        case DatumKind.INTERVAL:
            (total, months, days), end = decode_numbers_key(data, at, 0x16, 3, descending)
            # Decision: months and days alone, in nanoseconds, have to fit 64 bits, and so have the
            # nanoseconds that remain; a sum that only fits because both cancel out is invalid.
            whole_days = (months * DAYS_PER_MONTH + days) * NANOS_PER_DAY
            within_int64(whole_days, at, "months and days")
            return (months, days, within_int64(total - whole_days, at, "nanoseconds")), end
        case DatumKind.TIMETZ:
            (utc, offset), end = decode_numbers_key(data, at, 0x3C, 2, descending)
            # Decision: the offset in microseconds and the local time have to fit 64 bits; neither
            # is held against the hours of a day, here or in a value.
            micros_west = within_int64(offset * MICROS_PER_SECOND, at, "an offset")
            return (within_int64(utc - micros_west, at, "a time of day"), offset), end
        case DatumKind.BIT:
            return decode_bit_key(data, at, descending)
        case DatumKind.ARRAY:
            raise TypeError("arrays do not nest")


def datum_of_bytes(content: bytes, kind: DatumKind, at: int) -> Datum:
    # Decision: the length and the contents of a UUID and of an INET are part of their encoding.
    if kind is DatumKind.UUID and len(content) != 16:
        raise Invalid(at, "16 bytes of a UUID")
    if kind is DatumKind.INET and decode_inet(content, 0)[1] != len(content):
        raise Invalid(at, "an address and nothing behind it")
    return (content, None) if kind is DatumKind.COLLATED else content


def saturated_sum(large: int, small: int) -> int:
    # Decision: what a value can hold and a key cannot gets the first or the last key there is,
    # which no reader accepts. Where the larger part alone is too large, the rest does not count.
    total = large + small if INT64_MIN <= large <= INT64_MAX else large
    return max(INT64_MIN, min(total, INT64_MAX))


def encodable(number: int) -> int:
    if not INT64_MIN <= number <= INT64_MAX:
        raise ValueError(f"{number} takes more than 64 bits")
    return number


def encode_numbers_key(tag: int, numbers: Sequence[int], descending: bool) -> bytes:
    encoded = (encode_signed(encodable(number), descending) for number in numbers)
    return bytes([tag]) + b"".join(encoded)


def decode_numbers_key(
    data: bytes, at: int, tag: int, count: int, descending: bool
) -> tuple[list[int], int]:
    if byte_at(data, at, "a key column") != tag:
        raise Invalid(at, f"the tag {tag:02x}")
    at += 1
    numbers = []
    for _ in range(count):
        number, at = decode_signed(data, at, descending)
        numbers.append(number)
    return numbers, at


def normalised_time(seconds: int, nanos: int, at: int) -> tuple[int, int]:
    # Decision: nanoseconds outside a second are carried over, in keys and in values alike, and a
    # carry that leaves 64 bits is invalid.
    carried, nanos = divmod(nanos, NANOS_PER_SECOND)
    return within_int64(seconds + carried, at, "seconds"), nanos


def encode_bytes_key(content: bytes, descending: bool) -> bytes:
    escaped = content.replace(b"\x00", b"\x00\xff") + b"\x00\x01"
    return b"\x13" + inverted(escaped) if descending else b"\x12" + escaped


def decode_bytes_key(data: bytes, at: int, descending: bool) -> tuple[bytes, int]:
    if byte_at(data, at, "a key column") != (0x13 if descending else 0x12):
        raise Invalid(at, "the marker of bytes in this direction")
    escaped = inverted(data) if descending else data
    content = bytearray()
    at += 1
    while True:
        byte = byte_at(escaped, at, "bytes up to their terminator")
        if byte != 0x00:
            content.append(byte)
            at += 1
            continue
        match byte_at(escaped, at + 1, "what an escape stands for"):
            case 0x01:
                return bytes(content), at + 2
            case 0xFF:
                content.append(0x00)
                at += 2
            case _:
                raise Invalid(at + 1, "an escaped zero or the terminator")


def encode_float_key(value: float, descending: bool) -> bytes:
    if math.isnan(value):
        return b"\x06" if descending else b"\x02"
    if value == 0:
        return b"\x04"
    if descending:
        value = -value
    bits = struct.pack(">d", value)
    return b"\x05" + bits if value > 0 else b"\x03" + inverted(bits)


def decode_float_key(data: bytes, at: int, descending: bool) -> tuple[float, int]:
    tag = byte_at(data, at, "a float")
    if tag in (0x02, 0x06):
        return math.nan, at + 1
    if tag == 0x04:
        return 0.0, at + 1
    if tag not in (0x03, 0x05):
        raise Invalid(at, "a float")
    bits = take(data, at + 1, 8, "a float")
    value: float = struct.unpack(">d", bits if tag == 0x05 else inverted(bits))[0]
    # Decision: no key tells the sign of a zero or the bits of a NaN, however it is spelled.
    if math.isnan(value):
        value = math.nan
    elif value == 0:
        value = 0.0
    elif descending:
        value = -value
    return value, at + 9


# ----------------------------------------------------------------------------- decimals

# Decision: exponents beyond these are invalid; CockroachDB keeps them in 32 bits.
MAX_DECIMAL_EXPONENT = 2**31
MAX_CENTESIMAL_EXPONENT = 2**30


def digits_and_exponent(value: Decimal) -> tuple[str, int]:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return "".join(map(str, digits)), exponent


def exponent_and_mantissa(value: Decimal) -> tuple[int, bytes]:
    """A finite number other than zero as 0.pp pp ... in base 100 and its power of 100."""
    digits, exponent = digits_and_exponent(value)
    power_of_ten = exponent + len(digits)
    digits = digits.rstrip("0")
    away_from_zero, towards_zero = (power_of_ten + 1) // 2, -(-power_of_ten // 2)
    power_of_hundred = away_from_zero if power_of_ten >= 0 else towards_zero
    if 2 * power_of_hundred != power_of_ten:
        digits = "0" + digits
    if len(digits) % 2 == 1:
        digits += "0"
    pairs = [int(digits[start : start + 2]) for start in range(0, len(digits), 2)]
    mantissa = [2 * pair + 1 for pair in pairs]
    mantissa[-1] -= 1  # the last pair is even
    return power_of_hundred, bytes(mantissa)


def encode_decimal_key(value: Decimal, descending: bool) -> bytes:
    if value.is_nan():
        return b"\x36" if descending else b"\x18"
    negative = value.is_signed() != descending
    if value.is_infinite():
        return b"\x19" if negative else b"\x35"
    if value.is_zero():
        return b"\x27"
    exponent, mantissa = exponent_and_mantissa(value)
    if negative:
        mantissa = inverted(mantissa)
    return encode_decimal_header(exponent, negative) + mantissa + b"\x00"


def encode_decimal_header(exponent: int, negative: bool) -> bytes:
    if exponent < 0:
        number = encode_unsigned(-exponent, descending=not negative)
        return (b"\x26" if negative else b"\x28") + number
    if exponent <= 10:
        return bytes([0x25 - exponent if negative else 0x29 + exponent])
    number = encode_unsigned(exponent, descending=negative)
    return (b"\x1a" if negative else b"\x34") + number


def decode_decimal_key(data: bytes, at: int, descending: bool) -> tuple[Decimal, int]:
    tag = byte_at(data, at, "a decimal")
    if tag in (0x18, 0x36):
        return Decimal("NaN"), at + 1
    if tag in (0x19, 0x35):
        return Decimal("-Infinity" if (tag == 0x19) != descending else "Infinity"), at + 1
    if tag == 0x27:
        return Decimal(0), at + 1
    exponent, negative, start = decode_decimal_header(data, at)
    end = data.find(b"\x00", start)
    if end < 0:
        raise Invalid(len(data), "the terminator of a decimal")
    if end == start:
        raise Invalid(start, "the digits of a decimal")
    mantissa = data[start:end]
    if negative:
        mantissa = inverted(mantissa)
    # Decision: the lowest bit, which tells the last pair from the others, is ignored.
    pairs = [byte // 2 for byte in mantissa]
    if max(pairs) > 99:
        raise Invalid(start, "digits of base 100")
    # Decision: all zeros at the end are dropped, not only the one that canonical bytes may have;
    # a number whose digits are all zero is a plain 0.
    digits = "".join(f"{pair:02}" for pair in pairs).rstrip("0")
    if not digits:
        return Decimal(0), end + 1
    sign = int(negative != descending)
    value = Decimal((sign, tuple(map(int, digits)), 2 * exponent - len(digits)))
    return value, end + 1


def decode_decimal_header(data: bytes, at: int) -> tuple[int, bool, int]:
    """The power of 100, whether the bytes are those of a negative number, and where they go on."""
    tag = byte_at(data, at, "a decimal")
    negative = tag <= 0x26
    match tag:
        case 0x26 | 0x28:
            size, end = decode_unsigned(data, at + 1, descending=not negative)
            exponent = -size
        case 0x1A | 0x34:
            exponent, end = decode_unsigned(data, at + 1, descending=negative)
        case _ if 0x1B <= tag <= 0x25:
            exponent, end = 0x25 - tag, at + 1
        case _ if 0x29 <= tag <= 0x33:
            exponent, end = tag - 0x29, at + 1
        case _:
            raise Invalid(at, "a decimal")
    if abs(exponent) > MAX_CENTESIMAL_EXPONENT:
        raise Invalid(at + 1, "an exponent of 32 bits")
    return exponent, negative, end


def encode_decimal_value(value: Decimal) -> bytes:
    """The form without order, which keeps the scale and the sign of a zero."""
    if value.is_nan():
        return b"\x18"
    negative = value.is_signed()
    if value.is_infinite():
        return b"\x19" if negative else b"\x35"
    digits, scale = digits_and_exponent(value)
    if value.is_zero() and not negative and scale == 0:
        return b"\x27"
    exponent = len(digits) + scale
    if exponent > 0:
        header = (b"\x1a" if negative else b"\x34") + encode_unsigned(exponent, descending=False)
    elif exponent == 0:
        header = b"\x25" if negative else b"\x29"
    else:
        header = (b"\x26" if negative else b"\x28") + encode_unsigned(-exponent, descending=False)
    # Through Decimal, because int() refuses texts of many thousand digits.
    coefficient = int(Decimal((0, tuple(map(int, digits)), 0)))
    return header + (
        b"" if coefficient == 0 else big_endian(bytes_needed(coefficient), coefficient)
    )


def decode_decimal_value(data: bytes, at: int) -> Decimal:
    """Everything up to the end of the data is one decimal."""
    tag = byte_at(data, at, "a decimal")
    special = {0x18: "NaN", 0x19: "-Infinity", 0x35: "Infinity", 0x27: "0"}
    if tag in special:
        if at + 1 != len(data):
            raise Invalid(at + 1, "the end of a decimal")
        return Decimal(special[tag])
    match tag:
        case 0x1A | 0x34:
            exponent, start = decode_unsigned(data, at + 1, descending=False)
        case 0x25 | 0x29:
            exponent, start = 0, at + 1
        case 0x26 | 0x28:
            size, start = decode_unsigned(data, at + 1, descending=False)
            exponent = -size
        case _:
            # Decision: the NaN of descending keys, 36, has no meaning in a value.
            raise Invalid(at, "a decimal")
    if abs(exponent) > MAX_DECIMAL_EXPONENT:
        raise Invalid(at + 1, "an exponent of 32 bits")
    digits = Decimal(int.from_bytes(data[start:])).as_tuple().digits
    return Decimal((int(tag <= 0x26), digits, exponent - len(digits)))


# ----------------------------------------------------------------------------- bits


def words_of(bits: str) -> list[int]:
    """The bits in words of 64, the last one filled with zeros on the right."""
    starts = range(0, len(bits), BITS_PER_WORD)
    return [
        int(bits[start : start + BITS_PER_WORD].ljust(BITS_PER_WORD, "0"), 2) for start in starts
    ]


def bits_of(words: Sequence[int], count: int) -> str:
    return "".join(f"{word:064b}" for word in words)[:count]


def encode_bit_key(bits: str, descending: bool) -> bytes:
    words = words_of(bits)
    used = len(bits) - BITS_PER_WORD * (len(words) - 1) if words else 0
    return b"".join(
        [
            b"\x3b" if descending else b"\x3a",
            *(encode_unsigned(word, descending) for word in words),
            b"\xff" if descending else b"\x00",
            encode_unsigned(used, descending),
        ]
    )


def decode_bit_key(data: bytes, at: int, descending: bool) -> tuple[str, int]:
    if byte_at(data, at, "a key column") != (0x3B if descending else 0x3A):
        raise Invalid(at, "the marker of bits in this direction")
    at += 1
    words = []
    while byte_at(data, at, "words up to their terminator") != (0xFF if descending else 0x00):
        word, at = decode_unsigned(data, at, descending)
        words.append(word)
    used, end = decode_unsigned(data, at + 1, descending)
    # Decision: a last word of which no bit is used is invalid, as are used bits without a word.
    if not (1 <= used <= BITS_PER_WORD if words else used == 0):
        raise Invalid(at + 1, "the number of bits in the last word")
    return bits_of(words, BITS_PER_WORD * (len(words) - 1) + used if words else 0), end


def encode_array_key(elements: Sequence[Datum], kind: DatumKind, descending: bool) -> bytes:
    start, null, end = (b"\x40", b"\xfe", b"\xff") if descending else (b"\x3f", b"\x01", b"\x00")
    encoded = (
        null if element is None else encode_scalar_key(element, kind, descending)
        for element in elements
    )
    return start + b"".join(encoded) + end


def decode_array_key(
    data: bytes, at: int, kind: DatumKind, descending: bool
) -> tuple[list[Datum | None], int]:
    # Decision: inside an array the marks of the other direction are invalid, NULL included.
    start, null, end = (0x40, 0xFE, 0xFF) if descending else (0x3F, 0x01, 0x00)
    if byte_at(data, at, "a key column") != start:
        raise Invalid(at, "the marker of an array in this direction")
    at += 1
    elements: list[Datum | None] = []
    while (mark := byte_at(data, at, "elements up to their terminator")) != end:
        if mark == null:
            element, at = None, at + 1
        else:
            element, at = decode_scalar_key(data, at, kind, descending)
        elements.append(element)
    return elements, at + 1


# ----------------------------------------------------------------------------- numbers in values

# Decision: no number in a value takes more than ten bytes or 64 bits, padding included.
MAX_GROUPS = 10


def encode_leb128(value: int) -> bytes:
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def decode_leb128(data: bytes, at: int) -> tuple[int, int]:
    groups = groups_of_seven(data, at)
    value = sum(group << (7 * place) for place, group in enumerate(groups))
    if value > UINT64_MAX:
        raise Invalid(at, "a number of 64 bits")
    return value, at + len(groups)


def encode_zigzag(value: int) -> bytes:
    return encode_leb128(2 * value if value >= 0 else -2 * value - 1)


def decode_zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, end = decode_leb128(data, at)
    return (value // 2 if value % 2 == 0 else -(value + 1) // 2), end


def encode_uvarint(value: int) -> bytes:
    """The unsigned number of tags, lengths and counts: the highest group comes first."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F | 0x80)
    return bytes(reversed(groups))


def decode_uvarint(data: bytes, at: int) -> tuple[int, int]:
    groups = groups_of_seven(data, at)
    value = 0
    for group in groups:
        value = value << 7 | group
    if value > UINT64_MAX:
        raise Invalid(at, "a number of 64 bits")
    return value, at + len(groups)


def groups_of_seven(data: bytes, at: int) -> list[int]:
    groups: list[int] = []
    for place in range(MAX_GROUPS):
        byte = byte_at(data, at + place, "a number")
        groups.append(byte & 0x7F)
        if byte <= 0x7F:
            return groups
    raise Invalid(at, f"a number of at most {MAX_GROUPS} bytes")


def decode_zigzags(data: bytes, at: int, count: int) -> tuple[list[int], int]:
    numbers = []
    for _ in range(count):
        number, at = decode_zigzag(data, at)
        numbers.append(number)
    return numbers, at


# ----------------------------------------------------------------------------- values


class TypeNumber(IntEnum):
    """What a value's tag says about the datum behind it, as far as columns here need it."""

    NULL = 1
    INT = 3
    FLOAT = 4
    DECIMAL = 5
    BYTES = 6
    TIME = 8
    DURATION = 9
    TRUE = 10
    FALSE = 11
    UUID = 12
    ARRAY = 13
    IPADDR = 14
    BITARRAY = 17
    TIMETZ = 19


TYPE_NUMBERS = {
    DatumKind.BOOL: TypeNumber.TRUE,  # or FALSE; all elements of an array are under TRUE
    DatumKind.INT: TypeNumber.INT,
    DatumKind.FLOAT: TypeNumber.FLOAT,
    DatumKind.DECIMAL: TypeNumber.DECIMAL,
    DatumKind.BYTES: TypeNumber.BYTES,
    DatumKind.COLLATED: TypeNumber.BYTES,
    DatumKind.TIMESTAMP: TypeNumber.TIME,
    DatumKind.INTERVAL: TypeNumber.DURATION,
    DatumKind.TIMETZ: TypeNumber.TIMETZ,
    DatumKind.UUID: TypeNumber.UUID,
    DatumKind.INET: TypeNumber.IPADDR,
    DatumKind.BIT: TypeNumber.BITARRAY,
    DatumKind.ARRAY: TypeNumber.ARRAY,
}
KIND_BY_NUMBER = {
    number: kind for kind, number in TYPE_NUMBERS.items() if kind is not DatumKind.COLLATED
}


def encode_body(datum: Datum, datum_type: DatumType) -> bytes:
    """What follows the tag of a datum that is not NULL."""
    match datum_type.kind:
        case DatumKind.BOOL:
            return b""  # the tag has said it
        case DatumKind.INT:
            return encode_zigzag(datum)
        case DatumKind.FLOAT:
            return struct.pack(">d", datum)
        case DatumKind.DECIMAL:
            decimal = encode_decimal_value(datum)
            return encode_leb128(len(decimal)) + decimal
        case DatumKind.BYTES:
            return encode_uvarint(len(datum)) + bytes(datum)
        case DatumKind.COLLATED:
            return encode_uvarint(len(datum[1])) + bytes(datum[1])
        case DatumKind.TIMESTAMP | DatumKind.INTERVAL | DatumKind.TIMETZ:
            return b"".join(encode_zigzag(number) for number in datum)
        case DatumKind.UUID | DatumKind.INET:
            return bytes(datum)
        case DatumKind.BIT:
            words = b"".join(big_endian(8, word) for word in words_of(datum))
            return encode_uvarint(len(datum)) + words
        case DatumKind.ARRAY:
            body = encode_array_body(datum, element_of(datum_type))
            return encode_uvarint(len(body)) + body


def decode_body(data: bytes, at: int, datum_type: DatumType) -> tuple[Datum, int]:
    match datum_type.kind:
        case DatumKind.BOOL:
            raise TypeError("a BOOL is in its tag")
        case DatumKind.INT:
            return decode_zigzag(data, at)
        case DatumKind.FLOAT:
            return struct.unpack(">d", take(data, at, 8, "a float"))[0], at + 8
        case DatumKind.DECIMAL:
            length, start = decode_leb128(data, at)
            take(data, start, length, "a decimal")
            return decode_decimal_value(data[: start + length], start), start + length
        case DatumKind.BYTES:
            length, start = decode_uvarint(data, at)
            return take(data, start, length, "bytes"), start + length
        case DatumKind.COLLATED:
            length, start = decode_uvarint(data, at)
            return (None, take(data, start, length, "text")), start + length
        case DatumKind.TIMESTAMP:
            (seconds, nanos), end = decode_zigzags(data, at, 2)
            return normalised_time(seconds, nanos, at), end
        case DatumKind.INTERVAL | DatumKind.TIMETZ as kind:
            numbers, end = decode_zigzags(data, at, 3 if kind is DatumKind.INTERVAL else 2)
            return tuple(numbers), end
        case DatumKind.UUID:
            return take(data, at, 16, "a UUID"), at + 16
        case DatumKind.INET:
            return decode_inet(data, at)
        case DatumKind.BIT:
            return decode_bit_body(data, at)
        case DatumKind.ARRAY:
            length, start = decode_uvarint(data, at)
            take(data, start, length, "an array")
            end = start + length
            return decode_array_body(data[:end], start, element_of(datum_type)), end


def decode_inet(data: bytes, at: int) -> tuple[bytes, int]:
    family = byte_at(data, at, "an address family")
    if family not in (0, 1):
        raise Invalid(at, "an address family")
    length = 4 if family == 0 else 16
    if byte_at(data, at + 1, "a network mask") > 8 * length:
        raise Invalid(at + 1, f"a network mask of at most {8 * length} bits")
    return take(data, at, 2 + length, "an address"), at + 2 + length


def decode_bit_body(data: bytes, at: int) -> tuple[str, int]:
    count, start = decode_uvarint(data, at)
    length = 8 * -(-count // BITS_PER_WORD)
    packed = take(data, start, length, "bits")
    words = [int.from_bytes(packed[place : place + 8]) for place in range(0, length, 8)]
    return bits_of(words, count), start + length


def encode_array_body(elements: Sequence[Datum | None], kind: DatumKind) -> bytes:
    nulls = [element is None for element in elements]
    parts = [
        b"\x11" if any(nulls) else b"\x01",
        encode_tag(0, TYPE_NUMBERS[kind]),
        encode_uvarint(len(elements)),
    ]
    if any(nulls):
        bitmap = bytearray(-(-len(elements) // 8))
        for place, null in enumerate(nulls):
            bitmap[place // 8] |= null << place % 8
        parts.append(bytes(bitmap))
    for element in elements:
        if element is None:
            continue
        if kind is DatumKind.BOOL:
            parts.append(b"\x0a" if element else b"\x0b")
        else:
            parts.append(encode_body(element, DatumType(kind)))
    return b"".join(parts)


def decode_array_body(data: bytes, at: int, kind: DatumKind) -> list[Datum | None]:
    """Everything up to the end of the data is one array."""
    # Decision: the first byte is 01 or 11; any other flag is as invalid as another dimension.
    header = byte_at(data, at, "an array")
    if header not in (0x01, 0x11):
        raise Invalid(at, "an array of one dimension")
    # Decision: the delta of the elements' tag is not looked at, so any other than 0 is merely
    # not canonical.
    _, number, start = decode_tag(data, at + 1)
    if number != TYPE_NUMBERS[kind]:
        raise Invalid(at + 1, f"elements of kind {kind}")
    count, at = decode_uvarint(data, start)
    bitmap = b""
    if header == 0x11:
        bitmap = take(data, at, -(-count // 8), "the places of NULL")
        at += len(bitmap)
    elements: list[Datum | None] = []
    for place in range(count):
        if bitmap and bitmap[place // 8] >> place % 8 & 1:
            elements.append(None)
            continue
        element, at = decode_element(data, at, kind)
        elements.append(element)
    if at != len(data):
        raise Invalid(at, "the end of an array")
    return elements


def decode_element(data: bytes, at: int, kind: DatumKind) -> tuple[Datum, int]:
    if kind is not DatumKind.BOOL:
        return decode_body(data, at, DatumType(kind))
    match byte_at(data, at, "true or false"):
        case 0x0A:
            return True, at + 1
        case 0x0B:
            return False, at + 1
    raise Invalid(at, "true or false")


# ----------------------------------------------------------------------------- tagged datums


def encode_tag(delta: int, number: int) -> bytes:
    if number < 15:
        return encode_uvarint(delta << 4 | number)
    return encode_uvarint(delta << 4 | 15) + encode_uvarint(number)


def decode_tag(data: bytes, at: int) -> tuple[int, int, int]:
    """The difference of column ids, the number of the type, and where the body begins."""
    tag, at = decode_uvarint(data, at)
    number = tag & 15
    if number == 15:
        number, at = decode_uvarint(data, at)
    return tag >> 4, number, at


def encode_tagged(delta: int, datum: Datum | None, datum_type: DatumType) -> bytes:
    if datum is None:
        return encode_tag(delta, TypeNumber.NULL)
    if datum_type.kind is DatumKind.BOOL:
        return encode_tag(delta, TypeNumber.TRUE if datum else TypeNumber.FALSE)
    return encode_tag(delta, TYPE_NUMBERS[datum_type.kind]) + encode_body(datum, datum_type)


def encode_tuple(row: Mapping[int, Datum | None], types: Mapping[int, DatumType]) -> bytes:
    """Datums by the id of their column; what is NULL is left out."""
    parts = []
    previous = 0
    for column in sorted(row):
        if row[column] is not None:
            parts.append(encode_tagged(column - previous, row[column], types[column]))
            previous = column
    return b"".join(parts)


@dataclass(frozen=True)
class TupleEntry:
    column: int
    datum: Datum | None
    fits: bool  # the type in the tag is the column's; if it is not, the tag's was used


def decode_tuple(data: bytes, at: int, types: Mapping[int, DatumType]) -> list[TupleEntry]:
    """All entries up to the end of the data; columns without a known type go by their tag."""
    entries = []
    column = 0
    while at < len(data):
        delta, number, body = decode_tag(data, at)
        column += delta
        # Decision: column ids have 32 bits, a larger one is invalid.
        if column > UINT32_MAX:
            raise Invalid(at, "a column id of 32 bits")
        expected = types.get(column)
        fits = expected is None or number in numbers_of(expected)
        if expected is None or not fits:
            expected = type_by_tag(data, body, number)
        if number == TypeNumber.NULL:
            datum, at = None, body
        elif expected.kind is DatumKind.BOOL:
            datum, at = number == TypeNumber.TRUE, body
        else:
            datum, at = decode_body(data, body, expected)
        entries.append(TupleEntry(column, datum, fits))
    return entries


def numbers_of(datum_type: DatumType) -> tuple[TypeNumber, ...]:
    if datum_type.kind is DatumKind.BOOL:
        return (TypeNumber.NULL, TypeNumber.TRUE, TypeNumber.FALSE)
    return (TypeNumber.NULL, TYPE_NUMBERS[datum_type.kind])


def type_by_tag(data: bytes, body: int, number: int) -> DatumType:
    """The type that the tag alone tells, for an entry that is none of ours."""
    # Decision: such an entry is decoded in full, a decimal's digits and an array's elements
    # included, and of the types that no column here has (JSON, tuples, geometry, the descending
    # ones, NOT NULL) none decodes.
    if number in (TypeNumber.NULL, TypeNumber.TRUE, TypeNumber.FALSE):
        return DatumType(DatumKind.BOOL)
    if number not in KIND_BY_NUMBER:
        raise Invalid(body, "a type of a column")
    kind = KIND_BY_NUMBER[TypeNumber(number)]
    if kind is not DatumKind.ARRAY:
        return DatumType(kind)
    _, start = decode_uvarint(data, body)
    _, element, _ = decode_tag(data, start + 1)
    if element not in KIND_BY_NUMBER or element == TypeNumber.ARRAY:
        raise Invalid(start + 1, "a type of elements")
    return DatumType(DatumKind.ARRAY, KIND_BY_NUMBER[TypeNumber(element)])


# ----------------------------------------------------------------------------- bare columns


class ValueTag(IntEnum):
    """The first byte behind the checksum."""

    INT = 1
    FLOAT = 2
    BYTES = 3
    TIME = 4
    DECIMAL = 5
    DURATION = 6
    TUPLE = 10
    BITARRAY = 11
    TIMETZ = 12


LEGACY_TAGS = {
    DatumKind.BOOL: ValueTag.INT,
    DatumKind.INT: ValueTag.INT,
    DatumKind.FLOAT: ValueTag.FLOAT,
    DatumKind.DECIMAL: ValueTag.DECIMAL,
    DatumKind.BYTES: ValueTag.BYTES,
    DatumKind.COLLATED: ValueTag.BYTES,
    DatumKind.TIMESTAMP: ValueTag.TIME,
    DatumKind.INTERVAL: ValueTag.DURATION,
    DatumKind.TIMETZ: ValueTag.TIMETZ,
    DatumKind.UUID: ValueTag.BYTES,
    DatumKind.INET: ValueTag.BYTES,
    DatumKind.BIT: ValueTag.BITARRAY,
    DatumKind.ARRAY: ValueTag.BYTES,
}


def encode_legacy(datum: Datum, datum_type: DatumType) -> bytes:
    """Tag and data of a column that is alone in its family."""
    match datum_type.kind:
        case DatumKind.BOOL:
            data = encode_zigzag(int(datum))
        case DatumKind.DECIMAL:
            data = encode_decimal_value(datum)
        case DatumKind.BYTES:
            data = datum
        case DatumKind.COLLATED:
            data = datum[1]
        case DatumKind.TIMESTAMP | DatumKind.INTERVAL | DatumKind.TIMETZ:
            data = encode_scalar_key(datum, datum_type.kind, descending=False)
        case DatumKind.ARRAY:
            data = encode_array_body(datum, element_of(datum_type))
        case _:
            data = encode_body(datum, datum_type)
    return bytes([LEGACY_TAGS[datum_type.kind]]) + data


def decode_legacy(tag_and_data: bytes, datum_type: DatumType) -> Datum:
    if byte_at(tag_and_data, 0, "a value") != LEGACY_TAGS[datum_type.kind]:
        raise Invalid(0, f"the tag of kind {datum_type.kind}")
    match datum_type.kind:
        case DatumKind.BYTES:
            return tag_and_data[1:]
        case DatumKind.COLLATED:
            return (None, tag_and_data[1:])
        case DatumKind.DECIMAL:
            return decode_decimal_value(tag_and_data, 1)
        case DatumKind.ARRAY:
            return decode_array_body(tag_and_data, 1, element_of(datum_type))
        case DatumKind.BOOL:
            # Decision: any number but 0 is true, as in a key.
            number, end = decode_zigzag(tag_and_data, 1)
            datum: Datum = number != 0
        case DatumKind.TIMESTAMP | DatumKind.INTERVAL | DatumKind.TIMETZ:
            datum, end = decode_scalar_key(tag_and_data, 1, datum_type.kind, descending=False)
        case _:
            datum, end = decode_body(tag_and_data, 1, datum_type)
    if end != len(tag_and_data):
        raise Invalid(end, "the end of the value")
    return datum


# ----------------------------------------------------------------------------- composites


def is_composite(datum: Datum | None, datum_type: DatumType) -> bool:
    """Whether a key does not tell this datum in full, so that the value repeats it."""
    if datum is None:
        return False
    match datum_type.kind:
        case DatumKind.FLOAT:
            return struct.pack(">d", datum) == b"\x80" + bytes(7)
        case DatumKind.DECIMAL:
            # NaN and infinities have a coefficient of zero, which ten divides.
            return not datum.is_finite() or digits_and_exponent(datum)[0].endswith("0")
        case DatumKind.COLLATED:
            return True
        case DatumKind.ARRAY:
            element = DatumType(element_of(datum_type))
            return any(is_composite(one, element) for one in datum)
        case _:
            return False
