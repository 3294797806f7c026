# SPDX-License-Identifier: Apache-2.0
"""Sets of keys by their two digests: the compiled loops that fill, probe and divide them.

A set is an open-addressing table of pairs, at most half full, in which a key's place follows from
the low bits of its first digest. The leading bits are left to ranges: the keys of one range differ
in the low bits as much as any others. A pair of zeros marks a free place; the one key in 2^128 that
has these digests is stored as its neighbour.
"""

from typing import Any, TypeAlias

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from scrub.codec.xxh64 import Digests, Word

Pairs: TypeAlias = NDArray[np.uint64]  # (keys, 2): first and second digest
Counts: TypeAlias = NDArray[Any]


def set_of(pairs: Pairs) -> Pairs:
    """The table of a set; a key that is given twice is in it once."""
    table = empty_set(len(pairs))
    _fill(table, pairs)
    return table


def empty_set(keys: int) -> Pairs:
    """The table of a set with room for so many keys."""
    return np.zeros((1 << max(4, (2 * keys).bit_length()), 2), dtype=np.uint64)


@njit(inline="always")
def _place(table: Pairs, first: Word, second: Word) -> Any:
    """Where the key is, or where it would be put."""
    mask = uint64(len(table) - 1)
    place = first & mask
    while True:
        if table[place, 0] == first and table[place, 1] == second:
            return place
        if table[place, 0] == uint64(0) and table[place, 1] == uint64(0):
            return place
        place = (place + uint64(1)) & mask


@njit(inline="always")
def _stored(first: Word, second: Word) -> Word:
    """The second digest as it is stored: never part of a pair of zeros."""
    return uint64(1) if first == uint64(0) and second == uint64(0) else second


@njit(cache=True)
def _fill(table: Pairs, pairs: Pairs) -> None:
    for row in range(len(pairs)):
        first = pairs[row, 0]
        second = _stored(first, pairs[row, 1])
        place = _place(table, first, second)
        table[place, 0] = first
        table[place, 1] = second


@njit(cache=True)
def found(table: Pairs, firsts: Digests, seconds: Digests) -> NDArray[np.bool_]:
    """Which keys are in the set."""
    flags = np.empty(len(firsts), dtype=np.bool_)
    for row in range(len(firsts)):
        first = firsts[row]
        second = _stored(first, seconds[row])
        place = _place(table, first, second)
        flags[row] = table[place, 0] == first and table[place, 1] == second
    return flags


@njit(inline="always")
def _range_of(first: Word, ranges: Word) -> Any:
    """The range of a digest: which of so many equal parts of all numbers it lies in."""
    return ((first >> uint64(32)) * ranges) >> uint64(32)


@njit(cache=True)
def range_ends(firsts: Digests, ranges: int) -> NDArray[np.int64]:
    """Where the digests of each range end once they are laid out range by range."""
    ends = np.zeros(ranges, dtype=np.int64)
    for row in range(len(firsts)):
        ends[_range_of(firsts[row], uint64(ranges))] += 1
    for number in range(1, ranges):
        ends[number] += ends[number - 1]
    return ends


@njit(cache=True)
def firsts_by_range(firsts: Digests, ends: NDArray[np.int64]) -> Digests:
    """The first digests, laid out range by range."""
    after = np.empty_like(firsts)
    places = ends.copy()
    for row in range(len(firsts)):
        of = _range_of(firsts[row], uint64(len(ends)))
        places[of] -= 1
        after[places[of]] = firsts[row]
    return after


@njit(cache=True)
def pairs_by_range(firsts: Digests, seconds: Digests, ends: NDArray[np.int64]) -> Pairs:
    """Both digests, laid out range by range."""
    after = np.empty((len(firsts), 2), dtype=np.uint64)
    places = ends.copy()
    for row in range(len(firsts)):
        of = _range_of(firsts[row], uint64(len(ends)))
        places[of] -= 1
        after[places[of], 0] = firsts[row]
        after[places[of], 1] = seconds[row]
    return after


@njit(cache=True)
def distinct(pairs: Pairs, table: Pairs) -> Pairs:
    """Each key once, in the order in which they first occur; `table` is an empty set for them."""
    kept = np.empty_like(pairs)
    number = 0
    for row in range(len(pairs)):
        first = pairs[row, 0]
        second = _stored(first, pairs[row, 1])
        place = _place(table, first, second)
        if table[place, 0] != first or table[place, 1] != second:
            table[place, 0] = first
            table[place, 1] = second
            kept[number, 0] = first
            kept[number, 1] = second
            number += 1
    return kept[:number]


def repeated(firsts: Digests) -> Digests:
    """The first digests that occur more than once, each once."""
    ordered = np.sort(firsts)
    again: Digests = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.unique(again)
