# SPDX-License-Identifier: Apache-2.0
"""Commands that need no JVM: each of them ran, and none asked for Spark.

A command of its own without Java on its path is in `tests/scrub/app/checking/test_places.py`.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from scrub.app import lazy_spark
from scrub.cli import main
from scrub.spark import session as spark_sessions
from tests.builders import BY_CUSTOMER, delta_lake, entries_of, orders, write_catalog
from tests.checks.pairs import pair_ground
from tests.postgres_server import Database

Run = Callable[..., str]
WITH_STATUS = {"by_customer": BY_CUSTOMER, "by_status": {"columns": ["status"]}}
COLUMNS = {"id": "bigint NOT NULL", "customer_id": "bigint", "status": "string"}


class SparkAskedFor(BaseException):
    """Not to be taken for an error that a command answers."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command in the directory of the test; its code must be as said, and Spark left alone."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise SparkAskedFor

    # Other tests of this process may have a session, which would be found and used.
    monkeypatch.setattr(lazy_spark, "_is_active", lambda: False)
    monkeypatch.setattr(spark_sessions, "spark_session", refuse)
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)

    def command(line: str, code: int = 0) -> str:
        try:
            ended = main.run(line.split())
        except SystemExit as stop:
            ended = int(stop.code or 0)
        except SparkAskedFor:
            pytest.fail(f"scrub {line}: Spark was asked for")
        shown = capsys.readouterr()
        assert ended == code, f"scrub {line}: {shown.out}\n{shown.err}"
        return shown.out

    return command


def repair_and_undo(run: Run, table: str) -> None:
    """All that a repair consists of, and what follows it."""
    run(f"repair table {table}", code=1)
    run(f"repair table {table} --execute --verify")
    (repaired,) = set(re.findall(r"\b[0-9a-f]{12}\b", run("journal list")))
    run(f"journal show {repaired}")
    run(f"undo {repaired}")
    run(f"undo {repaired} --execute")
    run("journal prune --older-than 0 --execute")


def test_a_lake(run: Run, tmp_path: Path) -> None:
    rows = orders(200)
    delta_lake(tmp_path, rows, entries_of(rows).slice(2))
    write_catalog(tmp_path, columns=COLUMNS)
    run("check table orders", code=1)
    run("check database --settle 0.1", code=1)
    run("gate --write-baseline")
    run("gate")
    run("backfill verify orders by_customer", code=1)
    run("catalog validate --relations")
    repair_and_undo(run, "orders")
    run("repair table orders --recover-rows", code=1)
    run("init . --catalog new.yaml")


def test_builds_in_a_lake(run: Run, tmp_path: Path) -> None:
    rows = orders(200)
    delta_lake(tmp_path, rows, entries_of(rows))
    write_catalog(tmp_path, indexes=WITH_STATUS, columns=COLUMNS)
    run("backfill run orders by_status")
    assert "public" in run("backfill run orders by_status --execute")
    write_deltalake(str(tmp_path / "orders"), orders(250).slice(200), mode="append")
    run("index follow orders")
    run("backfill status orders")
    run("check table orders --index by_status")
    run("backfill drop orders by_status --execute")


def test_pairs(run: Run, tmp_path: Path) -> None:
    catalog = pair_ground.write_catalog(tmp_path, pair_ground.ONE_FAMILY)
    content = json.loads(catalog.read_text())
    content["stores"]["files"] = {"kind": "delta", "path": "."}
    del content["tables"]["rows"]
    catalog.write_text(json.dumps(content))
    pairs = pair_ground.all_pairs(pair_ground.table_of(catalog), 50)
    pairs["by_customer"].pop(5)
    flat = [pair for of in pairs.values() for pair in of]
    columns = {"key": [key for key, _ in flat], "value": [value for _, value in flat]}
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
    write_deltalake(str(tmp_path / "pairs"), pa.table(columns, schema=schema))
    run("check table pairs", code=1)
    run("catalog validate --relations")
    repair_and_undo(run, "pairs")


def test_a_database(run: Run, tmp_path: Path, database: Database) -> None:
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status text)",
        "INSERT INTO orders SELECT i, i % 7, 'open' FROM generate_series(1, 200) i",
        "CREATE TABLE orders__by_customer AS SELECT customer_id, id, status FROM orders"
        " WHERE id <> 17",
        "ALTER TABLE orders__by_customer ADD PRIMARY KEY (customer_id, id)",
    )
    store = {"kind": "postgres", "url": database.url}
    write_catalog(tmp_path, indexes=WITH_STATUS, columns=COLUMNS, store=store)
    run("check table orders --index by_customer", code=1)
    run("backfill verify orders by_customer", code=1)
    run("backfill run orders by_status")
    assert "public" in run("backfill run orders by_status --execute")
    run("backfill status orders")
    run("catalog validate --relations")
    repair_and_undo(run, "orders")
    run("backfill drop orders by_status --execute")
