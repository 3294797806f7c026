# SPDX-License-Identifier: Apache-2.0
"""What is known, what is waived, and what counts, beyond the table of cases."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from reports.redaction import redact_result
from scrub.app.gating import judge
from scrub.app.gating.judging import failing_rules
from scrub.app.gating.remembering import Listener
from scrub.app.gating.tally import Tally
from scrub.model.defect import DefectKind
from scrub.model.definition import Definition
from scrub.model.gate import (
    GatePolicy,
    GateRule,
    Severity,
    Standing,
    Threshold,
    Verdict,
)
from scrub.model.result import RunResult
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


def test_a_share_of_no_rows_is_exceeded_by_one_and_the_number_is_known() -> None:
    rule = GateRule(fail_above=Threshold(999_999, per_million=True), line=7)
    outcomes = [an_outcome("by_customer", FOUND, rows=0), an_outcome("by_email", rows=None)]
    verdict = judge(a_result(outcomes, FOUND), grounds(policy=GatePolicy(rules=(rule,))))
    assert verdict.exit_code == 1
    assert "not known" not in verdict.reasons[0]


def test_what_fails_the_gate_is_shown_before_what_it_tolerates() -> None:
    note = GateRule(index="by_email", severity=Severity.NOTE, line=7)
    ground = grounds(policy=GatePolicy(rules=(note,)))
    tolerated = [a_defect(number, index="by_email") for number in range(5)]
    listener = Listener(Tally(ground), keeps=False, limit=3)
    for defect in (*tolerated, FOUND):
        listener(defect)
    outcomes = [an_outcome("by_customer", FOUND), an_outcome("by_email", *tolerated)]
    failing = failing_rules(a_result(outcomes), ground, listener.tally)
    assert listener.shown(tolerated[:3], failing) == (FOUND, *tolerated[:2])


@pytest.mark.parametrize(
    ("of_pairs", "check", "gone"),
    [
        (True, "physical", True),
        (True, "index", True),
        (False, "physical", False),
        (False, "index", False),
        (False, "constraint", True),
    ],
)
def test_a_repeated_row_is_gone_if_a_check_that_would_find_it_looked(
    of_pairs: bool, check: str, gone: bool
) -> None:
    """In pairs every check finds it; in columns only that of constraints does."""
    facts: dict[str, Any] = {"kind": DefectKind.DUPLICATE_KEY, "index": None, "index_key": None}
    before = a_defect(constraint="primary_key", expected=None, actual=None, **facts)
    definitions = {"orders": Definition(table="t1", constraints={"primary_key": "c1"})}
    remembered = replace(a_baseline(before), definitions=definitions)
    place = {"index": "by_email"} if check == "index" else {"index": None}
    constraint = "primary_key" if check == "constraint" else None
    looked = replace(an_outcome("x"), check=check, constraint=constraint, **place)
    pairs = frozenset({"orders"} if of_pairs else ())
    ground = grounds(remembered, required=(), definitions=definitions, of_pairs=pairs)
    assert bool(judge(a_result([looked]), ground).gone) == gone


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
        == "orders.by_customer: at least 16 differences could not be named, which counts as new"
    )
    hidden = replace(complete(*SEVERAL), defects=SEVERAL[:1])
    verdict = judge(hidden, grounds(a_baseline(*SEVERAL)))
    assert (verdict.exit_code, verdict.counts[Standing.NEW]) == (1, 3)


def test_one_more_row_with_a_repeated_primary_key_is_a_change() -> None:
    facts: dict[str, Any] = {"kind": DefectKind.DUPLICATE_KEY, "index": None}
    facts |= {"constraint": "primary_key", "index_key": None, "expected": None, "actual": None}
    before, now = (a_defect(detail=f"{n} rows have this primary key", **facts) for n in (2, 3))
    assert before.id == now.id
    definitions = {"orders": Definition(table="t1", constraints={"primary_key": "c1"})}
    remembered = replace(a_baseline(before), definitions=definitions)
    for found, standing in ((before, "known"), (now, "changed")):
        verdict = judge(complete(found), grounds(remembered, definitions=definitions))
        assert verdict.defects[0].standing == standing


def test_equal_defects_of_rows_with_one_primary_key_are_all_shown() -> None:
    one, other = a_defect(1), a_defect(1, status="void")
    listener = Listener(Tally(grounds(a_baseline(one))), keeps=False, limit=10)
    found = [one, one, other, other, other]
    for defect in found:
        listener(defect)
    assert Counter(map(repr, listener.shown(found))) == Counter(map(repr, found))
    assert listener.shown(found)[:3] == (other, other, other), "what is new comes first"
