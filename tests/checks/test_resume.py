# SPDX-License-Identifier: Apache-2.0
"""A check that was killed goes on where it was, if it is the same check of the same snapshot."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from checks.parts import JobSize
from scrub.app import run_check
from scrub.model.request import CheckRequest
from scrub.model.result import RunResult
from tests.builders import entries_of, found, orders, parquet_lake

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ONE_PART_A_JOB = JobSize(first_job_rows=1, job_seconds=0.0)
RUN = """
import sys
from pathlib import Path
from checks.parts import JobSize
from scrub.app import run_check
from scrub.model.request import CheckRequest, SparkOptions
request = CheckRequest(catalog=Path(sys.argv[1]), tables=("orders",))
run_check(
    request,
    spark_options=SparkOptions(master="local[1]"),
    job_size=JobSize(first_job_rows=1, job_seconds=0.0),
)
"""


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    rows = orders(600)
    return parquet_lake(tmp_path, rows, entries_of(rows).slice(1), files=6)


def kept(lake: Path) -> list[Path]:
    return list((lake.parent / "state").glob("check-*.npz"))


def check(lake: Path, spark: Any, *, fresh: bool = False, on_progress: Any = None) -> RunResult:
    request = CheckRequest(catalog=lake, tables=("orders",), fresh=fresh)
    listener = on_progress or (lambda _: None)
    return run_check(request, spark=spark, on_progress=listener, job_size=ONE_PART_A_JOB)


def notes(result: RunResult) -> list[str]:
    return [note for note in result.outcomes[0].notes if note.startswith("resumed")]


def crash_after(jobs: int) -> Any:
    """A listener that ends the run when some jobs are done."""
    seen = []

    def listen(progress: Any) -> None:
        seen.append(progress)
        if progress.rows_done and len({p.rows_done for p in seen}) > jobs:
            raise RuntimeError("the machine went away")

    return listen


def test_a_check_killed_by_the_system_resumes(lake: Path, spark: Any) -> None:
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(lake)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not kept(lake) and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert kept(lake), "the run ended before it was killed"
    result = check(lake, spark)
    assert notes(result)
    assert found(result) == [("missing_secondary_index", 0)]
    assert result.outcomes[0].rows == 600
    assert not kept(lake), "a finished check has nothing to resume"


def test_a_resumed_check_reads_only_what_is_left(lake: Path, spark: Any) -> None:
    with pytest.raises(RuntimeError, match="went away"):
        check(lake, spark, on_progress=crash_after(4))
    result = check(lake, spark)
    (note,) = notes(result)
    assert note.endswith("of 12 parts were read before")
    assert found(result) == [("missing_secondary_index", 0)]
    assert (result.outcomes[0].rows, result.outcomes[0].entries) == (600, 599)


def test_another_snapshot_starts_from_the_beginning(lake: Path, spark: Any) -> None:
    with pytest.raises(RuntimeError, match="went away"):
        check(lake, spark, on_progress=crash_after(3))
    (lake.parent / "orders" / "005.parquet").unlink()
    result = check(lake, spark)
    assert not notes(result)
    assert result.outcomes[0].rows == 500


def test_fresh_starts_from_the_beginning(lake: Path, spark: Any) -> None:
    with pytest.raises(RuntimeError, match="went away"):
        check(lake, spark, on_progress=crash_after(3))
    assert not notes(check(lake, spark, fresh=True))


def test_a_damaged_state_file_is_as_good_as_none(lake: Path, spark: Any) -> None:
    with pytest.raises(RuntimeError, match="went away"):
        check(lake, spark, on_progress=crash_after(3))
    (state,) = kept(lake)
    state.write_bytes(state.read_bytes()[:100])
    result = check(lake, spark)
    assert not notes(result)
    assert found(result) == [("missing_secondary_index", 0)]
