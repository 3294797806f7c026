# SPDX-License-Identifier: Apache-2.0
"""Single datums as Python objects, for people: held form in, object out.

BOOL bool, INT int, FLOAT float, DECIMAL Decimal, BYTES and UUID and INET bytes,
COLLATED bytes (whichever of its two parts), TIMESTAMP (seconds, nanoseconds),
INTERVAL (months, days, nanoseconds), TIMETZ (microseconds, offset), BIT a text of 0 and 1,
ARRAY a list with None for NULL
"""

import struct
from decimal import Decimal
from typing import Any

import numpy as np

from scrub.codec.kv import kinds
from scrub.codec.kv.anydatum import elements_of
from scrub.codec.kv.datums import read_body_scalar
from scrub.codec.kv.decimals import MINUS_INFINITY, NAN, PLUS_INFINITY, ZERO
from scrub.codec.kv.integers import read_uvarint

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
        case _ if kind >= kinds.ARRAY:
            return _array(kind - kinds.ARRAY, held)
        case kinds.BOOL:
            return held == b"\x01"
        case kinds.INT:
            return struct.unpack("<q", held)[0]
        case kinds.FLOAT:
            return struct.unpack("<d", held)[0]
        case kinds.DECIMAL:
            return _decimal(held)
        case kinds.TIMESTAMP | kinds.INTERVAL | kinds.TIMETZ:
            return struct.unpack(f"<{len(held) // 8}q", held)
        case kinds.BIT:
            (bits,) = struct.unpack("<q", held[:8])
            return "".join(f"{octet:08b}" for octet in held[8:])[:bits]
        case _:
            return held


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


def _array(kind: int, held: bytes) -> list[Any]:
    data, fault = _octets(held), _fault()
    count, bitmap, at = elements_of(data, 0, len(held), fault)
    elements: list[Any] = []
    for position in range(count):
        if bitmap >= 0 and held[bitmap + position // 8] >> position % 8 & 1:
            elements.append(None)
        elif kind == kinds.BOOL:
            elements.append(held[at] == 0x0A)
            at += 1
        else:
            out = np.empty(16 * len(held) + 64, dtype=np.uint8)
            at, end = read_body_scalar(kind, data, at, len(held), out, 0, fault)
            elements.append(to_python(kind, out[:end].tobytes()))
    return elements


def _octets(data: bytes) -> Any:
    return np.frombuffer(data, dtype=np.uint8).copy()


def _fault() -> Any:
    return np.zeros(2, dtype=np.int64)
