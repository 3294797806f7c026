# SPDX-License-Identifier: Apache-2.0
"""The held form of Python objects: the way back from `scrub.codec.kv.python_datums.to_python`."""

import struct
from decimal import Decimal
from typing import Any

import numpy as np

from scrub.codec.kv import kinds, tags
from scrub.codec.kv.datums import put_body_scalar
from scrub.codec.kv.decimals import MINUS_INFINITY, NAN, PLUS_INFINITY, ZERO
from scrub.codec.kv.integers import put_groups, put_uvarint


def from_python(kind: int, datum: Any) -> bytes:
    """The held form of an object."""
    match kind:
        case _ if kind >= kinds.ARRAY:
            return _held_array(kind - kinds.ARRAY, datum)
        case kinds.BOOL:
            return b"\x01" if datum else b"\x00"
        case kinds.INT:
            return struct.pack("<q", datum)
        case kinds.FLOAT:
            return struct.pack("<d", datum)
        case kinds.DECIMAL:
            return _held_decimal(datum)
        case kinds.TIMESTAMP | kinds.INTERVAL | kinds.TIMETZ:
            return struct.pack(f"<{len(datum)}q", *datum)
        case kinds.BIT:
            padded = datum + "0" * (-len(datum) % 64)
            words = [int(padded[at : at + 64], 2) for at in range(0, len(padded), 64)]
            return struct.pack("<q", len(datum)) + struct.pack(f">{len(words)}Q", *words)
        case _:
            return bytes(datum)


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


def _held_array(kind: int, elements: list[Any]) -> bytes:
    nulls = [element is None for element in elements]
    number = tags.type_number(kind)
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
    if kind == kinds.BOOL:
        return b"\x0a" if element else b"\x0b"
    held = np.frombuffer(from_python(kind, element), dtype=np.uint8).copy()
    out = np.empty(16 * len(held) + 64, dtype=np.uint8)
    return out[: put_body_scalar(kind, held, 0, len(held), out, 0)].tobytes()


def _groups(number: int) -> bytes:
    out = np.empty(16, dtype=np.uint8)
    return out[: put_groups(np.uint64(number), out, 0)].tobytes()
