# SPDX-License-Identifier: Apache-2.0
"""What is known, what is waived, and what counts, beyond the table of cases."""

from dataclasses import replace
from datetime import timedelta

import pytest

from checks.own_indexes.findings import OwnIndexFindings
from checks.registry import checks_of
from reports.redaction import redact_result
from scrub.app.gating import judge
from scrub.app.gating.grounds import requirements, with_required_checks
from scrub.model.constraint import NOT_NULL, PRIMARY_KEY
from scrub.model.defect import DefectKind
from scrub.model.definition import Definition
from scrub.model.gate import (
    GatePolicy,
    GateRule,
    Requirement,
    Severity,
    Standing,
    Threshold,
    Verdict,
)
from scrub.model.request import CheckRequest
from scrub.model.result import CheckOutcome, RunResult, Status
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import parse_type
from tests.scrub.app.gating.gate_ground import (
    DEFINITIONS,
    SALT,
    TODAY,
    a_baseline,
    a_defect,
    a_result,
    a_waiver,
    an_outcome,
    complete,
    grounds,
    known,
)

FOUND = a_defect()
SEVERAL = tuple(a_defect(number) for number in range(4))


def standings(verdict: Verdict) -> set[Standing]:
    return {judged.standing for judged in verdict.defects}


def of_group(at_most: int, days: int = 90, **more: object):
    return a_waiver(days, table="orders", index="by_customer", at_most=at_most, **more)


def test_nothing_is_known_without_a_baseline() -> None:
    assert judge(complete(FOUND)).exit_code == 1
    assert judge(complete()).exit_code == 0
    assert judge(a_result([])).exit_code == 3


def test_a_defect_of_another_definition_is_not_known() -> None:
    definitions = DEFINITIONS | {"orders": Definition(table="t1", indexes={"by_customer": "other"})}
    verdict = judge(complete(FOUND), grounds(a_baseline(FOUND), definitions=definitions))
    assert (verdict.exit_code, standings(verdict)) == (1, {Standing.NEW})
    assert "orders.by_customer is defined differently since" in verdict.warnings[0]
    assert not verdict.gone


def test_a_redacted_run_has_no_new_defect() -> None:
    baseline = a_baseline(FOUND)
    redacted: RunResult = redact_result(complete(FOUND))
    assert redacted.redacted
    assert judge(redacted, grounds(baseline, names_only=True)).exit_code == 0
    of_names = replace(baseline, known=(known(FOUND, names_only=True),))
    assert judge(complete(FOUND), grounds(of_names)).exit_code == 0


def test_a_redacted_baseline_still_tells_other_columns() -> None:
    of_names = replace(a_baseline(), known=(known(FOUND, names_only=True),))
    other = a_defect(actual={"customer_id": 9, "id": 1, "status": "open"})
    assert judge(complete(other), grounds(of_names)).exit_code == 1


def test_what_was_waived_does_not_hide_the_next_wrong_value() -> None:
    verdict = judge(
        complete(a_defect(status="lost")), grounds(a_baseline(FOUND), [a_waiver(id=FOUND.id)])
    )
    assert (verdict.exit_code, standings(verdict)) == (1, {Standing.CHANGED})


def test_a_waiver_with_a_content_is_of_nothing_else() -> None:
    waiver = a_waiver(id=FOUND.id, content=FOUND.content())
    assert judge(complete(FOUND), grounds(waivers=[waiver])).exit_code == 0
    other = a_defect(status="lost")
    verdict = judge(complete(other), grounds(waivers=[waiver]))
    assert (verdict.exit_code, standings(verdict)) == (1, {Standing.CHANGED})
    assert verdict.warnings == (
        "scrub-waivers.yaml:3: the waiver by ann is not of what is wrong there now, which is "
        f"content: {other.content()}",
    )


def test_a_waiver_with_a_content_speaks_for_a_changed_defect() -> None:
    waiver = a_waiver(id=FOUND.id, content=FOUND.content(SALT))
    before = a_baseline(a_defect(status="lost"))
    verdict = judge(complete(FOUND), grounds(before, [waiver]))
    assert (verdict.exit_code, standings(verdict)) == (0, {Standing.WAIVED})


def test_a_waiver_without_a_content_says_what_it_leaves_open() -> None:
    waiver = a_waiver(id=FOUND.id)
    (warning,) = judge(complete(FOUND), grounds(waivers=[waiver])).warnings
    assert warning.endswith(f"add content: {FOUND.content()}")
    assert not judge(complete(FOUND), grounds(a_baseline(FOUND), [waiver])).warnings


def test_of_several_waivers_of_one_defect_the_one_that_speaks_of_it_counts() -> None:
    other = a_waiver(200, id=FOUND.id, content=a_defect(status="lost").content(), line=3)
    right = a_waiver(100, id=FOUND.id, content=FOUND.content(), line=4)
    verdict = judge(complete(FOUND), grounds(waivers=[other, right]))
    assert [judged.waiver for judged in verdict.defects] == [right]


def test_two_waivers_of_the_same_defects_do_not_add_up() -> None:
    """Nobody waives eight defects with two waivers of five each."""
    waivers = [of_group(3), of_group(3, line=9)]
    verdict = judge(complete(*SEVERAL), grounds(waivers=waivers))
    assert (verdict.exit_code, standings(verdict)) == (1, {Standing.NEW})


def test_a_waiver_of_several_waives_all_or_none() -> None:
    assert standings(judge(complete(*SEVERAL), grounds(waivers=[of_group(4)]))) == {Standing.WAIVED}
    verdict = judge(complete(*SEVERAL), grounds(waivers=[of_group(3)]))
    assert (verdict.exit_code, standings(verdict)) == (1, {Standing.NEW})
    assert "is about 4 defects, more than its at_most: 3, so it waives none" in verdict.warnings[0]


def test_a_waiver_of_one_defect_leaves_room_for_others() -> None:
    waivers = [a_waiver(id=SEVERAL[0].id), of_group(3, line=9)]
    verdict = judge(complete(*SEVERAL), grounds(waivers=waivers))
    assert (verdict.exit_code, verdict.counts[Standing.WAIVED]) == (0, 4)
    lines = [judged.waiver.line for judged in verdict.defects if judged.waiver]
    assert lines == [3, 9, 9, 9]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"kind": DefectKind.WRONG_STORED_VALUE}, 0),
        ({"kind": DefectKind.MISSING}, 1),
        ({"constraint": "positive"}, 1),
        ({"index": "by_email"}, 1),
    ],
)
def test_a_waiver_is_about_what_it_describes(more: dict[str, object], code: int) -> None:
    waiver = a_waiver(**{"table": "orders", "at_most": 9, **more})
    assert judge(complete(FOUND), grounds(waivers=[waiver])).exit_code == code


def test_an_expired_waiver_gives_way_to_one_in_force() -> None:
    waivers = [a_waiver(-1, id=FOUND.id), of_group(1, line=9)]
    assert judge(complete(FOUND), grounds(waivers=waivers)).exit_code == 0


@pytest.mark.parametrize(
    ("days", "told"),
    [(15, None), (14, "ends in 14 days"), (1, "ends tomorrow"), (0, "ends today")],
)
def test_a_waiver_that_ends_soon_says_so(days: int, told: str | None) -> None:
    waiver = a_waiver(days, id=FOUND.id, content=FOUND.content())
    verdict = judge(complete(FOUND), grounds(waivers=[waiver]))
    assert verdict.exit_code == 0
    expected = [f"{told}, on {TODAY + timedelta(days=days)}"] if told else []
    assert [warning.partition("by ann ")[2] for warning in verdict.warnings] == expected


def test_a_waiver_of_a_table_that_is_not_looked_at_is_not_called_unmatched() -> None:
    waivers = [a_waiver(table="people", at_most=3), a_waiver(id="0" * 16)]
    assert not judge(complete(), grounds(waivers=waivers)).warnings


@pytest.mark.parametrize(
    ("severity", "code", "warned"),
    [(Severity.ERROR, 1, False), (Severity.WARNING, 0, True), (Severity.NOTE, 0, False)],
)
def test_only_errors_fail_by_themselves(severity: Severity, code: int, warned: bool) -> None:
    policy = GatePolicy(rules=(GateRule(table="orders", severity=severity, line=7),))
    verdict = judge(complete(FOUND), grounds(policy=policy))
    assert (verdict.exit_code, bool(verdict.warnings)) == (code, warned)
    assert [(judged.severity, judged.fails) for judged in verdict.defects] == [
        (severity, code == 1)
    ]


@pytest.mark.parametrize(("number", "code"), [(3999, 1), (4000, 0)])
def test_a_threshold_may_be_a_share_of_the_rows(number: int, code: int) -> None:
    rule = GateRule(fail_above=Threshold(number, per_million=True), line=7)
    assert judge(complete(*SEVERAL), grounds(policy=GatePolicy(rules=(rule,)))).exit_code == code


def test_a_share_of_an_unknown_number_of_rows_is_always_exceeded() -> None:
    rule = GateRule(fail_above=Threshold(999_999, per_million=True), line=7)
    outcomes = [an_outcome("by_customer", FOUND, rows=None), an_outcome("by_email", rows=None)]
    verdict = judge(a_result(outcomes, FOUND), grounds(policy=GatePolicy(rules=(rule,))))
    assert verdict.exit_code == 1
    assert verdict.reasons[0].endswith("because the number of rows is not known")


def test_known_and_waived_defects_count_for_no_threshold() -> None:
    rule = GateRule(fail_above=Threshold(2), line=7)
    ground = grounds(
        a_baseline(SEVERAL[0]), [a_waiver(id=SEVERAL[1].id)], GatePolicy(rules=(rule,))
    )
    assert judge(complete(*SEVERAL), ground).exit_code == 0
    assert judge(complete(*SEVERAL, a_defect(9)), ground).exit_code == 1


def test_the_first_rule_that_describes_a_defect_counts_it() -> None:
    rules = (
        GateRule(table="orders", kind=DefectKind.MISSING, severity=Severity.NOTE, line=1),
        GateRule(table="orders", fail_above=Threshold(9), line=2),
    )
    assert judge(complete(FOUND), grounds(policy=GatePolicy(rules=rules))).exit_code == 0


def test_a_warning_has_a_threshold_too() -> None:
    rule = GateRule(fail_above=Threshold(9), warn_above=Threshold(3), line=7)
    quiet = judge(complete(*SEVERAL[:3]), grounds(policy=GatePolicy(rules=(rule,))))
    loud = judge(complete(*SEVERAL), grounds(policy=GatePolicy(rules=(rule,))))
    assert (quiet.exit_code, loud.exit_code) == (0, 0)
    assert not quiet.warnings
    assert ", above warn_above: 3, not above fail_above: 9 (scrub.yaml:7)" in loud.warnings[0]


def test_what_has_no_name_is_new() -> None:
    unnamed = an_outcome("by_customer", FOUND, unnamed=16, reason="the session ended")
    verdict = judge(a_result([unnamed], FOUND), grounds(a_baseline(FOUND), required=()))
    assert verdict.exit_code == 1
    assert (
        verdict.reasons[0]
        == "orders.by_customer: at least 16 differences could not be named, so they count as new"
    )
    hidden = replace(complete(*SEVERAL), defects=SEVERAL[:1])
    verdict = judge(hidden, grounds(a_baseline(*SEVERAL)))
    assert (verdict.exit_code, verdict.counts[Standing.NEW]) == (1, 3)


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
