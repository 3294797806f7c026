# SPDX-License-Identifier: Apache-2.0
"""A small lake: twelve orders in four files, two indexes, and ways to damage them."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

ORDERS = pa.table(
    {
        "id": pa.array(range(1, 13), pa.int64()),
        "customer_id": pa.array([number % 5 for number in range(1, 13)], pa.int64()),
        "status": ["open", "paid", "sent"] * 4,
        "qty": pa.array([number % 4 for number in range(1, 13)], pa.int32()),
    }
)
BY_CUSTOMER = ORDERS.select(["customer_id", "id", "status"])
BY_STATUS = ORDERS.select(["status", "id"])
FILES = 4
ROWS_PER_FILE = 3
DAMAGED_FILE = 1  # the one with orders 4, 5 and 6
COLUMNS = {"id": "bigint", "customer_id": "bigint", "status": "string", "qty": "int"}
INDEXES: Mapping[str, Any] = {
    "by_customer": {"columns": ["customer_id"], "storing": ["status"]},
    "by_status": {"columns": ["status"]},
}


def described(
    store: str = "files",
    indexes: Mapping[str, Any] = INDEXES,
    columns: Mapping[str, str] = COLUMNS,
) -> dict[str, Any]:
    """A table as the catalog has it."""
    return {
        "store": store,
        "columns": {name: {"type": type_} for name, type_ in columns.items()},
        "primary_key": ["id"],
        "indexes": dict(indexes),
    }


def write_catalog(directory: Path, **tables: Any) -> Path:
    stores = {
        "files": {"kind": "spark", "format": "parquet", "path": "./files"},
        "lake": {"kind": "delta", "path": "./lake"},
        "texts": {"kind": "spark", "format": "csv", "path": "./texts"},
    }
    for store in stores.values():
        (directory / store["path"]).mkdir(exist_ok=True)
    catalog = directory / "scrub.yaml"
    catalog.write_text(json.dumps({"version": 1, "stores": stores, "tables": tables}, indent=1))
    return catalog


def write_orders(
    root: Path,
    name: str = "orders",
    table: pa.Table = ORDERS,
    by_customer: pa.Table = BY_CUSTOMER,
    by_status: pa.Table = BY_STATUS,
) -> None:
    """The table and both indexes; below `lake` as Delta tables, else as Parquet files."""
    write = write_delta if root.name == "lake" else write_files
    write(root / name, table)
    write(root / f"{name}__by_customer", by_customer)
    write(root / f"{name}__by_status", by_status)


def write_files(relation: Path, table: pa.Table) -> None:
    relation.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(parts_of(table)):
        pq.write_table(part, relation / f"part-{number}.parquet")


def write_delta(relation: Path, table: pa.Table) -> None:
    for part in parts_of(table):
        write_deltalake(relation, part, mode="append")


def parts_of(table: pa.Table) -> Sequence[pa.Table]:
    """Three rows to a file; whatever is beyond twelve is in the last."""
    starts = [number * ROWS_PER_FILE for number in range(FILES)]
    return [table.slice(start, ROWS_PER_FILE) for start in starts[:-1]] + [table.slice(starts[-1])]


def damaged_file(relation: Path) -> Path:
    """The data file that holds orders 4, 5 and 6."""
    if not (relation / "_delta_log").exists():
        return relation / f"part-{DAMAGED_FILE}.parquet"
    added = pa.table(DeltaTable(relation).get_add_actions(flatten=True)).to_pylist()
    (path,) = [action["path"] for action in added if action["min.id"] == ROWS_PER_FILE + 1]
    return relation / path


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def not_parquet(file: Path) -> None:
    file.write_text("id,customer_id\n4,4\n")


def no_bytes(file: Path) -> None:
    file.write_bytes(b"")


def gone(file: Path) -> None:
    file.unlink()


def replaced(file: Path) -> None:
    """Another, healthy file of the same name, but not the one that was listed."""
    pq.write_table(pq.read_table(file), file, compression="none", use_dictionary=False)


def without(table: pa.Table, order: int) -> pa.Table:
    return table.filter(pa.array([value != order for value in table["id"].to_pylist()]))


def with_row(table: pa.Table, **values: Any) -> pa.Table:
    return pa.concat_tables([table, pa.Table.from_pylist([values], schema=table.schema)])


Damage = Callable[[Path], None]
