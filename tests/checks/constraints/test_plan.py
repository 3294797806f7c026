# SPDX-License-Identifier: Apache-2.0
"""How each constraint is checked, and what is left out; without stores and Spark."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks.constraints.plan import HELD_KEYS_MAX, PinnedConstraints
from checks.plan import plan_check
from checks.registry import CONSTRAINT, INDEX, PHYSICAL, checks_of
from scrub.errors import UsageError
from scrub.model.constraint import Constraint, constraints_of
from scrub.model.plan import CheckPlan, Parent, Way
from scrub.model.relation import RelationFacts, SplitKind
from scrub.model.request import CheckRequest, Engine
from scrub.model.table import Column, ForeignKey, Table, UniqueKey
from scrub.model.types import ColumnType, TypeName
from tests.checks.plans import LONG, a_side, an_index

TEXT = ColumnType(TypeName.STRING)
CUSTOMERS = Table(
    name="customers",
    store="lake",
    relation="customers",
    columns=(Column(name="id", type=LONG),),
    primary_key=("id",),
)
ORDERS = Table(
    name="orders",
    store="lake",
    relation="orders",
    columns=tuple(Column(name=name, type=LONG) for name in ("id", "customer")),
    primary_key=("id",),
    checks={"positive": "customer > 0", "evaluated": "abs(customer) > 0"},
    unique=(UniqueKey(name="once", columns=("customer",)),),
    foreign_keys=(ForeignKey(name="of", columns=("customer",), references="customers"),),
)
OF_TABLE = a_side("orders", files=2).facts
OF_PARENT = replace(a_side("customers").facts, columns={"id": LONG})
IN_FILES = {
    "not_null": Way.SCAN,
    "positive": Way.SCAN,
    "evaluated": Way.SQL,
    "primary_key": Way.KEYS,
    "once": Way.KEYS,
    "of": Way.SCAN,
}


def in_server(facts: RelationFacts, store: str = "shop") -> RelationFacts:
    splits = tuple(replace(split, kind=SplitKind.POSTGRES) for split in facts.splits)
    return replace(facts, splits=splits, store=store)


def planned(
    facts: RelationFacts = OF_TABLE,
    parent: RelationFacts = OF_PARENT,
    refusal: str | None = None,
    constraints: tuple[Constraint, ...] = constraints_of(ORDERS),
    **asked: Any,
) -> CheckPlan:
    of_parent = Parent(table=CUSTOMERS, facts=parent)
    pinned = PinnedConstraints(
        table=ORDERS, facts=facts, constraints=constraints, parents={"of": of_parent}
    )
    request = CheckRequest(catalog=Path("scrub.yaml"), **asked)
    return plan_check(request, [], native_refusal=refusal, constraints=[pinned])


def ways(plan: CheckPlan) -> dict[str, Way]:
    (table,) = plan.tables
    return {one.constraint.name: one.way for one in table.constraints}


def reason_of(plan: CheckPlan, constraint: str) -> str:
    (table,) = plan.tables
    (one,) = (one for one in table.constraints if one.constraint.name == constraint)
    return one.reason


def test_tasks_that_open_files_judge_what_they_can() -> None:
    assert ways(planned()) == IN_FILES


def test_a_table_that_only_has_constraints_is_scanned_once() -> None:
    (table,) = planned().tables
    assert (table.indexes, table.whole) == ((), ())
    assert table.side.engine is Engine.NATIVE


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"engine": Engine.SQL}, "asked for"),
        ({"refusal": "no package"}, "no package"),
        ({"facts": replace(OF_TABLE, native=False, native_reason="it is a view")}, "it is a view"),
        ({"where": "abs(id) > 1"}, "--where needs Spark"),
        ({"facts": replace(OF_TABLE, splits=())}, "there is nothing to open"),
    ],
)
def test_spark_looks_where_tasks_cannot(changes: dict[str, Any], reason: str) -> None:
    plan = planned(**changes)
    assert {*ways(plan).values()} == {Way.SQL}
    assert reason_of(plan, "once") == reason


def test_a_condition_that_tasks_evaluate_changes_nothing() -> None:
    assert ways(planned(where="id > 1")) == IN_FILES


@pytest.mark.parametrize(
    ("parent", "way"),
    [
        (replace(OF_PARENT, rows=HELD_KEYS_MAX), Way.SCAN),
        (replace(OF_PARENT, rows=None), Way.SCAN),  # counted when its keys are gathered
        (replace(OF_PARENT, rows=HELD_KEYS_MAX + 1), Way.KEYS),
        (replace(OF_PARENT, native=False), Way.SQL),
        (in_server(OF_PARENT), Way.SQL),
    ],
)
def test_the_parent_decides_how_a_foreign_key_is_checked(parent: RelationFacts, way: Way) -> None:
    assert ways(planned(parent=parent)) == IN_FILES | {"of": way}


def test_a_server_is_asked_for_what_it_holds_both_sides_of() -> None:
    both = planned(in_server(OF_TABLE), in_server(OF_PARENT))
    assert ways(both) == dict.fromkeys(IN_FILES, Way.STORE) | {"evaluated": Way.SQL}
    for elsewhere in (OF_PARENT, in_server(OF_PARENT, "another")):
        apart = planned(in_server(OF_TABLE), elsewhere)
        assert ways(apart)["of"] is Way.SQL
        assert reason_of(apart, "of") == "customers is in another store"


def test_native_only_refuses_by_name_what_it_cannot_do() -> None:
    with pytest.raises(UsageError, match="cannot check constraint evaluated of orders: only Spark"):
        planned(engine=Engine.NATIVE)


def test_the_parent_and_its_snapshot_are_told() -> None:
    unpinned = replace(OF_PARENT, snapshot=replace(OF_PARENT.snapshot, pinned=False))
    (table,) = planned(parent=unpinned).tables
    notes = {one.constraint.name: one.notes for one in table.constraints}
    assert notes["of"] == (
        "refers to customers at version 1",
        "customers offers no snapshot: two readings of it may differ",
    )
    assert notes["once"] == ()


def test_a_column_that_is_not_there_costs_the_constraints_that_need_it() -> None:
    plan = planned(replace(OF_TABLE, columns={"id": LONG}))
    assert [one.constraint for one in plan.not_checked] == ["positive", "evaluated", "once", "of"]
    assert all(one.incomplete for one in plan.not_checked)
    assert "customer" in plan.not_checked[0].reason


def test_a_parents_key_of_another_type_costs_the_foreign_key() -> None:
    plan = planned(parent=replace(OF_PARENT, columns={"id": TEXT}))
    (skipped,) = plan.not_checked
    assert (skipped.constraint, skipped.incomplete) == ("of", True)
    assert "customers" in skipped.reason
    assert "of" not in ways(plan)


BARE = replace(ORDERS, checks={}, unique=(), foreign_keys=())
INDEXED = replace(BARE, indexes=(an_index("by_customer"),))
PROMISING = replace(ORDERS, indexes=INDEXED.indexes)


@pytest.mark.parametrize(
    ("table", "asked", "expected"),
    [
        (BARE, {}, (CONSTRAINT, INDEX)),  # nothing else can be checked
        (INDEXED, {}, (INDEX,)),
        (PROMISING, {}, (CONSTRAINT, INDEX)),
        (PROMISING, {"constraints_unasked": False}, (INDEX,)),
        (PROMISING, {"indexes": ("by_customer",)}, (INDEX,)),
        (PROMISING, {"constraints": ("once",)}, (CONSTRAINT,)),
        (PROMISING, {"constraints": ("once",), "indexes": ("by_customer",)}, (CONSTRAINT, INDEX)),
        (PROMISING, {"checks": ("index",)}, (INDEX,)),
        (INDEXED, {"checks": ("constraint", "physical")}, (PHYSICAL, CONSTRAINT)),
    ],
)
def test_which_checks_are_made(table: Table, asked: dict[str, Any], expected: object) -> None:
    assert checks_of(CheckRequest(**asked), table) == expected


def test_a_column_that_is_never_null_is_a_promise() -> None:
    columns = (BARE.columns[0], replace(BARE.columns[1], nullable=False))
    assert CONSTRAINT.is_default_for(replace(INDEXED, columns=columns))
