# SPDX-License-Identifier: Apache-2.0
"""Differences that are known and cannot be named are findings, not "no defect found"."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from checks.bucket_sums import SlotSums
from checks.findings import SlotFindings
from checks.unnamed import Unnamed
from scrub.app import run_check
from scrub.model.relation import RelationFacts, Snapshot
from scrub.model.request import CheckRequest, Engine
from scrub.model.result import Status
from scrub.spark.failures import SessionEnded
from scrub.stores.postgres.store import PostgresStore
from tests.builders import delta_lake, entries_of, found, orders, parquet_lake, write_catalog
from tests.checks.pairs import pair_ground
from tests.object_store import BUCKET, object_store
from tests.postgres_server import Database

ALL_WRONG = 200


def all_wrong(rows: pa.Table) -> pa.Table:
    return entries_of(rows).set_column(2, "status", pa.array(["lost"] * len(rows)))


# Sums alone


def facts(*, pinned: bool) -> RelationFacts:
    snapshot = Snapshot(label="now", pinned=pinned)
    return RelationFacts(
        store="s", relation="r", snapshot=snapshot, columns={}, splits=(), rows=None
    )


def differing(buckets: int) -> SlotSums:
    sums = SlotSums.empty(4)
    sums.buckets[:buckets, 2] = np.uint64(1)
    return sums


def concluded(unnamed: Unnamed, **findings: Any) -> SlotFindings:
    found = SlotFindings(**({"incomplete": "Spark has gone"} | findings))
    unnamed.conclude(0, found, ())
    return found


def test_sums_that_differ_at_one_snapshot_are_a_finding() -> None:
    unnamed = Unnamed()
    unnamed.note_sums(0, differing(3), [facts(pinned=True), facts(pinned=True)])
    found = concluded(unnamed)
    assert found.status is Status.DEFECTIVE
    assert found.unnamed == 3
    assert found.incomplete == "at least 3 buckets differ, not named because Spark has gone"


def test_sums_of_a_source_without_a_snapshot_are_none() -> None:
    unnamed = Unnamed()
    unnamed.note_sums(0, differing(3), [facts(pinned=True), facts(pinned=False)])
    assert concluded(unnamed).status is Status.INCOMPLETE


def test_sums_that_agree_are_none() -> None:
    unnamed = Unnamed()
    unnamed.note_sums(0, differing(0), [facts(pinned=True)])
    assert concluded(unnamed).status is Status.INCOMPLETE


def test_what_was_named_is_not_said_twice() -> None:
    unnamed = Unnamed()
    unnamed.note_sums(0, differing(1), [facts(pinned=True)])
    unnamed.forget(0)
    assert concluded(unnamed).unnamed == 0


# A session that dies

KILLED = """
import json, os, signal, sys
from pathlib import Path
from pyspark import SparkContext
from reports import FORMATS
from scrub.app import run_check
from scrub.model.request import CheckRequest, Engine, SparkOptions

def kill(progress):
    if progress.phase == "naming defects":
        java = SparkContext._gateway.proc
        os.kill(java.pid, signal.SIGKILL)
        java.wait()

for engine in (Engine.NATIVE, Engine.SQL):
    request = CheckRequest(catalog=Path(sys.argv[1]), engine=engine)
    options = SparkOptions(master="local[2]")
    result = run_check(request, spark_options=options, on_progress=kill)
    print(FORMATS["json"](result).replace("\\n", " "))
"""


@pytest.fixture(scope="module")
def after_the_jvm_was_killed(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What checks by both engines say whose JVM is killed between scan and naming."""
    directory = tmp_path_factory.mktemp("killed")
    rows = orders(ALL_WRONG)
    catalog = delta_lake(directory, rows, all_wrong(rows))
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(catalog)],
        env=os.environ | {"PYTHONPATH": os.getcwd(), "SCRUB_STATE_DIR": str(directory / "state")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["native", "sql"])
def test_a_session_that_died_leaves_a_finding(
    after_the_jvm_was_killed: list[Any], number: int
) -> None:
    result = after_the_jvm_was_killed[number]
    (check,) = result["tables"][0]["checks"]
    assert (result["status"], result["exit_code"]) == ("defective", 1)
    assert result["incomplete"]
    assert result["defects_total"] == 0
    assert check["counts"] == {}
    assert check["unnamed"] == result["unnamed_total"] == 16
    assert check["reason"].startswith("at least 16 buckets differ, not named because Spark's ")


# An object store that Spark has no connector for


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Path]:
    rows = orders(ALL_WRONG)
    parquet_lake(tmp_path, rows, all_wrong(rows), files=1)
    with object_store(tmp_path) as options:
        store = {"kind": "spark", "format": "parquet", "path": f"s3a://{BUCKET}"}
        yield write_catalog(tmp_path, store=store | {"options": options})  # type: ignore[arg-type]


@pytest.mark.spark
def test_tasks_read_again_what_only_they_can_open(bucket: Path, spark: Any) -> None:
    """Where most buckets differ, Spark's own reader is faster, if it can read the place at all."""
    result = run_check(CheckRequest(catalog=bucket, limit=500), spark=spark)
    assert found(result) == [("wrong_stored_value", number) for number in range(ALL_WRONG)]


@pytest.mark.spark
def test_without_a_connector_the_sql_engine_says_what_to_do(bucket: Path, spark: Any) -> None:
    result = run_check(CheckRequest(catalog=bucket, engine=Engine.SQL), spark=spark)
    (outcome,) = result.outcomes
    assert outcome.status is Status.INCOMPLETE
    assert outcome.reason is not None
    assert "Spark has no connector for s3a:// locations; pass --conf " in outcome.reason
    assert "\n" not in outcome.reason


@pytest.mark.spark
def test_the_physical_check_says_it_too(bucket: Path, spark: Any) -> None:
    request = CheckRequest(catalog=bucket, engine=Engine.SQL, checks=("physical",))
    (outcome,) = run_check(request, spark=spark).outcomes
    assert outcome.status is Status.INCOMPLETE
    assert "no connector for s3a://" in (outcome.reason or "")


# Files that are gone before they are read again


@pytest.mark.spark
def test_a_file_that_is_gone_before_it_is_named_leaves_a_finding_of_a_version(
    tmp_path: Path, spark: Any
) -> None:
    """Files of a Delta version never change: what their sums said of them is still so."""
    rows = orders(ALL_WRONG)
    catalog = delta_lake(tmp_path, rows, entries_of(rows).slice(1))

    def vacuum(progress: Any) -> None:
        if progress.phase == "naming defects":
            for file in (tmp_path / "orders").glob("*.parquet"):
                file.unlink()

    result = run_check(CheckRequest(catalog=catalog), spark=spark, on_progress=vacuum)
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.unnamed) == (Status.DEFECTIVE, 1)
    assert "at least 1 bucket differs, not named because" in (outcome.reason or "")
    assert result.defects_total == 0


@pytest.mark.spark
def test_a_listed_file_that_is_gone_may_have_been_replaced(tmp_path: Path, spark: Any) -> None:
    rows = orders(ALL_WRONG)
    catalog = parquet_lake(tmp_path, rows, entries_of(rows).slice(1), files=1)

    def replace(progress: Any) -> None:
        if progress.phase == "naming defects":
            (tmp_path / "orders" / "000.parquet").unlink()

    result = run_check(CheckRequest(catalog=catalog), spark=spark, on_progress=replace)
    assert result.outcomes[0].status is Status.INCOMPLETE


# A database that has counted, and is gone before it hands over


@pytest.mark.spark
def test_what_a_database_counted_and_did_not_hand_over_is_a_finding(
    tmp_path: Path, database: Database, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status text)",
        "INSERT INTO orders SELECT i, i % 7, 'open' FROM generate_series(1, 50) i",
        "CREATE TABLE orders__by_customer AS SELECT customer_id, id, 'lost' AS status FROM orders",
    )
    catalog = write_catalog(tmp_path, store={"kind": "postgres", "url": database.url})
    hand_over = PostgresStore.entries_that_differ

    def cut_off(store: PostgresStore, *sides: Any) -> pa.Table:
        """The connections that hold the snapshot are terminated, as an administrator would."""
        database.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return hand_over(store, *sides)

    monkeypatch.setattr(PostgresStore, "entries_that_differ", cut_off)
    result = run_check(CheckRequest(catalog=catalog), spark=spark)
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.unnamed, outcome.counts) == (Status.DEFECTIVE, 50, {})
    assert "at least 50 entries differ, not named because" in (outcome.reason or "")


# Pairs


@pytest.mark.spark
def test_pairs_whose_sums_differ_are_a_finding_too(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = pair_ground.write_catalog(tmp_path, pair_ground.ONE_FAMILY)
    pairs = pair_ground.all_pairs(pair_ground.table_of(catalog), 20)
    del pairs["by_email"][7]
    pair_ground.write_pairs(tmp_path, pairs)

    def ended(*_: Any) -> None:
        raise SessionEnded

    monkeypatch.setattr("checks.pairs.native.NativePairs.gathered_entries", ended)
    result = run_check(CheckRequest(catalog=catalog, tables=("pairs",)), spark=spark)
    checks = {check.index: check for check in result.outcomes}
    assert (checks["by_email"].status, checks["by_email"].unnamed) == (Status.DEFECTIVE, 1)
    assert "at least 1 bucket differs, not named because" in (checks["by_email"].reason or "")
    assert checks["by_customer"].status is Status.CLEAN
    assert result.exit_code == 1
