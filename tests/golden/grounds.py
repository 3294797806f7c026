# SPDX-License-Identifier: Apache-2.0
"""Data sets in files: Delta lakes, Parquet, time zones, values and files that are damaged."""

import copy
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, orc

from tests.golden import orders
from tests.golden.places import Place, halves
from tests.scenario_folders import (
    FOLDERS,
    Scenario,
    corrupted,
    read_scenario,
    write_lake,
    write_together,
)

LAKE = {"lake": {"kind": "delta", "path": "./lake"}}
FILES = {"files": {"kind": "spark", "format": "parquet", "path": "./files"}}
_BIGINT = {"type": "bigint", "nullable": False}


# ----------------------------------------------------------------------------- scenario folders


def scenarios(place: Place, store: str, *, healthy: bool = False) -> None:
    """All scenario folders in one catalog."""
    found = [s for s in _scenarios() if "error" not in s.expected]
    rows = [(s, s.healthy if healthy else corrupted(s.healthy, s.steps)) for s in found]
    write_together(rows, store, place.directory)


def refused_scenarios(place: Place, store: str) -> None:
    """The folders that cannot be checked, each with a catalog of its own."""
    for scenario in _scenarios():
        if "error" in scenario.expected:
            directory = place.directory / scenario.name
            directory.mkdir()
            write_lake(scenario, corrupted(scenario.healthy, scenario.steps), store, directory)


def refused_names() -> list[str]:
    return [scenario.name for scenario in _scenarios() if "error" in scenario.expected]


def _scenarios() -> list[Scenario]:
    return [read_scenario(path) for path in sorted(FOLDERS.iterdir()) if path.is_dir()]


# ----------------------------------------------------------------------------- orders in files


def delta_orders(place: Place) -> None:
    """Damaged orders, in two commits a relation."""
    for relation, table in orders.damaged().tables().items():
        place.write_delta(f"lake/{relation}", *halves(table))
    place.write_catalog(LAKE, {"orders": orders.described("lake")})


def sound_delta_orders(place: Place) -> None:
    for relation, table in orders.sound().tables().items():
        place.write_delta(f"lake/{relation}", table)
    place.write_catalog(LAKE, {"orders": orders.described("lake")})


def parquet_orders(place: Place) -> None:
    """Damaged orders, one of them twice, with an index that only Spark SQL understands."""
    damaged = orders.damaged()
    damaged.rows.append(copy.deepcopy(damaged.rows[199]))
    for relation, table in damaged.tables().items():
        place.write_parquet(f"files/{relation}", *halves(table))
    lower = [
        {"email_lower": row["email"] and row["email"].lower(), "id": row["id"], "year": 2024}
        for row in damaged.rows
        if row["id"] != 5
    ]
    place.write_parquet("files/orders__by_lower", pa.Table.from_pylist(lower))
    described = orders.described("files")
    described["indexes"]["by_lower"] = {
        "columns": [
            {"expr": "lower(reverse(reverse(email)))", "as": "email_lower", "type": "string"}
        ]
    }
    place.write_catalog(FILES, {"orders": described})


def spread_orders(place: Place) -> None:
    """The table in Delta, partitioned; its indexes in Parquet files, of an older version."""
    tables = orders.damaged().tables()
    place.write_delta("lake/orders", *halves(tables["orders"]), partition_by=["status"])
    for relation, table in tables.items():
        if relation != "orders":
            place.write_parquet(f"files/{relation}", table)
    described = orders.described("lake")
    for index in described["indexes"].values():
        index["store"] = "files"
    described["indexes"]["open_orders"]["reflects"] = {"version": 0}
    place.write_catalog(LAKE | FILES, {"orders": described})


def text_orders(place: Place) -> None:
    """The same in formats that only Spark reads: CSV, lines of JSON, and ORC."""
    writers = {"csv": _write_csv, "json": _write_json, "orc": orc.write_table}
    stores: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for format_, write in writers.items():
        options = {"header": "true"} if format_ == "csv" else {}
        stores[format_] = {"kind": "spark", "format": format_, "path": f"./{format_}"}
        stores[format_] |= {"options": options} if options else {}
        tables[f"orders_{format_}"] = orders.described(format_, relation="orders")
        for index, described in tables[f"orders_{format_}"]["indexes"].items():
            described["relation"] = f"orders__{index}"
        for relation, table in orders.damaged().tables().items():
            directory = place.directory / format_ / relation
            directory.mkdir(parents=True)
            write(table, str(directory / f"part-0.{format_}"))
    place.write_catalog(stores, tables)


def _write_csv(table: pa.Table, file: str) -> None:
    csv.write_csv(table, file)


def _write_json(table: pa.Table, file: str) -> None:
    lines = (json.dumps(row, default=str) for row in table.to_pylist())
    Path(file).write_text("\n".join(lines) + "\n", "utf-8")


def lagging_orders(place: Place) -> None:
    """Indexes of a Delta table that show older versions of it, each known in another way."""
    table = orders.sound().tables()["orders"]
    place.write_delta("lake/orders", *halves(table))
    first = orders.sound(orders.COUNT // 2).tables()
    place.write_delta("lake/orders__by_customer", first["orders__by_customer"])
    by_email = first["orders__by_email"]
    shown = pa.array([0] * len(by_email), pa.int64())
    place.write_delta("lake/orders__by_email", by_email.append_column("source_version", shown))
    place.write_delta("lake/orders__open_orders", first["orders__open_orders"].slice(1))
    described = orders.described("lake")
    indexes = described["indexes"]
    indexes["by_customer"]["reflects"] = {"time": "2024-05-01T00:30:00Z"}
    indexes["by_email"]["reflects"] = {"column": "source_version"}
    place.write_catalog(LAKE, {"orders": described})


# ----------------------------------------------------------------------------- time zones


def time_zones(place: Place) -> None:
    """Days by the clocks of three zones; the index of each was made by those of Berlin."""
    rows = [
        {"id": n, "at": datetime(2024, 3, 30, 17, tzinfo=UTC) + timedelta(minutes=47 * n)}
        for n in range(1, 40)
    ]
    summer = datetime(2024, 3, 31, 1, tzinfo=UTC)
    entries = [
        {"day": (r["at"] + timedelta(hours=1 + (r["at"] >= summer))).date(), "id": r["id"]}
        for r in rows
    ]
    zones = {"berlin": "Europe/Berlin", "nepal": "Asia/Kathmandu", "utc": None}
    tables: dict[str, Any] = {}
    for name, zone in zones.items():
        at = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", tz="UTC"))])
        day = pa.schema([("day", pa.date32()), ("id", pa.int64())])
        place.write_delta(f"lake/{name}", pa.Table.from_pylist(rows, at))
        place.write_delta(f"lake/{name}__by_day", pa.Table.from_pylist(entries, day))
        tables[name] = {
            "store": "lake",
            "columns": {"id": _BIGINT, "at": {"type": "timestamp"}},
            "primary_key": ["id"],
            "indexes": {"by_day": {"columns": [{"expr": "to_date(at)", "as": "day"}]}},
        } | ({"time_zone": zone} if zone else {})
    place.write_catalog(LAKE, tables)


# ----------------------------------------------------------------------------- damaged values


def damaged_values(place: Place) -> None:
    """Values that cannot be: NULL in a column that has none, bad UTF-8, too many digits."""
    names = [f"name {n}".encode() for n in range(30)]
    names[11] = b"caf\xe9 \xff"
    prices: list[Any] = [Decimal(n * 25).scaleb(-2) for n in range(30)]
    prices[23] = Decimal("12345.67")
    days: list[Any] = [date(2024, 1, 1) + timedelta(days=n) for n in range(30)]
    table = pa.table(
        {
            "id": pa.array(range(30), pa.int64()),
            "code": pa.array([None if n in (4, 19) else n % 7 for n in range(30)], pa.int32()),
            "name": pa.Array.from_buffers(pa.string(), 30, pa.array(names).buffers()),
            "price": pa.array(prices, pa.decimal128(10, 2)),
            "day": pa.array(days, pa.date32()),
        }
    )
    columns = {
        "id": _BIGINT,
        "code": {"type": "int", "nullable": False},
        "name": {"type": "string"},
        "price": {"type": "decimal(4,2)"},
        "day": {"type": "date"},
    }
    by_code = table.select(["code", "id"])
    described = {
        "store": "files",
        "columns": columns,
        "primary_key": ["id"],
        "indexes": {"by_code": {"columns": ["code"]}, "by_name": {"columns": ["name"]}},
    }
    place.write_parquet("files/goods", *halves(table))
    place.write_parquet("files/goods__by_code", by_code.slice(1))
    place.write_parquet("files/goods__by_name", table.select(["name", "id"]))
    # Delta's writer refuses text that is not UTF-8.
    whole = pa.array([f"name {n}" for n in range(30)])
    place.write_delta("lake/goods", table.set_column(2, "name", whole))
    place.write_delta("lake/goods__by_code", by_code.slice(1))
    del described["indexes"]["by_name"]
    in_lake = copy.deepcopy(described) | {"store": "lake", "relation": "goods"}
    described["indexes"]["by_name"] = {"columns": ["name"]}
    in_lake["indexes"]["by_code"]["relation"] = "goods__by_code"
    place.write_catalog(LAKE | FILES, {"goods": described, "goods_in_lake": in_lake})


# ----------------------------------------------------------------------------- damaged files


def unreadable_files(place: Place) -> None:
    """A file of the table cut off, a file of an index gone, and a sound table beside them."""
    damaged = orders.damaged(80 + 160).tables()
    tables: dict[str, Any] = {}
    for name in ("cut", "gone", "whole"):
        tables[name] = orders.described("files", relation=f"{name}/orders")
        for index, options in tables[name]["indexes"].items():
            options["relation"] = f"{name}/orders__{index}"
        for relation, table in damaged.items():
            place.write_parquet(f"files/{name}/{relation}", *halves(table))
    cut = place.directory / "files/cut/orders/part-1.parquet"
    cut.write_bytes(cut.read_bytes()[:-20])
    for relation, table in damaged.items():
        place.write_delta(f"lake/{relation}", *halves(table))
    tables["in_lake"] = orders.described("lake", relation="orders")
    for index, options in tables["in_lake"]["indexes"].items():
        options["relation"] = f"orders__{index}"
    _first_file(place.directory / "lake/orders__by_customer").unlink()
    spoiled = place.directory / "files/gone/orders__by_email/part-0.parquet"
    spoiled.write_text("no Parquet at all")
    place.write_catalog(LAKE | FILES, tables)


def _first_file(relation: Path) -> Path:
    return min(relation.glob("*.parquet"))


# ----------------------------------------------------------------------------- following


def orders_to_follow(place: Place) -> None:
    """A Delta table without a defect, and indexes that are not built yet."""
    tables = orders.sound(90).tables()
    place.write_delta("lake/orders", *halves(tables["orders"]))
    described = orders.described("lake")
    described["indexes"]["by_status"] = {"columns": ["status"], "unique": True}
    place.write_catalog(LAKE, {"orders": described})


def write_more_orders(place: Place) -> None:
    """Two further commits of the table: new rows, and some that go."""
    from deltalake import write_deltalake

    table = orders.as_table([orders.order(n) for n in range(91, 96)], *orders.TYPES)
    write_deltalake(place.directory / "lake/orders", table, mode="append")
    place.delta("lake/orders").delete("id IN (3, 6)")


# ----------------------------------------------------------------------------- what is refused


def mistakes(place: Place) -> None:
    """A catalog that can be read, of relations that cannot; and two that cannot be read."""
    tables = orders.damaged().tables()
    place.write_delta("lake/orders", tables["orders"])
    place.write_delta("lake/orders__by_customer", tables["orders__by_customer"])
    narrow = tables["orders__by_customer"].drop_columns(["status"])
    place.write_delta("lake/narrow__by_customer", narrow)
    other = tables["orders__by_email"].set_column(
        1, "id", pa.array([str(v) for v in tables["orders__by_email"]["id"].to_pylist()])
    )
    place.write_delta("lake/other__by_email", other)
    (place.directory / "lake/empty").mkdir()
    by_customer, by_email = orders.INDEXES["by_customer"], orders.INDEXES["by_email"]
    described = {
        "orders": orders.described("lake", indexes={"by_customer": by_customer}),
        "lost": orders.described("lake"),
        "narrow": orders.described(
            "lake",
            relation="orders_2",
            indexes={"by_customer": by_customer},
        ),
        "other": orders.described("lake", relation="orders_3", indexes={"by_email": by_email}),
        "wrong_type": orders.described("lake", relation="orders_4", indexes={}),
        "elsewhere": orders.described("unset"),
    }
    for number in (2, 3, 4):
        place.write_delta(f"lake/orders_{number}", tables["orders"])
    described["wrong_type"]["columns"]["customer_id"]["type"] = "date"
    stores = LAKE | {"unset": {"kind": "delta", "path": "${SCRUB_GOLDEN_NOT_SET}"}}
    place.write_catalog(stores, described)
    (place.directory / "not_yaml.yaml").write_text("tables: [unclosed\n")
    wrong = {
        "version": 1,
        "stores": LAKE,
        "tables": {
            "orders": orders.described("lakes")
            | {"indexes": {"by_customer": {"columns": ["custmer_id"], "uniqe": True}}}
        },
    }
    (place.directory / "wrong.yaml").write_text(json.dumps(wrong, indent=1))
