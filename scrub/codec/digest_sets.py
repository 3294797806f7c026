# SPDX-License-Identifier: Apache-2.0
"""Sets of keys by their two digests: the compiled loops that fill, probe and divide them.

A set is an open-addressing table of pairs, at most half full, in which a key's place follows from
the low bits of its first digest. The leading bits are left to ranges: the keys of one range differ
in the low bits as much as any others. A pair of zeros marks a free place; the one key in 2^128 that
has these digests is stored as its neighbour.

Where the first digest alone tells keys apart (`scrub.codec.digest.is_told_by_first_digest`), a set
is made of first digests. Zero marks a free place there too; whether zero itself is in the set
is said after the last place.
"""

from typing import Any, TypeAlias

import numpy as np
from numba import types, uint64
from numpy.typing import NDArray

from scrub.codec.compiling.functions import inlined, loop
from scrub.codec.words import Digests, Pairs
from scrub.codec.xxh64 import Word

Recent: TypeAlias = NDArray[
    np.uint64
]  # (places, 3): both digests of a key, and how often it was seen

_RECENT_PLACES = 1 << 16  # 1.5 MB, which the processor keeps at hand

# Arrays that are only read may be views of bytes, which nobody can write to.
_DIGESTS = types.Array(types.uint64, 1, "C", readonly=True)
_PAIRS = types.Array(types.uint64, 2, "C", readonly=True)
_ENDS = types.Array(types.int64, 1, "C", readonly=True)
_NEW_DIGESTS, _NEW_PAIRS, _NEW_ENDS = types.uint64[::1], types.uint64[:, ::1], types.int64[::1]


def set_of(pairs: Pairs) -> Pairs:
    """The table of a set; a key that is given twice is in it once."""
    table = empty_set(len(pairs))
    _fill(table, pairs)
    return table


def empty_set(keys: int) -> Pairs:
    """The table of a set with room for so many keys."""
    return np.zeros((1 << max(4, (2 * keys).bit_length()), 2), dtype=np.uint64)


@inlined(types.uint64(_PAIRS, types.uint64, types.uint64))
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


@inlined(types.uint64(types.uint64, types.uint64))
def _stored(first: Word, second: Word) -> Word:
    """The second digest as it is stored: never part of a pair of zeros."""
    return uint64(1) if first == uint64(0) and second == uint64(0) else second


@loop(types.void(_NEW_PAIRS, _PAIRS))
def _fill(table: Pairs, pairs: Pairs) -> None:
    for row in range(len(pairs)):
        first = pairs[row, 0]
        second = _stored(first, pairs[row, 1])
        place = _place(table, first, second)
        table[place, 0] = first
        table[place, 1] = second


@loop(types.boolean[::1](_PAIRS, _DIGESTS, _DIGESTS))
def found(table: Pairs, firsts: Digests, seconds: Digests) -> NDArray[np.bool_]:
    """Which keys are in the set."""
    flags = np.empty(len(firsts), dtype=np.bool_)
    for row in range(len(firsts)):
        first = firsts[row]
        second = _stored(first, seconds[row])
        place = _place(table, first, second)
        flags[row] = table[place, 0] == first and table[place, 1] == second
    return flags


def set_of_firsts(firsts: Digests) -> Digests:
    """The table of a set of first digests."""
    table = np.zeros((1 << max(4, (2 * len(firsts)).bit_length())) + 1, dtype=np.uint64)
    _fill_firsts(table, firsts)
    return table


@inlined(types.uint64(_DIGESTS, types.uint64))
def _place_of_first(table: Digests, first: Word) -> Any:
    """Where the digest is, or where it would be put; zero is after the last place."""
    places = uint64(len(table) - 1)
    if first == uint64(0):
        return places
    place = first & (places - uint64(1))
    while table[place] != first and table[place] != uint64(0):
        place = (place + uint64(1)) & (places - uint64(1))
    return place


@loop(types.void(_NEW_DIGESTS, _DIGESTS))
def _fill_firsts(table: Digests, firsts: Digests) -> None:
    for row in range(len(firsts)):
        place = _place_of_first(table, firsts[row])
        table[place] = firsts[row] if firsts[row] != uint64(0) else uint64(1)


@loop(types.boolean[::1](_DIGESTS, _DIGESTS))
def found_firsts(table: Digests, firsts: Digests) -> NDArray[np.bool_]:
    """Which first digests are in the set."""
    flags = np.empty(len(firsts), dtype=np.bool_)
    for row in range(len(firsts)):
        # A place that is free holds a zero, and zero's own place anything else if it is there.
        flags[row] = table[_place_of_first(table, firsts[row])] != uint64(0)
    return flags


@loop(_NEW_PAIRS(_PAIRS, _PAIRS))
def lacking(table: Pairs, pairs: Pairs) -> Pairs:
    """The keys that are not in the set."""
    kept = np.empty(pairs.shape, dtype=np.uint64)
    number = 0
    for row in range(len(pairs)):
        first = pairs[row, 0]
        second = _stored(first, pairs[row, 1])
        place = _place(table, first, second)
        if table[place, 0] != first or table[place, 1] != second:
            kept[number, 0] = first
            kept[number, 1] = second
            number += 1
    return kept[:number]


@inlined(types.uint64(types.uint64, types.uint64))
def _range_of(first: Word, ranges: Word) -> Any:
    """The range of a digest: which of so many equal parts of all numbers it lies in."""
    return ((first >> uint64(32)) * ranges) >> uint64(32)


@loop(_NEW_ENDS(_DIGESTS, types.int64))
def range_ends(firsts: Digests, ranges: int) -> NDArray[np.int64]:
    """Where the digests of each range end once they are laid out range by range."""
    ends = np.zeros(ranges, dtype=np.int64)
    for row in range(len(firsts)):
        ends[_range_of(firsts[row], uint64(ranges))] += 1
    for number in range(1, ranges):
        ends[number] += ends[number - 1]
    return ends


@loop(_NEW_DIGESTS(_DIGESTS, _ENDS))
def firsts_by_range(firsts: Digests, ends: NDArray[np.int64]) -> Digests:
    """The first digests, laid out range by range."""
    after = np.empty(len(firsts), dtype=np.uint64)
    places = ends.copy()
    for row in range(len(firsts)):
        of = _range_of(firsts[row], uint64(len(ends)))
        places[of] -= 1
        after[places[of]] = firsts[row]
    return after


@loop(_NEW_PAIRS(_DIGESTS, _DIGESTS, _ENDS))
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


def distinct(pairs: Pairs) -> Pairs:
    """Each key once, in the order in which they first occur."""
    return _distinct(pairs, empty_set(len(pairs)))


@loop(_NEW_PAIRS(_PAIRS, _NEW_PAIRS))
def _distinct(pairs: Pairs, table: Pairs) -> Pairs:
    kept = np.empty(pairs.shape, dtype=np.uint64)
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


def nothing_recent() -> Recent:
    """What `without_recent` remembers before it has seen a key."""
    return np.zeros((_RECENT_PLACES, 3), dtype=np.uint64)


@loop(types.UniTuple(_NEW_DIGESTS, 2)(_NEW_PAIRS, _DIGESTS, _DIGESTS, types.int64))
def without_recent(
    recent: Recent, firsts: Digests, seconds: Digests, times_max: int
) -> tuple[Digests, Digests]:
    """The keys without those that were seen so often a short while ago.

    A key that very many rows have would otherwise fill its range. Keys are remembered whole, until
    another one takes their place: no key is left out that has not been kept before.
    """
    kept_firsts = np.empty(len(firsts), dtype=np.uint64)
    kept_seconds = np.empty(len(firsts), dtype=np.uint64)
    number = 0
    for row in range(len(firsts)):
        first, second = firsts[row], seconds[row]
        place = first & uint64(len(recent) - 1)
        if recent[place, 0] != first or recent[place, 1] != second:
            recent[place, 0] = first
            recent[place, 1] = second
            recent[place, 2] = uint64(0)
        if recent[place, 2] < uint64(times_max):
            recent[place, 2] += uint64(1)
            kept_firsts[number] = first
            kept_seconds[number] = second
            number += 1
    return kept_firsts[:number], kept_seconds[:number]


def repeated(firsts: Digests) -> Digests:
    """The first digests that occur more than once, each once."""
    ordered = np.sort(firsts)
    again: Digests = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.unique(again)
