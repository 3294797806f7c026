# SPDX-License-Identifier: Apache-2.0
"""A lake means the same on every machine, whatever its time zone and language are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from tests.checks.test_runner import contents
from tests.connect_port import alone_on_the_port
from tests.meaning.event_lake import (
    BY_DAY,
    BY_NAME,
    by_day,
    by_name,
    event_catalog,
    events,
    moments,
    write_events,
)

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ELSEWHERE = {
    "TZ": "Europe/Berlin",
    "JAVA_TOOL_OPTIONS": "-Duser.language=tr -Duser.country=TR",
    "SCRUB_IN_PROCESS_BYTES": "0",  # Spark has more to get wrong than this process
}


PROGRAM = """
import sys
from scrub.cli.main import run

def code_of(*arguments):
    try:
        return run([*arguments, "--catalog", sys.argv[1]])
    except SystemExit as stop:
        return stop.code

check = code_of("check", "table", "events", "--format", "json", "--output", sys.argv[2])
repair = code_of("repair", "table", "events", "--execute")
print("exit codes", check, repair)
"""
"""A check and a repair by one process: starting a JVM for each takes longer than both."""


def test_a_check_in_berlin_and_in_turkish_finds_what_one_in_utc_does_and_a_repair_rewrites_nothing(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    write_events(lake)
    catalog, report = event_catalog(lake), tmp_path / "report.json"
    before = contents(lake)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(catalog), str(report)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | ELSEWHERE,
    )
    assert done.stdout.splitlines()[-1:] == ["exit codes 0 0"], done.stdout + done.stderr
    found = [(check["index"], check["status"]) for check in _checks(report.read_text())]
    assert found == [("by_day", "clean"), ("by_name", "clean")]
    assert contents(lake) == before


def borrowed(where: str, *catalogs: Path) -> list[dict[str, tuple[str, str | None]]]:
    """What checks over a session of somebody else say, by index."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.meaning.notebook", where, *map(str, catalogs)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | ELSEWHERE | {"PYSPARK_PYTHON": sys.executable},  # else tasks have none
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_what_a_borrowed_jvm_cannot_judge_is_incomplete_by_name(tmp_path: Path) -> None:
    """Its language, and its zone for wall clocks in ORC, were decided when it was started."""
    write_events(tmp_path)
    delta = event_catalog(tmp_path)
    clocks = tmp_path / "clocks"
    for name in ("events", "events__by_day", "events__by_name", "events__plain"):
        (clocks / name).mkdir(parents=True)
    rows = events(moments(20))
    # ORC without a zone: the wall clocks of UTC, as a JVM in UTC would have written them.
    wall = rows.set_column(1, "at", rows.column("at").cast(pa.timestamp("ns")))
    orc.write_table(wall, clocks / "events" / "0.orc")
    orc.write_table(by_day(rows, "UTC"), clocks / "events__by_day" / "0.orc")
    orc.write_table(by_name(rows), clocks / "events__by_name" / "0.orc")
    orc.write_table(wall.select(["at", "id"]), clocks / "events__plain" / "0.orc")
    in_orc = event_catalog(
        clocks,
        {"by_day": BY_DAY, "by_name": BY_NAME, "plain": {"columns": ["at"]}},
        store={"kind": "spark", "format": "orc", "path": "."},
    )
    of_delta, of_orc = borrowed("classic", delta, in_orc)
    assert of_delta["by_day"][0] == of_delta["by_name"][0] == "clean", "tasks judge them"
    status, reason = of_orc["by_name"]
    assert status == "incomplete"
    assert "-Duser.language=en" in (reason or "")
    assert of_orc["plain"][0] == "clean", "both sides are read alike"
    status, reason = of_orc["by_day"]
    assert status == "incomplete"
    assert "Europe/Berlin, not in UTC" in (reason or "")
    assert "-Duser.timezone=UTC" in (reason or "")


def test_a_session_of_spark_connect_is_copied_too(tmp_path: Path) -> None:
    write_events(tmp_path)
    with alone_on_the_port():
        (found,) = borrowed("connect", event_catalog(tmp_path))
    assert found["by_day"] == ["clean", None]


def _checks(text: str) -> list[dict[str, str]]:
    (table,) = json.loads(text)["tables"]
    return [check for check in table["checks"] if check["index"]]
