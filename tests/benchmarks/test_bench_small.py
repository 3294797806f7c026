# SPDX-License-Identifier: Apache-2.0
"""The benchmark as a whole, at a size where only its answers mean something."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.lines import LINES
from tests.small_session import interpreting_plans

ROOT = Path(__file__).parent.parent.parent
# Each takes longer than most others, or starts Spark twice to measure its memory.
NOT_IN_THE_SUITE = {
    *("huge", "cold-huge", "growth", "constraint-memory", "datacompy"),
    *("cold-defects", "cold-spark"),  # beside the other cold commands, they show nothing new
}


@pytest.mark.slow
@pytest.mark.spark
def test_every_measurement_gives_the_right_answer_and_a_line(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    options = ["--rows", "20000", "--warm", "0", "--repeat", "1"]
    options += ["--data", tmp_path / "data", "--json", figures]
    names = sorted(set(LINES) - NOT_IN_THE_SUITE)
    command = [sys.executable, "-m", "benchmarks.run", *map(str, options), "--only", *names]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | interpreting_plans(),  # of few rows; compiling them takes longer
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    lines = json.loads(figures.read_text())["lines"]
    assert {line["name"] for line in lines} == set(names)
    for line in lines:
        assert line["measurement"] in done.stdout
