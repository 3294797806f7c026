# SPDX-License-Identifier: Apache-2.0
"""The checksum of a pair: CRC-32 (IEEE) over key, tag and data, eight bytes at a time."""

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray

from scrub.codec.kv.compiled import Octets, compiled, inlined


def _tables() -> NDArray[np.uint32]:
    tables = np.zeros((8, 256), dtype=np.uint32)
    for octet in range(256):
        word = octet
        for _ in range(8):
            word = word >> 1 ^ (0xEDB88320 if word & 1 else 0)
        tables[0, octet] = word
    for octet in range(256):
        for step in range(1, 8):
            before = int(tables[step - 1, octet])
            tables[step, octet] = before >> 8 ^ int(tables[0, before & 0xFF])
    return tables


TABLES = _tables()


@compiled
def crc32(crc: int, data: Octets, begin: int, end: int) -> int:
    """The running checksum after some more bytes; starts and ends complemented."""
    at, end = uint64(begin), uint64(end)  # places that are not negative are not looked at
    crc = uint32(crc)
    while at + uint64(8) <= end:
        low = crc ^ (
            uint32(data[at])
            | uint32(data[at + uint64(1)]) << uint32(8)
            | uint32(data[at + uint64(2)]) << uint32(16)
            | uint32(data[at + uint64(3)]) << uint32(24)
        )
        crc = (
            TABLES[7, low & uint32(0xFF)]
            ^ TABLES[6, (low >> uint32(8)) & uint32(0xFF)]
            ^ TABLES[5, (low >> uint32(16)) & uint32(0xFF)]
            ^ TABLES[4, low >> uint32(24)]
            ^ TABLES[3, data[at + uint64(4)]]
            ^ TABLES[2, data[at + uint64(5)]]
            ^ TABLES[1, data[at + uint64(6)]]
            ^ TABLES[0, data[at + uint64(7)]]
        )
        at += uint64(8)
    while at < end:
        crc = TABLES[0, (crc ^ uint32(data[at])) & uint32(0xFF)] ^ (crc >> uint32(8))
        at += uint64(1)
    return crc


@inlined
def checksum(key: Octets, key_begin: int, key_end: int, data: Octets, begin: int, end: int) -> int:
    """What a value's first four bytes should be; never 0, which stands for "not set"."""
    crc = crc32(uint32(0xFFFFFFFF), key, key_begin, key_end)
    crc = uint32(~crc32(crc, data, begin, end))
    return crc if crc != uint32(0) else uint32(1)
