# SPDX-License-Identifier: Apache-2.0
"""A lake whose indexes hold days, hours and lower-cased names, as they are in one time zone."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from deltalake import write_deltalake

BEFORE_MIDNIGHT = datetime(2024, 3, 1, 23, 30, tzinfo=UTC)
# Casing that depends on the language: I and i with and without a dot, accents on them.
NAMES = ("TITLE", "İSTANBUL", "ISPARTAÉ", "Ì", "ıé")

BY_DAY = {"columns": [{"expr": "to_date(at)", "as": "day", "type": "date"}]}
BY_NAME = {"columns": [{"expr": "lower(name)", "as": "name_lower", "type": "string"}]}


def moments(count: int) -> list[datetime]:
    """Half past eleven in the evening of one day after the other: east of here, the next one."""
    return [BEFORE_MIDNIGHT + timedelta(days=number) for number in range(count)]


def events(at: Sequence[datetime]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(len(at)), pa.int64()),
            "at": pa.array(at, pa.timestamp("us", "UTC")),
            "name": pa.array([NAMES[number % len(NAMES)] for number in range(len(at))]),
        }
    )


def by_day(rows: pa.Table, zone: str) -> pa.Table:
    """What the index holds if days are those of a zone."""
    days = [moment.astimezone(ZoneInfo(zone)).date() for moment in rows.column("at").to_pylist()]
    return pa.table({"day": pa.array(days, pa.date32()), "id": rows.column("id")})


def by_name(rows: pa.Table) -> pa.Table:
    """Python's casing is that of no language."""
    names = [name.lower() for name in rows.column("name").to_pylist()]
    return pa.table({"name_lower": names, "id": rows.column("id")})


def event_catalog(
    directory: Path,
    indexes: dict[str, Any] | None = None,
    *,
    time_zone: str | None = None,
    store: dict[str, Any] | None = None,
    overrides: dict[str, str] | None = None,
) -> Path:
    """A catalog of `events`; `overrides` has copies of that table, in zones of their own."""
    table: dict[str, Any] = {
        "store": "lake",
        "columns": {
            "id": {"type": "bigint", "nullable": False},
            "at": {"type": "timestamp"},
            "name": {"type": "string"},
        },
        "primary_key": ["id"],
        "indexes": {"by_day": BY_DAY, "by_name": BY_NAME} if indexes is None else indexes,
    }
    catalog: dict[str, Any] = {
        "version": 1,
        "stores": {"lake": store or {"kind": "delta", "path": "."}},
        "tables": {"events": table},
    }
    for name, zone in (overrides or {}).items():
        catalog["tables"][name] = table | {"time_zone": zone}
    if time_zone is not None:
        catalog["time_zone"] = time_zone
    path = directory / "scrub.yaml"
    path.write_text(json.dumps(catalog))
    return path


def write_events(
    directory: Path, zone: str = "UTC", table: str = "events", count: int = 60
) -> None:
    """The table and both indexes, with the days of a zone."""
    rows = events(moments(count))
    for relation, contents in {
        table: rows,
        f"{table}__by_day": by_day(rows, zone),
        f"{table}__by_name": by_name(rows),
    }.items():
        write_deltalake(str(directory / relation), contents)
