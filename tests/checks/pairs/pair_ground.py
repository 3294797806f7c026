# SPDX-License-Identifier: Apache-2.0
"""A table in key-value layout to be damaged: its catalog, its rows, and its pairs in files."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scrub.app import run_check
from scrub.catalog import load_catalog
from scrub.model.defect import DefectKind
from scrub.model.kv import KvTable
from scrub.model.request import CheckRequest
from scrub.model.result import CheckOutcome, RunResult
from tests.scrub.codec.kv.reference_pairs import encode_entry, encode_row, encode_value

COLUMNS = {
    "id": {"type": "bigint", "nullable": False},
    "customer_id": {"type": "bigint"},
    "email": {"type": "string"},
    "amount": {"type": "decimal(10,2)"},
    "note": {"type": "string"},
}
INDEXES = {
    "by_customer": {
        "index_id": 2,
        "columns": ["customer_id", {"column": "amount", "order": "desc"}],
        "storing": ["note"],
    },
    "by_email": {"index_id": 3, "columns": ["email"], "unique": True},
}
ONE_FAMILY: dict[str, Any] = {}
TWO_FAMILIES = {"rest": {"id": 1, "columns": ["note", "email"]}}

Pair = tuple[bytes, bytes]


def write_catalog(directory: Path, families: dict[str, Any], **more: Any) -> Path:
    """A catalog with the table `pairs`, and other tables beside it."""
    told = {key: more.pop(key) for key in ("sorted", "indexes", "columns") if key in more}
    pairs = kv_table(52, families) | told
    rows = {"store": "files", "columns": COLUMNS, "primary_key": ["id"]}
    stores = {"files": {"kind": "spark", "format": "parquet", "path": "."}}
    catalog = {"version": 1, "stores": stores, "tables": {"pairs": pairs, "rows": rows} | more}
    path = directory / "scrub.yaml"
    path.write_text(json.dumps(catalog))
    return path


def kv_table(table_id: int, families: dict[str, Any]) -> dict[str, Any]:
    table = {
        "store": "files",
        "layout": "kv",
        "table_id": table_id,
        "columns": COLUMNS,
        "primary_key": ["id"],
        "indexes": INDEXES,
    }
    return table | ({"families": families} if families else {})


def row(number: int) -> dict[int, Any]:
    return {
        1: number,
        2: None if number % 7 == 0 else number % 13,
        3: b"user%d@example.org" % number,
        4: Decimal(number * 10).scaleb(-2),
        5: None if number % 5 == 0 else b"note %d" % number,
    }


def table_of(catalog: Path, name: str = "pairs") -> KvTable:
    table = load_catalog(catalog).tables[name].kv
    assert table is not None
    return table


def stored(pairs: list[Pair]) -> list[Pair]:
    return [(key, encode_value(key, payload)) for key, payload in pairs]


def all_pairs(table: KvTable, rows: int) -> dict[str, list[Pair]]:
    found: dict[str, list[Pair]] = {"primary": []}
    for number in range(rows):
        found["primary"] += stored(encode_row(table, row(number)))
        for index in table.indexes:
            found.setdefault(index.name, [])
            found[index.name] += stored(encode_entry(table, index, row(number)))
    return found


def write_pairs(
    directory: Path, pairs: dict[str, list[Pair]], files: int = 3, relation: str = "pairs"
) -> None:
    (directory / relation).mkdir()
    flat = [pair for of in pairs.values() for pair in of]
    for number in range(files):
        write_file(directory / relation / f"{number}.parquet", flat[number::files])


def write_file(path: Path, pairs: list[Pair], **options: Any) -> None:
    arrays = {"key": [key for key, _ in pairs], "value": [value for _, value in pairs]}
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
    pq.write_table(pa.table(arrays, schema=schema), path, **options)


def checked(catalog: Path, spark: Any, *tables: str, **asked: Any) -> RunResult:
    request = CheckRequest(catalog=catalog, tables=tables or ("pairs",), **asked)
    return run_check(request, spark=spark)


def counts(result: RunResult) -> dict[str | None, dict[DefectKind, int]]:
    return {outcome.index: dict(outcome.counts) for outcome in result.outcomes}


def outcome_of(result: RunResult, index: str | None, table: str = "pairs") -> CheckOutcome:
    (of_table,) = (of for of in result.tables if of.table == table)
    return next(outcome for outcome in of_table.checks if outcome.index == index)
