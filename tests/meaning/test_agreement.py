# SPDX-License-Identifier: Apache-2.0
"""Spark, PostgreSQL and Python's own clock agree on what time it is in a zone."""

import os
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrub.model.table import EntryColumn, Store
from scrub.model.types import parse_type
from scrub.spark.collecting import collect_arrow
from scrub.spark.expected_values import expected_value
from scrub.spark.time_zone import in_time_zone
from scrub.stores.postgres.connections import connect, conninfo_of
from tests.postgres_server import Database

pytestmark = pytest.mark.spark

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",  # half an hour of summer time
    "Asia/Kathmandu",  # moved by a quarter of an hour in 1986
    "Africa/Casablanca",  # goes back for Ramadan
)
INSTANTS = 200
ROUNDS = int(os.environ.get("SCRUB_TRIALS", "3"))
# Copies of the list of zones differ on years before 1970, and on the latest ones.
YEARS = (1970, 2022)

Seen = tuple[date, int, str]
SPARK = {
    "day": ("to_date(at)", "date"),
    "hour": ("hour(at)", "int"),
    "clock": ("date_format(at, 'yyyy-MM-dd HH:mm:ss')", "string"),
}
POSTGRES = "at::date, extract(hour FROM at)::int, to_char(at, 'YYYY-MM-DD HH24:MI:SS')"


@cache
def changes(name: str) -> tuple[datetime, ...]:
    """The days on which the zone's clocks were changed."""
    zone = ZoneInfo(name)
    days = (date(YEARS[1], 1, 1) - date(YEARS[0], 1, 1)).days
    noons = [datetime(YEARS[0], 1, 1, 12, tzinfo=UTC) + timedelta(days=n) for n in range(days)]
    offsets = [noon.astimezone(zone).utcoffset() for noon in noons]
    return tuple(
        n for n, one, other in zip(noons, offsets, offsets[1:], strict=False) if one != other
    )


def around_changes() -> "st.SearchStrategy[datetime]":
    """Instants within a day of a change of some zone's clocks, to the second."""
    every = sorted(moment for zone in ZONES for moment in changes(zone))
    seconds = st.integers(-43_200, 129_600).map(lambda n: timedelta(seconds=n))
    return st.builds(lambda moment, shift: moment + shift, st.sampled_from(every), seconds)


@settings(
    max_examples=ROUNDS,
    suppress_health_check=[HealthCheck.function_scoped_fixture, *HealthCheck],
)
@given(st.lists(around_changes(), min_size=INSTANTS, max_size=INSTANTS, unique=True))
def test_every_engine_agrees_around_changes_of_clocks(
    spark: Any, database: Database, instants: list[datetime]
) -> None:
    for zone in ZONES:
        told = list(by_python(instants, zone))
        assert by_spark(spark, instants, zone) == told, zone
        assert by_postgres(database, instants, zone) == told, zone


def by_python(instants: list[datetime], zone: str) -> Iterator[Seen]:
    for instant in instants:
        local = instant.astimezone(ZoneInfo(zone))
        yield local.date(), local.hour, local.strftime("%Y-%m-%d %H:%M:%S")


def by_spark(spark: Any, instants: list[datetime], zone: str) -> list[Seen]:
    columns = [
        EntryColumn(name=name, source=text, is_expression=True, type=parse_type(of_type))
        for name, (text, of_type) in SPARK.items()
    ]
    numbered = pa.table(
        {"n": range(len(instants)), "at": pa.array(instants, pa.timestamp("us", "UTC"))}
    )
    with in_time_zone(spark, zone) as session:
        frame = session.createDataFrame(numbered).orderBy("n")
        found = collect_arrow(frame.select(*[expected_value(c).alias(c.name) for c in columns]))
    return [tuple(row.values()) for row in found.to_pylist()]


def by_postgres(database: Database, instants: list[datetime], zone: str) -> list[Seen]:
    store = Store(name="shop", kind="postgres", url=database.url).in_time_zone(zone)
    with connect(conninfo_of(store.url, store.options)) as connection:
        query = f"SELECT {POSTGRES} FROM unnest(%s::timestamptz[]) WITH ORDINALITY AS t(at, n)"
        return connection.execute(f"{query} ORDER BY n", [instants]).fetchall()
