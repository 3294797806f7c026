# SPDX-License-Identifier: Apache-2.0
"""Single datums as Python objects, for people and for tests: held form in, object out, and back.

BOOL bool, INT int, FLOAT float, DECIMAL Decimal, BYTES and UUID and INET bytes,
COLLATED bytes (whichever of its two parts), TIMESTAMP (seconds, nanoseconds),
INTERVAL (months, days, nanoseconds), TIMETZ (microseconds, offset), BIT a text of 0 and 1,
ARRAY a list with None for NULL
"""

import struct
from decimal import Decimal
from typing import Any

import numpy as np

from scrub.codec.kv.anydatum import type_number
from scrub.codec.kv.datums import put_body_scalar, read_body_scalar
from scrub.codec.kv.decimals import MINUS_INFINITY, NAN, PLUS_INFINITY, ZERO
from scrub.codec.kv.integers import put_groups, put_uvarint, read_groups, read_uvarint
from scrub.codec.kv.kinds import (
    ARRAY,
    BIT,
    BOOL,
    DECIMAL,
    FLOAT,
    INT,
    INTERVAL,
    TIMESTAMP,
    TIMETZ,
)

_SPECIAL = {
    NAN: Decimal("NaN"),
    MINUS_INFINITY: Decimal("-Infinity"),
    PLUS_INFINITY: Decimal("Infinity"),
    ZERO: Decimal(0),
}
_NEGATIVE = (0x1A, 0x25, 0x26)


def to_python(kind: int, held: bytes) -> Any:
    """The object that a held datum stands for."""
    match kind:
        case _ if kind >= ARRAY:
            return _array(kind - ARRAY, held)
        case _ if kind == BOOL:
            return held == b"\x01"
        case _ if kind == INT:
            return struct.unpack("<q", held)[0]
        case _ if kind == FLOAT:
            return struct.unpack("<d", held)[0]
        case _ if kind == DECIMAL:
            return _decimal(held)
        case _ if kind in (TIMESTAMP, INTERVAL, TIMETZ):
            return struct.unpack(f"<{len(held) // 8}q", held)
        case _ if kind == BIT:
            (bits,) = struct.unpack("<q", held[:8])
            return "".join(f"{octet:08b}" for octet in held[8:])[:bits]
        case _:
            return held


def from_python(kind: int, datum: Any) -> bytes:
    """The held form of an object."""
    match kind:
        case _ if kind >= ARRAY:
            return _held_array(kind - ARRAY, datum)
        case _ if kind == BOOL:
            return b"\x01" if datum else b"\x00"
        case _ if kind == INT:
            return struct.pack("<q", datum)
        case _ if kind == FLOAT:
            return struct.pack("<d", datum)
        case _ if kind == DECIMAL:
            return _held_decimal(datum)
        case _ if kind in (TIMESTAMP, INTERVAL, TIMETZ):
            return struct.pack(f"<{len(datum)}q", *datum)
        case _ if kind == BIT:
            padded = datum + "0" * (-len(datum) % 64)
            words = [int(padded[at : at + 64], 2) for at in range(0, len(padded), 64)]
            return struct.pack("<q", len(datum)) + struct.pack(f">{len(words)}Q", *words)
        case _:
            return bytes(datum)


def _decimal(held: bytes) -> Decimal:
    if held[0] in _SPECIAL:
        return _SPECIAL[held[0]]
    exponent, at = 0, 1
    if held[0] not in (0x25, 0x29):
        word, at = read_uvarint(_octets(held), 1, len(held), False, _fault())
        exponent = int(word) if held[0] in (0x1A, 0x34) else -int(word)
    # Through Decimal, because texts of whole numbers are limited to some thousand digits.
    digits = Decimal(int.from_bytes(held[at:], "big")).as_tuple().digits
    return Decimal((int(held[0] in _NEGATIVE), digits, exponent - len(digits)))


def _held_decimal(number: Decimal) -> bytes:
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        if number.is_nan():
            return bytes([NAN])
        return bytes([MINUS_INFINITY if sign else PLUS_INFINITY])
    coefficient = int(Decimal((0, digits, 0)))
    if not coefficient and not sign and exponent == 0:
        return bytes([ZERO])
    place = len(digits) + exponent
    size = (coefficient.bit_length() + 7) // 8
    if place == 0:
        head = bytes([0x25 if sign else 0x29])
    else:
        larger, smaller = (0x1A, 0x26) if sign else (0x34, 0x28)
        out = np.empty(16, dtype=np.uint8)
        end = put_uvarint(np.uint64(abs(place)), False, out, 0)
        head = bytes([larger if place > 0 else smaller]) + out[:end].tobytes()
    return head + coefficient.to_bytes(size, "big")


def _array(kind: int, held: bytes) -> list[Any]:
    data, fault = _octets(held), _fault()
    _, at = read_groups(data, 1, len(held), fault)
    if held[1] == 0x0F:
        _, at = read_groups(data, at, len(held), fault)
    count, at = read_groups(data, at, len(held), fault)
    bitmap = b""
    if held[0] == 0x11:
        size = (int(count) + 7) // 8
        bitmap, at = held[at : at + size], at + size
    elements: list[Any] = []
    for position in range(int(count)):
        if bitmap and bitmap[position // 8] >> position % 8 & 1:
            elements.append(None)
        elif kind == BOOL:
            elements.append(held[at] == 0x0A)
            at += 1
        else:
            out = np.empty(16 * len(held) + 64, dtype=np.uint8)
            at, end = read_body_scalar(kind, data, at, len(held), out, 0, fault)
            elements.append(to_python(kind, out[:end].tobytes()))
    return elements


def _held_array(kind: int, elements: list[Any]) -> bytes:
    nulls = [element is None for element in elements]
    number = type_number(kind)
    body = bytes([0x11 if any(nulls) else 0x01])
    body += bytes([number]) if number < 15 else bytes([15, number])
    body += _groups(len(elements))
    if any(nulls):
        bitmap = bytearray((len(elements) + 7) // 8)
        for position, is_null in enumerate(nulls):
            bitmap[position // 8] |= is_null << position % 8
        body += bytes(bitmap)
    for element in elements:
        if element is not None:
            body += _element(kind, element)
    return body


def _element(kind: int, element: Any) -> bytes:
    if kind == BOOL:
        return b"\x0a" if element else b"\x0b"
    held = _octets(from_python(kind, element))
    out = np.empty(16 * len(held) + 64, dtype=np.uint8)
    return out[: put_body_scalar(kind, held, 0, len(held), out, 0)].tobytes()


def _groups(number: int) -> bytes:
    out = np.empty(16, dtype=np.uint8)
    return out[: put_groups(np.uint64(number), out, 0)].tobytes()


def _octets(data: bytes) -> Any:
    return np.frombuffer(data, dtype=np.uint8).copy()


def _fault() -> Any:
    return np.zeros(2, dtype=np.int64)
