# SPDX-License-Identifier: Apache-2.0
"""A table of pairs whose columns can be wrong in every way: never NULL, of few digits, of text."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from scrub.model.result import RunResult
from tests.checks.pairs.pair_ground import (
    ONE_FAMILY,
    Pair,
    checked,
    stored,
    table_of,
    write_catalog,
    write_pairs,
)
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
_AS_IT_IS: Mapping[int, Any] = {}


def goods(number: int) -> dict[int, Any]:
    return {
        1: number,
        2: number % 100,
        3: b"name %d" % number,
        4: Decimal(number % 90 * 10).scaleb(-2),
        5: None if number % 5 == 0 else b"note %d" % number,
    }


def goods_catalog(directory: Path, families: dict[str, Any], **more: Any) -> Path:
    return write_catalog(directory, families, **{"columns": COLUMNS, "indexes": INDEXES} | more)


class Stock:
    """The goods with all their pairs, right ones, which are then damaged and checked."""

    def __init__(
        self,
        directory: Path,
        families: dict[str, Any] = ONE_FAMILY,
        *,
        rows: int = 60,
        catalog: Path | None = None,
        **told: Any,
    ) -> None:
        self.directory = directory
        self.catalog = catalog or goods_catalog(directory, families, **told)
        self.table = table_of(self.catalog)
        self.pairs: dict[str, list[Pair]] = {"primary": []}  # and those of each index
        self.pairs |= {index.name: [] for index in self.table.indexes}
        for number in range(1, rows + 1):
            self.add(goods(number), *INDEXES)

    def add(self, row: dict[int, Any], *indexes: str) -> None:
        """The pairs of a row, and of its entries in some indexes."""
        self.pairs["primary"] += stored(encode_row(self.table, row))
        for name in indexes:
            self.pairs[name] += self._entry(name, row)

    def row(self, number: int, other: Mapping[int, Any] = _AS_IT_IS) -> list[Pair]:
        """The pairs of a row, which may have other values."""
        return stored(encode_row(self.table, {**goods(number), **other}))

    def entry(self, index: str, number: int, other: Mapping[int, Any] = _AS_IT_IS) -> list[Pair]:
        """The pairs of its entry in an index."""
        return self._entry(index, {**goods(number), **other})

    def _entry(self, name: str, row: dict[int, Any]) -> list[Pair]:
        (index,) = (one for one in self.table.indexes if one.name == name)
        return stored(encode_entry(self.table, index, row))

    def exchange(self, where: str, old: list[Pair], new: list[Pair]) -> None:
        """Other pairs in the place of some."""
        for pair in old:
            self.pairs[where].remove(pair)
        self.pairs[where] += new

    def check(self, spark: Any, **asked: Any) -> RunResult:
        """Check the pairs, which are written unless they have been."""
        if not (self.directory / "pairs").exists():
            write_pairs(self.directory, self.pairs)
        return checked(self.catalog, spark, **asked)


def under(key: bytes, pair: Pair) -> Pair:
    """The same value under another key, with a checksum that is right."""
    return key, encode_value(key, pair[1][4:])


def padded(key: bytes, at: int = 2) -> bytes:
    """The same key, a small number in it spelled with a length that it does not need."""
    return key[:at] + b"\xf6" + bytes([key[at] - 0x88]) + key[at + 1 :]
