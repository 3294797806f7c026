# SPDX-License-Identifier: Apache-2.0
"""Checks in the process itself: without Java, many at once, over files that vanish."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scrub.app import explain_check, run_check
from scrub.errors import UsageError
from scrub.model.place import IN_PROCESS_BYTES, IN_PROCESS_BYTES_VARIABLE
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.result import Status
from tests.builders import delta_lake, entries_of, found, orders, write_catalog
from tests.in_process import HERE, check_here

SCRUB = (sys.executable, "-m", "scrub")


def damaged_lake(directory: Path) -> Path:
    """Order 7 has no entry."""
    rows = orders(500)
    entries = entries_of(rows)
    kept = entries.filter([number != 7 for number in entries.column("id").to_pylist()])
    return delta_lake(directory, rows, kept)


def command(catalog: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, **environment}
    return subprocess.run(
        [*SCRUB, "check", "table", "orders", "--catalog", str(catalog), *options],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=variables,
    )


@pytest.mark.slow
def test_a_machine_without_java_checks_a_lake(tmp_path: Path) -> None:
    catalog = damaged_lake(tmp_path)
    nowhere = {"PATH": str(tmp_path), "JAVA_HOME": ""}
    done = command(catalog, "--format", "json", **nowhere)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    assert [one["primary_key"] for one in result["defects"]] == [{"id": 7}]
    assert result["ran"].startswith("in process, ")
    needed = command(catalog, "--strategy", "merge", **nowhere)
    assert needed.returncode == 2, needed.stdout
    assert "Spark needs Java 17 or newer" in needed.stderr


def test_the_report_and_the_plan_say_where_and_why(tmp_path: Path) -> None:
    catalog = damaged_lake(tmp_path)
    request = CheckRequest(catalog=catalog)
    result = check_here(request)
    assert found(result) == [("missing_secondary_index", 7)]
    plan = explain_check(request, spark_options=HERE)
    assert str(plan.place) == result.ran


def test_fifty_checks_at_once_find_what_one_finds(tmp_path: Path) -> None:
    catalog = damaged_lake(tmp_path)
    with ThreadPoolExecutor(50) as pool:
        running = [pool.submit(check_here, CheckRequest(catalog=catalog)) for _ in range(50)]
        results = [one.result() for one in running]
    assert {tuple(found(result)) for result in results} == {(("missing_secondary_index", 7),)}
    assert len({result.run_id for result in results}) == len(results)


def test_a_file_that_vanishes_is_named_and_nothing_is_called_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from checks import run

    rows = orders(100)
    pq.write_table(rows, _made(tmp_path / "orders") / "a.parquet")
    pq.write_table(entries_of(rows), _made(tmp_path / "orders__by_customer") / "b.parquet")
    lake = {"kind": "spark", "format": "parquet", "path": str(tmp_path)}
    catalog = write_catalog(tmp_path, store=lake)
    scan = run.scan

    def lose_a_file(state: Any) -> None:
        (tmp_path / "orders__by_customer" / "b.parquet").unlink()
        scan(state)

    monkeypatch.setattr(run, "scan", lose_a_file)
    result = check_here(CheckRequest(catalog=catalog))
    assert result.status is Status.INCOMPLETE
    (outcome,) = result.outcomes
    assert "b.parquet: the file is gone" in str(outcome.reason)


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


@pytest.mark.parametrize("told", ["plenty", "-5"])
def test_a_bound_that_is_no_size_is_a_mistake_of_the_user(tmp_path: Path, told: str) -> None:
    options = SparkOptions(conf=((IN_PROCESS_BYTES, told),))
    with pytest.raises(UsageError, match=rf"{IN_PROCESS_BYTES}: '{told}' is no number of bytes"):
        run_check(CheckRequest(catalog=damaged_lake(tmp_path)), spark_options=options)


def test_a_variable_that_is_no_size_is_named_and_not_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(IN_PROCESS_BYTES_VARIABLE, "plenty")
    with pytest.raises(UsageError, match=f"^{IN_PROCESS_BYTES_VARIABLE}: 'plenty'") as mistake:
        run_check(CheckRequest(catalog=damaged_lake(tmp_path)))
    assert str(mistake.value.hint).startswith(f"write {IN_PROCESS_BYTES_VARIABLE}=")


@pytest.mark.parametrize(
    ("conf", "variable", "in_catalog", "reason"),
    [
        ("0", "1 GiB", "1 GiB", "on Spark, scrub.inProcessBytes is 0"),
        (None, "0", "1 GiB", "on Spark, scrub.inProcessBytes is 0"),
        ("1", None, None, "above 1 bytes"),
    ],
)
def test_a_setting_comes_before_the_variable_and_that_before_the_catalog(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    conf: str | None,
    variable: str | None,
    in_catalog: str | None,
    reason: str,
) -> None:
    catalog = damaged_lake(tmp_path)
    if in_catalog is not None:
        written = json.loads(catalog.read_text()) | {"in_process_bytes": in_catalog}
        catalog.write_text(json.dumps(written))
    if variable is not None:
        monkeypatch.setenv(IN_PROCESS_BYTES_VARIABLE, variable)
    options = SparkOptions(conf=() if conf is None else ((IN_PROCESS_BYTES, conf),))
    plan = explain_check(CheckRequest(catalog=catalog), spark_options=options)
    assert str(plan.place).endswith(reason)
