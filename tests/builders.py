# SPDX-License-Identifier: Apache-2.0
"""Small lakes for tests: an orders table, its index, and the catalog that describes them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from scrub.model.result import RunResult

ORDER_COLUMNS = {"id": "bigint", "customer_id": "bigint", "status": "string"}
BY_CUSTOMER = {"columns": ["customer_id"], "storing": ["status"]}


def orders(count: int) -> pa.Table:
    """Orders 0, 1, 2, ... of a hundred customers."""
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "customer_id": pa.array([number % 100 for number in range(count)], pa.int64()),
            "status": pa.array([("open", "paid", "sent")[n % 3] for n in range(count)]),
        }
    )


def entries_of(
    rows: pa.Table, columns: Sequence[str] = ("customer_id", "id", "status")
) -> pa.Table:
    """What an index over the rows holds, in the order of its key."""
    return rows.select(list(columns)).sort_by([(name, "ascending") for name in columns[:2]])


def write_catalog(
    directory: Path,
    indexes: Mapping[str, Mapping[str, Any]] | None = None,
    columns: Mapping[str, str] | None = None,
    store: Mapping[str, str] | None = None,
) -> Path:
    """A catalog of one table, `orders`, keyed by id; JSON is YAML.

    A type may be followed by NOT NULL.
    """
    table = {
        "store": "lake",
        "columns": {name: _column(kind) for name, kind in (columns or ORDER_COLUMNS).items()},
        "primary_key": ["id"],
        "indexes": {"by_customer": BY_CUSTOMER} if indexes is None else indexes,
    }
    stores = {"lake": dict(store or {"kind": "delta", "path": "."})}
    path = directory / "scrub.yaml"
    path.write_text(json.dumps({"version": 1, "stores": stores, "tables": {"orders": table}}))
    return path


def _column(kind: str) -> dict[str, Any]:
    name = kind.removesuffix(" NOT NULL")
    return {"type": name, "nullable": name == kind}


def delta_lake(directory: Path, rows: pa.Table, entries: pa.Table) -> Path:
    """A lake with `orders` and `orders__by_customer` as Delta tables; returns the catalog."""
    write_deltalake(str(directory / "orders"), rows)
    write_deltalake(str(directory / "orders__by_customer"), entries)
    return write_catalog(directory)


def parquet_lake(directory: Path, rows: pa.Table, entries: pa.Table, files: int) -> Path:
    """The same as Parquet, in several files a relation."""
    for name, table in (("orders", rows), ("orders__by_customer", entries)):
        (directory / name).mkdir()
        size = -(-len(table) // files) or 1
        for number in range(files):
            part = table.slice(number * size, size)
            pq.write_table(part, directory / name / f"{number:03}.parquet")
    return write_catalog(directory, store={"kind": "spark", "format": "parquet", "path": "."})


def found(result: RunResult) -> list[tuple[str, Any]]:
    """The defects of a result as (kind, primary key), in order."""
    return sorted(
        (defect.kind.value, *(defect.primary_key or {}).values()) for defect in result.defects
    )
