# SPDX-License-Identifier: Apache-2.0
"""Which pairs of a relation concern a table."""

import pyarrow as pa
import pytest

from checks.pairs.keys import choose_keys, chosen_pairs, prefixes_of
from scrub.model.kv import (
    DatumKind,
    DatumType,
    Family,
    KeyChoice,
    KeyPart,
    KvColumn,
    KvIndex,
    KvTable,
)
from tests.scrub.codec.kv.reference_datums import encode_unsigned


def a_table(table_id: int, *indexes: int) -> KvTable:
    return KvTable(
        id=table_id,
        name=f"t{table_id}",
        columns=(KvColumn(1, "id", DatumType(DatumKind.INT), nullable=False),),
        primary_key=(KeyPart(1),),
        families=(Family(0, (1,)),),
        indexes=tuple(KvIndex(i, f"by_{i}", (KeyPart(1),), ()) for i in indexes),
    )


def key(table_id: int, index_id: int) -> bytes:
    return encode_unsigned(table_id, False) + encode_unsigned(index_id, False) + b"\x8a\x88"


def kept(choice: KeyChoice, *keys: bytes | None) -> list[bytes]:
    arrays = [pa.array(keys, pa.binary()), pa.array([b"value"] * len(keys), pa.binary())]
    found = chosen_pairs(choice, pa.RecordBatch.from_arrays(arrays, ["key", "value"]))
    return found.column("key").to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("table_id", [1, 109, 110, 255, 256, 1 << 31])
def test_a_prefix_is_the_one_spelling_of_both_numbers(table_id: int) -> None:
    prefixes = prefixes_of(a_table(table_id, 2, 300))
    assert list(prefixes.values()) == [None, "by_2", "by_300"]
    expected = [encode_unsigned(table_id, False) + encode_unsigned(n, False) for n in (1, 2, 300)]
    assert list(prefixes) == expected


def test_pairs_of_other_tables_are_passed_over_and_strangers_kept_where_they_are_sought() -> None:
    keys = [key(52, 1), key(52, 2), key(53, 1), key(53, 7), key(99, 1)]
    sought = choose_keys(a_table(52, 2), [a_table(53)], strangers=True)
    assert kept(sought, *keys) == [key(52, 1), key(52, 2), key(53, 7), key(99, 1)]
    elsewhere = choose_keys(a_table(52, 2), [a_table(53)], strangers=False)
    assert kept(elsewhere, *keys) == [key(52, 1), key(52, 2)]


def test_two_descriptions_of_one_table_do_not_hide_its_pairs() -> None:
    choice = choose_keys(a_table(52), [a_table(52, 2)], strangers=True)
    assert kept(choice, key(52, 1), key(52, 2)) == [key(52, 1)]


def test_a_table_of_its_own_keeps_every_pair() -> None:
    choice = choose_keys(a_table(52), [], strangers=False)
    assert kept(choice, None, key(1, 1)) == [b"", key(1, 1)]


@pytest.mark.parametrize("others", [[], [a_table(53)]])
@pytest.mark.parametrize(
    ("index", "has_versions", "found"),
    [
        (1, True, [b"value"]),
        (1, False, [b"value", b"", b""]),
        (2, True, [b"value"]),
        (2, False, [b"value"]),
        (7, False, [b"value", b"", b""]),
    ],
)
def test_a_row_without_a_value_is_deleted_only_where_there_are_versions(
    others: list[KvTable], index: int, has_versions: bool, found: list[bytes]
) -> None:
    choice = choose_keys(a_table(52, 2), others, strangers=True, has_versions=has_versions)
    values = pa.array([b"value", b"", None], pa.binary())
    keys = pa.array([key(52, index)] * 3, pa.binary())
    live = chosen_pairs(choice, pa.RecordBatch.from_arrays([keys, values], ["key", "value"]))
    assert live.column("value").to_pylist() == found
