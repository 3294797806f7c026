# SPDX-License-Identifier: Apache-2.0
"""Sets of digests against Python's own, also where digests are alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrub.codec import digest_sets
from scrub.codec.digest_sets import Pairs

# Few low bits, so that keys meet in the table; and the numbers at both ends.
WORDS = st.sampled_from([0, 1, 2, 16, 32, 1 << 32, (1 << 64) - 1, (1 << 64) - 16])
KEYS = st.lists(st.tuples(WORDS, WORDS), max_size=40)
Key = tuple[int, int]


def pairs_of(keys: list[Key]) -> Pairs:
    """Pairs that cannot be written to, as those that come from bytes."""
    octets = np.array(keys, dtype=np.uint64).reshape(-1, 2).tobytes()
    return np.frombuffer(octets, dtype=np.uint64).reshape(-1, 2)


def columns_of(keys: list[Key]) -> tuple[Pairs, Pairs]:
    pairs = pairs_of(keys)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def stored(key: Key) -> Key:
    return (0, 1) if key == (0, 0) else key


@given(KEYS, KEYS)
def test_a_set_has_what_was_put_into_it_and_nothing_else(put: list[Key], asked: list[Key]) -> None:
    table = digest_sets.set_of(pairs_of(put))
    there = {stored(key) for key in put}
    expected = [stored(key) in there for key in asked]
    assert digest_sets.found(table, *columns_of(asked)).tolist() == expected
    lacking = digest_sets.lacking(table, pairs_of(asked)).tolist()
    assert [tuple(key) for key in lacking] == [
        stored(key) for key in asked if stored(key) not in there
    ]


@given(st.lists(WORDS, max_size=40), st.lists(WORDS, max_size=40))
def test_a_set_of_first_digests_has_what_was_put_into_it(put: list[int], asked: list[int]) -> None:
    """Zero too, which marks free places: here no digest may stand for another."""
    table = digest_sets.set_of_firsts(np.array(put, dtype=np.uint64))
    found = digest_sets.found_firsts(table, np.array(asked, dtype=np.uint64))
    assert found.tolist() == [word in put for word in asked]


@given(KEYS)
def test_distinct_keys_keep_their_order(keys: list[Key]) -> None:
    distinct = [tuple(key) for key in digest_sets.distinct(pairs_of(keys)).tolist()]
    assert distinct == list(dict.fromkeys(map(stored, keys)))


@given(KEYS, st.integers(1, 7))
def test_ranges_hold_every_key_once_and_in_order_of_ranges(keys: list[Key], ranges: int) -> None:
    firsts, seconds = columns_of(keys)
    ends = digest_sets.range_ends(firsts, ranges)
    laid_out = digest_sets.pairs_by_range(firsts, seconds, ends)
    assert sorted(map(tuple, laid_out.tolist())) == sorted(keys)
    assert digest_sets.firsts_by_range(firsts, ends).tolist() == laid_out[:, 0].tolist()
    numbers = [first * ranges >> 64 for first, _ in laid_out.tolist()]
    assert numbers == sorted(numbers)
    expected = [sum(number <= of for number in numbers) for of in range(ranges)]
    assert ends.tolist() == expected


@given(st.lists(WORDS, max_size=40))
def test_repeated_digests_are_told_once(firsts: list[int]) -> None:
    repeated = digest_sets.repeated(np.array(firsts, dtype=np.uint64)).tolist()
    assert repeated == sorted({first for first in firsts if firsts.count(first) > 1})


@given(KEYS, st.integers(1, 2))
def test_no_key_is_left_out_that_was_not_kept_as_often(keys: list[Key], times_max: int) -> None:
    recent = digest_sets.nothing_recent()
    half = len(keys) // 2
    kept: list[Key] = []
    for some in (keys[:half], keys[half:]):
        firsts, seconds = digest_sets.without_recent(recent, *columns_of(some), times_max)
        kept += zip(firsts.tolist(), seconds.tolist(), strict=True)
    for key in set(keys):
        assert min(keys.count(key), times_max) <= kept.count(key) <= keys.count(key)


@pytest.mark.parametrize("times_max", [1, 2])
def test_a_key_that_all_rows_have_is_kept_as_often_as_needed(times_max: int) -> None:
    recent, many = digest_sets.nothing_recent(), columns_of([(7, 8)] * 1000)
    firsts, _ = digest_sets.without_recent(recent, *many, times_max)
    assert len(firsts) == times_max


def test_a_large_set_is_at_most_half_full() -> None:
    for keys in (0, 1, 7, 8, 9, 1000, 1024, 1025):
        assert len(digest_sets.empty_set(keys)) >= 2 * keys
