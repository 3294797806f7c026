# SPDX-License-Identifier: Apache-2.0
"""The physical check of key-value pairs: three shapes, beside the per-datum reference of the tests.

The pairs of a shape are primary rows and entries of one index, as the codec writes them.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.answers import demand
from scrub.app.checking.tables import run_check
from scrub.codec.kv.arrow_columns import datums_of
from scrub.codec.kv.judging import judge
from scrub.codec.kv.layouts import Layout, layout_of
from scrub.codec.kv.rows import encode
from scrub.model.kv import DatumKind, DatumType, Family, KeyPart, KvColumn, KvIndex, KvTable
from scrub.model.request import CheckRequest
from scrub.model.result import Status

BATCH = 32_768
REFERENCE_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of table, and how its rows are made."""

    name: str
    table: KvTable
    catalog_types: dict[str, str]
    rows: Callable[[int, int], dict[str, pa.Array]]


def _table(kinds: dict[str, DatumKind], primary_key: list[int], indexed: list[int]) -> KvTable:
    columns = tuple(
        KvColumn(number, name, DatumType(kind), nullable=number not in primary_key)
        for number, (name, kind) in enumerate(kinds.items(), start=1)
    )
    stored = [c.id for c in columns if c.id not in primary_key and c.id not in indexed]
    suffix = tuple(column for column in primary_key if column not in indexed)
    index = KvIndex(2, "by", tuple(KeyPart(c) for c in indexed), suffix, tuple(stored))
    every = tuple(column.id for column in columns)
    parts = tuple(KeyPart(column) for column in primary_key)
    return KvTable(52, "t", columns, parts, (Family(0, every),), (index,))


def _ints(first: int, rows: int) -> dict[str, pa.Array]:
    ids = np.arange(first, first + rows, dtype=np.int64)
    return {
        "id": pa.array(ids),
        "customer": pa.array(ids * 7919 % 100_003),
        "status": pa.array(ids % 5),
    }


def _strings(first: int, rows: int) -> dict[str, pa.Array]:
    ids = np.arange(first, first + rows)
    return {
        "id": pa.array(np.char.add("order-", ids.astype(str))),
        "email": pa.array(np.char.add(np.char.add("user", (ids % 50_021).astype(str)), "@x.org")),
        "status": pa.array(np.array(["open", "paid", "sent"])[ids % 3]),
    }


def _decimals(first: int, rows: int) -> dict[str, pa.Array]:
    amounts = np.arange(first, first + rows) * 5
    numbers = pa.array(amounts, pa.int64()).cast(pa.decimal128(19, 0))
    scaled = pa.compute.multiply(numbers, pa.scalar(Decimal("0.01"), pa.decimal128(3, 2)))
    return {
        "amount": scaled.cast(pa.decimal128(24, 2)),
        "id": pa.array(np.arange(first, first + rows, dtype=np.int64)),
        "rate": pa.array(np.where(amounts % 3 == 0, -0.0, amounts / 7)),
    }


SHAPES = (
    Shape(
        "int keys",
        _table({"id": DatumKind.INT, "customer": DatumKind.INT, "status": DatumKind.INT}, [1], [2]),
        {"id": "bigint", "customer": "bigint", "status": "bigint"},
        _ints,
    ),
    Shape(
        "string keys",
        _table(
            {"id": DatumKind.BYTES, "email": DatumKind.BYTES, "status": DatumKind.BYTES}, [1], [2]
        ),
        {"id": "string", "email": "string", "status": "string"},
        _strings,
    ),
    Shape(
        "decimal keys, composite",
        _table(
            {"amount": DatumKind.DECIMAL, "id": DatumKind.INT, "rate": DatumKind.FLOAT},
            [1, 2],
            [3],
        ),
        {"amount": "decimal(24,2)", "id": "bigint", "rate": "double"},
        _decimals,
    ),
)


def batches(shape: Shape, pairs: int) -> list[tuple[pa.Array, pa.Array]]:
    """Pairs of a shape, half rows and half entries, in batches as tasks get them."""
    layout = layout_of([shape.table])
    made: list[tuple[pa.Array, pa.Array]] = []
    rows_left, first = pairs // 2, 0
    while rows_left > 0:
        rows = min(rows_left, BATCH)
        datums = datums_of(shape.table, shape.rows(first, rows))
        made += [encode(layout, index, datums) for index in (0, 1)]
        first, rows_left = first + rows, rows_left - rows
    return made


def judge_all(layout: Layout, made: list[tuple[pa.Array, pa.Array]]) -> None:
    """The physical check of all pairs, in this process and on one core."""
    for keys, values in made:
        demand("bad pairs", judge(layout, keys, values), [])


def reference_seconds_per_pair(shape: Shape, made: list[tuple[pa.Array, pa.Array]]) -> float:
    """How long the tests' reference takes, on some of the pairs."""
    from tests.scrub.codec.kv.reference_pairs import classify_pair

    keys = [key for of in made[:2] for key in of[0].to_pylist()][:REFERENCE_PAIRS]
    values = [value for of in made[:2] for value in of[1].to_pylist()][:REFERENCE_PAIRS]
    began = time.perf_counter()
    for key, value in zip(keys, values, strict=True):
        demand("verdict of the reference", classify_pair(shape.table, key, value), None)
    return (time.perf_counter() - began) / len(keys)


def write_lake(directory: Path, shape: Shape, made: list[tuple[pa.Array, pa.Array]]) -> Path:
    """The pairs as Parquet, with a catalog; made once."""
    catalog = directory / "scrub.yaml"
    if catalog.exists():
        return catalog
    (directory / "t").mkdir(parents=True, exist_ok=True)
    per_file = -(-len(made) // 8)
    for number in range(0, len(made), per_file):
        tables = [
            pa.table({"key": keys.cast(pa.binary()), "value": values.cast(pa.binary())})
            for keys, values in made[number : number + per_file]
        ]
        pq.write_table(pa.concat_tables(tables), directory / "t" / f"{number:05}.parquet")
    columns = {
        column.name: {"type": shape.catalog_types[column.name], "nullable": column.nullable}
        for column in shape.table.columns
    }
    (index,) = shape.table.indexes
    by_id = shape.table.by_id
    table = {
        "store": "files",
        "layout": "kv",
        "table_id": 52,
        "columns": columns,
        "primary_key": [by_id[part.column].name for part in shape.table.primary_key],
        "indexes": {
            "by": {
                "index_id": 2,
                "columns": [by_id[part.column].name for part in index.parts],
                "storing": [by_id[column].name for column in index.stored],
            }
        },
    }
    stores = {"files": {"kind": "spark", "format": "parquet", "path": "."}}
    text = json.dumps({"version": 1, "stores": stores, "tables": {"t": table}})
    catalog.write_text(text)
    return catalog


def check_lake(spark: SparkSession, catalog: Path, checks: tuple[str, ...]) -> None:
    """The check as a user runs it, in a warm session."""
    result = run_check(CheckRequest(catalog=catalog, checks=checks, fresh=True), spark=spark)
    demand("status of the pairs", result.status, Status.CLEAN)
