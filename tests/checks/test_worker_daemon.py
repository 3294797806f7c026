# SPDX-License-Identifier: Apache-2.0
"""What Spark's workers are forked from: tasks find their modules imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from checks.worker_daemon import without_archives

INSTALLED = Path(pyspark.__file__).parent
ARCHIVES = [str(path) for path in (INSTALLED / "python" / "lib").glob("*.zip")]

IMPORTED = """
import json, os, sys
import checks.worker_daemon as daemon
daemon.prepare()
tasks = "/proc/self/task"
threads = [open(f"{tasks}/{one}/comm").read().strip() for one in os.listdir(tasks)]
print(json.dumps([threads, [name for name in sys.argv[1:] if name in sys.modules]]))
"""

IN_A_SESSION = """
import sys
import pyarrow as pa
from scrub.model.request import SparkOptions
from scrub.spark.session import spark_session
from scrub.spark.tasks import run_in_tasks

def told(number):
    names = ["checks.columns.split_sums", "scrub.codec.xxh64", "pandas", "scipy"]
    found = [name for name in names if name in sys.modules]
    found.append(sys.modules["pyspark"].__file__)
    yield pa.RecordBatch.from_pydict({"told": found})

with spark_session(None, SparkOptions(master="local[2]"), few_rows=True) as spark:
    for row in run_in_tasks(spark, 1, told, "told string").collect():
        print(row.told)
"""


def output_of(program: str, *arguments: str, **variables: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | variables,
    ).stdout


def test_archives_of_what_is_installed_are_left_out_of_the_path() -> None:
    """Python compiles what is in them at each start."""
    assert len(ARCHIVES) == 2, "PySpark and Py4J"
    path = ["", *ARCHIVES, "/somewhere/else", *sys.path]
    assert without_archives(path) == ["", "/somewhere/else", *sys.path]


def test_archives_of_another_spark_stay_in_the_path() -> None:
    archives = ["/opt/spark/python/lib/pyspark.zip", "/opt/spark/python/lib/py4j-0.10.9-src.zip"]
    path = [*archives, *sys.path]
    assert without_archives(path) == path


def test_archives_stay_where_nothing_is_installed(tmp_path: Path) -> None:
    path = [*ARCHIVES, str(tmp_path)]
    assert without_archives(path) == path


def test_what_is_imported_starts_no_threads_and_needs_no_pandas() -> None:
    wanted = ("pyspark.worker", "pyarrow.parquet", "checks.columns.split_sums")
    unwanted = ("pandas", "scipy", "deltalake", "click", "scrub.codec.kv")
    # As Spark starts it.
    told = output_of(IMPORTED, *wanted, *unwanted, OMP_NUM_THREADS="1")
    threads, imported = json.loads(told)
    assert imported == list(wanted)
    assert len(threads) - threads.count("jemalloc_bg_thd") == 1


@pytest.mark.slow
def test_workers_of_a_session_of_our_own_find_modules_imported() -> None:
    told = output_of(IN_A_SESSION).splitlines()
    assert told == [
        "checks.columns.split_sums",
        "scrub.codec.xxh64",
        str(INSTALLED / "__init__.py"),
    ]


@pytest.mark.slow
def test_workers_that_are_not_forked_do_their_work_all_the_same() -> None:
    program = IN_A_SESSION.replace(
        'SparkOptions(master="local[2]")',
        'SparkOptions(master="local[2]", conf=(("spark.python.use.daemon", "false"),))',
    )
    assert "checks.columns.split_sums" not in output_of(program).splitlines()
