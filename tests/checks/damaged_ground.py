# SPDX-License-Identifier: Apache-2.0
"""A table of pairs whose columns can be wrong in every way: never NULL, of few digits, of text."""

from decimal import Decimal
from pathlib import Path
from typing import Any

from scrub.model.kv import KvTable
from tests.checks.pairs.pair_ground import Pair, stored, table_of, write_catalog
from tests.scrub.codec.kv.reference_pairs import encode_entry, encode_row, encode_value

COLUMNS = {
    "id": {"type": "bigint", "nullable": False},
    "code": {"type": "smallint"},
    "name": {"type": "string", "nullable": False},
    "price": {"type": "decimal(4,2)"},
    "note": {"type": "string"},
}
INDEXES = {
    "by_code": {"index_id": 2, "columns": ["code"]},
    "by_price": {"index_id": 3, "columns": ["price"], "storing": ["note"]},
    "by_name": {"index_id": 4, "columns": ["name"], "unique": True},
}
NAMES_APART: dict[str, Any] = {"names": {"id": 1, "columns": ["name"]}}
NOTES_APART: dict[str, Any] = {"notes": {"id": 1, "columns": ["note"]}}


def goods(number: int) -> dict[int, Any]:
    return {
        1: number,
        2: number % 100,
        3: b"name %d" % number,
        4: Decimal(number % 90 * 10).scaleb(-2),
        5: None if number % 5 == 0 else b"note %d" % number,
    }


def goods_catalog(directory: Path, families: dict[str, Any], **more: Any) -> tuple[Path, KvTable]:
    told = {"columns": COLUMNS, "indexes": INDEXES} | more
    catalog = write_catalog(directory, families, **told)
    return catalog, table_of(catalog)


def row_pairs(table: KvTable, row: dict[int, Any]) -> list[Pair]:
    return stored(encode_row(table, row))


def entry_pairs(table: KvTable, index: str, row: dict[int, Any]) -> list[Pair]:
    (of,) = (one for one in table.indexes if one.name == index)
    return stored(encode_entry(table, of, row))


def goods_pairs(table: KvTable, rows: int = 60) -> dict[str, list[Pair]]:
    """Pairs of the table (`primary`) and of each index, all of them right."""
    found: dict[str, list[Pair]] = {"primary": []}
    for number in range(1, rows + 1):
        found["primary"] += row_pairs(table, goods(number))
        for index in table.indexes:
            found.setdefault(index.name, [])
            found[index.name] += entry_pairs(table, index.name, goods(number))
    return found


def exchange(pairs: list[Pair], old: list[Pair], new: list[Pair]) -> None:
    """Other pairs in the place of some."""
    for pair in old:
        pairs.remove(pair)
    pairs += new


def under(key: bytes, pair: Pair) -> Pair:
    """The same value under another key, with a checksum that is right."""
    return key, encode_value(key, pair[1][4:])


def padded(key: bytes, at: int = 2) -> bytes:
    """The same key, a small number in it spelled with a length that it does not need."""
    return key[:at] + b"\xf6" + bytes([key[at] - 0x88]) + key[at + 1 :]
