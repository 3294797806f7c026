# SPDX-License-Identifier: Apache-2.0
"""`scrub backfill` on tables in Delta, as a user types it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from scrub.cli import main
from tests.reports.results import RESULTS
from tests.scrub.cli.test_backfill import a_gate_that_cannot_look
from tests.scrub.stores.delta.delta_ground import DeltaGround, rows_of

pytestmark = pytest.mark.spark
INDEXES = {
    "by_status": {"columns": ["status"]},
    "by_customer": {"columns": ["customer_id"], "unique": True},
}
Scrub = Callable[[str], int]


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeltaGround:
    """Rows 1 and 3 share the key of a unique index."""
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    return DeltaGround(tmp_path, rows_of((1, 7, "a"), (2, 8, "b"), (3, 7, "c")), INDEXES)


@pytest.fixture
def scrub(ground: DeltaGround, spark: Any) -> Scrub:
    def run(command: str) -> int:
        try:
            return main.run(["backfill", *command.split(), "--catalog", str(ground.catalog)])
        except SystemExit as stop:
            return int(stop.code or 0)

    return run


def reported(text: str) -> dict[str, dict[str, Any]]:
    """The builds of a JSON report; each is of one index."""
    builds = json.loads(text)["builds"]
    assert all(len(build["indexes"]) == 1 for build in builds)
    return {build["indexes"][0]: build for build in builds}


def test_each_index_of_a_run_is_reported_with_its_own_state(
    scrub: Scrub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scrub("run orders by_status by_customer --execute") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "by_status of orders: public",
        "  3 entries, as of version 0 of the table, which is at version 0",
        "by_customer of orders: loaded, and not published (validating)",
        "  why: the check found 2 defects:",
    ]
    assert "by_status of orders: public" in status(scrub, capsys)
    assert "by_customer of orders: loaded; being checked" in status(scrub, capsys)


def status(scrub: Scrub, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert scrub(" ".join(["status orders", *options])) == 0
    return capsys.readouterr().out


def test_programs_read_of_a_run_what_status_says_afterwards(
    ground: DeltaGround, scrub: Scrub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scrub("run orders by_status by_customer --execute --format json") == 1
    ran = reported(capsys.readouterr().out)
    assert {name: build["state"] for name, build in ran.items()} == {
        "by_status": "public",
        "by_customer": "validating",
    }
    assert ran["by_status"]["failure"] is None
    assert "unique_violation of by_customer at id=1" in ran["by_customer"].pop("failure")
    assert [build["entries"] for build in ran.values()] == [3, 3]
    afterwards = reported(status(scrub, capsys, "--format json"))
    del afterwards["by_customer"]["failure"]
    assert afterwards == ran
    ground.table.delete("id = 3")
    assert scrub("resume orders --format json") == 0
    assert list(reported(capsys.readouterr().out)) == ["by_customer"]
    assert scrub("drop orders by_customer --execute") == 0


def test_an_incomplete_look_at_the_gate_exits_with_3(
    scrub: Scrub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_gate_that_cannot_look(monkeypatch):
        assert scrub("run orders by_status --execute") == 3
    output = capsys.readouterr().out
    assert "by_status of orders: loaded, and not published (validating)" in output
    assert "why: the check could not look at everything" in output
    assert "by_status of orders: loaded; being checked (validating)" in status(scrub, capsys)
    assert scrub("resume orders by_status") == 0


def test_a_defect_outweighs_an_incomplete_look(
    scrub: Scrub, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = iter(["incomplete", "defective"])
    monkeypatch.setattr(
        "scrub.app.building.gate.run_check", lambda *_, **__: RESULTS[next(results)]()
    )
    assert scrub("run orders by_status by_customer --execute") == 1


def test_each_index_that_is_cancelled_is_reported(
    ground: DeltaGround, scrub: Scrub, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in INDEXES:
        ground.load(name)
    assert scrub("cancel orders --execute --format json") == 0
    found = reported(capsys.readouterr().out)
    assert {name: build["failure"] for name, build in found.items()} == {
        "by_status": "cancelled",
        "by_customer": "cancelled",
    }
    assert not any(DeltaTable.is_deltatable(str(ground.root / f"orders__{n}")) for n in INDEXES)
