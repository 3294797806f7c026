# SPDX-License-Identifier: Apache-2.0
"""-0.0 and 0.0 are equal to checks, which tell either of them: what is written is what is there."""

from pathlib import Path

import pytest

from repair.planning import plan_repair
from repair.recovering import settle_recoveries
from scrub.model.defect import DefectKind
from scrub.model.repair import ActionKind, ActionOutcome, Entry, RepairPlan
from scrub.model.types import ColumnType, TypeName
from scrub.stores.recovering import RecoveringStore
from tests.postgres_server import Database
from tests.repair.repair_ground import IndexPlan, Lake
from tests.scrub.stores.postgres.repairs.postgres_ground import (
    BIGINT,
    Ground,
    defect_of,
    index_of,
    outcomes,
    table_of,
)

DOUBLE, FLOAT = ColumnType(TypeName.DOUBLE), ColumnType(TypeName.FLOAT)
BY_V = index_of(key={"v": DOUBLE}, suffix={"k": BIGINT}, stored={"s": FLOAT})
BY_S = index_of(
    key={"s": FLOAT}, suffix={"k": BIGINT}, stored={"v": DOUBLE}, name="by_s", relation="t__by_s"
)
BY_BOTH = index_of(
    key={"v": DOUBLE, "s": FLOAT}, suffix={"k": BIGINT}, name="by_both", relation="t__by_both"
)


@pytest.fixture
def ground(database: Database) -> Ground:
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v float8, s float4)",
        "CREATE TABLE t__by_v (v float8, k bigint, s float4)",
        "CREATE TABLE t__by_s (s float4, k bigint, v float8)",
        "CREATE TABLE t__by_both (v float8, s float4, k bigint)",
    )
    return Ground(database, table_of({"k": BIGINT, "v": DOUBLE, "s": FLOAT}, BY_V, BY_S, BY_BOTH))


def entry(**values: float | int) -> Entry:
    return values


def test_a_put_entry_has_the_zeros_of_its_row(ground: Ground) -> None:
    """Formerly 0.0 was written for -0.0, and the place called not in order."""
    ground.database.run("INSERT INTO t VALUES (1, '-0', '-0')")
    missing = defect_of(ground.table, "by_v", DefectKind.MISSING, expected=entry(v=0.0, k=1, s=0.0))
    done = ground.repair([missing], run="first")
    assert outcomes(done) == {ActionOutcome.DONE: 1}
    assert done[0].in_order
    assert ground.contents("by_v") == ["(-0,1,-0)"]
    ground.undo("first")
    assert ground.contents("by_v") == []


def test_a_replaced_column_has_the_zero_of_its_row(ground: Ground) -> None:
    ground.database.run("INSERT INTO t VALUES (1, 5, '-0')", "INSERT INTO t__by_v VALUES (5, 1, 7)")
    wrong = defect_of(
        ground.table,
        "by_v",
        DefectKind.WRONG_STORED_VALUE,
        expected=entry(v=5.0, k=1, s=0.0),
        actual=entry(v=5.0, k=1, s=7.0),
    )
    done = ground.repair([wrong], run="first")
    assert [one.in_order for one in done] == [True]
    assert ground.contents("by_v") == ["(5,1,-0)"]
    ground.undo("first")
    assert ground.contents("by_v") == ["(5,1,7)"]


def test_an_entry_with_the_other_zero_is_in_order(ground: Ground) -> None:
    """A check calls it clean, so a repair says the same."""
    ground.database.run("INSERT INTO t VALUES (1, '-0', 5)", "INSERT INTO t__by_v VALUES (0, 1, 5)")
    missing = defect_of(ground.table, "by_v", DefectKind.MISSING, expected=entry(v=0.0, k=1, s=5.0))
    done = ground.repair([missing])
    assert outcomes(done) == {ActionOutcome.ALREADY_RIGHT: 1}
    assert done[0].in_order


def recovery(ground: Ground, store: RecoveringStore) -> RepairPlan:
    told = [
        defect_of(ground.table, "by_v", DefectKind.DANGLING, actual=entry(v=0.0, k=1, s=5.0)),
        defect_of(ground.table, "by_s", DefectKind.DANGLING, actual=entry(s=5.0, k=1, v=0.0)),
    ]
    plan = plan_repair(told, {"t": ground.table}, recover_rows=True)
    return settle_recoveries(plan, ground.table, store, told)  # type: ignore[arg-type]


def test_a_row_that_is_put_back_has_the_zeros_of_its_entries(ground: Ground) -> None:
    ground.database.run(
        "INSERT INTO t__by_v VALUES ('-0', 1, 5)", "INSERT INTO t__by_s VALUES (5, 1, '-0')"
    )
    with ground.repairs() as store:
        plan = recovery(ground, store)  # type: ignore[arg-type]
    done = ground.execute(plan, run="first")
    assert outcomes(done) == {ActionOutcome.DONE: 1}
    assert done[0].in_order
    assert ground.database.rows("SELECT t::text FROM t") == [("(1,-0,5)",)]
    assert ground.contents("by_both") == ["(-0,5,1)"]
    ground.undo("first")
    assert ground.database.rows("SELECT t::text FROM t") == []


# ---- in Delta ----

COLUMNS = {"id": "bigint", "amount": "double", "note": "string"}
BY_AMOUNT = IndexPlan(columns=["amount"], storing=["note"])
BY_NOTE = IndexPlan(columns=["note"], storing=["amount"])


def test_entries_of_a_lake_have_the_zeros_of_their_rows(tmp_path: Path) -> None:
    plans = {"by_amount": BY_AMOUNT, "by_note": BY_NOTE}
    lake = Lake(tmp_path, [(1, -0.0, "a"), (2, 1.5, "b")], plans, COLUMNS)
    lake.write("by_amount", [(1.5, 2, "b")])
    lake.write("by_note", [("a", 1, 7.0), ("b", 2, 1.5)])
    done = lake.repair_all(
        actions=[
            lake.action(ActionKind.PUT, None, (0.0, 1, "a"), "by_amount"),
            lake.action(ActionKind.REPLACE, ("a", 1, 7.0), ("a", 1, 0.0), "by_note"),
        ]
    )
    assert [(one.outcome, one.in_order) for one in done] == [(ActionOutcome.DONE, True)] * 2
    assert sorted(map(repr, lake.entries("by_amount"))) == ["(-0.0, 1, 'a')", "(1.5, 2, 'b')"]
    assert sorted(map(repr, lake.entries("by_note"))) == ["('a', 1, -0.0)", "('b', 2, 1.5)"]
    assert lake.undo() == [ActionOutcome.DONE] * 2
    assert sorted(map(repr, lake.entries("by_amount"))) == ["(1.5, 2, 'b')"]
    assert sorted(map(repr, lake.entries("by_note"))) == ["('a', 1, 7.0)", "('b', 2, 1.5)"]


def test_a_row_of_a_lake_that_is_put_back_has_the_zeros_of_its_entries(tmp_path: Path) -> None:
    plans = {"by_amount": BY_AMOUNT, "by_note": BY_NOTE}
    lake = Lake(tmp_path, [(1, -0.0, "a"), (2, 1.5, "b")], plans, COLUMNS)
    lake.write_rows((2, 1.5, "b"))
    told = [
        defect_of(
            lake.table, name, DefectKind.DANGLING, actual={"amount": 0.0, "id": 1, "note": "a"}
        )
        for name in plans
    ]
    plan = plan_repair(told, {"orders": lake.table}, recover_rows=True)
    plan = settle_recoveries(plan, lake.table, lake.repairs(), told)
    done = lake.repair_all(actions=plan.actions)
    assert [(one.outcome, one.in_order) for one in done] == [(ActionOutcome.DONE, True)]
    assert sorted(repr(row["amount"]) for row in lake.rows()) == ["-0.0", "1.5"]
