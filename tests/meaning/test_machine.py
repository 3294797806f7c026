# SPDX-License-Identifier: Apache-2.0
"""A lake means the same on every machine, whatever its time zone and language are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checks.test_runner import contents
from tests.meaning.event_lake import event_catalog, write_events

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ELSEWHERE = {"TZ": "Europe/Berlin", "JAVA_TOOL_OPTIONS": "-Duser.language=tr -Duser.country=TR"}


def scrub(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "scrub", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | ELSEWHERE,
    )


def test_a_check_in_berlin_and_in_turkish_finds_what_one_in_utc_does(tmp_path: Path) -> None:
    write_events(tmp_path)
    catalog = str(event_catalog(tmp_path))
    done = scrub("check", "table", "events", "--catalog", catalog, "--format", "json")
    assert done.stdout, done.stderr
    found = [(check["index"], check["status"]) for check in _checks(done.stdout)]
    assert (done.returncode, found) == (0, [("by_day", "clean"), ("by_name", "clean")])


def test_a_repair_in_berlin_rewrites_no_correct_entry(tmp_path: Path) -> None:
    write_events(tmp_path)
    catalog = str(event_catalog(tmp_path))
    before = contents(tmp_path)
    done = scrub("repair", "table", "events", "--catalog", catalog, "--execute")
    assert done.returncode == 0, done.stdout + done.stderr
    assert contents(tmp_path) == before


def _checks(text: str) -> list[dict[str, str]]:
    (table,) = json.loads(text)["tables"]
    return [check for check in table["checks"] if check["index"]]
