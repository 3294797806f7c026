# SPDX-License-Identifier: Apache-2.0
"""Commands in messages, pasted into a shell as they are: from a check to a repair to its undo."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from tests.scrub.cli.small_lake import BY_CUSTOMER, ORDERS, write_catalog

TABLE, INDEX = 'bob\'s "new" orders; $HOME', "by customer's id"
SCRUB = Path(sys.executable).with_name("scrub")


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """A lake with one entry missing, where every name needs quoting."""
    home = tmp_path / "bob's lake"
    home.mkdir()
    table = {
        "store": "lake",
        "relation": "orders",
        "columns": {
            "id": {"type": "bigint"},
            "customer_id": {"type": "bigint"},
            "status": {"type": "string"},
        },
        "primary_key": ["id"],
        "indexes": {
            INDEX: {
                "relation": "by_customer",
                "columns": ["customer_id", "id"],
                "storing": ["status"],
            }
        },
    }
    path = write_catalog(home, **{TABLE: table})
    write_deltalake(str(home / "lake" / "orders"), ORDERS)
    write_deltalake(str(home / "lake" / "by_customer"), BY_CUSTOMER.slice(1))
    return path


def paste(line: str, directory: Path, code: int) -> str:
    """What a shell prints that is given a line of ours, in a directory without a catalog."""
    path = f"{SCRUB.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", line],
        cwd=directory,
        env={**os.environ, "PATH": path, "SCRUB_STATE_DIR": str(directory / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def suggested(before: str, text: str) -> str:
    """The command at the end of a line, after what it is for."""
    (line,) = re.findall(rf"{before}: (scrub .*)$", text, re.MULTILINE)
    return str(line)


@pytest.mark.spark
@pytest.mark.slow
def test_each_command_of_a_check_a_repair_and_an_undo_can_be_pasted(
    catalog: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    index = DeltaTable(catalog.parent / "lake" / "by_customer")
    typed = paste(f"scrub check {_quoted(TABLE)} --catalog {_quoted(catalog)}", elsewhere, 2)
    meant = suggested("hint", typed.replace("did you mean ", "").replace("?\n", "\n"))

    checked = paste(meant, elsewhere, 1)
    preview = suggested("to see what a repair would do", checked)
    assert "1 change would be made" in paste(preview, elsewhere, 1)

    repaired = paste(f"{preview} --max-fraction 1 --execute", elsewhere, 0)
    undo = suggested("to undo it", repaired)
    index.update_incremental()
    assert index.to_pyarrow_table().num_rows == 12

    assert "1 undone, 0 refused" in paste(undo, elsewhere, 0)
    index.update_incremental()
    assert index.to_pyarrow_table().num_rows == 11
    own = re.findall(r"^(\w+)  undo of", paste(_journal(catalog), elsewhere, 0), re.MULTILINE)
    refused = paste(f"scrub undo {own[0]} --catalog {_quoted(catalog)}", elsewhere, 2)
    again = suggested("to have it repaired again", refused)
    assert again == preview


def test_a_build_names_commands_that_can_be_pasted(catalog: Path, tmp_path: Path) -> None:
    named = f"{_quoted(TABLE)} {_quoted(INDEX)} --catalog {_quoted(catalog)}"
    told = paste(f"scrub backfill run {named}", tmp_path, 2)
    assert "and scrub did not build it" in told
    follow = suggested("hint: remove it, or have it follow", told)
    shown = paste(follow.replace("VERSION", "0"), tmp_path, 0)
    assert "shows version 0, was up to date" in shown


def test_a_directory_that_is_not_there_is_named_first(catalog: Path, tmp_path: Path) -> None:
    lake = catalog.parent / "lake"
    lake.rename(catalog.parent / "moved")
    given = f"--catalog {_quoted(catalog)}"
    for command in (
        f"scrub index follow {_quoted(TABLE)}",
        f"scrub index follow {_quoted(TABLE)} {_quoted(INDEX)}",
        f"scrub backfill status {_quoted(TABLE)}",
        "scrub journal list",
        "scrub undo 123",
    ):
        assert paste(f"{command} {given}", tmp_path, 3).splitlines() == [
            f"error: there is no directory {lake}, where store lake should be",
            f"hint: mount it, or correct the path of the store in {catalog}",
        ]


def _journal(catalog: Path) -> str:
    return f"scrub journal list --catalog {_quoted(catalog)}"


def _quoted(text: object) -> str:
    """As a person would do it in bash, and not as the code under test does."""
    return "$'" + str(text).replace("\\", "\\\\").replace("'", "\\'") + "'"
