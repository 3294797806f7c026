# SPDX-License-Identifier: Apache-2.0
"""The same rows twice, as pairs and as columns, under a catalog that promises the same of both."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scrub.app import check
from scrub.catalog import load_catalog
from scrub.codec.arrow_types import arrow_schema_of
from scrub.model.kv import KvTable
from scrub.model.result import CheckOutcome, RunResult
from tests.checks.pairs.pair_ground import Pair, stored, write_file
from tests.scrub.codec.kv.reference_pairs import encode_row

PAIRS, COLUMNS = "pairs", "columns"  # the two layouts, and the endings of the tables' names

Row = Mapping[str, Any]
Found = set[tuple[str, str | None, str | None, str]]


@dataclass(frozen=True, slots=True)
class Promised:
    """A table of the catalog: what it declares, and its rows."""

    columns: dict[str, Any]
    rows: Sequence[Row]
    primary_key: list[str] = field(default_factory=lambda: ["id"])
    more: dict[str, Any] = field(default_factory=dict)  # checks, unique, foreign_keys, families


@dataclass(frozen=True, slots=True)
class TwoLayouts:
    """A directory in which each table is there as `NAME_pairs` and as `NAME_columns`."""

    directory: Path

    @property
    def catalog(self) -> Path:
        return self.directory / "scrub.yaml"

    def write(self, tables: Mapping[str, Promised]) -> None:
        """The catalog, and the rows in both layouts."""
        told: dict[str, Any] = {}
        for number, (name, table) in enumerate(tables.items()):
            shared = {"store": "files", "columns": table.columns, "primary_key": table.primary_key}
            kv = {"layout": "kv", "table_id": 50 + number}
            of_columns = {key: of for key, of in table.more.items() if key in _OF_BOTH}
            told[f"{name}_{PAIRS}"] = shared | kv | table.more
            told[f"{name}_{COLUMNS}"] = shared | of_columns
        stores = {"files": {"kind": "spark", "format": "parquet", "path": "."}}
        self.catalog.write_text(json.dumps({"version": 1, "stores": stores, "tables": told}))
        for name, table in tables.items():
            self.write_columns(name, table.rows)
            self.write_pairs(name, self.pairs_of(name, table.rows))

    def kv(self, name: str) -> KvTable:
        table = load_catalog(self.catalog).tables[f"{name}_{PAIRS}"].kv
        assert table is not None
        return table

    def pairs_of(self, name: str, rows: Sequence[Row]) -> list[Pair]:
        kv = self.kv(name)
        return [
            pair
            for row in rows
            for pair in stored(encode_row(kv, {c.id: _datum(row.get(c.name)) for c in kv.columns}))
        ]

    def write_pairs(self, name: str, pairs: Sequence[Pair], files: int = 2) -> None:
        relation = self.directory / f"{name}_{PAIRS}"
        relation.mkdir(exist_ok=True)
        for number in range(files):
            write_file(relation / f"{number}.parquet", list(pairs[number::files]))

    def write_columns(self, name: str, rows: Sequence[Row]) -> None:
        columns = load_catalog(self.catalog).tables[f"{name}_{COLUMNS}"].columns
        relation = self.directory / f"{name}_{COLUMNS}"
        relation.mkdir(exist_ok=True)
        arrays = {c.name: [row.get(c.name) for row in rows] for c in columns}
        table = pa.table(arrays, schema=arrow_schema_of(columns))
        pq.write_table(table, relation / "0.parquet")

    def check(self, spark: Any, name: str, **asked: Any) -> RunResult:
        return check(name, catalog=self.catalog, spark=spark, limit=1000, **asked)


_OF_BOTH = ("checks", "unique", "foreign_keys")


def _datum(value: Any) -> Any:
    """A value as the reference encoder takes it."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, datetime):
        return int(value.timestamp()), value.microsecond * 1000
    return value


def found(result: RunResult) -> Found:
    """What was found, in terms that do not depend on the layout."""
    return {
        (d.kind.value, d.constraint, d.column, json.dumps(d.primary_key, sort_keys=True))
        for d in result.defects
    }


def of_constraint(result: RunResult, name: str) -> CheckOutcome:
    """The outcome of one constraint of the only table."""
    (table,) = result.tables
    (outcome,) = (one for one in table.checks if one.constraint == name)
    return outcome
