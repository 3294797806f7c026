# SPDX-License-Identifier: Apache-2.0
"""SARIF is valid by the published schema, and says what code scanning can show."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from reports.as_sarif import render
from reports.context import CatalogPlaces, ReportContext
from scrub.model.defect import DefectKind
from scrub.model.gate import Standing
from scrub.model.result import RunResult
from tests.reports.many import many_defects
from tests.reports.results import HOSTILE, RESULTS, a_check, a_defect, a_run, a_table
from tests.reports.verdicts import a_catalog, a_verdict, forgiven, judged, judged_result

SCHEMA = Path(__file__).parent / "schemas" / "sarif-2.1.0.json"


@cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def run_of(result: RunResult, context: ReportContext | None = None) -> dict[str, Any]:
    document = json.loads(render(result, context=context or ReportContext()))
    validator().validate(document)
    (run,) = document["runs"]
    assert isinstance(run, dict)
    return run


def notifications(run: dict[str, Any]) -> list[dict[str, Any]]:
    (invocation,) = run["invocations"]
    found = invocation["toolExecutionNotifications"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("context", [ReportContext(), judged()], ids=["check", "gate"])
def test_every_result_is_valid(make: Callable[[], RunResult], context: ReportContext) -> None:
    run_of(make(), context)


BREAKS: dict[str, Callable[[dict[str, Any]], object]] = {
    "an unknown level": lambda run: run["results"][0].update(level="fatal"),
    "an unknown field": lambda run: run["results"][0].update(colour="red"),
    "a state that is none": lambda run: run["results"][0].update(baselineState="gone"),
    "a result without a message": lambda run: run["results"][0].pop("message"),
    "line 0": lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(
        startLine=0
    ),
    "no tool": lambda run: run.pop("tool"),
    "a suppression of no kind": lambda run: run["results"][3]["suppressions"][0].pop("kind"),
    "an invocation that neither failed nor succeeded": lambda run: run["invocations"][0].pop(
        "executionSuccessful"
    ),
}


@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)
def test_the_schema_rejects_what_is_broken_on_purpose(
    broken: Callable[[dict[str, Any]], object],
) -> None:
    whole = json.loads(render(judged_result(), context=judged()))
    assert validator().is_valid(whole)
    document = copy.deepcopy(whole)
    broken(document["runs"][0])
    assert document != whole
    assert not validator().is_valid(document)


def test_there_is_a_rule_for_every_kind_also_when_nothing_was_found() -> None:
    rules = run_of(RESULTS["clean"]())["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(DefectKind)
    assert all(rule["shortDescription"]["text"] for rule in rules)


def test_a_result_refers_to_the_rule_of_its_kind() -> None:
    run = run_of(judged_result())
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_result_is_at_the_line_of_its_index_or_constraint() -> None:
    run = run_of(judged_result(), ReportContext(places=a_catalog()))
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"data/scrub.yaml"}
    assert [place["region"]["startLine"] for place in places] == [21, 21, 21, 14]
    unread = notifications(run)[0]["locations"][0]["physicalLocation"]
    assert unread["region"]["startLine"] == 7, "by_email is not in the catalog; its table is"


def test_the_fingerprint_is_the_id_of_the_defect() -> None:
    found = run_of(judged_result())["results"]
    told = [result["partialFingerprints"]["primaryLocationLineHash"] for result in found]
    assert told == [defect.id for defect in judged_result().defects]


def test_two_defects_of_one_id_stay_two_results() -> None:
    twice = a_run(a_table(a_check("by_customer")), defects=(a_defect(), a_defect()))
    found = run_of(twice)["results"]
    told = [result["partialFingerprints"]["primaryLocationLineHash"] for result in found]
    assert told == [a_defect().id, f"{a_defect().id}:2"]


def test_the_standing_is_the_baseline_state_and_a_waiver_a_suppression() -> None:
    found = run_of(judged_result(), judged())["results"]
    assert [result["baselineState"] for result in found] == ["new", "updated", "unchanged", "new"]
    assert [result["level"] for result in found] == ["error", "error", "note", "note"]
    suppressed = [result.get("suppressions") for result in found]
    assert suppressed[:3] == [None] * 3
    (waiver,) = suppressed[3]
    assert waiver["status"] == "accepted"
    assert "orders of 2019 are removed in March" in waiver["justification"]


def test_a_waived_defect_of_the_baseline_is_unchanged() -> None:
    verdict = a_verdict()
    last = replace(verdict.defects[3], since=verdict.defects[2].since)
    context = ReportContext(verdict=replace(verdict, defects=(*verdict.defects[:3], last)))
    assert run_of(judged_result(), context)["results"][3]["baselineState"] == "unchanged"


def test_what_is_gone_is_told_and_is_no_result() -> None:
    run = run_of(judged_result(), judged())
    assert len(run["results"]) == len(judged_result().defects)
    (gone,) = [one for one in notifications(run) if one["descriptor"]["id"] == "gone"]
    assert "00ff00ff00ff00ff" in gone["message"]["text"]


def test_without_a_verdict_there_is_no_standing() -> None:
    for result in run_of(judged_result())["results"]:
        assert not {"baselineState", "suppressions"} & result.keys()
        assert result["level"] == "error"


@pytest.mark.parametrize("name", ["incomplete", "nothing", "no_index", "defective_and_incomplete"])
def test_an_incomplete_run_did_not_succeed_and_says_why(name: str) -> None:
    run = run_of(RESULTS[name]())
    assert run["invocations"][0]["executionSuccessful"] is False
    assert any(one["level"] == "error" for one in notifications(run))


def test_a_clean_run_succeeded_without_a_word() -> None:
    run = run_of(RESULTS["clean"]())
    assert run["invocations"][0]["executionSuccessful"] is True
    assert run["invocations"][0]["exitCode"] == 0
    assert notifications(run) == []
    assert run["results"] == []


def test_the_exit_code_is_the_gates() -> None:
    run = run_of(judged_result(), ReportContext(verdict=forgiven()))
    assert run["invocations"][0]["exitCode"] == 0


def test_of_5001_defects_5000_are_results_and_the_rest_is_told() -> None:
    run = run_of(many_defects(5_001))
    assert len(run["results"]) == 5_000
    assert [one["message"]["text"] for one in notifications(run)] == [
        "5,000 of 5,001 defects are in this file"
    ]
    assert notifications(run_of(many_defects(5_000))) == []


def test_new_defects_are_kept_when_there_are_too_many() -> None:
    result = many_defects(5_001)
    known = [
        replace(a_verdict().defects[2], defect=defect, standing=Standing.KNOWN)
        for defect in result.defects[:-1]
    ]
    new = replace(a_verdict().defects[0], defect=result.defects[-1])
    run = run_of(result, ReportContext(verdict=a_verdict(defects=(*known, new))))
    assert run["results"][0]["baselineState"] == "new"


def test_what_limit_hides_is_told() -> None:
    result = many_defects(30)
    run = run_of(replace(result, defects=result.defects[:10]))
    assert "showing 10 of 30 defects" in notifications(run)[0]["message"]["text"]


def test_no_text_is_a_link_and_no_path_is_a_template() -> None:
    places = CatalogPlaces(file="a b/100%/sch\udcffön#1?.yaml")
    run = run_of(RESULTS["hostile"](), ReportContext(places=places))
    (result,) = run["results"]
    assert "\\[x\\](y)" in result["message"]["text"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20b/100%25/sch%FF%C3%B6n%231%3F.yaml"
    assert HOSTILE not in json.dumps(run, ensure_ascii=False), "every name is printable"
