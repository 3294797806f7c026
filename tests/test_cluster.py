# SPDX-License-Identifier: Apache-2.0
"""The same check where driver and executors share no process, and over Spark Connect."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.builders import delta_lake, entries_of, orders, parquet_lake
from tests.connect_port import alone_on_the_port
from tests.small_session import QUICK, interpreting_plans

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCRUB = [sys.executable, "-m", "scrub"]


def damaged_lake(directory: Path) -> Path:
    rows = orders(2_000)
    entries = entries_of(rows).slice(1)
    extra = pa.table({"customer_id": [5], "id": [9_999], "status": ["open"]})
    return delta_lake(directory, rows, pa.concat_tables([entries, extra]))


def run(*arguments: str, **variables: str) -> tuple[int, dict[str, Any]]:
    finished = subprocess.run(
        [*SCRUB, "check", "table", "orders", "--format", "json", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | interpreting_plans() | variables,
    )
    assert finished.stdout, finished.stderr
    return finished.returncode, json.loads(finished.stdout)


def assert_finds_both(code: int, result: dict[str, Any]) -> None:
    kinds = sorted((d["kind"], d["primary_key"]["id"]) for d in result["defects"])
    assert kinds == [("dangling_secondary_index", 9_999), ("missing_secondary_index", 0)]
    assert code == 1


def test_executors_of_their_own(tmp_path: Path) -> None:
    catalog = damaged_lake(tmp_path)
    code, result = run(
        *("--catalog", str(catalog), "--engine", "native"),
        *("--master", "local-cluster[2,1,1024]"),
        *("--conf", f"spark.executor.extraJavaOptions={QUICK}"),
    )
    assert_finds_both(code, result)
    assert result["tables"][0]["checks"][0]["engine"] == "native"


def test_spark_connect(tmp_path: Path) -> None:
    catalog = damaged_lake(tmp_path)
    with alone_on_the_port():
        code, result = run("--catalog", str(catalog), "--remote", "local[2]")
    assert_finds_both(code, result)
    assert result["tables"][0]["checks"][0]["engine"] == "native"


def test_executors_without_scrub_are_found_out_by_the_canary(tmp_path: Path) -> None:
    """A Python that lacks the package: the sql engine does the work, and the coverage says so."""
    bare = tmp_path / "bare-python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    catalog = damaged_lake(tmp_path)
    pythons = {
        "PYSPARK_PYTHON": str(bare / "bin" / "python"),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    code, result = run("--catalog", str(catalog), "--master", "local[2]", **pythons)
    assert_finds_both(code, result)
    assert result["tables"][0]["checks"][0]["engine"] == "sql"
    assert "canary" in json.dumps(result)


def test_ctrl_c_stops_the_job_and_exits_130(tmp_path: Path) -> None:
    rows = orders(3_000_000)
    catalog = parquet_lake(tmp_path, rows, entries_of(rows), files=4)
    process = subprocess.Popen(
        [
            *SCRUB,
            "check",
            "table",
            "orders",
            "--catalog",
            str(catalog),
            "--engine",
            "sql",
            "--strategy",
            "merge",
            "--verbose",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "NativeCodeLoader" in line or "Setting default log level" in line:
            break
    time.sleep(8)  # Spark is up; somewhere in the join
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted" in err
    assert not out, "nothing half-written"
