# SPDX-License-Identifier: Apache-2.0
"""What a run becomes in a validation result; no Spark and no Great Expectations are needed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from scrub.gx.judging import COMPLETE, EXAMPLES_MAX, LookIncomplete, judgement_of
from scrub.model.defect import DefectKind
from scrub.model.result import CheckOutcome, Status
from tests.reports.results import a_check, a_defect, a_run, a_table

FOUND = {DefectKind.WRONG_STORED_VALUE: 3}


def outcome(index: str = "by_customer", **more: Any) -> CheckOutcome:
    facts: dict[str, Any] = {"counts": FOUND, "rows": 12, "entries": 12}
    return replace(a_check(index, Status.DEFECTIVE), **(facts | more))


def result_of(*outcomes: CheckOutcome, defects: int = 0, few: int = EXAMPLES_MAX) -> dict[str, Any]:
    found = tuple(a_defect(primary_key={"id": number}) for number in range(defects))
    run = a_run(a_table(*outcomes), defects=found)
    result = judgement_of(run, "orders", "index").as_result(COMPLETE, few)
    json.dumps(result, allow_nan=False)
    return result


@pytest.mark.parametrize(
    ("outcomes", "percent"),
    [
        ([outcome()], 25.0),
        ([outcome(rows=0, entries=12)], 25.0),
        ([outcome(rows=0, entries=0)], 100.0),
        ([outcome(rows=None, entries=None)], 100.0),
        ([outcome(counts={}, unnamed=6)], 50.0),
        ([outcome(rows=2, entries=0), outcome("by_email", rows=2, entries=0)], 100.0),
        ([outcome(counts={}, status=Status.CLEAN, rows=0, entries=0)], 0.0),
    ],
)
def test_the_percent_is_a_number_of_at_most_100(
    outcomes: list[CheckOutcome], percent: float
) -> None:
    result = result_of(*outcomes)
    assert result["unexpected_percent"] == percent
    assert isinstance(result["unexpected_percent"], float)


@pytest.mark.parametrize(("asked", "shown"), [(1_000, EXAMPLES_MAX), (2, 2), (0, 0), (-1, 0)])
def test_there_are_at_most_20_examples_whatever_is_asked_for(asked: int, shown: int) -> None:
    result = result_of(outcome(), defects=30, few=asked)
    for name in ("partial_unexpected_list", "unexpected_list", "unexpected_index_list"):
        assert len(result[name]) == shown
    assert result["details"]["examples"] == f"{shown} of 3"


@pytest.mark.parametrize("status", [Status.INCOMPLETE, Status.NOT_APPLICABLE])
def test_an_incomplete_look_raises_with_its_reason(status: Status) -> None:
    clean = outcome(counts={}, status=Status.CLEAN)
    unread = outcome("by_email", counts={}, status=status, reason="it is gone")
    judged = judgement_of(a_run(a_table(clean, unread)), "orders", "index")
    if status is Status.INCOMPLETE:
        with pytest.raises(LookIncomplete, match=r"orders.by_email: it is gone"):
            judged.demand_a_look()
    assert not (judged.success and status is Status.INCOMPLETE)
    alone = judgement_of(a_run(a_table(unread)), "orders", "index")
    with pytest.raises(LookIncomplete, match=r"it is gone"):
        alone.demand_a_look()


def test_a_defect_that_is_known_is_told_although_something_was_not_looked_at() -> None:
    unread = outcome("by_email", counts={}, status=Status.INCOMPLETE, reason="it is gone")
    judged = judgement_of(a_run(a_table(outcome(), unread)), "orders", "index")
    judged.demand_a_look()
    assert not judged.success


def test_a_table_that_was_not_looked_at_raises() -> None:
    with pytest.raises(LookIncomplete, match="people was not looked at"):
        judgement_of(a_run(a_table(outcome())), "people", "index")
