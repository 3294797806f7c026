# SPDX-License-Identifier: Apache-2.0
"""A table that cannot be checked is an error of its own; the others are checked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from scrub.app import explain_check, run_check
from scrub.cli import main
from scrub.errors import CatalogError, RelationMismatch
from scrub.model.request import CheckRequest
from scrub.model.result import RunResult, Status
from tests.builders import BY_CUSTOMER, ORDER_COLUMNS, entries_of, orders
from tests.postgres_server import Database

SOUND, BROKEN = "sound", "broken"
TABLE = {
    "columns": {name: {"type": kind} for name, kind in ORDER_COLUMNS.items()},
    "primary_key": ["id"],
    "indexes": {"by_customer": BY_CUSTOMER},
}
Break = Callable[[dict[str, Any], Path], None]


def no_table(catalog: dict[str, Any], _: Path) -> None:
    catalog["tables"][BROKEN]["relation"] = "nowhere"


def no_index(catalog: dict[str, Any], _: Path) -> None:
    index = {"columns": ["status"], "relation": "nowhere"}
    catalog["tables"][BROKEN]["indexes"] = {"by_status": index}


def other_columns(catalog: dict[str, Any], _: Path) -> None:
    catalog["tables"][BROKEN]["columns"]["customer_id"] = {"type": "string"}


def no_variable(catalog: dict[str, Any], _: Path) -> None:
    catalog["stores"]["away"] = {"kind": "delta", "path": "${TEST_UNSET}/lake"}
    catalog["tables"][BROKEN]["store"] = "away"


def no_server(catalog: dict[str, Any], directory: Path) -> None:
    url = f"postgresql:///x?host={directory}&connect_timeout=2"
    catalog["stores"]["away"] = {"kind": "postgres", "url": url}
    catalog["tables"][BROKEN]["store"] = "away"


def no_version(catalog: dict[str, Any], _: Path) -> None:
    catalog["tables"][BROKEN]["indexes"]["by_customer"] = BY_CUSTOMER | {"reflects": {"version": 7}}


BREAKS: dict[str, tuple[Break, str]] = {
    "no table": (no_table, "nowhere"),
    "no index": (no_index, "is not there"),
    "other columns": (other_columns, "the catalog says string"),
    "no variable": (no_variable, "the environment variable TEST_UNSET is not set"),
    "no server": (no_server, "no connection to PostgreSQL"),
    "no version": (no_version, "no version 7"),
}


def lake(directory: Path, entries: pa.Table, change: Break | None) -> Path:
    """Two tables; something about the one that comes first may be wrong."""
    rows = orders(30)
    for name in (BROKEN, SOUND):
        write_deltalake(str(directory / name), rows)
        of_table = entries if name == SOUND else entries_of(rows)
        write_deltalake(str(directory / f"{name}__by_customer"), of_table)
    catalog: dict[str, Any] = {
        "version": 1,
        "stores": {"lake": {"kind": "delta", "path": "."}},
        "tables": {n: json.loads(json.dumps(TABLE)) | {"store": "lake"} for n in (BROKEN, SOUND)},
    }
    if change is not None:
        change(catalog, directory)
    path = directory / "scrub.yaml"
    path.write_text(json.dumps(catalog))
    return path


def of_table(result: RunResult, name: str) -> Any:
    (table,) = [table for table in result.tables if table.table == name]
    return table


@pytest.mark.spark
@pytest.mark.parametrize(
    ("what", "tables"), [*((what, ()) for what in BREAKS), ("no table", (BROKEN, SOUND))]
)
def test_the_rest_is_checked(
    what: str, tables: tuple[str, ...], tmp_path: Path, spark: Any
) -> None:
    change, told = BREAKS[what]
    catalog = lake(tmp_path, entries_of(orders(30)), change)
    result = run_check(CheckRequest(catalog=catalog, tables=tables), spark=spark)
    assert [table.table for table in result.tables] == [BROKEN, SOUND]
    (sound,), (broken,) = of_table(result, SOUND).checks, of_table(result, BROKEN).checks
    assert (sound.status, sound.error) == (Status.CLEAN, False)
    assert (broken.status, broken.error) == (Status.INCOMPLETE, True)
    assert told in (broken.reason or "")
    assert "\n" not in (broken.reason or "")
    assert result.exit_code == 3


@pytest.mark.spark
def test_a_defect_beside_it_outweighs_it(tmp_path: Path, spark: Any) -> None:
    catalog = lake(tmp_path, entries_of(orders(30)).slice(1), no_table)
    result = run_check(CheckRequest(catalog=catalog), spark=spark)
    assert (result.exit_code, result.defects_total, result.is_incomplete) == (1, 1, True)


@pytest.mark.spark
def test_an_index_beside_a_missing_one_is_checked(tmp_path: Path, spark: Any) -> None:
    def one_more(catalog: dict[str, Any], _: Path) -> None:
        catalog["tables"][SOUND]["indexes"]["by_status"] = {"columns": ["status"]}

    catalog = lake(tmp_path, entries_of(orders(30)), one_more)
    result = run_check(CheckRequest(catalog=catalog, tables=(SOUND,)), spark=spark)
    checks = {check.index: check for check in result.outcomes}
    assert checks["by_customer"].status is Status.CLEAN
    assert checks["by_status"].error
    assert f"scrub backfill run {SOUND} by_status" in (checks["by_status"].reason or "")
    assert result.exit_code == 3


@pytest.mark.parametrize("what", [name for name in BREAKS if name != "no server"])
def test_with_nothing_else_to_look_at_it_is_a_mistake(what: str, tmp_path: Path) -> None:
    """And it is answered without Spark."""
    change, told = BREAKS[what]
    catalog = lake(tmp_path, entries_of(orders(30)), change)
    with pytest.raises(RelationMismatch) as raised:
        run_check(CheckRequest(catalog=catalog, tables=(BROKEN,)))
    assert raised.value.exit_code == 2
    assert told in str(raised.value)
    assert raised.value.hint


def test_two_tables_that_do_not_fit_are_told_together(tmp_path: Path) -> None:
    def both(catalog: dict[str, Any], _: Path) -> None:
        catalog["tables"][BROKEN]["relation"] = "nowhere"
        catalog["tables"][SOUND]["columns"]["status"] = {"type": "int"}

    with pytest.raises(RelationMismatch) as raised:
        run_check(CheckRequest(catalog=lake(tmp_path, entries_of(orders(30)), both)))
    assert "nowhere" in str(raised.value)
    assert "the catalog says int" in str(raised.value)


def test_a_server_that_does_not_answer_stays_a_result(tmp_path: Path) -> None:
    catalog = lake(tmp_path, entries_of(orders(30)), no_server)
    result = run_check(CheckRequest(catalog=catalog, tables=(BROKEN,)))
    assert (result.exit_code, result.outcomes[0].error) == (3, True)
    plan = explain_check(CheckRequest(catalog=catalog, tables=(BROKEN,)))
    assert [part.incomplete for part in plan.not_checked] == [True]


def test_a_mistake_in_the_file_is_still_everybodys(tmp_path: Path) -> None:
    catalog = lake(tmp_path, entries_of(orders(30)), None)
    catalog.write_text(catalog.read_text().replace('"bigint"', '"bigunt"', 1))
    with pytest.raises(CatalogError):
        run_check(CheckRequest(catalog=catalog))


@pytest.mark.spark
@pytest.mark.parametrize("report_format", ["text", "json", "jsonl", "markdown", "junit"])
def test_every_format_shows_it(
    report_format: str, tmp_path: Path, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = lake(tmp_path, entries_of(orders(30)), no_table)
    with pytest.raises(SystemExit) as stop:
        main.run(["check", "database", "--catalog", str(catalog), "--format", report_format])
    assert stop.value.code == 3
    out = capsys.readouterr().out
    assert "nowhere" in out
    match report_format:
        case "text" | "markdown":
            assert "error" in out
        case "json":
            broken, sound = json.loads(out)["tables"]
            assert (broken["status"], sound["status"]) == ("incomplete", "clean")
            assert "nowhere" in broken["error"]
            assert sound["error"] is None
            assert broken["checks"][0]["error"] is True
        case "jsonl":
            checks = [json.loads(line) for line in out.splitlines() if '"check"' in line]
            assert [c["error"] for c in checks if c["type"] == "check"] == [True, False]
        case "junit":
            suites = ElementTree.fromstring(out)
            assert suites.get("errors") == "1"
            (error,) = suites.iter("error")
            assert error.get("type") == "error"


@pytest.mark.spark
def test_a_plan_shows_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = lake(tmp_path, entries_of(orders(30)), other_columns)
    with pytest.raises(SystemExit) as stop:
        main.run(["check", "database", "--catalog", str(catalog), "--explain"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert f"{BROKEN}.by_customer (index), incomplete: " in out
    assert "the catalog says string" in out


@pytest.mark.spark
def test_an_index_of_the_database_that_is_gone_costs_no_other(
    database: Database, tmp_path: Path, spark: Any
) -> None:
    database.run("CREATE TABLE t (id bigint PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    table = {
        "store": "shop",
        "columns": {"id": {"type": "bigint"}},
        "primary_key": ["id"],
        "indexes": {"t_pkey": {"own": True}, "gone": {"own": True}},
    }
    stores = {"shop": {"kind": "postgres", "url": database.url}}
    catalog = tmp_path / "scrub.yaml"
    catalog.write_text(json.dumps({"version": 1, "stores": stores, "tables": {"t": table}}))
    checks = {c.index: c for c in run_check(CheckRequest(catalog=catalog), spark=spark).outcomes}
    assert checks["t_pkey"].status is Status.CLEAN
    assert checks["gone"].error


@pytest.mark.spark
def test_pairs_that_are_no_pairs_cost_no_other(tmp_path: Path, spark: Any) -> None:
    def no_pairs(catalog: dict[str, Any], _: Path) -> None:
        index = {"index_id": 2, "columns": ["customer_id"]}
        catalog["tables"][BROKEN] |= {"layout": "kv", "table_id": 52, "indexes": {"by": index}}

    catalog = lake(tmp_path, entries_of(orders(30)), no_pairs)
    result = run_check(CheckRequest(catalog=catalog), spark=spark)
    assert all(check.error for check in of_table(result, BROKEN).checks)
    assert "has no column key and value" in of_table(result, BROKEN).error
    assert of_table(result, SOUND).checks[0].status is Status.CLEAN
    assert result.exit_code == 3
