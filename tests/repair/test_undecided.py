# SPDX-License-Identifier: Apache-2.0
"""Differences that data nobody could read might explain: no repair touches them."""

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from reports.repairs import repair_as_text
from scrub.app.repairing.repair import execute_repair, preview_repair
from scrub.model.repair import ActionKind, RepairReport, RepairRequest
from tests.scrub.cli.small_lake import (
    BY_STATUS,
    damaged_file,
    described,
    gone,
    without,
    write_catalog,
    write_orders,
)

pytestmark = pytest.mark.spark


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """The file with orders 4, 5 and 6 is gone, and order 1 has no entry in by_status."""
    write_orders(tmp_path / "lake", by_status=without(BY_STATUS, 1))
    gone(damaged_file(tmp_path / "lake" / "orders"))
    return write_catalog(tmp_path, orders=described("lake"))


def ids(catalog: Path, index: str) -> list[int]:
    relation = catalog.parent / "lake" / f"orders__{index}"
    return sorted(DeltaTable(relation).to_pyarrow_table()["id"].to_pylist())


def assert_undecided(report: RepairReport) -> None:
    text = repair_as_text(report)
    for index in ("by_customer", "by_status"):
        assert f"orders.{index}: 3 undecided differences" in text
    assert report.is_incomplete


def test_undecided_differences_are_refused_and_what_is_certain_is_repaired(
    catalog: Path, spark: Any
) -> None:
    """Entries of orders 4, 5 and 6 look as if their rows were deleted."""
    request = RepairRequest(table="orders", catalog=catalog, max_fraction=1.0)
    preview = preview_repair(request, spark=spark)
    assert [(a.index, a.kind) for a in preview.plan.actions] == [("by_status", ActionKind.PUT)]
    assert_undecided(preview)

    report = execute_repair(request, spark=spark)
    assert [(one.action.index, one.action.primary_key) for one in report.done] == [
        ("by_status", {"id": 1})
    ]
    assert_undecided(report)
    assert report.exit_code == 3
    assert ids(catalog, "by_customer") == ids(catalog, "by_status") == list(range(1, 13))


def test_nothing_but_undecided_differences_is_no_all_clear(catalog: Path, spark: Any) -> None:
    request = RepairRequest(table="orders", catalog=catalog, indexes=("by_customer",))
    report = execute_repair(request, spark=spark)
    assert not report.done
    assert "nothing was changed: not everything was checked" in repair_as_text(report)
    assert report.exit_code == 3
    assert ids(catalog, "by_customer") == list(range(1, 13))
