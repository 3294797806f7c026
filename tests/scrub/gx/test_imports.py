# SPDX-License-Identifier: Apache-2.0
"""Importing Great Expectations takes seconds, so only what is about it does that."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import delta_lake, entries_of, orders


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory, rows = tmp_path_factory.mktemp("lake"), orders(20)
    delta_lake(directory, rows, entries_of(rows))
    return directory


def imported_by(lake: Path, *arguments: str) -> set[str]:
    """The packages that a command imports; Python itself prints each."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "scrub", *arguments],
        cwd=lake,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize(
    "command",
    ["--help", "gx export orders --output suite.json", "catalog validate", "gate --help"],
)
def test_a_command_without_rows_imports_neither_spark_nor_great_expectations(
    lake: Path, command: str
) -> None:
    imported = imported_by(lake, *command.split())
    assert "click" in imported
    assert not imported & {"pyspark", "great_expectations"}


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["check table orders --checks index,constraint,physical", "gate orders"]
)
def test_no_other_command_imports_great_expectations(lake: Path, command: str) -> None:
    imported = imported_by(lake, *command.split())
    assert "pyspark" in imported
    assert "great_expectations" not in imported
