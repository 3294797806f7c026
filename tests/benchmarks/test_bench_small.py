# SPDX-License-Identifier: Apache-2.0
"""The benchmark as a whole, at a size where only its answers mean something."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.lines import LINES

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
@pytest.mark.spark
def test_every_measurement_gives_the_right_answer_and_a_line(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    options = ["--rows", "20000", "--repeat", "1", "--data", tmp_path / "data", "--json", figures]
    command = [sys.executable, "-m", "benchmarks.run", *map(str, options)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    lines = json.loads(figures.read_text())["lines"]
    assert {line["name"] for line in lines} == set(LINES) - {"huge"}
    for line in lines:
        assert line["measurement"] in done.stdout
