# SPDX-License-Identifier: Apache-2.0
"""The stages after the scan, each alone and without Spark: choose, name, settle, conclude."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from checks.conclude import conclude
from checks.failures import Failure
from checks.findings import SlotFindings
from checks.name import CHANGED, name
from checks.parts import Part
from checks.riding import Reports
from checks.scan import choose
from checks.unnamed import Unnamed
from scrub.errors import StoreUnavailable
from scrub.model.defect import Defect, DefectKind
from scrub.model.request import Strategy
from scrub.model.result import Status
from tests.checks.held_source import HeldSource, a_difference, a_run
from tests.checks.plans import a_plan

MISSING, DANGLING = DefectKind.MISSING, DefectKind.DANGLING
GONE = StoreUnavailable("the server is gone")


# Choose


def test_only_indexes_whose_sums_differ_are_chosen_and_all_are_counted() -> None:
    plan = a_plan("one", "other")
    source = HeldSource(plan)
    source.differ_in(0)
    source.differ_in(1, 3)
    run = a_run(plan, source)
    chosen = choose(run)
    assert set(chosen) == {1}
    assert (run.found[0].rows, run.found[0].strategy) == (10, "fingerprint")


def test_an_index_that_was_given_up_is_not_chosen() -> None:
    plan = a_plan("one")
    source = HeldSource(plan)
    source.differ_in(0, 3)
    run = a_run(plan, source)
    run.give_up(source.slots, GONE)
    assert not choose(run)


def test_with_the_merge_strategy_everything_is_chosen_whatever_the_sums_say() -> None:
    plan = a_plan("one", "other", strategy=Strategy.MERGE)
    assert choose(a_run(plan, HeldSource(plan))) == {0: None, 1: None}


# Name


def test_defects_are_counted_by_index_and_shown_in_order_up_to_the_limit() -> None:
    plan = a_plan("one", "other")
    source = HeldSource(
        plan, a_difference(1, MISSING, 7), a_difference(0, MISSING, 5), a_difference(0, DANGLING, 6)
    )
    run = a_run(plan, source, limit=2)
    name(run, source.slots, {0: None, 1: None})
    assert run.found[0].counts == {MISSING: 1, DANGLING: 1}
    assert run.found[1].counts == {MISSING: 1}
    assert [defect.primary_key for defect in run.shown.defects] == [{"id": 6}, {"id": 5}]
    assert run.found[0].strategy == "merge"


def test_what_an_unread_part_could_explain_is_undecided_and_not_shown() -> None:
    plan = a_plan("one")
    source = HeldSource(plan, a_difference(0, MISSING, 5), a_difference(0, DANGLING, 6))
    (of_index,) = (part for part in source.parts if not part.relation.is_table)
    source.unread.parts[of_index.number] = (of_index, "it is cut off")
    run = a_run(plan, source)
    name(run, source.slots, {0: None})
    assert run.found[0].counts == {DANGLING: 1}
    assert run.found[0].undecided == 1
    assert [defect.kind for defect in run.shown.defects] == [DANGLING]


def test_rows_that_prove_nothing_leave_the_index_incomplete() -> None:
    plan = a_plan("one")
    source = HeldSource(plan)
    source.undecided = {0: 4}
    run = a_run(plan, source)
    name(run, source.slots, {0: None})
    assert (run.found[0].undecided, run.found[0].status) == (4, Status.INCOMPLETE)
    assert run.found[0].incomplete == "4 rows of orders.one prove nothing"


@pytest.mark.parametrize(("strategy", "reason"), [(Strategy.AUTO, CHANGED), (Strategy.MERGE, None)])
def test_sums_that_differ_over_entries_that_agree_mean_that_the_data_changed(
    strategy: Strategy, reason: str | None
) -> None:
    plan = a_plan("one", strategy=strategy)
    run = a_run(plan, HeldSource(plan))
    name(run, run.source.slots, {0: None})
    assert run.found[0].incomplete == reason


def test_naming_is_tried_again_as_long_as_something_else_can_be_tried() -> None:
    plan = a_plan("one")
    source = HeldSource(plan, a_difference(0, MISSING, 5), failures=[GONE, GONE])
    run = a_run(plan, source)
    name(run, source.slots, {0: None})
    assert source.attempts == 2
    assert not run.found[0].counts
    assert "the server is gone" in source.unread.slots[0]
    again = HeldSource(plan, a_difference(0, MISSING, 5), failures=[GONE])
    again.try_otherwise = lambda error: error is GONE  # type: ignore[method-assign]
    run = a_run(plan, again)
    name(run, again.slots, {0: None})
    assert (again.attempts, run.found[0].counts) == (2, {MISSING: 1})


def test_what_cannot_be_settled_says_so_and_stays() -> None:
    plan = a_plan("one")
    source = HeldSource(plan, a_difference(0, MISSING, 5))
    run = a_run(plan, source, settle_seconds=5.0, sleep=lambda _: pytest.fail("nobody waits"))
    name(run, source.slots, {0: None})
    assert run.found[0].counts == {MISSING: 1}
    assert run.found[0].notes == ["not settled: not everything could be read"]


# Conclude


def test_differences_that_were_not_named_stay_findings() -> None:
    plan = a_plan("one")
    source = HeldSource(plan)
    source.differ_in(0, 3, 4)
    run = a_run(plan, source)
    choose(run)
    run.give_up(source.slots, GONE)
    (found,) = conclude(run).slots.values()
    assert (found.status, found.unnamed) == (Status.DEFECTIVE, 2)
    assert found.incomplete == ("at least 2 buckets differ, not named because the server is gone")


def test_what_was_named_is_no_longer_without_a_name() -> None:
    plan = a_plan("one")
    source = HeldSource(plan, a_difference(0, MISSING, 5))
    source.differ_in(0, 3)
    run = a_run(plan, source)
    name(run, source.slots, choose(run))
    (found,) = conclude(run).slots.values()
    assert (found.counts, found.unnamed, found.incomplete) == ({MISSING: 1}, 0, None)
    assert run.unnamed == Unnamed()


def test_every_reason_is_told() -> None:
    plan = a_plan("one")
    source = HeldSource(plan)
    of_table, *_ = source.parts
    source.unread.parts[of_table.number] = (of_table, "it is cut off")
    run = a_run(plan, source)
    run.found[0].incomplete = CHANGED
    (found,) = conclude(run).slots.values()
    assert found.incomplete is not None
    assert found.incomplete.startswith("1 of 2 parts of orders were not read: ")
    assert found.incomplete.endswith(f"; {CHANGED}")


class Counted:
    """A check of whole tables that has counted one defect in each of some parts."""

    gave_up = False

    def __init__(self) -> None:
        self.found: dict[str, SlotFindings] = {}

    def wants(self, part: Part) -> bool:
        return part.relation.is_table

    def give_up(self, parts: Sequence[Part], error: Failure) -> None:  # noqa: ARG002
        raise AssertionError

    def kept(self, report: Mapping[str, Any]) -> Mapping[str, Any]:
        return report

    def conclude(self, reports: Reports) -> None:
        self.found["orders"] = SlotFindings(
            rows=len(reports), counts={DefectKind.NULL_VIOLATION: len(reports)}
        )

    def defects(self, reports: Reports, limit: int | None) -> Iterator[Defect]:
        for number in list(reports)[:limit]:
            source = HeldSource(a_plan("one"))
            row = a_difference(0, DefectKind.NULL_VIOLATION, number)
            yield source.to_defect(row, source.slots[0])


def test_checks_of_whole_tables_get_their_own_reports_and_one_limit_holds_for_all() -> None:
    plan = a_plan("one")
    source = HeldSource(plan)
    source.riding = {"first": Counted(), "second": Counted()}
    source.state.reports = {0: {"first": {}, "second": {}}, 1: {"first": {}}}
    findings = conclude(a_run(plan, source, limit=2))
    assert {name: of["orders"].rows for name, of in findings.whole.items()} == {
        "first": 2,
        "second": 1,
    }
    assert len(findings.defects) == 2


def test_a_run_that_resumed_says_so_in_every_outcome() -> None:
    plan = a_plan("one")
    source = HeldSource(plan)
    source.riding = {"first": Counted()}
    source.state.resumed = frozenset({0, 1})
    findings = conclude(a_run(plan, source))
    note = "resumed: 2 of 3 parts were read before"
    assert findings.slots[0].notes == [note]
    assert findings.whole["first"]["orders"].notes == [note]
