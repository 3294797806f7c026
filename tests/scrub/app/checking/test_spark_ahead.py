# SPDX-License-Identifier: Apache-2.0
"""The JVM is started ahead where Spark is surely needed, and nowhere else."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from scrub.app import lazy_spark
from scrub.app.checking import tables
from scrub.app.checking.spark_ahead import looks_small, surely_on_spark
from scrub.app.lazy_spark import LazySpark
from scrub.catalog import load_catalog
from scrub.errors import RelationMismatch, UsageError
from scrub.model.place import IN_PROCESS_BYTES, IN_PROCESS_BYTES_VARIABLE
from scrub.model.progress import ignore_progress
from scrub.model.request import CheckRequest, Engine, SparkOptions, Strategy
from scrub.spark import jvm_ahead
from tests.builders import delta_lake, entries_of, orders, write_catalog

ONE_COMMAND = SparkOptions(short_lived=True)
ALWAYS_SPARK = replace(ONE_COMMAND, conf=((IN_PROCESS_BYTES, "0"),))


@dataclass
class Ahead:
    """In the place of a JVM."""

    options: SparkOptions
    few_rows: bool
    time_zone: str
    abandoned: int = 0

    def abandon(self) -> None:
        self.abandoned += 1


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Ahead]:
    """The JVMs that were started ahead; other tests of this process may have a session."""
    found: list[Ahead] = []

    def start(options: SparkOptions, few_rows: bool, time_zone: str) -> Ahead:
        found.append(Ahead(options, few_rows, time_zone))
        return found[-1]

    monkeypatch.setattr(lazy_spark, "_is_active", lambda: False)
    monkeypatch.setattr(jvm_ahead, "JvmAhead", start)
    for name in (IN_PROCESS_BYTES_VARIABLE, "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    return found


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def is_sure(
    request: CheckRequest, options: SparkOptions = ONE_COMMAND, store: dict[str, str] | None = None
) -> bool:
    catalog = load_catalog(write_catalog(request.catalog.parent, store=store))
    spark = LazySpark(None, options, ignore_progress, ExitStack())
    return surely_on_spark(request, catalog, tuple(catalog.tables.values()), spark)


@pytest.mark.usefixtures("started")
def test_what_is_sure_before_anything_is_read(tmp_path: Path) -> None:
    request = CheckRequest(catalog=tmp_path / "scrub.yaml")
    assert not is_sure(request)
    assert is_sure(request, ALWAYS_SPARK)
    assert is_sure(request, SparkOptions(master="local[2]"))
    assert is_sure(replace(request, strategy=Strategy.MERGE))
    assert is_sure(replace(request, engine=Engine.SQL))
    assert not is_sure(replace(request, engine=Engine.NATIVE))
    files = {"kind": "spark", "path": "."}
    assert not is_sure(request, store={**files, "format": "parquet"})
    assert is_sure(request, store={**files, "format": "csv"})
    server = {"kind": "postgres", "url": "postgresql://nowhere/shop"}
    assert not is_sure(request, store=server)
    assert not is_sure(replace(request, engine=Engine.SQL), store=server)


def test_a_check_in_the_process_and_a_plan_start_no_jvm(
    tmp_path: Path, started: list[Ahead]
) -> None:
    rows = orders(20)
    request = CheckRequest(catalog=delta_lake(tmp_path, rows, entries_of(rows)))
    tables.run_check(request, spark_options=ONE_COMMAND)
    tables.explain_check(request, spark_options=ALWAYS_SPARK)
    assert started == []


def test_a_mistake_of_the_catalog_starts_none(tmp_path: Path, started: list[Ahead]) -> None:
    request = CheckRequest(catalog=write_catalog(tmp_path), tables=("nothing",))
    with pytest.raises(UsageError, match="nothing"):
        tables.run_check(request, spark_options=ALWAYS_SPARK)
    assert started == []


def test_a_mistake_that_shows_later_ends_the_jvm(tmp_path: Path, started: list[Ahead]) -> None:
    request = CheckRequest(catalog=write_catalog(tmp_path))  # whose relations are not there
    with pytest.raises(RelationMismatch):
        tables.run_check(request, spark_options=ALWAYS_SPARK)
    assert [(one.time_zone, one.abandoned) for one in started] == [("UTC", 1)]


@pytest.mark.parametrize(
    "options",
    [
        SparkOptions(),
        replace(ONE_COMMAND, remote="sc://there"),
        replace(ONE_COMMAND, conf=(("spark.remote", "sc://there"),)),
        replace(ONE_COMMAND, conf=(("spark.api.mode", "connect"),)),
    ],
    ids=["in somebody's process", "of a server", "of a server, as set", "by Connect"],
)
def test_none_is_started_for_somebody_else(
    options: SparkOptions, started: list[Ahead], stack: ExitStack
) -> None:
    LazySpark(None, options, ignore_progress, stack).start_ahead("UTC", few_rows=True)
    assert started == []


def test_none_is_started_by_spark_submit(
    started: list[Ahead], stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    LazySpark(None, ONE_COMMAND, ignore_progress, stack).start_ahead("UTC", few_rows=True)
    assert started == []


def test_what_looks_small_by_its_files(tmp_path: Path) -> None:
    def looks(store: dict[str, str] | None = None) -> bool:
        catalog = load_catalog(write_catalog(tmp_path, store=store))
        return looks_small(catalog, tuple(catalog.tables.values()))

    assert not looks(), "there is nothing"
    rows = orders(20)
    delta_lake(tmp_path, rows, entries_of(rows))
    assert looks()
    assert not looks({"kind": "delta", "path": "s3://bucket/lake"})
    assert not looks({"kind": "postgres", "url": "postgresql://nowhere/shop"})
    with (tmp_path / "orders" / "large.parquet").open("wb") as file:
        file.truncate(5 << 20)
    assert not looks()


def test_many_files_do_not_look_small(tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    for number in range(300):
        (tmp_path / "orders" / f"{number}.parquet").touch()
    catalog = load_catalog(write_catalog(tmp_path))
    assert not looks_small(catalog, tuple(catalog.tables.values()))
