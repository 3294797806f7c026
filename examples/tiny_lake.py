# SPDX-License-Identifier: Apache-2.0
"""Makes the lake of the README: some orders, one index, and four defects in it.

python examples/tiny_lake.py DIR [ROWS]
cd DIR && scrub check table orders
"""

import sys
from itertools import count, islice
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

CATALOG = """\
version: 1
stores:
  lake: {kind: delta, path: ./lake}
tables:
  orders:
    store: lake
    columns:
      id:          {type: bigint, nullable: false}
      customer_id: {type: bigint}
      status:      {type: string}
    primary_key: [id]
    indexes:
      by_customer: {columns: [customer_id, id], storing: [status]}
"""
ROWS_DEFAULT = 1000
CUSTOMERS = 97
STATUSES = ("open", "paid", "sent")
LOST, CHANGED, TWICE, LEFT_BEHIND = 17, 42, 512, 100_001  # ids of orders

Row = dict[str, int | str]


def make_orders(rows: int) -> list[Row]:
    """Orders 1, 2, 3, ... without LEFT_BEHIND, spread over customers and statuses."""
    return [
        {"id": n, "customer_id": n * 7919 % CUSTOMERS + 1, "status": STATUSES[n % len(STATUSES)]}
        for n in islice((n for n in count(1) if n != LEFT_BEHIND), rows)
    ]


def damage(entries: list[Row]) -> list[Row]:
    """One entry lost, one changed, one left behind by a deleted row, one there twice."""
    kept = [dict(entry) for entry in entries if entry["id"] != LOST]
    for entry in kept:
        if entry["id"] == CHANGED:
            entry["status"] = "cancelled"
    left_behind: Row = {"id": LEFT_BEHIND, "customer_id": 12, "status": "open"}
    twice = next(entry for entry in entries if entry["id"] == TWICE)
    return [*kept, left_behind, dict(twice)]


def make_lake(directory: Path, rows: int = ROWS_DEFAULT) -> Path:
    """Write the table, its damaged index and the catalog; return the catalog's path."""
    if rows < TWICE:
        raise SystemExit(f"{rows} rows are too few: at least {TWICE} are needed for every defect")
    orders = make_orders(rows)
    directory.mkdir(parents=True, exist_ok=True)
    write_deltalake(str(directory / "lake" / "orders"), pa.Table.from_pylist(orders))
    entries = pa.Table.from_pylist(damage(orders))
    write_deltalake(str(directory / "lake" / "orders__by_customer"), entries)
    catalog = directory / "scrub.yaml"
    catalog.write_text(CATALOG, encoding="utf-8")
    return catalog


if __name__ == "__main__":
    make_lake(Path(sys.argv[1]), *map(int, sys.argv[2:]))
    print(f"now: cd {sys.argv[1]} && scrub check table orders")  # noqa: T201 - it is a script
