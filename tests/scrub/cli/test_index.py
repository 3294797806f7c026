# SPDX-License-Identifier: Apache-2.0
"""`scrub index follow`, as a user types it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from scrub.cli.main import run
from tests.scrub.stores.delta.delta_ground import DeltaGround, rows_of


@pytest.fixture
def ground(tmp_path: Path) -> DeltaGround:
    made = DeltaGround(tmp_path, rows_of((1, 10, "open"), (2, 20, "paid")))
    made.load()
    return made


def follow(ground: DeltaGround, *arguments: str) -> int:
    try:
        return run(["index", "follow", *arguments, "--catalog", str(ground.catalog)])
    except SystemExit as stop:
        return int(stop.code or 0)


def test_what_was_applied_is_said(ground: DeltaGround, capsys: pytest.CaptureFixture[str]) -> None:
    ground.append((3, 30, "open"))
    ground.table.delete("id = 1")
    assert follow(ground, "orders") == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "orders.by_customer: shows version 2, 2 versions applied: 1 put, 1 deleted",
        "orders.open_orders: does not follow its table",
    ]
    assert [re.sub(r"^[\d:]+  ", "", line) for line in err.splitlines()] == [
        "by_customer  version 1: 1 put, 0 deleted",
        "by_customer  version 2: 0 put, 1 deleted",
    ]
    assert follow(ground, "orders", "by_customer") == 0
    assert capsys.readouterr().out == "orders.by_customer: shows version 2, was up to date\n"


def test_an_index_that_was_not_right_exits_with_1(
    ground: DeltaGround, capsys: pytest.CaptureFixture[str]
) -> None:
    DeltaTable(str(ground.root / "orders__by_customer")).delete("id = 1")
    ground.table.delete("id = 1")
    assert follow(ground, "orders", "by_customer") == 1
    told = capsys.readouterr().out
    assert "1 entries to be deleted were not there; to check the index: scrub check table" in told


def test_an_index_that_cannot_be_followed_exits_with_3(
    ground: DeltaGround, capsys: pytest.CaptureFixture[str]
) -> None:
    ground.table.delete("id = 1")
    ground.table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert follow(ground, "orders") == 3
    err = capsys.readouterr().err
    assert "error: orders.by_customer: " in err
    assert "a vacuum of the table removed it" in err
    assert "hint: rebuild the index" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["orders", "by_custmer"], "did you mean by_customer?"),
        (["ordrs"], "did you mean orders?"),
        (["orders", "open_orders"], "there is no Delta table orders__open_orders"),
        (["orders", "--from", "0"], "name it"),
        (["orders", "by_customer", "--from", "7"], "has versions 0 to 0"),
        (["orders", "--every", "0"], "0"),
        ([], "TABLE"),
    ],
)
def test_mistakes_exit_with_2(
    ground: DeltaGround, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert follow(ground, *arguments) == 2
    assert message in capsys.readouterr().err


def test_every_goes_on_following(ground: DeltaGround) -> None:
    command = [sys.executable, "-m", "scrub", "index", "follow", "orders", "--every", "0.1"]
    process = subprocess.Popen(
        [*command, "--catalog", str(ground.catalog)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for number in range(3, 6):
        ground.append((number, 1, "open"))
        line = process.stderr.readline()
        assert "1 put" in line
    assert ground.entries() == ground.expected()
    ground.table.delete("id >= 0")
    assert "5 deleted" in process.stderr.readline()
    process.kill()
    process.wait()
