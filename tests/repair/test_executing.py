# SPDX-License-Identifier: Apache-2.0
"""How planned actions are applied, told by a store in memory."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from repair.executing import Executor
from scrub.catalog import load_catalog
from scrub.model.defect import DefectKind
from scrub.model.journal import JournalRecord, RunRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome
from scrub.model.table import Table
from tests.builders import write_catalog
from tests.repair.memory_store import Held, MemoryStore, Row, entry

ONE_DEFECT = "the defect that every action is about"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return load_catalog(write_catalog(tmp_path)).tables["orders"]


def an_action(kind: ActionKind, before: Held | None, after: Held | None) -> Action:
    held = after or before
    assert held is not None
    return Action(
        kind=kind,
        defect=ONE_DEFECT,
        defect_kind=DefectKind.DANGLING,
        table="orders",
        index="by_customer",
        primary_key={"id": held[1]},
        before=None if before is None else entry(before),
        after=None if after is None else entry(after),
    )


def test_an_action_that_is_not_in_order_is_shown_so_beside_others_of_its_defect(
    table: Table,
) -> None:
    wrong, right = (1, 10, "open"), (2, 20, "paid")
    store = MemoryStore(rows=[(10, 1, "sent"), (20, 2, "paid")], entries=[])
    actions = [an_action(ActionKind.PUT, None, wrong), an_action(ActionKind.PUT, None, right)]
    done = Executor(store, table, "run 1").repair(actions)
    assert [(one.action.primary_key, one.outcome, one.in_order) for one in done] == [
        ({"id": 10}, ActionOutcome.ROW_CHANGED, False),
        ({"id": 20}, ActionOutcome.DONE, True),
    ]


def test_only_the_entry_whose_row_came_is_put_back_among_deletes_of_one_defect(
    table: Table,
) -> None:
    gone, back = (1, 10, "open"), (2, 20, "paid")

    def insert_row(store: MemoryStore) -> None:
        store.rows.append((20, 2, "paid"))

    store = MemoryStore(rows=[], entries=[gone, back], while_waiting=insert_row)
    actions = [an_action(ActionKind.DELETE, gone, None), an_action(ActionKind.DELETE, back, None)]
    done = Executor(store, table, "run 1").repair(actions)
    assert [(one.action.primary_key, one.outcome, one.in_order) for one in done] == [
        ({"id": 10}, ActionOutcome.DONE, True),
        ({"id": 20}, ActionOutcome.PUT_BACK, True),
    ]
    assert store.entries == [back]


def test_copies_of_a_replaced_entry_are_already_right_and_no_changed_row(table: Table) -> None:
    """A replacement takes all copies along, so it comes before the removal of copies."""
    old, new = (1, 10, "open"), (1, 10, "sent")
    store = MemoryStore(rows=[(10, 1, "sent")], entries=[old, old])
    actions = [an_action(ActionKind.KEEP_ONE, old, old), an_action(ActionKind.REPLACE, old, new)]
    done = Executor(store, table, "run 1").repair(actions)
    assert {one.action.kind: one.outcome for one in done} == {
        ActionKind.REPLACE: ActionOutcome.DONE,
        ActionKind.KEEP_ONE: ActionOutcome.ALREADY_RIGHT,
    }
    assert store.entries == [new]


def test_deletes_make_room_before_anything_is_put(table: Table) -> None:
    rows: list[Row] = [(10, 1, "open"), (20, 2, "paid"), (30, 3, "sent")]
    entries: list[Held] = [(2, 20, "old"), (3, 30, "sent"), (3, 30, "sent"), (4, 40, "gone")]
    store = MemoryStore(rows=rows, entries=entries)
    Executor(store, table, "run 1").repair(
        [
            an_action(ActionKind.PUT, None, (1, 10, "open")),
            an_action(ActionKind.KEEP_ONE, (3, 30, "sent"), (3, 30, "sent")),
            an_action(ActionKind.REPLACE, (2, 20, "old"), (2, 20, "paid")),
            an_action(ActionKind.DELETE, (4, 40, "gone"), None),
        ]
    )
    assert [action.kind for action in store.batches[0]] == [
        ActionKind.DELETE,
        ActionKind.REPLACE,
        ActionKind.KEEP_ONE,
        ActionKind.PUT,
    ]
    assert sorted(store.entries) == [(1, 10, "open"), (2, 20, "paid"), (3, 30, "sent")]


def test_every_kind_of_action_has_a_turn() -> None:
    assert sorted(kind.turn for kind in ActionKind) == list(range(len(ActionKind)))


@pytest.mark.parametrize(
    ("after", "is_looked_at"),
    [(None, True), ((1, 10, "open"), True), ((1, 10, "sent"), False)],
    ids=["deleted alone", "deleted beside others", "replaced by one that was there"],
)
def test_an_entry_that_was_replaced_is_not_put_back_after_a_run_was_cut_off(
    table: Table, after: Held | None, is_looked_at: bool
) -> None:
    """No row can have come for it: its row was there, and changed since. That is a new defect."""
    before = (1, 10, "open")
    cut_off = RunRecord(run="cut off", command="repair", table="orders", started=datetime.now(UTC))
    deleted = JournalRecord(
        run="cut off",
        number=0,
        index="by_customer",
        kind=ActionKind.DELETE,
        defect=ONE_DEFECT,
        primary_key={"id": 10},
        before=entry(before),
        after=None if after is None else entry(after),
    )
    store = MemoryStore(rows=[(10, 1, "open")], entries=[], recorded=[cut_off], changes=[deleted])
    assert Executor(store, table, "run 2").repair([]) == []
    assert store.entries == ([before] if is_looked_at else [])
    assert all(record.finished for record in store.runs())
