# SPDX-License-Identifier: Apache-2.0
"""Repairs of indexes whose expressions only Spark evaluates."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from repair.executing import Executor
from scrub.model.repair import ActionKind, ActionOutcome
from scrub.stores.delta.entry_making import SparkRowEntries, entries_with_spark
from scrub.stores.delta.repairs import DeltaRepairs
from tests.repair.repair_ground import BY_CUSTOMER, IndexPlan, Lake
from tests.scrub.stores.delta.delta_ground import no_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = "lower(status)"
PLAN = IndexPlan(
    columns=[{"expr": TEXT, "as": "state", "type": "string"}],
    where="length(status) > 1",
    covers=lambda row: row["status"] is not None and len(row["status"]) > 1,
    computes={TEXT: lambda row: None if row["status"] is None else row["status"].lower()},
)


def test_no_session_is_asked_for_where_every_engine_agrees(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, 10, "open")])
    made = entries_with_spark(no_session)(lake.table, lake.index("by_customer"))
    assert not isinstance(made, SparkRowEntries)


@pytest.mark.spark
def test_an_index_of_an_expression_is_repaired_and_undone(
    tmp_path: Path, spark: "SparkSession"
) -> None:
    rows = [(1, 10, "OPEN"), (2, 20, "Paid"), (3, 30, None), (4, 40, "x")]
    lake = Lake(tmp_path, rows, {"by_state": PLAN, "by_customer": BY_CUSTOMER})
    held = [("OPEN", 1), ("open", 1), ("x", 4), ("gone", 9)]
    lake.write("by_state", held)
    repairs = DeltaRepairs(lake.store, entries_of=entries_with_spark(lambda: spark))
    actions = [
        *lake.plan().actions,
        lake.action(ActionKind.PUT, None, ("x", 4), "by_state"),  # outside the predicate
    ]
    done = Executor(repairs, lake.table, "run 1").repair(actions)
    outcomes = Counter(one.outcome for one in done)
    assert outcomes == {ActionOutcome.DONE: 4, ActionOutcome.ROW_CHANGED: 1}
    assert lake.entries("by_state") == lake.demanded("by_state")
    assert all(one.in_order for one in done)
    Executor(repairs, lake.table, "undo 1").undo("run 1")
    assert lake.entries("by_state") == Counter(held)
