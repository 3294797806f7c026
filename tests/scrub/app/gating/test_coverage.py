# SPDX-License-Identifier: Apache-2.0
"""What must have been looked at, and what counts as a look."""

from dataclasses import replace

import pytest

from checks.own_indexes.findings import OwnIndexFindings
from checks.registry import checks_of
from scrub.app.gating import judge
from scrub.app.gating.grounds import requirements, with_required_checks
from scrub.model.constraint import NOT_NULL, PRIMARY_KEY
from scrub.model.gate import GatePolicy, Requirement
from scrub.model.request import CheckRequest
from scrub.model.result import CheckOutcome, Status
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import parse_type
from tests.scrub.app.gating.gate_ground import a_result, an_outcome, grounds


def a_table() -> Table:
    column = EntryColumn(name="email", source="email")
    index = Index(name="by_email", store="s", relation="r", key=(column,), suffix=())
    bigint = parse_type("bigint")
    return Table(
        name="orders",
        store="s",
        relation="orders",
        columns=(Column(name="id", type=bigint),),
        primary_key=("id",),
        indexes=(index, replace(index, name="by_name")),
    )


def test_every_index_is_required_unless_the_catalog_says_otherwise() -> None:
    tables = [a_table()]
    assert [one.index for one in requirements(GatePolicy(), tables)] == ["by_email", "by_name"]
    some = (
        Requirement(check="physical"),
        Requirement(check="index", table="orders", index="by_name"),
        Requirement(check="index", table="people"),
    )
    assert requirements(GatePolicy(require=some), tables) == (
        Requirement(check="physical", table="orders"),
        Requirement(check="index", table="orders", index="by_name"),
    )


def test_a_check_that_is_required_is_required_of_all_it_can_look_at() -> None:
    policy = GatePolicy(require=(Requirement(check="constraint"),))
    assert [one.constraint for one in requirements(policy, [a_table()])] == [
        NOT_NULL,
        PRIMARY_KEY,
    ]


@pytest.mark.parametrize(
    ("physical", "code"),
    [
        (Status.CLEAN, 0),
        (Status.DEFECTIVE, 0),  # a known defect, say: what counts here is that it looked
        (Status.INCOMPLETE, 3),
        (Status.NOT_APPLICABLE, 3),
    ],
)
def test_nulls_are_covered_by_the_physical_check_if_it_looked(physical: Status, code: int) -> None:
    required = (Requirement(check="constraint", table="orders", constraint=NOT_NULL),)
    elsewhere = CheckOutcome(
        check="constraint",
        index=None,
        constraint=NOT_NULL,
        status=Status.NOT_APPLICABLE,
        reason="the physical check reports NULLs",
    )
    looked = CheckOutcome(check="physical", index=None, status=physical, reason="a reason")
    if physical in (Status.CLEAN, Status.DEFECTIVE):
        looked = replace(looked, reason=None)
    verdict = judge(a_result([elsewhere, looked]), grounds(required=required))
    assert verdict.exit_code == code, verdict.reasons


@pytest.mark.parametrize(("of_pairs", "code"), [(True, 0), (False, 3)])
def test_repeated_rows_of_pairs_are_covered_by_the_physical_check(
    of_pairs: bool, code: int
) -> None:
    """It reports them, so that the check of constraints leaves them out."""
    required = (Requirement(check="constraint", table="orders", constraint=PRIMARY_KEY),)
    looked = CheckOutcome(check="physical", index=None, status=Status.CLEAN, rows=7)
    pairs = frozenset({"orders"} if of_pairs else ())
    verdict = judge(a_result([looked]), grounds(required=required, of_pairs=pairs))
    assert verdict.exit_code == code


def test_the_checks_that_are_required_are_made_unless_somebody_names_others() -> None:
    policy = GatePolicy(require=(Requirement(check="physical", table="orders"),))
    asked = with_required_checks(CheckRequest(), policy)
    table = a_table()
    assert [check.name for check in checks_of(asked, table)] == ["physical", "index"]
    assert [check.name for check in checks_of(asked, replace(table, name="p"))] == ["index"]
    for named in (CheckRequest(checks=("index",)), CheckRequest(indexes=("by_name",))):
        assert with_required_checks(named, policy) == named


def test_a_native_index_that_may_not_be_walked_is_not_covered() -> None:
    index = replace(a_table().indexes[0], name="by_customer")
    found = OwnIndexFindings(snapshot="snapshot 1")
    found.lacks("no permission to read email of public.orders, which orders_email needs")
    result = a_result([found.outcome(index), an_outcome("by_email")])
    verdict = judge(result, grounds())
    assert verdict.exit_code == 3
    assert verdict.missing == (
        "orders.by_customer was not looked at in full: no permission to read email of "
        "public.orders, which orders_email needs",
    )
