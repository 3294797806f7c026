# SPDX-License-Identifier: Apache-2.0
"""Keys in the order of their values, whatever their spelling."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.codec.kv.ordering import out_of_order
from scrub.model.kv import DatumKind, DatumType, Family, KeyPart, KvColumn, KvTable
from tests.scrub.codec.kv import fast
from tests.scrub.codec.kv.strategies import all_pairs, rows, tables

NUMBERS = KvTable(
    51, "t", (KvColumn(1, "c", DatumType(DatumKind.INT)),), (KeyPart(1),), (Family(0, (1,)),)
)
PREFIX, FIRST_FAMILY = b"\xbb\x89", b"\x88"


def key_of(column: bytes) -> bytes:
    return PREFIX + column + FIRST_FAMILY


def late(table: KvTable, keys: list[bytes], before: bytes | None = None) -> list[int]:
    return out_of_order(fast.layout_for(table), pa.array(keys, pa.binary()), before)[0]


@st.composite
def tables_with_sorted_keys(draw: st.DrawFn) -> tuple[KvTable, list[bytes]]:
    """Different keys of rows and entries, as they should be."""
    table = draw(tables())
    several = draw(st.lists(rows(table), min_size=2, max_size=5))
    return table, sorted({key for row in several for key, _ in all_pairs(table, row)})


@given(tables_with_sorted_keys(), st.integers(0, 100))
@settings(max_examples=100)
def test_sorted_keys_are_in_order_however_they_are_cut(
    sample: tuple[KvTable, list[bytes]], cut: int
) -> None:
    table, keys = sample
    layout, cut = fast.layout_for(table), cut % (len(keys) + 1)
    first, before = out_of_order(layout, pa.array(keys[:cut], pa.binary()), None)
    second, last = out_of_order(layout, pa.array(keys[cut:], pa.binary()), before)
    assert first == second == []
    assert last == keys[-1]


@given(tables_with_sorted_keys(), st.integers(0, 100))
@settings(max_examples=100)
def test_swapped_neighbours_are_one_defect(sample: tuple[KvTable, list[bytes]], where: int) -> None:
    table, keys = sample
    if len(keys) < 2:
        return
    at = where % (len(keys) - 1)
    keys[at], keys[at + 1] = keys[at + 1], keys[at]
    assert late(table, keys) == [at + 1]


def test_versions_of_a_key_are_in_order() -> None:
    assert late(NUMBERS, [key_of(b"\x89")] * 3, before=key_of(b"\x89")) == []


def test_one_key_that_is_too_small_or_too_large_is_one_defect() -> None:
    one, two, three, four, nine = (key_of(bytes([0x88 + n])) for n in (1, 2, 3, 4, 9))
    assert late(NUMBERS, [two, three, one, four, nine]) == [2]
    assert late(NUMBERS, [one, nine, two, three, four]) == [2]
    assert late(NUMBERS, [one, two], before=three) == [0]


def test_a_spelling_that_sorts_elsewhere_than_its_value_is_out_of_order() -> None:
    hundred, padded_five = key_of(b"\xec"), key_of(b"\xf6\x05")
    assert hundred < padded_five
    assert late(NUMBERS, [hundred, padded_five]) == [1]
    four, six = key_of(b"\x8c"), key_of(b"\x8e")
    assert four < six < padded_five
    assert late(NUMBERS, [four, padded_five, six]) == []


def test_keys_that_cannot_be_read_count_as_their_bytes() -> None:
    assert late(NUMBERS, [b"", PREFIX, PREFIX + b"\x12", key_of(b"\x89"), b"\xff"]) == []
    assert late(NUMBERS, [b"\xff", key_of(b"\x89"), PREFIX]) == [1, 2]
