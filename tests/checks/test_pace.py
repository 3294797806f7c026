# SPDX-License-Identifier: Apache-2.0
"""Checks that keep to a pace, on every way of running: small and slow enough to be measured.

A way that does not see the limits takes a fraction of the time, and its test fails.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from scrub.app import explain_check, run_check
from scrub.model.progress import Progress
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.result import RunResult, Status
from tests.builders import BY_CUSTOMER, delta_lake, entries_of, found, orders, write_catalog
from tests.checks.pairs import pair_ground
from tests.in_process import HERE, check_here
from tests.postgres_server import Database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 400  # and as many entries
RATE = 800  # rows and entries: so a check of both takes a second
SECONDS = 2 * ROWS / RATE
STEP = 0.3  # a quarter of a second, and what a clock may be wrong by

Lake = Callable[..., Path]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    rows = orders(ROWS)
    return delta_lake(tmp_path, rows, entries_of(rows))


@contextmanager
def taking_at_least(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began >= seconds - STEP


def checked(catalog: Path, spark: "SparkSession | None" = None, **asked: Any) -> RunResult:
    request = CheckRequest(catalog=catalog, rows_per_second=RATE, **asked)
    result = check_here(request) if spark is None else run_check(request, spark=spark)
    assert result.pace == f"at most {RATE:,} rows a second"
    return result


def test_in_this_process(lake: Path) -> None:
    with taking_at_least(SECONDS):
        assert checked(lake).status is Status.CLEAN


def test_bytes_are_those_of_the_needed_columns_as_they_are_stored(lake: Path) -> None:
    plain = check_here(CheckRequest(catalog=lake))
    read = plain.tables[0].bytes_read
    assert read
    with taking_at_least(1.0):
        # The index's bytes are not in this number, so the check takes longer than a second.
        result = check_here(CheckRequest(catalog=lake, bytes_per_second=read))
    assert result.tables == plain.tables
    assert "a second" in str(result.pace)


def test_naming_keeps_to_it_too(tmp_path: Path) -> None:
    rows = orders(ROWS)
    catalog = delta_lake(tmp_path, rows, entries_of(rows).slice(1))
    with taking_at_least(SECONDS * 1.9):  # once for fingerprints, once for what differs
        result = checked(catalog)
    assert found(result) == found(check_here(CheckRequest(catalog=catalog))) != []


def test_keys_of_constraints_keep_to_it_too(lake: Path) -> None:
    content = yaml.safe_load(lake.read_text())
    content["tables"]["orders"]["unique"] = {"key": ["id"]}
    lake.write_text(yaml.safe_dump(content))
    with taking_at_least(ROWS / RATE):
        result = checked(lake, constraints=("key",), checks=("constraint",))
    assert result.status is Status.CLEAN


def test_pairs_in_this_process(tmp_path: Path) -> None:
    catalog = pair_ground.write_catalog(tmp_path, pair_ground.ONE_FAMILY)
    pairs = pair_ground.all_pairs(pair_ground.table_of(catalog), 200)
    pair_ground.write_pairs(tmp_path, pairs)
    number = sum(map(len, pairs.values()))
    with taking_at_least(number / RATE):
        assert checked(catalog, tables=("pairs",)).status is Status.CLEAN


@pytest.mark.spark
@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"engine": Engine.NATIVE}, id="native"),
        pytest.param({"engine": Engine.SQL}, id="sql"),
        pytest.param({"strategy": Strategy.MERGE}, id="merge"),
    ],
)
def test_on_spark(lake: Path, light_spark: "SparkSession", asked: dict[str, Any]) -> None:
    with taking_at_least(SECONDS):
        result = checked(lake, light_spark, **asked)
    assert result.status is Status.CLEAN
    assert str(result.ran).startswith("on Spark")


# Pauses


@contextmanager
def pause_for(file: Path, seconds: float) -> Iterator[None]:
    """The file exists from now on, and is gone after some seconds."""
    file.touch()
    timer = threading.Timer(seconds, file.unlink)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        file.unlink(missing_ok=True)


def paused(
    catalog: Path, file: Path, seconds: float, spark: "SparkSession | None" = None, **asked: Any
) -> RunResult:
    """A check during a pause; of that time it says that it was waiting."""
    heard: list[str] = []

    def hear(progress: Progress) -> None:
        heard.append(progress.phase)

    request = CheckRequest(catalog=catalog, pause_file=file, **asked)
    began = time.monotonic()
    with pause_for(file, seconds):
        if spark is None:
            result = check_here(request, on_progress=hear)
        else:
            result = run_check(request, spark=spark, on_progress=hear)
        assert not file.exists()
    assert time.monotonic() - began >= seconds
    assert 0 < result.seconds_waiting <= result.seconds
    assert f"paused: {file} exists" in heard
    assert heard[-1] != f"paused: {file} exists"
    assert f"paused while {file} exists, which took" in str(result.pace)
    return result


def test_a_pause_in_this_process(lake: Path, tmp_path: Path) -> None:
    result = paused(lake, tmp_path / "pause", 1.0)
    assert result.status is Status.CLEAN
    assert result.seconds_waiting >= 0.5


@pytest.mark.spark
@pytest.mark.parametrize("engine", [Engine.NATIVE, Engine.SQL])
def test_a_pause_on_spark(
    lake: Path, tmp_path: Path, light_spark: "SparkSession", engine: Engine
) -> None:
    result = paused(lake, tmp_path / "pause", 2.0, light_spark, engine=engine)
    assert result.status is Status.CLEAN
    assert result.seconds_waiting >= 0.5


@pytest.mark.spark
def test_a_pause_amid_tasks_of_spark(
    lake: Path, tmp_path: Path, light_spark: "SparkSession"
) -> None:
    """On this machine tasks see the file themselves: they do not go on to their end."""
    file, began = tmp_path / "pause", time.monotonic()
    slow = CheckRequest(catalog=lake, engine=Engine.NATIVE, rows_per_second=RATE, pause_file=file)

    def pause_amid(progress: Progress) -> None:
        if progress.phase == "comparing fingerprints" and not file.exists():
            threading.Timer(0.8, file.touch).start()
            threading.Timer(2.8, lambda: file.unlink(missing_ok=True)).start()

    result = run_check(slow, spark=light_spark, on_progress=once(pause_amid))
    assert result.status is Status.CLEAN
    assert time.monotonic() - began >= 2.5
    assert result.seconds_waiting >= 1


def once(listener: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Only the first report of fingerprints starts what the listener starts."""
    told: list[str] = []

    def hear(progress: Progress) -> None:
        if progress.phase == "comparing fingerprints" and not told:
            told.append(progress.phase)
            listener(progress)

    return hear


# PostgreSQL


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> Path:
    """Orders with an index table, and an index of the database itself."""
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status text)",
        f"INSERT INTO orders SELECT i, i % 7, 'open' FROM generate_series(1, {ROWS}) i",
        "CREATE TABLE orders__by_customer AS SELECT customer_id, id, status FROM orders",
        "ANALYZE",
    )
    catalog = write_catalog(
        tmp_path,
        indexes={"by_customer": BY_CUSTOMER, "orders_pkey": {"own": True, "unique": True}},
        columns={"id": "bigint NOT NULL", "customer_id": "bigint", "status": "string"},
        store={"kind": "postgres", "url": database.url},
    )
    content = yaml.safe_load(catalog.read_text())
    content["tables"]["orders"] |= {
        "checks": {"open": "status = 'open'"},
        "unique": {"key": ["id"]},
    }
    catalog.write_text(yaml.safe_dump(content))
    return catalog


def without_spark(catalog: Path, **asked: Any) -> RunResult:
    result = run_check(CheckRequest(catalog=catalog, **asked), spark_options=HERE)
    assert "Spark" not in str(result.ran)
    assert result.seconds_starting == 0
    return result


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        pytest.param({"indexes": ("by_customer",), "checks": ("index",)}, 2, id="comparison"),
        pytest.param({"indexes": ("orders_pkey",), "checks": ("index",)}, 3, id="own index"),
        pytest.param({"constraints": ("open",), "checks": ("constraint",)}, 1, id="check"),
        pytest.param({"constraints": ("key",), "checks": ("constraint",)}, 1, id="unique"),
        pytest.param(
            {"indexes": ("by_customer",), "strategy": Strategy.FINGERPRINT, "checks": ("index",)},
            2,
            id="fingerprints",
        ),
    ],
)
def test_in_the_database(shop: Path, asked: dict[str, Any], rows: int) -> None:
    """Statements rest inside, and whoever asked waits for the rest of their time."""
    plain = without_spark(shop, **asked)
    assert plain.status is Status.CLEAN
    with taking_at_least(rows * ROWS / RATE):
        slow = without_spark(shop, rows_per_second=RATE, **asked)
    assert slow.tables[0].checks[0].counts == plain.tables[0].checks[0].counts
    assert slow.status is Status.CLEAN


@pytest.mark.parametrize("index", ["by_customer", "orders_pkey"])
def test_a_statement_ends_for_a_pause_and_is_asked_again(
    shop: Path, database: Database, tmp_path: Path, index: str
) -> None:
    file = tmp_path / "pause"
    seen: list[int] = []
    asked = {"indexes": (index,), "checks": ("index",), "rows_per_second": 400}
    # Each reading takes a second or more, and the pause begins amid the first one.
    busy = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND state = 'active' AND pid <> pg_backend_pid()"
    )

    def pause() -> None:
        time.sleep(0.8)
        file.touch()
        time.sleep(1.0)
        seen.append(database.rows(busy)[0][0])
        file.unlink()

    pausing = threading.Thread(target=pause)
    pausing.start()
    result = without_spark(shop, pause_file=file, **asked)
    pausing.join()
    assert result.status is Status.CLEAN
    assert seen == [0], "a statement went on during the pause"
    assert result.seconds_waiting > 0.3


# What is said before


def test_a_plan_tells_the_limits(lake: Path, tmp_path: Path) -> None:
    file = tmp_path / "pause"
    asked = CheckRequest(catalog=lake, rows_per_second=5, bytes_per_second=1024, pause_file=file)
    assert (
        explain_check(asked).pace
        == f"at most 5 rows and 1 KiB a second; paused while {file} exists"
    )
    assert explain_check(CheckRequest(catalog=lake)).pace is None
