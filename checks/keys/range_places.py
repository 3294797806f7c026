# SPDX-License-Identifier: Apache-2.0
"""Numbers that Spark's hash partitioning sends to a partition each.

`repartition(n, "place")` puts a row into partition pmod(hash(place), n). With 0, 1, 2, ... for
places, some partitions would get several ranges and others none. That every range is whole in its
partition holds whatever the places are; only balance depends on them.
"""

from itertools import count

_SEED = 42
_WORD = 0xFFFFFFFF


def places_of(partitions: int) -> tuple[int, ...]:
    """One number for each partition, in the order of partitions."""
    places: dict[int, int] = {}
    for number in count():
        places.setdefault(_signed(_hash(number)) % partitions, number)
        if len(places) == partitions:
            return tuple(places[partition] for partition in range(partitions))
    raise AssertionError("numbers do not end")


def _hash(number: int) -> int:
    """Murmur3 of a 32-bit integer, as Spark's hash() has it."""
    mixed = _rotated(number * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
    digest = (_rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _WORD
    digest ^= 4  # bytes
    digest = (digest ^ digest >> 16) * 0x85EBCA6B & _WORD
    digest = (digest ^ digest >> 13) * 0xC2B2AE35 & _WORD
    return digest ^ digest >> 16


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word
