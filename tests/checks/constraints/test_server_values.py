# SPDX-License-Identifier: Apache-2.0
"""Values that only PostgreSQL has: infinite times, and numbers that are none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrub.model.request import Engine
from tests.checks.constraints.lakes import a_table, check, found, outcome_of, refers, write_catalog
from tests.postgres_server import Database, new_database

pytestmark = pytest.mark.spark

BOTH = [Engine.AUTO, Engine.SQL]
TYPES = {"id": "bigint", "d": "date", "t": "timestamp", "n": "timestamp_ntz"}
SERVER = "id bigint, d date, t timestamptz, n timestamp"


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    with new_database(postgres_url) as made:
        yield made


def stores(database: Database) -> dict[str, Any]:
    return {"shop": {"kind": "postgres", "url": database.url}}


def ids(result: Any) -> list[str]:
    return sorted(defect.id for defect in result.defects)


def row(number: int, value: str) -> str:
    return f"({number}, '{value}', '{value}', '{value}')"


def endless(database: Database, tmp_path: Path, **more: Any) -> Path:
    """A table with infinite times, and one that it refers to."""
    database.run(
        f"CREATE TABLE ends ({SERVER})",
        f"INSERT INTO ends VALUES {row(1, 'infinity')}, {row(2, '-infinity')}, "
        f"{row(3, '2026-01-01')}, (4, NULL, NULL, NULL)",
        "CREATE TABLE days (d date)",
        "INSERT INTO days VALUES ('infinity'), ('2026-01-01')",
    )
    tables = {
        "ends": a_table(TYPES, store="shop", **more),
        "days": a_table({"d": "date"}, store="shop"),
    }
    return write_catalog(tmp_path, tables, stores(database))


@pytest.mark.parametrize("engine", BOTH)
def test_infinite_dates_are_later_or_earlier_than_all_others(
    database: Database, tmp_path: Path, spark: Any, engine: Engine
) -> None:
    checks = {"late_d": "d >= date '2000-01-01'", "early_d": "d <= date '2030-01-01'"}
    catalog = endless(database, tmp_path, checks=checks)
    result = check(catalog, spark, "ends", engine=engine)
    assert [outcome_of(result, name).reason for name in checks] == [None, None]
    assert found(result, "ends") == [("early_d", 1), ("late_d", 2)]


def test_infinite_times_are_keys_with_one_id_in_every_engine(
    database: Database, tmp_path: Path, spark: Any
) -> None:
    unique = {name: [name] for name in ("d", "t", "n")}
    catalog = endless(
        database, tmp_path, unique=unique, foreign_keys={"of_day": refers("days", "d")}
    )
    database.run(f"INSERT INTO ends VALUES {row(5, 'infinity')}")
    by_server, by_spark = (check(catalog, spark, "ends", engine=engine) for engine in BOTH)
    assert (
        found(by_server, "ends")
        == found(by_spark, "ends")
        == [
            *(("d", n) for n in (1, 5)),
            *(("n", n) for n in (1, 5)),
            ("of_day", 2),
            *(("t", n) for n in (1, 5)),
        ]
    )
    assert ids(by_server) == ids(by_spark)


@pytest.mark.parametrize("engine", BOTH)
def test_what_only_spark_computes_is_not_decided_of_infinite_times(
    database: Database, tmp_path: Path, spark: Any, engine: Engine
) -> None:
    checks = {
        "known_year": "year(d) < 2030",
        "odd": "n + interval 1 day > n",
        "late": "t >= timestamp '2000-01-01 00:00:00'",
        "plain": "id > 1",
    }
    catalog = endless(database, tmp_path, checks=checks)
    result = check(catalog, spark, "ends", engine=engine)
    assert found(result, "ends") == [("plain", 1)]
    for name, column in (("known_year", "d"), ("odd", "n"), ("late", "t")):
        reason = f"2 rows hold infinity in {column}, for which Spark cannot evaluate the condition"
        assert outcome_of(result, name).reason == reason


@pytest.mark.parametrize("kind", ["numeric(10,2)", "numeric"])
def test_a_number_that_is_none_is_named_or_the_look_is_incomplete(
    database: Database, tmp_path: Path, spark: Any, kind: str
) -> None:
    database.run(
        f"CREATE TABLE sums (id bigint, v {kind})",
        "INSERT INTO sums VALUES (1, 1), (2, 'NaN'), (3, 200), (4, NULL)",
    )
    types = {"id": "bigint", "v": "decimal(10,2)"}
    table = a_table(types, store="shop", checks={"few": "v < 100"}, unique={"v": ["v"]})
    catalog = write_catalog(tmp_path, {"sums": table}, stores(database))
    by_server = check(catalog, spark, "sums")
    assert outcome_of(by_server, "few").defects == 2
    assert found(by_server, "sums") == [("few", 2), ("few", 3)]
    assert [d.actual for d in by_server.defects] == [{"v": "NaN"}, {"v": "200.00"}]
    by_spark = check(catalog, spark, "sums", engine=Engine.SQL)
    assert "NaN" in str(outcome_of(by_spark, "few").reason)
    assert not by_spark.defects
