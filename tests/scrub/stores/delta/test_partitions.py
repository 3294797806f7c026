# SPDX-License-Identifier: Apache-2.0
"""Repairs of partitioned Delta indexes, and values that files or logs have trouble with."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from repair.hindered import without_hindered
from scrub.errors import ScrubError
from scrub.model.repair import ActionOutcome
from tests.repair.repair_ground import COLUMNS, IndexPlan, Lake

ROWS = [(1, 5, "a"), (2, 6, "b/ =%"), (3, 7, ""), (4, 8, None)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """The index is partitioned by status, holds one wrong entry, and lacks the others."""
    lake = Lake(tmp_path, ROWS)
    data = pa.table({"status": ["x"], "id": [2], "customer_id": [6]})
    write_deltalake(
        str(tmp_path / "orders__by_customer"),
        data,
        mode="overwrite",
        schema_mode="overwrite",
        partition_by=["status"],
    )
    return lake


def test_an_empty_text_in_a_partition_is_refused_in_the_preview(lake: Lake) -> None:
    """Formerly NULL was written, called done, and not taken back by an undo."""
    before = lake.entries()
    plan = without_hindered(lake.plan(), lake.table, lake.repairs())
    (refusal,) = plan.refusals
    assert refusal.primary_key == {"id": 3}
    assert "partitioned by status, and an empty text there would be read as NULL" in refusal.reason
    done = lake.repair_all(actions=plan.actions)
    assert [(one.outcome, one.in_order) for one in done] == [(ActionOutcome.DONE, True)] * 3
    assert lake.entries() == {(5, 1, "a"): 1, (6, 2, "b/ =%"): 1, (8, 4, None): 1}
    assert set(lake.undo()) == {ActionOutcome.DONE}
    assert lake.entries() == before


def test_an_empty_text_in_a_partition_is_not_written_whoever_asks(lake: Lake) -> None:
    version = lake.versions()
    with pytest.raises(ScrubError, match="empty text"):
        lake.repair()
    assert lake.versions() == version


def test_a_lost_row_with_an_empty_text_in_a_partition_is_refused(tmp_path: Path) -> None:
    plans = {
        "by_customer": IndexPlan(columns=["customer_id"], storing=["status"]),
        "by_status": IndexPlan(columns=["status"], storing=["customer_id"]),
    }
    lake = Lake(tmp_path, ROWS, plans)
    write_deltalake(
        str(tmp_path / "orders"),
        pa.table({"id": [1], "customer_id": [5], "status": ["a"]}),
        mode="overwrite",
        partition_by=["status"],
        schema_mode="overwrite",
    )
    plan = lake.recovery()
    assert sorted(action.primary_key["id"] for action in plan.actions) == [2, 4]  # type: ignore[index]
    assert {refusal.primary_key["id"] for refusal in plan.refusals} == {3}  # type: ignore[index]
    assert all("empty text" in refusal.reason for refusal in plan.refusals)


def test_times_outside_the_calendar_beside_an_entry_are_copied_and_come_back(
    tmp_path: Path,
) -> None:
    """Formerly a traceback: the bounds of such a file cannot be determined as dates."""
    lake = Lake(tmp_path, [(1, 5, "a"), (2, 6, "b")])
    location = str(tmp_path / "orders__by_customer")
    data = pa.table(
        {
            "customer_id": [5, 6, 9],
            "id": [1, 2, 9],
            "status": ["a", "wrong", "x"],
            "at": pa.array([-(2**62), 1, 2**62], pa.timestamp("us", "UTC")),
            "clock": pa.array([2**60, 1, -(2**60)], pa.timestamp("us")),
        }
    )
    write_deltalake(location, data, mode="overwrite", schema_mode="overwrite")

    def held() -> list[tuple[object, ...]]:
        found = DeltaTable(location).to_pyarrow_table(columns=data.column_names).sort_by("id")
        return [tuple(c.cast(pa.string() if c.type == pa.string() else pa.int64()).to_pylist())
                for c in found.columns]  # fmt: skip

    before = held()
    assert set(lake.repair()) == {ActionOutcome.DONE}
    assert lake.entries() == lake.demanded()
    assert set(lake.undo()) == {ActionOutcome.DONE}
    assert held() == before


def test_an_index_of_a_lake_that_the_catalog_describes_otherwise_by_now_is_named(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path, [(1, 5, "a"), (2, 6, "b")])
    lake.write("by_customer", [(5, 1, "a")])
    lake.repair()
    now = lake.entries()
    wider = IndexPlan(columns=["customer_id"], storing=["status", "note"])
    lake._describe(tmp_path, {"by_customer": wider}, {**COLUMNS, "note": "string"}, ("id",))
    with pytest.raises(ScrubError, match="for which the catalog now has other columns or types"):
        lake.undo()
    lake._describe(tmp_path, None, None, ("id",))
    assert lake.entries() == now
    assert lake.undo() == [ActionOutcome.DONE]
