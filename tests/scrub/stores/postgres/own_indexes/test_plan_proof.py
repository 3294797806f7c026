# SPDX-License-Identifier: Apache-2.0
"""Plans that are not what was asked for."""

from typing import Any

import pytest

from scrub.stores.postgres.own_indexes.plan_proof import Demand, Way, objection_to

DEMAND = Demand(table="t", index="i", ways=(Way.POINTERS,))
SCAN = {"Node Type": "Index Scan", "Relation Name": "t", "Index Name": "i"}


def above(kind: str, *plans: dict[str, Any]) -> dict[str, Any]:
    return {"Node Type": kind, "Plans": list(plans)}


def test_the_scan_that_was_asked_for_is_taken() -> None:
    assert objection_to(above("Aggregate", above("WindowAgg", SCAN)), DEMAND) is None


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (SCAN | {"Index Name": "j"}, "reads the index j in place of i"),
        (SCAN | {"Node Type": "Index Only Scan"}, "offers a Index Only Scan, not a Index Scan"),
        ({"Node Type": "Seq Scan", "Relation Name": "t"}, "offers a Seq Scan"),
        (SCAN | {"Relation Name": "other"}, "reads other, not t"),
        (SCAN | {"Index Cond": "(k > 1)"}, "adds a condition"),
        (SCAN | {"Filter": "(k > 1)"}, "adds a condition"),
        (SCAN | {"Scan Direction": "Backward"}, "backward"),
        (above("Sort", SCAN), "puts a Sort above"),
        (above("Gather", SCAN), "puts a Gather above"),
        (above("Hash Join", SCAN, SCAN), "offers a Index Scan and a Index Scan"),
        (above("Result"), "offers no scan"),
    ],
)
def test_any_other_plan_is_refused(plan: dict[str, Any], words: str) -> None:
    assert words in str(objection_to(plan, DEMAND))


ENTRIES = Demand(table="t", index="i", ways=(Way.ENTRIES,), held=((1, "f(v)"),))
ONLY = SCAN | {"Node Type": "Index Only Scan", "Alias": "t_1"}


@pytest.mark.parametrize("output", ["(f(t_1.v))", '(f("t_1".v))', "NULL::integer"])
def test_an_expression_that_the_index_gives_or_nobody_asks_for_is_taken(output: str) -> None:
    assert objection_to(ONLY | {"Output": ["t_1.v", output]}, ENTRIES) is None


@pytest.mark.parametrize("output", ["f(t_1.v)", "t_1.v", "(g(t_1.v))"])
def test_an_expression_that_is_computed_is_refused(output: str) -> None:
    objection = objection_to(ONLY | {"Output": ["t_1.v", output]}, ENTRIES)
    assert objection == "the planner computes f(v), and does not read it from i"


SEARCH = Demand(table="t", index="i", ways=(Way.POINTERS, Way.ROWS), is_search=True)
ROWS = {"Node Type": "Seq Scan", "Relation Name": "t"}


@pytest.mark.parametrize(
    ("conditions", "is_taken"),
    [
        ({"Index Cond": "(f(v) = s.c0)"}, True),
        ({"Index Cond": "(id = s.c1)", "Filter": "(f(v) = s.c0)"}, False),  # of the row's value
        ({"Filter": "(f(v) = s.c0)"}, False),
        ({}, False),
    ],
)
def test_a_search_is_decided_by_the_index_alone(conditions: dict[str, str], is_taken: bool) -> None:
    plan = above("Nested Loop", above("Unique", above("Sort", ROWS)), SCAN | conditions)
    assert (objection_to(plan, SEARCH) is None) is is_taken
