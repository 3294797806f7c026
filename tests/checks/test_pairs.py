# SPDX-License-Identifier: Apache-2.0
"""Checks of tables in key-value layout: pairs written by the reference, damaged, and found."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scrub.app import run_check
from scrub.app.pairs import decoded_pairs, encode_table
from scrub.catalog import load_catalog
from scrub.model.defect import DefectKind
from scrub.model.kv import KvTable
from scrub.model.request import CheckRequest
from scrub.model.result import RunResult, Status
from tests.kv.reference_pairs import encode_entry, encode_row, encode_value

pytestmark = pytest.mark.spark

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


def write_catalog(directory: Path, families: dict[str, Any]) -> Path:
    pairs = {
        "store": "files",
        "layout": "kv",
        "table_id": 52,
        "columns": COLUMNS,
        "primary_key": ["id"],
        "indexes": INDEXES,
    }
    if families:
        pairs["families"] = families
    rows = {"store": "files", "columns": COLUMNS, "primary_key": ["id"]}
    stores = {"files": {"kind": "spark", "format": "parquet", "path": "."}}
    catalog = {"version": 1, "stores": stores, "tables": {"pairs": pairs, "rows": rows}}
    path = directory / "scrub.yaml"
    path.write_text(json.dumps(catalog))
    return path


def row(number: int) -> dict[int, Any]:
    return {
        1: number,
        2: None if number % 7 == 0 else number % 13,
        3: b"user%d@example.org" % number,
        4: Decimal(number * 10).scaleb(-2),
        5: None if number % 5 == 0 else b"note %d" % number,
    }


def table_of(catalog: Path) -> KvTable:
    table = load_catalog(catalog).tables["pairs"].kv
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


def write_pairs(directory: Path, pairs: dict[str, list[Pair]], files: int = 3) -> None:
    (directory / "pairs").mkdir()
    flat = [pair for of in pairs.values() for pair in of]
    for number in range(files):
        part = flat[number::files]
        arrays = {"key": [key for key, _ in part], "value": [value for _, value in part]}
        schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
        table = pa.table(arrays, schema=schema)
        pq.write_table(table, directory / "pairs" / f"{number}.parquet")


def checked(catalog: Path, spark: Any) -> RunResult:
    return run_check(CheckRequest(catalog=catalog, tables=("pairs",)), spark=spark)


def counts(result: RunResult) -> dict[str | None, dict[DefectKind, int]]:
    return {outcome.index: dict(outcome.counts) for outcome in result.outcomes}


@pytest.mark.parametrize("families", [ONE_FAMILY, TWO_FAMILIES])
def test_pairs_that_agree_are_clean(tmp_path: Path, spark: Any, families: dict[str, Any]) -> None:
    catalog = write_catalog(tmp_path, families)
    write_pairs(tmp_path, all_pairs(table_of(catalog), 200))
    result = checked(catalog, spark)
    assert result.status is Status.CLEAN
    assert [(o.check, o.index) for o in result.outcomes] == [
        ("physical", None),
        ("index", "by_customer"),
        ("index", "by_email"),
    ]
    assert [o.rows for o in result.outcomes if o.check == "index"] == [200, 200]


@pytest.mark.parametrize("families", [ONE_FAMILY, TWO_FAMILIES])
def test_each_disagreement_is_found_once(
    tmp_path: Path, spark: Any, families: dict[str, Any]
) -> None:
    catalog = write_catalog(tmp_path, families)
    table = table_of(catalog)
    pairs = all_pairs(table, 200)
    by_customer, by_email = table.indexes
    (lost,) = stored(encode_entry(table, by_customer, row(8)))
    pairs["by_customer"].remove(lost)
    pairs["by_email"] += stored(encode_entry(table, by_email, row(777)))
    (old,) = stored(encode_entry(table, by_customer, row(9)))
    pairs["by_customer"].remove(old)
    pairs["by_customer"] += stored(encode_entry(table, by_customer, row(9) | {5: b"other"}))
    pairs["by_email"].append(pairs["by_email"][3])
    write_pairs(tmp_path, pairs)
    result = checked(catalog, spark)
    assert counts(result) == {
        None: {},
        "by_customer": {DefectKind.MISSING: 1, DefectKind.WRONG_STORED_VALUE: 1},
        "by_email": {DefectKind.DANGLING: 1, DefectKind.DUPLICATE_ENTRY: 1},
    }
    missing = next(d for d in result.defects if d.kind is DefectKind.MISSING)
    assert missing.primary_key == {"id": 8}
    assert missing.index_key == {"customer_id": 8, "amount": "0.80"}
    wrong = next(d for d in result.defects if d.kind is DefectKind.WRONG_STORED_VALUE)
    assert wrong.differing_columns == ("note",)


def test_rows_that_share_a_unique_key_are_each_named(tmp_path: Path, spark: Any) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    table = table_of(catalog)
    pairs = all_pairs(table, 50)
    twin = row(60) | {3: row(4)[3]}
    pairs["primary"] += stored(encode_row(table, twin))
    pairs["by_customer"] += stored(encode_entry(table, table.indexes[0], twin))
    write_pairs(tmp_path, pairs)
    result = checked(catalog, spark)
    assert counts(result)["by_email"] == {DefectKind.UNIQUE_VIOLATION: 2}
    assert {d.primary_key["id"] for d in result.defects if d.primary_key} == {4, 60}


def test_bytes_that_are_wrong_are_reported_where_they_are(tmp_path: Path, spark: Any) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    table = table_of(catalog)
    pairs = all_pairs(table, 100)
    key, value = pairs["by_email"][17]
    pairs["by_email"][17] = (key, value[:-1] + bytes([value[-1] ^ 1]))
    foreign = bytes.fromhex("bd898a88")
    pairs["primary"].append((foreign, encode_value(foreign, b"\x0a")))
    # 8 spelled with a length of one byte too many, under a checksum that is right.
    key = pairs["primary"][11][0]
    padded = key[:2] + b"\xf6" + bytes([key[2] - 0x88]) + key[3:]
    payload = pairs["primary"][11][1][4:]
    pairs["primary"][11] = (padded, encode_value(padded, payload))
    write_pairs(tmp_path, pairs)
    result = checked(catalog, spark)
    assert counts(result)[None] == {
        DefectKind.INVALID_ENCODING: 1,
        DefectKind.NONCANONICAL: 1,
        DefectKind.UNEXPECTED_KEY: 1,
    }
    invalid = next(d for d in result.defects if d.kind is DefectKind.INVALID_ENCODING)
    assert invalid.key_hex == pairs["by_email"][17][0].hex()
    assert invalid.detail == "value byte 0: expected another checksum"
    email = next(o for o in result.outcomes if o.index == "by_email")
    assert email.counts == {}
    assert email.undecided == 1, "the entry that cannot be read may be the one that is missing"
    assert email.status is Status.INCOMPLETE
    assert counts(result)["by_customer"] == {}


def test_a_row_without_its_first_family_is_reported(tmp_path: Path, spark: Any) -> None:
    catalog = write_catalog(tmp_path, TWO_FAMILIES)
    table = table_of(catalog)
    pairs = all_pairs(table, 40)
    (first, *_) = stored(encode_row(table, row(12)))
    pairs["primary"].remove(first)
    write_pairs(tmp_path, pairs)
    result = checked(catalog, spark)
    assert counts(result)[None] == {DefectKind.MISSING_FAMILY: 1}


def test_only_the_latest_version_of_a_pair_counts(tmp_path: Path, spark: Any) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    table = table_of(catalog)
    pairs = [pair for of in all_pairs(table, 30).values() for pair in of]
    gone = encode_entry(table, table.indexes[1], row(500))[0][0]
    versions = [(key, value, 2) for key, value in pairs]
    versions += [(key, b"\x00", 1) for key, _ in pairs[:10]]
    versions += [(gone, encode_value(gone, b"\x03\x88"), 1), (gone, None, 3)]
    (tmp_path / "pairs").mkdir()
    keys, values, stamps = (list(column) for column in zip(*versions, strict=True))
    table_of_versions = pa.table(
        {"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary()), "ts": stamps}
    )
    pq.write_table(table_of_versions, tmp_path / "pairs" / "0.parquet")
    assert checked(catalog, spark).status is Status.CLEAN


def test_rows_written_as_pairs_are_the_reference_s_and_read_well(
    tmp_path: Path, spark: Any
) -> None:
    catalog = write_catalog(tmp_path, TWO_FAMILIES)
    table = table_of(catalog)
    rows = [row(number) for number in range(60)]
    (tmp_path / "rows").mkdir()
    columns = {
        "id": pa.array([r[1] for r in rows], pa.int64()),
        "customer_id": pa.array([r[2] for r in rows], pa.int64()),
        "email": pa.array([r[3].decode() for r in rows]),
        "amount": pa.array([r[4] for r in rows], pa.decimal128(10, 2)),
        "note": pa.array([None if r[5] is None else r[5].decode() for r in rows]),
    }
    pq.write_table(pa.table(columns), tmp_path / "rows" / "0.parquet")
    encode_table(spark, load_catalog(catalog), "pairs", "rows", tmp_path / "pairs")
    written = pq.read_table(tmp_path / "pairs").to_pydict()
    expected = [pair for of in all_pairs(table, 60).values() for pair in of]
    assert sorted(zip(written["key"], written["value"], strict=True)) == sorted(expected)
    lines = [r["line"] for r in decoded_pairs(spark, load_catalog(catalog), "pairs").collect()]
    assert '/pairs/by_customer/8/"0.80"/8:0 -> {note: "note 8"}' in lines
    assert not [line for line in lines if "!" in line]


def test_an_index_on_a_collated_column_is_not_compared_and_says_so(
    tmp_path: Path, spark: Any
) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    text = json.loads(catalog.read_text())
    text["tables"]["pairs"]["columns"]["email"]["type"] = "collated string"
    catalog.write_text(json.dumps(text))
    write_pairs(tmp_path, {"primary": []}, files=1)
    result = checked(catalog, spark)
    by_email = next(outcome for outcome in result.outcomes if outcome.index == "by_email")
    assert by_email.status is Status.NOT_APPLICABLE
    assert "collation keys" in (by_email.reason or "")
