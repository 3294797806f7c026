# SPDX-License-Identifier: Apache-2.0
"""The digest against a plain implementation of its definition, and what it must tell apart."""

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrub.codec.digest import (
    RowDigests,
    Salt,
    _hash_word,
    is_told_by_first_digest,
    verify_digest,
)
from scrub.model.types import parse_type
from tests.checks.keys.ground import word_of

MASK = 2**64 - 1
P1, P2, P3, P4, P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
SALT = Salt(first=-77, second=123_456_789_012)


def xxh64(data: bytes, seed: int) -> int:
    """XXH64 as its specification reads, one byte string at a time."""

    def rotate(value: int, bits: int) -> int:
        return ((value << bits) | (value >> (64 - bits))) & MASK

    def lane(accumulator: int, word: int) -> int:
        return rotate((accumulator + word * P2) & MASK, 31) * P1 & MASK

    at = 0
    if len(data) >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while at + 32 <= len(data):
            words = struct.unpack_from("<4Q", data, at)
            lanes = [lane(one, word) for one, word in zip(lanes, words, strict=True)]
            at += 32
        digest = sum(rotate(v, b) for v, b in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for value in lanes:
            digest = ((digest ^ lane(0, value)) * P1 + P4) & MASK
    else:
        digest = (seed + P5) & MASK
    digest = (digest + len(data)) & MASK
    while at + 8 <= len(data):
        (word,) = struct.unpack_from("<Q", data, at)
        digest = (rotate(digest ^ lane(0, word), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= len(data):
        (word,) = struct.unpack_from("<I", data, at)
        digest = (rotate(digest ^ (word * P1 & MASK), 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        digest = rotate(digest ^ (byte * P5 & MASK), 11) * P1 & MASK
    digest = (digest ^ (digest >> 33)) * P2 & MASK
    digest = (digest ^ (digest >> 29)) * P3 & MASK
    return digest ^ (digest >> 32)


def chain(words: list[bytes], salt: int) -> int:
    digest = xxh64(struct.pack("<q", salt), 42)
    for word in words:
        digest = xxh64(word, digest)
    return digest


def digests(*columns: pa.Array, salt: Salt = SALT) -> list[tuple[int, int]]:
    rows = RowDigests.start(len(columns[0]), salt).fold(columns, salt)
    return list(zip(rows.first.tolist(), rows.second.tolist(), strict=True))


def test_the_reference_gives_the_published_vectors_of_xxh64() -> None:
    assert xxh64(b"", 0) == 0xEF46DB3751D8E999
    assert xxh64(b"abc", 0) == 0x44BC2CF5AD770999
    assert xxh64(b"Nobody inspects the spammish repetition", 0) == 0xFBCEA83C8A378BF1


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5))
def test_integers_are_chained_as_defined(values: list[int | None]) -> None:
    row = [pa.array([value], pa.int64()) for value in values]
    expected = tuple(
        chain([struct.pack("<q", tag if v is None else v) for v in values], salt)
        for tag, salt in zip(SALT.null_tags, (SALT.first, SALT.second), strict=True)
    )
    assert digests(*row) == [expected]


@given(st.lists(st.none() | st.binary(max_size=80), min_size=1, max_size=6))
def test_binaries_are_digested_under_each_chains_own_start(values: list[bytes | None]) -> None:
    tags = dict(zip((SALT.first, SALT.second), SALT.null_tags, strict=True))

    def word(value: bytes | None, salt: int) -> bytes:
        start = xxh64(struct.pack("<q", salt), 42)
        if value is None:
            return struct.pack("<q", tags[salt])
        return struct.pack("<Q", xxh64(value, start))

    expected = [
        (chain([word(v, SALT.first)], SALT.first), chain([word(v, SALT.second)], SALT.second))
        for v in values
    ]
    assert digests(pa.array(values, pa.binary())) == expected


@given(st.lists(st.none() | st.text(max_size=12), min_size=1, max_size=20), st.integers(0, 5))
def test_dictionaries_and_slices_make_no_difference(values: list[str | None], cut: int) -> None:
    plain = pa.array(values, pa.string())
    assert digests(plain.dictionary_encode()) == digests(plain)
    cut = min(cut, len(values) - 1)
    assert digests(plain.slice(cut)) == digests(plain)[cut:]
    assert digests(plain.dictionary_encode().slice(cut)) == digests(plain)[cut:]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([7], pa.int8()), pa.array([7], pa.int64())),
        (pa.array([0.0]), pa.array([-0.0])),
        (pa.array([0.5], pa.float32()), pa.array([0.5], pa.float64())),
        (
            pa.array(np.array([0x7FF8000000000001], np.uint64).view(np.float64)),
            pa.array([float("nan")]),
        ),
    ],
    ids=["integer widths", "zeros", "float widths", "NaN payloads"],
)
def test_equal_values_have_equal_digests(one: pa.Array, other: pa.Array) -> None:
    assert digests(one) == digests(other)


def test_numbers_of_any_width_stand_for_a_dictionary_s_values() -> None:
    plain = pa.array(["a", None, "b", "a"])
    for width in (pa.int8(), pa.uint16(), pa.int32(), pa.int64()):
        encoded = plain.dictionary_encode().cast(pa.dictionary(width, pa.string()))
        assert digests(encoded) == digests(plain)


def test_a_loop_is_compiled_once_whatever_it_reads() -> None:
    """Arrow's buffers may be read-only, and begin where no number should: one loop reads all."""
    numbers = np.arange(4, dtype=np.int64)
    octets = b"\0" + numbers.tobytes()
    shifted = pa.Array.from_buffers(pa.int64(), 4, [None, pa.py_buffer(octets).slice(1)])
    assert digests(shifted) == digests(pa.array(numbers))


def total(rows: list[tuple[Any, ...]], types: list[pa.DataType]) -> tuple[int, int]:
    """The two sums over rows, as one bucket holds them."""
    columns = [
        pa.array([row[number] for row in rows], types[number]) for number in range(len(types))
    ]
    pairs = digests(*columns)
    return sum(p[0] for p in pairs) & MASK, sum(p[1] for p in pairs) & MASK


TEXTS = [pa.string(), pa.string()]


def test_crc32_collision_of_plumless_and_buckeroo_is_told_apart() -> None:
    """Both words have the CRC-32 4DDB0C25."""
    assert total([("plumless", "")], TEXTS) != total([("buckeroo", "")], TEXTS)


def test_a_pair_of_equal_extra_entries_does_not_cancel_as_it_does_under_xor() -> None:
    assert total([("x", "y"), ("x", "y")], TEXTS) != total([], TEXTS)
    assert total([("a", "b"), ("x", "y"), ("x", "y")], TEXTS) != total([("a", "b")], TEXTS)


def test_null_changing_its_place_is_told_apart_as_concat_ws_does_not() -> None:
    assert total([(None, "x")], TEXTS) != total([("x", None)], TEXTS)
    assert total([("x", None)], TEXTS) != total([("x", "")], TEXTS)
    assert total([("x", None)], TEXTS) != total([("x", "NULL")], TEXTS)


def test_a_separator_inside_a_value_is_told_apart_from_one_between_values() -> None:
    assert total([("a\x02", "b")], TEXTS) != total([("a", "\x02b")], TEXTS)
    assert total([("ab", "c")], TEXTS) != total([("a", "bc")], TEXTS)


def test_swapping_the_last_column_between_two_rows_does_not_cancel() -> None:
    """A digest that ends in `^ hash(last)` gives both the same sum."""
    types = [pa.int64(), pa.int64(), pa.string()]
    right = [(1, 10, "open"), (2, 20, "paid")]
    swapped = [(1, 10, "paid"), (2, 20, "open")]
    assert total(right, types) != total(swapped, types)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.none() | st.sampled_from(["", "a"])), max_size=8),
    st.lists(st.tuples(st.integers(0, 3), st.none() | st.sampled_from(["", "a"])), max_size=8),
)
def test_sums_are_equal_exactly_when_the_multisets_of_rows_are(
    one: list[tuple[int, str | None]], other: list[tuple[int, str | None]]
) -> None:
    types = [pa.int64(), pa.string()]
    same = sorted(one, key=repr) == sorted(other, key=repr)
    assert (total(one, types) == total(other, types)) == same


def test_another_salt_gives_other_digests() -> None:
    column = pa.array(["a"])
    assert digests(column) != digests(column, salt=Salt.fresh())


def test_the_second_digest_is_not_derived_from_the_first() -> None:
    """Rows that collide in the first chain need not collide in the second: the starts differ."""
    one = Salt(first=1, second=2)
    other = Salt(first=1, second=3)
    (first, second), (same_first, other_second) = (
        digests(pa.array([5]), salt=salt)[0] for salt in (one, other)
    )
    # The tag of NULL depends on both salts, values do not.
    assert first == same_first
    assert second != other_second


@pytest.mark.parametrize(
    ("types", "told"),
    [
        (["bigint"], True),
        (["tinyint"], True),
        (["boolean"], True),
        (["date"], True),
        (["timestamp"], True),
        (["timestamp_ntz"], True),
        (["float"], True),
        (["double"], True),
        (["decimal(18,4)"], True),
        (["decimal(19,4)"], False),
        (["string"], False),
        (["binary"], False),
        (["bigint", "bigint"], False),
        ([], False),
    ],
)
def test_only_keys_of_one_word_are_told_by_the_first_digest(types: list[str], told: bool) -> None:
    assert is_told_by_first_digest([parse_type(text) for text in types]) == told


@given(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1))
def test_the_digest_of_a_word_can_be_computed_backwards(word: int, seed: int) -> None:
    """So no two words share one: the proof that the first digest tells words apart."""
    assert word_of(_hash_word(word, seed), seed) == word


def test_no_value_stands_for_null_in_both_digests() -> None:
    for tag in SALT.null_tags:
        (null,), (value,) = digests(pa.array([None], pa.int64())), digests(pa.array([tag]))
        assert null[0] != value[0] or null[1] != value[1]


def test_the_test_vector_is_verified() -> None:
    verify_digest()


def test_empty_batches_have_no_digests() -> None:
    for arrow in (pa.string(), pa.int64(), pa.decimal128(38, 2), pa.float64(), pa.bool_()):
        assert digests(pa.array([], arrow)) == []
