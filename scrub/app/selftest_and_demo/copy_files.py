# SPDX-License-Identifier: Apache-2.0
"""Copies of tables as Parquet files, with a catalog that describes them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from scrub.app.selftest_and_demo.table_copy import TableCopy
from scrub.model.table import EntryColumn, Index, Nulls, Table

_FILES = 2  # so that two tasks have something to do


def write_copies(copies: Sequence[TableCopy], directory: Path) -> Path:
    """Write every relation and `scrub.yaml`, whose path is returned."""
    tables: dict[str, Any] = {}
    for number, copy in enumerate(copies):
        # Numbers, not names: a name may hold what no file system takes.
        relations = [f"{number}/index_{n}" for n in range(len(copy.table.indexes))]
        tables[copy.table.name] = _describe(copy.table, f"{number}/table", relations)
        _write(copy.rows, directory / f"{number}/table")
        for index, relation in zip(copy.table.indexes, relations, strict=True):
            _write(copy.entries[index.name], directory / relation)
    store = {"kind": "spark", "format": "parquet", "path": "."}
    catalog = {"version": 1, "stores": {"copies": store}, "tables": tables}
    path = directory / "scrub.yaml"
    path.write_text(yaml.safe_dump(catalog, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def _write(relation: pa.Table, directory: Path) -> None:
    directory.mkdir(parents=True)
    rows_each = max(1, -(-relation.num_rows // _FILES))
    for number, start in enumerate(range(0, max(1, relation.num_rows), rows_each)):
        part = relation.slice(start, rows_each)
        pq.write_table(part, directory / f"part-{number}.parquet", store_schema=False)


def _describe(table: Table, relation: str, relations: Sequence[str]) -> dict[str, Any]:
    return {
        "store": "copies",
        "relation": relation,
        "columns": {column.name: {"type": str(column.type)} for column in table.columns},
        "primary_key": list(table.primary_key),
        "time_zone": table.time_zone,
        "indexes": {
            index.name: dict(_describe_index(index, of_index))
            for index, of_index in zip(table.indexes, relations, strict=True)
        },
    }


def _describe_index(index: Index, relation: str) -> Iterator[tuple[str, Any]]:
    yield "relation", relation
    yield "columns", [_describe_column(column) for column in index.key]
    if index.stored:
        yield "storing", [_describe_column(column) for column in index.stored]
    if index.unique:
        yield "unique", True
    if index.where is not None:
        yield "where", index.where
    if index.nulls is Nulls.SKIP:
        yield "nulls", index.nulls.value


def _describe_column(column: EntryColumn) -> str | dict[str, str]:
    order = {"order": "desc"} if column.descending else {}
    if column.is_expression:
        return {"expr": column.source, "as": column.name, "type": str(column.type), **order}
    return {"column": column.name, **order} if order else column.name
