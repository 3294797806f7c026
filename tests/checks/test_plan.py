# SPDX-License-Identifier: Apache-2.0
"""What a check reads, with which engine, and what it leaves out; without stores and Spark."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks.plan import PinnedIndex, PinnedTable, plan_check
from checks.registry import PHYSICAL
from scrub.errors import UsageError
from scrub.model.defect import DefectKind
from scrub.model.plan import CheckPlan
from scrub.model.relation import Snapshot, SplitKind
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.table import EntryColumn, Table
from scrub.model.types import ColumnType, TypeName
from tests.checks.plans import a_plan, a_side

TABLE: Table = a_plan("by_customer", "other").tables[0].table


def pinned(index: str = "by_customer", **changes: Any) -> PinnedIndex:
    of = TABLE.index(index)
    source = PinnedIndex(
        table=TABLE,
        index=of,
        table_facts=a_side("orders", files=2).facts,
        index_facts=a_side(of.relation).facts,
    )
    return replace(source, **changes)


def in_server(relation: str) -> Any:
    facts = a_side(relation).facts
    splits = tuple(replace(split, kind=SplitKind.POSTGRES) for split in facts.splits)
    return replace(facts, splits=splits)


def planned(*sources: PinnedIndex, refusal: str | None = None, **asked: Any) -> CheckPlan:
    request = CheckRequest(catalog=Path("scrub.yaml"), **asked)
    return plan_check(request, sources, native_refusal=refusal)


def test_indexes_of_one_snapshot_share_one_scan_of_their_table() -> None:
    (table,) = planned(pinned(), pinned("other")).tables
    assert [of.index.name for of in table.indexes] == ["by_customer", "other"]
    later = replace(a_side("orders").facts, snapshot=Snapshot(label="version 2", version=2))
    two = planned(pinned(), pinned("other", table_facts=later)).tables
    assert [len(table.indexes) for table in two] == [1, 1]


def test_only_the_columns_that_are_needed_are_read() -> None:
    (table,) = planned(pinned()).tables
    assert table.side.columns == ("id", "customer")
    assert table.indexes[0].side.columns == ("customer", "id")


def test_files_are_opened_by_tasks_unless_something_is_in_the_way() -> None:
    assert planned(pinned()).tables[0].side.engine is Engine.NATIVE
    refused = planned(pinned(), refusal="no package on the executors").tables[0]
    assert (refused.side.engine, refused.side.reason) == (
        Engine.SQL,
        "no package on the executors",
    )
    assert refused.notes == ("Spark read everything: no package on the executors",)


def test_an_engine_that_was_asked_for_and_cannot_read_is_an_error() -> None:
    with pytest.raises(UsageError, match="--engine native cannot read orders: too far away"):
        planned(pinned(), refusal="too far away", engine=Engine.NATIVE)


def test_a_column_that_is_not_there_costs_only_its_own_index_the_check() -> None:
    facts = a_side("orders__other").facts
    lacking = replace(facts, columns={"id": facts.columns["id"]})
    plan = planned(pinned(), pinned("other", index_facts=lacking))
    assert [of.index.name for of in plan.tables[0].indexes] == ["by_customer"]
    (skipped,) = plan.not_checked
    assert (skipped.index, skipped.incomplete) == ("other", True)
    assert "relation orders__other has no column customer" in skipped.reason


def test_a_column_of_another_type_is_refused_by_name() -> None:
    text = {**a_side("orders").facts.columns, "customer": ColumnType(TypeName.STRING)}
    stored = replace(a_side("orders__by_customer").facts, columns=text)
    plan = planned(pinned(index_facts=stored))
    assert not plan.tables
    assert "is stored as string, the catalog says bigint" in plan.not_checked[0].reason


STATUS = replace(TABLE.columns[0], name="status")
WITH_STATUS = replace(TABLE, columns=(*TABLE.columns, STATUS))
ROWS_WITH_STATUS = replace(
    a_side("orders", files=3).facts,
    columns=a_side("orders").facts.columns | {"status": STATUS.type},
)


def test_a_condition_on_what_identifies_no_entry_chooses_rows() -> None:
    source = pinned(table=WITH_STATUS, table_facts=ROWS_WITH_STATUS)
    ((index,),) = [table.indexes for table in planned(source, where="status = 1").tables]
    assert (index.by_rows, index.not_looked_for) == (True, (DefectKind.DANGLING,))
    (note,) = index.notes
    assert note.startswith("dangling entries not looked for: --where uses status, which does not")
    ((index,),) = [table.indexes for table in planned(source, where="id = 1").tables]
    assert (index.by_rows, index.notes) == (False, ())


def test_a_condition_on_a_column_that_is_not_there_is_refused() -> None:
    plan = planned(pinned(table=WITH_STATUS), where="status = 1")
    assert not plan.tables
    assert "relation orders has no column status" in plan.not_checked[0].reason


def test_where_spark_chooses_rows_it_reads_the_index_too() -> None:
    facts = replace(ROWS_WITH_STATUS, native=False, native_reason="too far away")
    source = pinned(table=WITH_STATUS, table_facts=facts)
    for where, engine in (("status = 1", Engine.SQL), ("id = 1", Engine.NATIVE)):
        ((index,),) = [table.indexes for table in planned(source, where=where).tables]
        assert index.side.engine is engine


def test_partitions_without_a_chosen_row_are_not_read() -> None:
    splits = tuple(
        replace(split, partition={"status": value})
        for split, value in zip(ROWS_WITH_STATUS.splits, ("0", "1", None), strict=True)
    )
    facts = replace(ROWS_WITH_STATUS, splits=splits)
    source = pinned(table=WITH_STATUS, table_facts=facts, index_facts=partitioned("customer"))
    (table,) = planned(source, where="status >= 1 AND customer = 2").tables
    assert [split.partition["status"] for split in table.side.facts.splits] == ["1"]
    assert (len(table.side.left_out), table.side.facts.rows) == (2, 10)
    (index,) = table.indexes
    assert [split.partition["customer"] for split in index.side.facts.splits] == ["2"]
    assert "2 of 3 parts of orders left out" in " ".join(table.notes)


def test_a_stored_column_leaves_out_no_partition_of_the_index() -> None:
    """An entry that stores a wrong value is in a wrong partition."""
    facts = partitioned("status")
    index = replace(TABLE.index("by_customer"), stored=(EntryColumn(**STORED),))
    table = replace(WITH_STATUS, indexes=(index,))
    source = PinnedIndex(table=table, index=index, table_facts=ROWS_WITH_STATUS, index_facts=facts)
    ((planned_index,),) = [of.indexes for of in planned(source, where="status = 1").tables]
    assert planned_index.side.facts.splits == facts.splits


STORED: dict[str, Any] = {"name": "status", "source": "status", "type": STATUS.type}


def partitioned(column: str) -> Any:
    facts = a_side("orders__by_customer", files=3).facts
    splits = tuple(
        replace(split, partition={column: str(number)}) for number, split in enumerate(facts.splits)
    )
    return replace(facts, splits=splits, columns=facts.columns | {column: STATUS.type})


def test_one_decision_says_whether_the_database_compares() -> None:
    source = pinned(table_facts=in_server("orders"), index_facts=in_server("orders__by_customer"))
    (index,) = planned(source).tables[0].indexes
    assert index.in_store
    assert "compared inside the database" in index.notes
    for other in ({"engine": Engine.SQL}, {"strategy": Strategy.FINGERPRINT}):
        (index,) = planned(source, **other).tables[0].indexes
        assert not index.in_store
        assert "compared inside the database" not in index.notes


def test_values_of_a_server_are_looked_at_by_spark() -> None:
    request = CheckRequest(catalog=Path("scrub.yaml"), checks=("physical",))
    whole = [PinnedTable(table=TABLE, facts=in_server("orders"), check=PHYSICAL)]
    (table,) = plan_check(request, (), whole=whole).tables
    assert table.side.engine is Engine.SQL
    assert [(one.check, one.columns) for one in table.whole] == [("physical", ("id", "customer"))]


def test_a_relation_without_a_snapshot_is_noted() -> None:
    facts = a_side("orders__by_customer").facts
    unpinned = replace(facts, snapshot=Snapshot(label="now", pinned=False))
    (index,) = planned(pinned(index_facts=unpinned)).tables[0].indexes
    assert index.notes == ("orders__by_customer offers no snapshot: two readings of it may differ",)
