# SPDX-License-Identifier: Apache-2.0
"""Repairs look at the row as it is now: if it proves nothing, its entries are left as they are."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from repair.executing import Executor
from scrub.model.defect import DefectKind
from scrub.model.repair import ActionKind, ActionOutcome, DoneAction
from scrub.model.table import Table
from tests.postgres_server import Database
from tests.repair.repair_ground import Lake
from tests.scrub.stores.postgres.repairs.postgres_ground import Ground, defect_of, kv_table

REASON = "the row has a value that its column cannot hold; correct the row first"


def never_null(table: Table) -> Table:
    return replace(table, columns=tuple(replace(c, nullable=False) for c in table.columns))


def told(done: list[DoneAction]) -> list[tuple[ActionOutcome, str]]:
    return [(one.outcome, one.reason) for one in done]


def test_an_earlier_result_deletes_and_puts_nothing_for_a_damaged_row_in_a_lake(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path, [(1, 10, "open"), (2, 20, "paid"), (3, 30, "paid")])
    lake.write_rows((1, None, "open"), (2, 20, None), (3, 33, "paid"))
    lake.table = never_null(lake.table)
    before = lake.entries()
    actions = [
        lake.action(ActionKind.DELETE, (10, 1, "open"), None),
        lake.action(ActionKind.PUT, None, (None, 1, "open")),
        lake.action(ActionKind.REPLACE, (20, 2, "paid"), (20, 2, None)),
        lake.action(ActionKind.DELETE, (30, 3, "paid"), None),
    ]
    done = Executor(lake.repairs(), lake.table, "run 1").repair(actions)
    by_action = {(one.action.kind, one.action.defect): (one.outcome, one.reason) for one in done}
    assert [by_action[action.kind, action.defect] for action in actions] == [
        *[(ActionOutcome.REFUSED, REASON)] * 3,
        (ActionOutcome.DONE, ""),
    ]
    assert lake.entries() == before - Counter({(30, 3, "paid"): 1})


def test_a_null_in_a_column_that_the_index_does_not_use_is_no_obstacle(tmp_path: Path) -> None:
    columns = {"id": "bigint", "customer_id": "bigint", "status": "string", "note": "string"}
    lake = Lake(tmp_path, [(1, 10, "open", None)], columns=columns)
    lake.table = never_null(lake.table)
    lake.write("by_customer", [(11, 1, "open")])
    action = lake.action(ActionKind.DELETE, (11, 1, "open"), None)
    done = Executor(lake.repairs(), lake.table, "run 1").repair([action])
    assert told(done) == [(ActionOutcome.DONE, "")]


@pytest.mark.parametrize("column", ["v", "s"])
def test_an_earlier_result_deletes_nothing_for_a_damaged_row_in_postgresql(
    database: Database, column: str
) -> None:
    table = never_null(kv_table())
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text)",
        "CREATE TABLE t__by_v (v text, k bigint, s text)",
        "INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y')",
        "INSERT INTO t__by_v SELECT v, k, s FROM t",
        f"UPDATE t SET {column} = NULL WHERE k = 1",
        "UPDATE t SET v = 'c' WHERE k = 2",
    )
    ground = Ground(database, table)
    entries = [{"v": "a", "k": 1, "s": "x"}, {"v": "b", "k": 2, "s": "y"}]
    defects = [defect_of(table, "by_v", DefectKind.DANGLING, actual=entry) for entry in entries]
    done = ground.repair(defects)
    assert told(done) == [(ActionOutcome.REFUSED, REASON), (ActionOutcome.DONE, "")]
    assert ground.entries() == entries[:1]
