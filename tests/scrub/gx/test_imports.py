# SPDX-License-Identifier: Apache-2.0
"""Great Expectations takes seconds to import, and only what shows its pages pays for that."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import delta_lake, entries_of, orders

PROGRAM = """
import sys
from scrub.cli import main

for line in sys.argv[2:]:
    try:
        code = main.run(line.split())
    except SystemExit as ended:
        code = ended.code
    heavy = [name for name in sys.argv[1].split(",") if name in sys.modules]
    print("ran", line, code, *heavy, file=sys.stderr)
"""
COMMANDS = [
    "catalog validate",
    "catalog show",
    "check table orders --explain",
    "check table orders --format json",
    "gate orders --write-baseline",
    "gate orders --format sarif",
    "repair table orders",
    "gx export orders",
]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    rows = orders(20)
    delta_lake(tmp_path, rows, entries_of(rows).slice(1))
    return tmp_path


def run(heavy: str, commands: list[str], directory: Path) -> list[list[str]]:
    """The exit code of each command, and which of the modules are imported after it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, heavy, *commands],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    ran = [line for line in done.stderr.splitlines() if line.startswith("ran ")]
    assert len(ran) == len(commands), done.stderr
    return [
        line.removeprefix(f"ran {command} ").split()
        for line, command in zip(ran, commands, strict=True)
    ]


@pytest.mark.spark
@pytest.mark.slow
def test_no_other_command_imports_great_expectations(lake: Path) -> None:
    codes = ["0", "0", "0", "1", "0", "0", "1", "0"]  # a preview leaves its defects
    assert run("great_expectations", COMMANDS, lake) == [[code] for code in codes]


def test_help_and_export_import_neither_spark_nor_great_expectations(lake: Path) -> None:
    commands = ["--help", "gx --help", "gx export --help", "check table --help", "gx export orders"]
    assert run("pyspark,great_expectations", commands, lake) == [["0"]] * len(commands)
