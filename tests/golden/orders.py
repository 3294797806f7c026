# SPDX-License-Identifier: Apache-2.0
"""Orders and the entries of their indexes as plain Python values, sound or with known defects."""

import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

Row = dict[str, Any]

COUNT = 240
FIRST_MOMENT = datetime(2024, 3, 30, 20, 0, tzinfo=UTC)  # before the clocks of Europe change
TYPES = {
    "id": "bigint",
    "customer_id": "bigint",
    "email": "string",
    "status": "string",
    "amount": "decimal(10,2)",
    "at": "timestamp",
}
INDEXES: dict[str, dict[str, Any]] = {
    "by_customer": {
        "columns": ["customer_id", {"column": "amount", "order": "desc"}],
        "storing": ["status"],
    },
    "by_email": {"columns": ["email"], "unique": True},
    "open_orders": {"columns": ["customer_id"], "where": "status = 'open'", "nulls": "skip"},
}
RELATIONS = ("orders", *(f"orders__{name}" for name in INDEXES))
_ARROW = {
    "id": pa.int64(),
    "customer_id": pa.int64(),
    "email": pa.string(),
    "status": pa.string(),
    "amount": pa.decimal128(10, 2),
    "at": pa.timestamp("us", tz="UTC"),
}
_ENTRIES = {
    "by_customer": ("customer_id", "amount", "id", "status"),
    "by_email": ("email", "id"),
    "open_orders": ("customer_id", "id"),
}


@dataclass
class Orders:
    """The rows, and the entries of each index."""

    rows: list[Row]
    entries: dict[str, list[Row]]

    def tables(self) -> dict[str, pa.Table]:
        """Every relation as Arrow, by its name."""
        named = {"orders": as_table(self.rows, *_ARROW)}
        for index, entries in self.entries.items():
            named[f"orders__{index}"] = as_table(entries, *_ENTRIES[index])
        return named


def order(number: int) -> Row:
    return {
        "id": number,
        "customer_id": None if number % 19 == 0 else number % 23,
        "email": None if number % 31 == 0 else f"User{number}@example.org",
        "status": ("open", "paid", "sent")[number % 3],
        "amount": Decimal(number * 37 % 5_000).scaleb(-2),
        "at": FIRST_MOMENT + timedelta(minutes=11 * number),
    }


def sound(count: int = COUNT) -> Orders:
    rows = [order(number) for number in range(1, count + 1)]
    return Orders(rows, {index: entries_of(index, rows) for index in INDEXES})


def entries_of(index: str, rows: list[Row]) -> list[Row]:
    if index == "open_orders":
        rows = [r for r in rows if r["status"] == "open" and r["customer_id"] is not None]
    entries = [{name: row[name] for name in _ENTRIES[index]} for row in rows]
    return copy.deepcopy(entries)


def damaged(count: int = COUNT) -> Orders:
    """Every defect that an index of columns can have, two lost rows, and a shared unique key."""
    orders = sound(count)
    by_customer, by_email = orders.entries["by_customer"], orders.entries["by_email"]
    _without(by_customer, 17)
    _entry(by_customer, 42)["status"] = "lost"
    by_customer.append(copy.deepcopy(_entry(by_customer, 60)))
    by_customer.append(_of(order(1_005), "by_customer"))
    _entry(by_customer, 81)["customer_id"] = 22
    _without(by_email, 33)
    _entry(by_email, 90)["email"] = "somebody@example.org"
    orders.entries["open_orders"].append(_of(order(1), "open_orders"))
    orders.rows[70]["email"] = orders.rows[69]["email"]  # orders 70 and 71
    _entry(by_email, 71)["email"] = orders.rows[69]["email"]
    _without(orders.rows, 120)  # told by two indexes or more
    _without(orders.rows, 150)
    return orders


def as_table(rows: list[Row], *names: str) -> pa.Table:
    schema = pa.schema([(name, _ARROW[name]) for name in names])
    return pa.Table.from_pylist(rows, schema=schema)


def described(store: str, **more: Any) -> dict[str, Any]:
    """The table as a catalog describes it."""
    columns = {name: {"type": type_, "nullable": name != "id"} for name, type_ in TYPES.items()}
    described = {"store": store, "columns": columns, "primary_key": ["id"], "indexes": INDEXES}
    return copy.deepcopy(described) | more


def _of(row: Row, index: str) -> Row:
    return {name: row[name] for name in _ENTRIES[index]}


def _entry(entries: list[Row], number: int) -> Row:
    return next(entry for entry in entries if entry["id"] == number)


def _without(rows: list[Row], number: int) -> None:
    rows.remove(_entry(rows, number))
