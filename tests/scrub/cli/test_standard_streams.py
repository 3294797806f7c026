# SPDX-License-Identifier: Apache-2.0
"""A result that nobody gets is an error, and a message that nobody gets changes no exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import delta_lake, entries_of, orders

SCRUB = [sys.executable, "-c", "from scrub.cli.main import main; main()"]
BUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalog of an index without defects."""
    rows = orders(10)
    return delta_lake(tmp_path_factory.mktemp("lake"), rows, entries_of(rows))


def run(redirected: str, *arguments: str, unbuffered: str = "") -> tuple[int, str, str]:
    """A command as a shell starts it, with its streams redirected."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirected}', "sh", *SCRUB, *arguments],
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@BUFFERED
@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["--version"],
        ["completion", "bash"],
        ["catalog", "show"],
        ["catalog", "validate"],
        ["journal", "list"],
        ["check", "table", "orders"],
        ["check", "table", "orders", "--explain", "--format", "json"],
        ["repair", "table", "orders"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("redirected", "reason"),
    [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")],
    ids=["full", "closed"],
)
def test_a_result_that_cannot_be_written_is_an_error(
    command: list[str], redirected: str, reason: str, unbuffered: str, lake: Path
) -> None:
    takes_catalog = command[0] in ("catalog", "journal", "check", "repair")
    catalog = ["--catalog", str(lake)] if takes_catalog else []
    code, _, told = run(redirected, *command, *catalog, unbuffered=unbuffered)
    assert told.splitlines()[0] == (
        f"error: the result could not be written to standard output: {reason}"
    )
    assert len(told.splitlines()) == 1
    assert code == 2


@BUFFERED
@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-"], ids=["full", "closed"])
def test_a_message_that_cannot_be_written_changes_nothing(
    redirected: str, unbuffered: str, lake: Path
) -> None:
    code, shown, _ = run(
        redirected, "check", "table", "orders", "--catalog", str(lake), unbuffered=unbuffered
    )
    assert (code, shown.splitlines()[-1][:5]) == (0, "clean")
    assert run(redirected, "chek", unbuffered=unbuffered)[0] == 2


def test_a_result_in_a_file_needs_no_standard_output(lake: Path, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    asked = ["check", "table", "orders", "--catalog", str(lake), "--format", "json"]
    code, _, told = run(">&- 2>&- <&-", *asked, "--output", str(result))
    assert (code, told) == (0, "")
    assert '"status": "clean"' in result.read_text()
