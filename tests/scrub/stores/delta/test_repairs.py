# SPDX-License-Identifier: Apache-2.0
"""Repairs in a lake: what is done and what is left alone, races, and undoing."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from repair.executing import Executor
from scrub.codec.json_values import to_table
from scrub.errors import RelationMismatch, ScrubError, StoreUnavailable, UsageError
from scrub.model.defect import DefectKind
from scrub.model.index_shape import shape_of
from scrub.model.journal import RunRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, Entry
from scrub.model.table import Store
from scrub.stores.delta import entries as delta_entries
from scrub.stores.delta import holders as delta_holders
from scrub.stores.delta import journalled
from scrub.stores.delta import rewriting as delta_rewriting
from scrub.stores.delta.holders import Holder
from scrub.stores.delta.marks import STATE, followed_version
from scrub.stores.delta.repairs import DeltaRepairs
from scrub.stores.delta.snapshot import open_snapshot
from scrub.stores.entry_states import Outcome
from scrub.stores.repairing import RepairingStore
from tests.repair.repair_ground import (
    BY_CUSTOMER,
    OPEN_ORDERS,
    UNIQUE,
    IndexPlan,
    Lake,
    Row,
)
from tests.scrub.stores.conditional_writes import DeltaWrites
from tests.scrub.stores.delta.delta_ground import DeltaGround, before_the_commit, rows_of

PUT, DELETE, REPLACE, KEEP_ONE = (
    ActionKind.PUT,
    ActionKind.DELETE,
    ActionKind.REPLACE,
    ActionKind.KEEP_ONE,
)
DONE, ALREADY_RIGHT, ROW_CHANGED, CONFLICT, PUT_BACK = (
    ActionOutcome.DONE,
    ActionOutcome.ALREADY_RIGHT,
    ActionOutcome.ROW_CHANGED,
    ActionOutcome.CONFLICT,
    ActionOutcome.PUT_BACK,
)
ROWS = [(1, 10, "open"), (2, 20, "paid"), (3, None, "sent"), (4, 40, None)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path, ROWS)


def apply(lake: Lake, *actions: Action, run: str = "run 1") -> list[ActionOutcome]:
    """One batch, by a store of its own."""
    index = lake.index(actions[0].index)
    return [one.outcome for one in lake.repairs().apply(run, lake.table, index, actions)]


def init_put(lake: Lake, *entries: Row, index: str = "by_customer") -> list[Outcome]:
    """What a writer of the table does to the index when it has committed a row."""
    shape = shape_of(lake.table, lake.index(index))
    told = to_table(
        [dict(zip(shape.names, entry, strict=True)) for entry in entries], shape.columns
    )
    return list(DeltaWrites(lake.store).init_put(shape, told, fail_on_tombstones=False))


def delete(lake: Lake, *entries: Row, index: str = "by_customer") -> list[Outcome]:
    shape = shape_of(lake.table, lake.index(index))
    told = to_table(
        [dict(zip(shape.names, entry, strict=True)) for entry in entries], shape.columns
    )
    return list(DeltaWrites(lake.store).delete_if_equal(shape, told))


def test_it_is_a_repairing_store(lake: Lake) -> None:
    assert isinstance(lake.repairs(), RepairingStore)


OUTCOMES: dict[str, tuple[ActionKind, Row | None, Row | None, list[Row], ActionOutcome]] = {
    # name: kind, before, after, what the index holds of the key, outcome
    "put": (PUT, None, (10, 1, "open"), [], DONE),
    "put of what is there": (PUT, None, (10, 1, "open"), [(10, 1, "open")], ALREADY_RIGHT),
    "put of what the row is no longer": (PUT, None, (10, 1, "paid"), [], ROW_CHANGED),
    "put for a row that is gone": (PUT, None, (90, 9, "open"), [], ROW_CHANGED),
    "put where another is": (PUT, None, (10, 1, "open"), [(10, 1, "x")], CONFLICT),
    "delete": (DELETE, (90, 9, "x"), None, [(90, 9, "x")], DONE),
    "delete of an entry that its row does not have": (
        DELETE, (11, 1, "open"), None, [(11, 1, "open")], DONE,
    ),
    "delete of what is gone": (DELETE, (90, 9, "x"), None, [], ALREADY_RIGHT),
    "delete of what a row demands now": (
        DELETE, (10, 1, "open"), None, [(10, 1, "open")], ROW_CHANGED,
    ),
    "delete where another is": (DELETE, (90, 9, "x"), None, [(90, 9, "y")], CONFLICT),
    "replace": (REPLACE, (10, 1, "x"), (10, 1, "open"), [(10, 1, "x")], DONE),
    "replace of what is right": (
        REPLACE, (10, 1, "x"), (10, 1, "open"), [(10, 1, "open")], ALREADY_RIGHT,
    ),
    "replace by what the row is no longer": (
        REPLACE, (10, 1, "x"), (10, 1, "y"), [(10, 1, "x")], ROW_CHANGED,
    ),
    "replace where another is": (
        REPLACE, (10, 1, "x"), (10, 1, "open"), [(10, 1, "z")], CONFLICT,
    ),
    "replace of what is gone": (REPLACE, (10, 1, "x"), (10, 1, "open"), [], CONFLICT),
    "keep one": (KEEP_ONE, (10, 1, "open"), (10, 1, "open"), [(10, 1, "open")] * 3, DONE),
    "keep one of one": (
        KEEP_ONE, (10, 1, "open"), (10, 1, "open"), [(10, 1, "open")], ALREADY_RIGHT,
    ),
    "keep one of what no row demands": (
        KEEP_ONE, (10, 1, "x"), (10, 1, "x"), [(10, 1, "x")] * 2, ROW_CHANGED,
    ),
    "an entry with NULL": (PUT, None, (None, 3, "sent"), [], DONE),
    "a stored NULL": (REPLACE, (40, 4, "x"), (40, 4, None), [(40, 4, "x")], DONE),
    "a dangling entry with NULL": (DELETE, (None, 9, None), None, [(None, 9, None)], DONE),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTCOMES)
def test_each_action_and_its_outcomes(lake: Lake, name: str) -> None:
    kind, before, after, held, outcome = OUTCOMES[name]
    others = [(20, 2, "paid"), (77, 7, "never touched")]
    lake.write("by_customer", [*held, *others])
    original, versions = lake.entries(), lake.versions()
    assert apply(lake, lake.action(kind, before, after)) == [outcome]
    wanted = Counter([*held, *others])
    if outcome is DONE:
        wanted = Counter([after, *others] if after else others)
    assert lake.entries() == wanted
    assert lake.versions() == versions + (outcome is DONE), "what changes nothing commits nothing"
    journal = lake.repairs().journal("run 1")
    assert [(r.kind, r.index) for r in journal] == [(kind, "by_customer")] * (outcome is DONE)
    if outcome is DONE:
        assert lake.undo() == [DONE]
        assert lake.entries() == original


def test_a_batch_is_one_commit_and_each_of_its_actions_is_judged_alone(lake: Lake) -> None:
    lake.write("by_customer", [(10, 1, "x"), (90, 9, "x"), (90, 9, "x"), (20, 2, "paid")])
    versions = lake.versions()
    actions = [
        lake.action(REPLACE, (10, 1, "x"), (10, 1, "open")),
        lake.action(PUT, None, (20, 2, "gone")),
        lake.action(DELETE, (90, 9, "x"), None),
        lake.action(PUT, None, (40, 4, None)),
    ]
    assert apply(lake, *actions) == [DONE, ROW_CHANGED, DONE, DONE]
    assert lake.versions() == versions + 1
    assert lake.entries() == Counter([(10, 1, "open"), (20, 2, "paid"), (40, 4, None)])


def test_copies_of_what_is_removed_come_back_as_often_as_they_were_there(lake: Lake) -> None:
    held = [(10, 1, "x")] * 3 + [(90, 9, "x")] * 2 + [(20, 2, "paid")] * 4 + [(None, 3, "sent")]
    lake.write("by_customer", held)
    assert set(lake.repair()) == {DONE}
    assert lake.entries() == lake.demanded()
    assert set(lake.undo()) == {DONE}
    assert lake.entries() == Counter(held)


def test_in_a_unique_index_a_dangling_entry_makes_room_for_the_right_one(tmp_path: Path) -> None:
    lake = Lake(tmp_path, ROWS, {"by_customer": UNIQUE})
    lake.write("by_customer", [(10, 9, "x"), (20, 2, "paid"), (None, 3, "sent"), (40, 4, None)])
    assert lake.repair() == [DONE, DONE]
    assert lake.entries() == lake.demanded()
    lake.undo()
    assert lake.entries()[(10, 9, "x")] == 1
    assert not lake.entries()[(10, 1, "open")]


def test_in_a_unique_index_no_second_owner_is_put(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [*ROWS, (5, 10, "open")], {"by_customer": UNIQUE})
    lake.write("by_customer", [(10, 1, "open")])
    assert apply(lake, lake.action(PUT, None, (10, 5, "open"))) == [CONFLICT]
    assert lake.entries() == Counter([(10, 1, "open")])


def test_rows_with_nulls_never_clash_in_a_unique_index(tmp_path: Path) -> None:
    rows = [(1, None, "open"), (2, None, "open")]
    lake = Lake(tmp_path, rows, {"by_customer": UNIQUE})
    lake.write("by_customer", [(None, 9, "x")])
    assert set(lake.repair()) == {DONE}
    assert lake.entries() == lake.demanded()


def test_composite_keys(tmp_path: Path) -> None:
    columns = {"region": "string", "number": "int", "customer_id": "bigint", "status": "string"}
    rows = [("eu", 1, 10, "a"), ("us", 1, 10, "b"), ("eu", 2, None, "c")]
    plan = IndexPlan(columns=["customer_id", "number"], storing=["status"])
    lake = Lake(tmp_path, rows, {"by_customer": plan}, columns, ("region", "number"))
    held = [(10, 1, "us", "x"), (10, 1, "as", "a"), (10, 1, "as", "a")]
    lake.write("by_customer", held)
    assert set(lake.repair()) == {DONE}
    assert lake.entries() == lake.demanded()
    lake.undo()
    assert lake.entries() == Counter(held)


def test_a_row_that_is_there_twice_gets_no_entry_put(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, 10, "open"), (1, 10, "open")])
    lake.write("by_customer", [])
    assert apply(lake, lake.action(PUT, None, (10, 1, "open"))) == [ROW_CHANGED]


def test_a_dangling_entry_of_a_row_outside_the_predicate_is_deleted(tmp_path: Path) -> None:
    lake = Lake(tmp_path, ROWS, {"open_orders": OPEN_ORDERS})
    lake.write("open_orders", [(10, 1), (20, 2)])
    assert lake.repair() == [DONE]
    assert lake.entries("open_orders") == Counter([(10, 1)])


def test_an_entry_is_never_put_for_a_row_outside_the_predicate(tmp_path: Path) -> None:
    """The repair of another system filled partial indexes with rows outside them."""
    lake = Lake(tmp_path, ROWS, {"open_orders": OPEN_ORDERS})
    lake.write("open_orders", [])
    outside = [lake.action(PUT, None, entry, "open_orders") for entry in ((20, 2), (40, 4))]
    inside = lake.action(PUT, None, (10, 1), "open_orders")
    assert apply(lake, *outside, inside) == [ROW_CHANGED, ROW_CHANGED, DONE]
    assert lake.entries("open_orders") == lake.demanded("open_orders") == Counter([(10, 1)])


def test_an_entry_of_an_expression_is_what_the_expression_says(tmp_path: Path) -> None:
    """The repair of another system wrote the column where the expression belonged."""
    text = "customer_id > 15"
    plan = IndexPlan(
        columns=[{"expr": text, "as": "large"}],
        computes={text: lambda r: None if r["customer_id"] is None else r["customer_id"] > 15},
    )
    lake = Lake(tmp_path, ROWS, {"by_size": plan})
    assert lake.entries("by_size") == Counter([(False, 1), (True, 2), (None, 3), (True, 4)])
    lake.write("by_size", [(True, 1), (True, 2), (None, 3)])

    def action(kind: ActionKind, large: bool, key: int) -> Action:
        return action_on("by_size", kind, {"large": large, "id": key})

    wrong = [action(PUT, False, 4), action(DELETE, True, 2)]
    right = [action(DELETE, True, 1), action(PUT, False, 1), action(PUT, True, 4)]
    assert apply(lake, *wrong, *right) == [ROW_CHANGED, ROW_CHANGED, DONE, DONE, DONE]
    assert lake.entries("by_size") == lake.demanded("by_size")


def test_what_only_spark_can_evaluate_is_refused_by_name(tmp_path: Path) -> None:
    plan = IndexPlan(columns=[{"expr": "lower(status)", "as": "state"}])
    table = _with_index(tmp_path / "spark", plan)
    repairs = DeltaRepairs(Store(name="lake", kind="delta", path=str(tmp_path)))
    with pytest.raises(UsageError, match=r"by_state is not repaired.*lower\(status\)"):
        repairs.in_order(table, table.index("by_state"), [])


def _with_index(root: Path, plan: IndexPlan) -> Any:
    from scrub.catalog import load_catalog
    from tests.builders import write_catalog

    root.mkdir()
    return load_catalog(write_catalog(root, {"by_state": plan.catalog})).tables["orders"]


def test_a_defect_that_somebody_else_mends_before_the_repair_is_left_alone(lake: Lake) -> None:
    lake.write("by_customer", [(10, 1, "open"), (20, 2, "x"), (None, 3, "sent"), (90, 9, "x")])
    plan = lake.plan()
    assert sorted(a.kind for a in plan.actions) == [DELETE, PUT, REPLACE]
    lake.write("by_customer", lake.demanded().elements())
    versions = lake.versions()
    assert lake.repair("run 1", plan.actions) == [ALREADY_RIGHT] * 3
    assert lake.entries() == lake.demanded()
    assert lake.versions() == versions
    assert lake.repairs().journal("run 1") == []


def test_an_insert_in_flight_whose_entry_repair_is_about_to_delete(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer finds the dangling entry in its place, is content, and repair deletes it."""
    lake.write("by_customer", [*lake.demanded().elements(), (90, 9, "x")])

    def insert() -> None:
        lake.write_rows(*ROWS, (9, 90, "x"))
        assert init_put(lake, (90, 9, "x")) == [Outcome.UNCHANGED]

    before_the_commit(monkeypatch, insert)
    assert lake.repair() == [PUT_BACK]
    assert lake.entries() == lake.demanded()
    assert lake.entries()[(90, 9, "x")] == 1
    assert [r.kind for r in lake.repairs().journal("run 1")] == [DELETE, PUT]
    lake.undo()
    assert lake.entries() == lake.demanded()


def test_an_insert_that_writes_its_entry_first_is_found_by_the_second_look(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.write("by_customer", [*lake.demanded().elements(), (90, 9, "x")])
    before_the_commit(monkeypatch, lambda: assert_unchanged(init_put(lake, (90, 9, "x"))))

    def insert(*_: object) -> None:
        assert not lake.entries()[(90, 9, "x")]
        lake.write_rows(*ROWS, (9, 90, "x"))

    monkeypatch.setattr(DeltaRepairs, "wait_for_writers", insert)
    assert lake.repair() == [PUT_BACK]
    assert lake.entries() == lake.demanded()


def assert_unchanged(outcomes: list[Outcome]) -> None:
    assert set(outcomes) == {Outcome.UNCHANGED}


def test_a_repair_cut_off_after_a_delete_looks_at_the_row_when_it_runs_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.write("by_customer", [*lake.demanded().elements(), (90, 9, "x")])
    plan = lake.plan()
    commit = journalled.commit_states

    def cut_off(*given: Any) -> bool:
        lake.write_rows(*ROWS, (9, 90, "x"))
        assert_unchanged(init_put(lake, (90, 9, "x")))
        assert commit(*given)
        raise KeyboardInterrupt

    store = lake.repairs()
    executor = Executor(store, lake.table, "run 1")
    monkeypatch.setattr(journalled, "commit_states", cut_off)
    with pytest.raises(KeyboardInterrupt):
        executor.repair(plan.actions)
    monkeypatch.undo()
    store.close()
    assert lake.entries() != lake.demanded()
    lake.repair("run 2", [])
    assert lake.entries() == lake.demanded()


def test_a_row_that_leaves_the_predicate_while_its_entry_is_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer finds no entry to delete, is content, and repair puts it."""
    lake = Lake(tmp_path, ROWS, {"open_orders": OPEN_ORDERS})
    lake.write("open_orders", [])

    def close_order() -> None:
        lake.write_rows((1, 10, "paid"), *ROWS[1:])
        assert_unchanged(delete(lake, (10, 1), index="open_orders"))

    before_the_commit(monkeypatch, close_order)
    assert lake.repair() == [ROW_CHANGED]
    assert lake.entries("open_orders") == lake.demanded("open_orders") == Counter()


def test_a_writer_that_commits_between_judgement_and_commit_makes_rows_be_read_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.write("by_customer", [(20, 2, "paid"), (None, 3, "sent"), (90, 9, "x")])

    def update() -> None:
        lake.write_rows((1, 10, "paid"), *ROWS[1:])
        assert init_put(lake, (10, 1, "paid")) == [Outcome.WRITTEN]

    tried = before_the_commit(monkeypatch, update)
    actions = [
        lake.action(PUT, None, (10, 1, "open")),
        lake.action(PUT, None, (40, 4, None)),
        lake.action(DELETE, (90, 9, "x"), None),
    ]
    assert apply(lake, *actions) == [ROW_CHANGED, DONE, DONE]
    assert len(tried) == 2
    assert lake.entries() == lake.demanded()
    journal = lake.repairs().journal("run 1")
    assert sorted(r.kind for r in journal) == [DELETE, PUT], "what the first attempt planned is not"


def following(tmp_path: Path) -> tuple[DeltaGround, DeltaRepairs, Any]:
    ground = DeltaGround(tmp_path, rows_of(*ROWS))
    build = ground.load()
    build.publish()
    repairs = DeltaRepairs(Store(name="lake", kind="delta", path=str(tmp_path)))
    return ground, repairs, build.table


def shown(ground: DeltaGround) -> int | None:
    with open_snapshot(str(ground.root), "orders__by_customer", {}) as snapshot:
        return followed_version(snapshot, "orders")


def an_action(kind: ActionKind, customer: int | None, key: int, status: str | None) -> Action:
    return action_on("by_customer", kind, {"customer_id": customer, "id": key, "status": status})


def action_on(index: str, kind: ActionKind, entry: Entry) -> Action:
    return Action(
        kind=kind,
        defect=str(entry),
        defect_kind=DefectKind.DANGLING,
        table="orders",
        index=index,
        primary_key={"id": entry["id"]},
        before=entry if kind is DELETE else None,
        after=entry if kind is PUT else None,
    )


def damage(ground: DeltaGround, *rows: tuple[Any, ...]) -> None:
    schema = pa.schema([("customer_id", pa.int64()), ("id", pa.int64()), ("status", pa.string())])
    arrays = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    data = pa.Table.from_arrays(arrays, schema=schema)
    write_deltalake(str(ground.root / "orders__by_customer"), data, mode="append")


def test_an_index_that_follows_is_judged_by_the_version_it_shows(tmp_path: Path) -> None:
    ground, repairs, table = following(tmp_path)
    damage(ground, (50, 5, "open"))
    ground.append((5, 50, "open"))  # which the index does not show yet
    version = shown(ground)
    applied = repairs.apply(
        "run 1", table, table.index("by_customer"), [an_action(DELETE, 50, 5, "open")]
    )
    assert [one.outcome for one in applied] == [DONE]
    assert shown(ground) == version
    ground.follow()
    assert ground.entries() == ground.expected()


def test_a_follower_that_commits_meanwhile_makes_the_repair_judge_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground, repairs, table = following(tmp_path)
    damage(ground, (90, 9, "x"), (20, 2, "paid"))
    ground.append((5, 50, "open"))
    tried = before_the_commit(monkeypatch, lambda: assert_followed(ground))
    index = table.index("by_customer")
    keep = an_action(PUT, 20, 2, "paid")
    keep = replace(keep, kind=KEEP_ONE, before=keep.after)
    actions = [an_action(DELETE, 90, 9, "x"), keep, an_action(PUT, 50, 5, "open")]
    applied = [one.outcome for one in repairs.apply("run 1", table, index, actions)]
    assert applied == [DONE, DONE, ALREADY_RIGHT]
    assert len(tried) == 2
    assert shown(ground) == ground.table.version()
    assert ground.entries() == ground.expected()


def assert_followed(ground: DeltaGround) -> None:
    assert ground.follow().lag == 0


def test_an_index_that_is_being_built_or_removed_is_refused(tmp_path: Path) -> None:
    ground = DeltaGround(tmp_path, rows_of(*ROWS))
    build = ground.load()
    repairs = DeltaRepairs(Store(name="lake", kind="delta", path=str(tmp_path)))
    action = an_action(DELETE, 90, 9, "x")
    for state in ("building", "removing"):
        DeltaTable(str(tmp_path / "orders__by_customer")).alter.set_table_properties(
            {STATE: state}, raise_if_not_exists=False
        )
        with pytest.raises(RelationMismatch, match=f"is {state}"):
            repairs.apply("run 1", build.table, build.table.index("by_customer"), [action])


def test_a_table_that_was_made_anew_is_refused(tmp_path: Path) -> None:
    ground, repairs, table = following(tmp_path)
    shutil.rmtree(ground.location)
    write_deltalake(ground.location, rows_of(*ROWS))
    with pytest.raises(RelationMismatch, match="recreated"):
        repairs.apply("run 1", table, table.index("by_customer"), [an_action(DELETE, 90, 9, "x")])


def test_a_table_that_lacks_a_column_is_refused_instead_of_read_as_null(lake: Lake) -> None:
    rows = pa.table({"id": [1], "customer_id": [10]})
    write_deltalake(str(lake.root / "orders"), rows, mode="overwrite", schema_mode="overwrite")
    with pytest.raises(RelationMismatch, match="orders has no column status"):
        apply(lake, lake.action(REPLACE, (10, 1, "open"), (10, 1, None)))


def test_undo_refuses_what_was_changed_since(lake: Lake) -> None:
    kept = (None, 3, "sent")
    lake.write("by_customer", [(10, 1, "x"), (20, 2, "paid"), (20, 2, "paid"), (90, 9, "x"), kept])
    assert lake.repair() == [DONE] * 4
    # Writers went on: another value, an entry gone, another copy, a place taken.
    since = [(10, 1, "newer"), *[(20, 2, "paid")] * 2, (90, 9, "y"), (40, 4, "newer"), kept]
    lake.write("by_customer", since)
    assert lake.undo() == [CONFLICT] * 4
    assert lake.entries() == Counter(since)
    assert {r.undone_by for r in lake.repairs().journal("run 1")} == {None}


def test_an_undo_that_is_run_again_passes_over_what_is_done(lake: Lake) -> None:
    held = [(10, 1, "x"), (90, 9, "x")]
    lake.write("by_customer", held)
    lake.repair()
    assert set(lake.undo()) == {DONE}
    versions = lake.versions()
    assert lake.undo(run="undo 2") == []
    assert lake.versions() == versions
    assert {r.undone_by for r in lake.repairs().journal("run 1")} == {"undo 1"}


def test_what_came_back_by_itself_counts_as_undone_without_a_commit(lake: Lake) -> None:
    lake.write("by_customer", [*lake.demanded().elements(), (90, 9, "x")])
    lake.repair()
    init_put(lake, (90, 9, "x"))
    versions = lake.versions()
    assert lake.undo() == [ALREADY_RIGHT]
    assert lake.versions() == versions
    assert [r.undone_by for r in lake.repairs().journal("run 1")] == ["undo 1"]


def test_values_come_back_byte_for_byte(tmp_path: Path) -> None:
    columns = {"id": "bigint", "amount": "double", "note": "string"}
    rows = [(1, 1.5, "a")]
    plan = IndexPlan(columns=["amount"], storing=["note"])
    lake = Lake(tmp_path, rows, {"by_amount": plan}, columns)
    odd = [
        (-0.0, 9, "ß\U0001f600\x00"),
        (0.0, 8, ""),
        (float("inf"), 7, None),
        (0.1 + 0.2, 6, "x" * 99),
    ]
    lake.write("by_amount", odd)
    before = sorted(map(repr, lake.entries("by_amount")))
    # Checks call 0.0 and -0.0 equal, so a report may name either of them.
    told = [(0.0, 9, odd[0][2]), *odd[1:]]
    actions = [lake.action(DELETE, entry, None, "by_amount") for entry in told]
    actions[2] = replace(actions[2], before={"amount": "Infinity", "id": 7, "note": None})
    assert lake.repair("run 1", actions) == [DONE] * 4
    assert not lake.entries("by_amount")
    assert lake.undo() == [DONE] * 4
    assert sorted(map(repr, lake.entries("by_amount"))) == before


def test_columns_that_the_catalog_does_not_know_are_kept_and_come_back(lake: Lake) -> None:
    location = str(lake.root / "orders__by_customer")
    data = pa.table(
        {
            "note": ["first", "second", "third", "fourth"],
            "customer_id": pa.array([10, 90, 90, 20], pa.int64()),
            "id": pa.array([1, 9, 9, 2], pa.int64()),
            "status": ["x", "x", "x", "paid"],
        }
    )
    write_deltalake(location, data, mode="overwrite", schema_mode="overwrite")

    def held() -> list[str]:
        found = DeltaTable(location).to_pyarrow_table(columns=data.column_names).to_pylist()
        return sorted(map(json.dumps, found))

    before = held()
    assert set(lake.repair()) == {DONE}
    assert lake.entries() == lake.demanded()
    assert any('"first"' in row and '"open"' in row for row in held())
    lake.undo()
    assert held() == before


def test_a_further_column_that_cannot_be_journalled_is_refused_by_name(lake: Lake) -> None:
    data = pa.table({"customer_id": [90], "id": [9], "status": ["x"], "tags": [["a"]]})
    location = str(lake.root / "orders__by_customer")
    write_deltalake(location, data, mode="overwrite", schema_mode="overwrite")
    with pytest.raises(RelationMismatch, match="column tags"):
        lake.repair("run 1", [lake.action(DELETE, (90, 9, "x"), None)])
    assert DeltaTable(location).to_pyarrow_table().num_rows == 1


def test_an_index_in_another_lake(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b%20c").mkdir()
    lake = Lake(tmp_path / "a", ROWS)
    (tmp_path / "a" / "orders__by_customer").rename(tmp_path / "b%20c" / "orders__by_customer")
    far = Store(name="far", kind="delta", path=str(tmp_path / "b%20c"))
    table = replace(lake.table, indexes=(replace(lake.index("by_customer"), store="far"),))
    repairs = DeltaRepairs(lake.store, far)
    action = lake.action(PUT, None, (10, 1, "open"))
    repairs.begin(_run("run 1"))
    assert repairs.apply("run 1", table, table.indexes[0], [action])[0].outcome is ALREADY_RIGHT
    with pytest.raises(UsageError, match="store far"):
        lake.repairs().apply("run 1", table, table.indexes[0], [action])


def _run(name: str, table: str = "orders", command: str = "repair") -> RunRecord:
    return RunRecord(run=name, command=command, table=table, started=datetime.now(UTC))


def test_rows_there_and_places_in_order(lake: Lake) -> None:
    repairs = lake.repairs()
    assert repairs.rows_there(lake.table, [{"id": 1}, {"id": 9}, {"id": 4}]) == [True, False, True]
    assert repairs.rows_there(lake.table, []) == []
    lake.write("by_customer", [(10, 1, "open"), (20, 2, "paid"), (20, 2, "paid"), (90, 9, "x")])
    actions = [
        lake.action(PUT, None, (10, 1, "open")),
        lake.action(PUT, None, (40, 4, None)),
        lake.action(KEEP_ONE, (20, 2, "paid"), (20, 2, "paid")),
        lake.action(DELETE, (90, 9, "x"), None),
        lake.action(DELETE, (80, 8, "x"), None),
    ]
    index = lake.index("by_customer")
    assert repairs.in_order(lake.table, index, actions) == [True, False, False, False, True]


def test_the_second_of_two_repairs_is_told_who_is_at_work(lake: Lake) -> None:
    first, second = lake.repairs(), lake.repairs()
    first.begin(_run("run 1"))
    with pytest.raises(StoreUnavailable, match=r"orders is at work: run run 1, process \d+ of"):
        second.begin(_run("run 2"))
    with pytest.raises(StoreUnavailable, match="is at work"):
        second.begin(_run("run 3", command="undo"))
    second.begin(_run("run 4", table="customers"))
    first.end("run 1")
    second.begin(_run("run 5"))


def test_a_run_that_was_given_up_keeps_nobody_out(lake: Lake) -> None:
    first, second = lake.repairs(), lake.repairs()
    first.begin(_run("run 1"))
    first.close()
    second.begin(_run("run 2"))


DEAD = {"process": 2**22 + 1, "begun": "1", "user": "ada", "token": "t"}


def test_the_lock_of_a_dead_process_is_taken_over(lake: Lake) -> None:
    repairs = lake.repairs()
    holder = replace(Holder.here(), **DEAD)
    repairs._runs.begin(_run("run 1"), holder)
    repairs.begin(_run("run 2"))
    # A number that another process has now does not bring the dead one back.
    repairs._runs.begin(_run("run 3", "t2"), replace(holder, process=1))
    repairs.begin(_run("run 4", "t2"))


def test_the_lock_of_another_machine_is_taken_over_when_it_gives_no_sign(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    repairs = lake.repairs()
    holder = Holder(host="elsewhere", **DEAD)  # type: ignore[arg-type]
    repairs._runs.begin(_run("run 1"), holder)
    with pytest.raises(StoreUnavailable, match="ada on elsewhere"):
        repairs.begin(_run("run 2"))
    monkeypatch.setattr(delta_holders, "LEASE", timedelta(0))
    repairs.begin(_run("run 2"))


def test_runs_are_remembered_until_they_are_forgotten(lake: Lake) -> None:
    assert lake.repairs().runs() == []
    assert lake.repairs().journal("run 1") == []
    assert lake.repairs().forget(datetime.now(UTC)) == 0
    lake.write("by_customer", [(90, 9, "x")])
    lake.repair("run 1", [lake.action(DELETE, (90, 9, "x"), None)])
    between = datetime.now(UTC)
    lake.repair("run 2", [lake.action(PUT, None, (10, 1, "open"))])
    lake.repairs().begin(_run("run 3"))
    runs = lake.repairs().runs()
    assert [(r.run, r.finished is None) for r in runs] == [
        ("run 3", True),
        ("run 2", False),
        ("run 1", False),
    ]
    assert lake.repairs().forget(between) == 1
    assert [r.run for r in lake.repairs().runs()] == ["run 3", "run 2"]
    assert lake.repairs().journal("run 1") == []
    assert len(lake.repairs().journal("run 2")) == 1


def test_the_journal_of_a_run_outlives_its_index(lake: Lake) -> None:
    """An index that is recreated has a log that knows nothing of runs."""
    lake.write("by_customer", [(90, 9, "x")])
    lake.repair("run 1", [lake.action(DELETE, (90, 9, "x"), None)])
    shutil.rmtree(lake.root / "orders__by_customer")
    assert [r.kind for r in lake.repairs().journal("run 1")] == [DELETE]


def test_a_relation_of_that_name_which_is_no_journal_is_left_alone(lake: Lake) -> None:
    write_deltalake(str(lake.root / "scrub_journal"), pa.table({"a": [1]}))
    with pytest.raises(ScrubError, match="is no journal of repairs"):
        lake.repair("run 1", [])


def test_several_indexes_in_one_run(tmp_path: Path) -> None:
    lake = Lake(tmp_path, ROWS, {"by_customer": BY_CUSTOMER, "open_orders": OPEN_ORDERS})
    lake.write("by_customer", [(10, 1, "x")])
    lake.write("open_orders", [(20, 2)])
    before = {name: lake.entries(name) for name in lake.plans}
    assert set(lake.repair()) == {DONE}
    assert not lake.all_defects()
    assert set(lake.undo()) == {DONE}
    assert {name: lake.entries(name) for name in lake.plans} == before


def test_only_files_that_can_hold_the_keys_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path, [(n, n, "open") for n in range(50)])
    for first in range(50, 500, 50):
        numbers = pa.array(range(first, first + 50), pa.int64())
        data = pa.table({"id": numbers, "customer_id": numbers, "status": ["open"] * 50})
        write_deltalake(str(tmp_path / "orders"), data, mode="append")
        write_deltalake(str(tmp_path / "orders__by_customer"), data, mode="append")
    read: list[str] = []
    reader = delta_entries.SplitReader

    def counted(split: Any, *given: Any) -> Any:
        read.append(split.uri)
        return reader(split, *given)

    for module in (delta_entries, delta_rewriting):
        monkeypatch.setattr(module, "SplitReader", counted)
    put = lake.action(PUT, None, (120, 120, "open"))
    taken = lake.action(DELETE, (130, 130, "x"), None)
    assert apply(lake, put, taken) == [ALREADY_RIGHT, CONFLICT]
    assert len(read) == 2, "one file of the table, one of the index"


def test_a_file_that_loses_entries_is_read_once_to_find_them_and_to_be_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path, [(n, n, "open") for n in range(50)])
    lake.write("by_customer", [*lake.demanded().elements(), (7, 70, "x"), (8, 80, "x")])
    readings: list[int] = []
    read = delta_rewriting.SplitReader.whole_batches

    def counted(*given: Any) -> Any:
        readings.append(1)
        return read(*given)

    monkeypatch.setattr(delta_rewriting.SplitReader, "whole_batches", counted)
    assert set(lake.repair()) == {DONE}
    assert len(readings) == 1
    assert lake.entries() == lake.demanded()


def test_a_copy_that_must_stay_is_not_lost_with_those_that_were_expected_to_go(
    lake: Lake,
) -> None:
    """One file loses an entry and one of two copies, which nobody expected of it."""
    lake.write("by_customer", [*lake.demanded().elements(), (10, 1, "open"), (90, 9, "x")])
    before = lake.entries()
    assert set(lake.repair()) == {DONE}
    assert lake.entries() == lake.demanded()
    assert set(lake.undo()) == {DONE}
    assert lake.entries() == before
