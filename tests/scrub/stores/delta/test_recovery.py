# SPDX-License-Identifier: Apache-2.0
"""Lost rows put back into a lake: what is written, races, crashes, following indexes, undo."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from repair.executing import Executor
from repair.planning import plan_repair
from repair.recovering import settle_recoveries
from scrub.app.building.delta_selection import select
from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import ActionKind, ActionOutcome
from scrub.stores.delta.recovery import RecoveringDelta
from scrub.stores.recovering import RecoveringStore
from tests.repair.repair_ground import BY_CUSTOMER, IndexPlan, Lake
from tests.scrub.stores.delta.delta_ground import DeltaGround, before_the_commit, rows_of

DONE, ALREADY_RIGHT, ROW_CHANGED, CONFLICT = (
    ActionOutcome.DONE,
    ActionOutcome.ALREADY_RIGHT,
    ActionOutcome.ROW_CHANGED,
    ActionOutcome.CONFLICT,
)
COLUMNS = {"id": "bigint", "customer_id": "bigint", "status": "string", "note": "string"}
ROWS = [(1, 10, "open", "a"), (2, 20, "paid", "b"), (3, None, "sent", None)]
LEFT = [ROWS[0], ROWS[2]]
INDEXES = {
    "by_customer": BY_CUSTOMER,
    "by_status": IndexPlan(columns=["status"]),
    "by_note": IndexPlan(columns=["note"]),
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Row 2 is lost; only its note is known nowhere."""
    lake = Lake(tmp_path, ROWS, INDEXES, COLUMNS)
    lake.write_rows(*LEFT)
    lake.write("by_note", [("a", 1), (None, 3)])
    return lake


def everything(lake: Lake) -> list[Any]:
    rows = DeltaTable(str(lake.root / "orders")).to_pyarrow_table()
    return [sorted(map(repr, rows.to_pylist())), *(lake.entries(name) for name in lake.plans)]


def recover(lake: Lake, run: str = "run 1") -> list[tuple[ActionOutcome, bool | None]]:
    done = lake.repair_all(run, lake.recovery().actions)
    return [(one.outcome, one.in_order) for one in done]


def test_it_is_a_recovering_store(lake: Lake) -> None:
    assert isinstance(lake.repairs(), RecoveringStore)


def test_a_lost_row_is_put_back_with_null_and_its_entry_and_undo_restores_everything(
    lake: Lake,
) -> None:
    before = everything(lake)
    plan = lake.recovery()
    (action,) = plan.actions
    assert plan.refusals == ()
    assert action.after == {"id": 2, "customer_id": 20, "status": "paid", "note": None}
    assert action.puts == (("by_note", {"note": None, "id": 2}),)
    assert everything(lake) == before, "a preview writes nothing"
    assert recover(lake) == [(DONE, True)]
    assert (2, 20, "paid", None) in [tuple(row.values()) for row in lake.rows()]
    assert lake.all_defects() == []
    records = lake.repairs().journal("run 1")
    assert [(r.kind, r.index) for r in records] == [
        (ActionKind.RECOVER, ""),
        (ActionKind.PUT, "by_note"),
    ]
    assert lake.undo() == [DONE, DONE]
    assert everything(lake) == before
    assert [r.undone_by for r in lake.repairs().journal("run 1")] == ["undo 1", "undo 1"]
    assert lake.undo(run="undo 2") == []


def test_a_table_that_moved_on_is_judged_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    other = pa.table({"id": [9], "customer_id": [90], "status": ["x"], "note": ["n"]})
    location = str(lake.root / "orders")
    tried = before_the_commit(monkeypatch, lambda: write_deltalake(location, other, mode="append"))
    assert recover(lake) == [(DONE, True)]
    assert sorted(row["id"] for row in lake.rows()) == [1, 2, 3, 9]
    assert len(tried) == 3, "the row twice, and the entry"
    assert len(lake.repairs().journal("run 1")) == 2


@pytest.mark.parametrize(("status", "outcome"), [("paid", ALREADY_RIGHT), ("other", ROW_CHANGED)])
def test_a_row_that_came_meanwhile_is_left_alone(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, status: str, outcome: ActionOutcome
) -> None:
    rows = [*LEFT, (2, 20, status, None)]
    before_the_commit(monkeypatch, lambda: lake.write_rows(*rows))
    ((found, _),) = recover(lake)
    assert found is outcome
    assert len(lake.rows()) == 3
    assert lake.repairs().journal("run 1") == []


def test_a_row_that_an_index_no_longer_tells_of_is_left_alone(lake: Lake) -> None:
    plan = lake.recovery()
    lake.write("by_status", [("open", 1), ("sent", 3)])
    before = everything(lake)
    (done,) = lake.repair_all("run 1", plan.actions)
    assert (done.outcome, "by_status" in done.reason) == (CONFLICT, True)
    assert everything(lake) == before


def test_a_row_that_was_written_to_since_is_not_taken_out_nor_are_its_entries(lake: Lake) -> None:
    recover(lake)
    lake.write_rows(*LEFT, (2, 20, "paid", "mine"))
    before = everything(lake)
    assert lake.undo() == [CONFLICT, CONFLICT]
    assert everything(lake) == before


def test_a_crash_before_or_after_the_commit_is_completed_by_running_it_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash() -> None:
        raise KeyboardInterrupt

    def crashes(run: str) -> None:
        with closing(lake.repairs()) as store, pytest.raises(KeyboardInterrupt):
            Executor(store, lake.table, run).repair(lake.recovery().actions)

    before = everything(lake)
    with monkeypatch.context() as patched:
        before_the_commit(patched, crash)
        crashes("cut off")
    assert everything(lake) == before
    assert lake.repairs().journal("cut off") == []
    with monkeypatch.context() as patched:
        patched.setattr(RecoveringDelta, "_bring_along", lambda *_: crash())
        crashes("half done")
    (record,) = lake.repairs().journal("half done")
    assert record.kind is ActionKind.RECOVER
    assert lake.repair("rest") == [DONE]
    assert lake.all_defects() == []
    assert [lake.undo("rest", "u1"), lake.undo("half done", "u2")] == [[DONE], [DONE]]
    assert everything(lake) == before


def test_what_the_table_cannot_have_or_another_row_has_is_refused(tmp_path: Path) -> None:
    plans = {"by_customer": IndexPlan(columns=["customer_id"], unique=True)}
    plans["by_status"] = IndexPlan(columns=["status"])
    lake = Lake(tmp_path, ROWS, plans, COLUMNS)
    lake.write_rows(*LEFT, (9, 20, "open", "c"))
    lake.write("by_status", [("open", 1), ("sent", 3), ("paid", 2), ("open", 9)])
    plan = lake.recovery()
    assert [action.kind for action in plan.actions] == [ActionKind.PUT]
    assert "another row" in plan.refusals[0].reason
    schema = pa.schema(
        [("id", pa.int64()), ("customer_id", pa.int64()), ("status", pa.string()),
         pa.field("note", pa.string(), nullable=False)]
    )  # fmt: skip
    rows = pa.Table.from_pylist(
        [dict(zip(COLUMNS, row, strict=True)) for row in LEFT[:1]], schema=schema
    )
    write_deltalake(str(tmp_path / "orders"), rows, mode="overwrite", schema_mode="overwrite")
    reasons = {refusal.reason for refusal in lake.recovery().refusals}
    assert any("the row's note, which Delta table orders never lets be NULL" in r for r in reasons)


def dangling(ground: DeltaGround) -> list[Defect]:
    entries = {
        "by_customer": {"customer_id": 70, "id": 7, "status": "open"},
        "open_orders": {"customer_id": 70, "id": 7},
    }
    return [
        Defect(
            kind=DefectKind.DANGLING,
            table="orders",
            index=index,
            primary_key={"id": 7},
            index_key={"customer_id": 70},
            expected=None,
            actual=entry,
            snapshot="",
        )
        for index, entry in entries.items()
    ]


@pytest.mark.parametrize("is_quick", [False, True], ids=["follows later", "has followed"])
def test_an_index_that_follows_has_the_entry_once_whenever_it_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_quick: bool
) -> None:
    ground = DeltaGround(tmp_path, rows_of((1, 10, "open"), (2, 20, "paid")), feed=is_quick)
    for index in ("by_customer", "open_orders"):
        ground.load(index).publish()
    for defect in dangling(ground):
        location = str(tmp_path / f"orders__{defect.index}")
        schema = DeltaTable(location).to_pyarrow_table().schema
        write_deltalake(
            location, pa.Table.from_pylist([dict(defect.actual or {})], schema), mode="append"
        )
    catalog, table, _ = select(ground.catalog, "orders", ("by_customer",))
    store = RecoveringDelta(catalog.stores[table.store])
    defects = dangling(ground)
    plan = plan_repair(defects, {"orders": table}, recover_rows=True)
    plan = settle_recoveries(plan, table, store, defects)
    if is_quick:
        bring = RecoveringDelta._bring_along

        def after_following(*given: Any) -> None:
            ground.follow(given[3].name)
            bring(*given)

        monkeypatch.setattr(RecoveringDelta, "_bring_along", after_following)
    assert plan.refusals == ()
    done = Executor(store, table, "run 1").repair(plan.actions)
    assert [(one.outcome, one.in_order) for one in done] == [(DONE, True)]
    for index in ("by_customer", "open_orders"):
        ground.follow(index)
        assert ground.entries(index) == ground.expected(index)
        assert 7 in {row[1] for row in ground.entries(index)}
    Executor(RecoveringDelta(catalog.stores[table.store]), table, "undo 1").undo("run 1")
    assert 7 not in {row["id"] for row in ground.rows()}
