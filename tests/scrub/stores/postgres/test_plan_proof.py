# SPDX-License-Identifier: Apache-2.0
"""Plans that are not what was asked for."""

from typing import Any

import pytest

from scrub.stores.postgres.plan_proof import Demand, Way, objection_to

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
