# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL evaluates in the catalog's time zone, whatever the role, the server or libpq say."""

from pathlib import Path
from typing import Any

import pytest

from scrub.app import check
from scrub.app.repairing.repair import execute_repair
from scrub.model.repair import RepairRequest
from scrub.model.result import Status
from scrub.model.table import Store
from scrub.stores.postgres.connections import connect, conninfo_of
from tests.meaning.event_lake import event_catalog
from tests.postgres_server import Database

pytestmark = pytest.mark.spark

IN_SERVER = {
    "columns": [{"expr": "at::date", "as": "day", "type": "date"}],
    "where": "to_char(at, 'TMDay HH24') <> ''",
    "dialect": "postgres",
}
IN_SPARK = {"columns": [{"expr": "to_date(at)", "as": "day", "type": "date"}]}


def settings_of(database: Database) -> dict[str, str]:
    store = Store(name="shop", kind="postgres", url=database.url).in_time_zone("Asia/Kathmandu")
    names = ("TimeZone", "DateStyle", "IntervalStyle", "lc_time", "lc_numeric")
    with connect(conninfo_of(store.url, store.options)) as connection:
        shown = [connection.execute(f"SHOW {name}").fetchone() for name in names]
        return {name: row[0] for name, row in zip(names, shown, strict=True) if row}


def test_neither_role_nor_environment_has_a_say(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libpq lets PGTZ and PGDATESTYLE override what a connection string says."""
    database.run(f"ALTER DATABASE {database.name} SET TimeZone = 'Europe/Berlin'")
    database.run(f"ALTER DATABASE {database.name} SET IntervalStyle = 'iso_8601'")
    monkeypatch.setenv("PGTZ", "America/New_York")
    monkeypatch.setenv("PGDATESTYLE", "German")
    assert settings_of(database) == {
        "TimeZone": "Asia/Kathmandu",
        "DateStyle": "ISO, DMY",
        "IntervalStyle": "postgres",
        "lc_time": "C",
        "lc_numeric": "C",
    }


def fill(database: Database, table: str, zone: str) -> None:
    days = f"SELECT (at AT TIME ZONE '{zone}')::date AS day, id FROM {table}"
    database.run(
        f"CREATE TABLE {table} (id bigint PRIMARY KEY, at timestamptz, name text)",
        f"INSERT INTO {table} SELECT i, '2024-03-01 23:30Z'::timestamptz + i * interval '1 day',"
        " 'TITLE' FROM generate_series(1, 60) i",
        *(f"CREATE TABLE {table}__{index} AS {days}" for index in ("in_server", "in_spark")),
        f"ALTER TABLE {table}__in_server ADD PRIMARY KEY (day, id)",
        f"ALTER TABLE {table}__in_spark ADD PRIMARY KEY (day, id)",
    )


@pytest.fixture
def catalog(tmp_path: Path, database: Database) -> Path:
    """Two tables of one database in two zones, each with days of its own."""
    fill(database, "events", "Europe/Berlin")
    fill(database, "calls", "America/New_York")
    return event_catalog(
        tmp_path,
        {"in_server": IN_SERVER, "in_spark": IN_SPARK},
        time_zone="Europe/Berlin",
        store={"kind": "postgres", "url": database.url},
        overrides={"calls": "America/New_York"},
    )


def test_each_table_is_judged_in_its_own_zone(
    catalog: Path, database: Database, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.run(f"ALTER DATABASE {database.name} SET TimeZone = 'Pacific/Auckland'")
    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    for strategy in ("auto", "fingerprint"):
        result = check(catalog=catalog, spark=spark, strategy=strategy)
        assert result.status is Status.CLEAN, strategy
    notes = {(t.table, o.index): o.notes for t in result.tables for o in t.checks}
    for table, zone in (("events", "Europe/Berlin"), ("calls", "America/New_York")):
        for index in ("in_server", "in_spark"):
            assert f"expressions evaluated in time zone {zone}" in notes[table, index]


def test_a_repair_writes_what_the_zone_says_and_nothing_else(
    catalog: Path, database: Database, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    before = database.rows("SELECT day, id FROM events__in_server ORDER BY id")
    database.run("DELETE FROM events__in_server WHERE id IN (7, 8)")
    request = RepairRequest(catalog=catalog, table="events", indexes=("in_server",))
    report = execute_repair(request, spark=spark)
    assert len(report.done) == 2
    assert database.rows("SELECT day, id FROM events__in_server ORDER BY id") == before
