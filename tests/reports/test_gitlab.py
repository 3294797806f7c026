# SPDX-License-Identifier: Apache-2.0
"""GitLab's code quality report is valid by a schema written from GitLab's documentation."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from reports.as_gitlab import render
from reports.context import ReportContext
from scrub.model.result import RunResult
from tests.reports.many import many_defects
from tests.reports.results import RESULTS, a_check, a_defect, a_run, a_table
from tests.reports.verdicts import a_verdict, forgiven, judged, judged_result

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "gitlab-code-quality.json").read_text())


def issues(result: RunResult, context: ReportContext | None = None) -> list[dict[str, Any]]:
    found = json.loads(render(result, context=context or ReportContext()))
    jsonschema.validate(found, SCHEMA)
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("context", [ReportContext(), judged()], ids=["check", "gate"])
def test_every_result_is_valid_and_every_fingerprint_unique(
    make: Callable[[], RunResult], context: ReportContext
) -> None:
    fingerprints = [issue["fingerprint"] for issue in issues(make(), context)]
    assert len(set(fingerprints)) == len(fingerprints)


@pytest.mark.parametrize("field", ["description", "fingerprint", "severity", "location"])
def test_the_schema_rejects_an_issue_without_a_field(field: str) -> None:
    broken = issues(RESULTS["defective"]())
    del broken[0][field]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA)


def test_a_clean_result_is_an_empty_list() -> None:
    assert issues(RESULTS["clean"]()) == []


def test_two_defects_of_one_id_have_two_fingerprints() -> None:
    twice = a_run(a_table(a_check("by_customer")), defects=(a_defect(), a_defect()))
    found = [
        issue["fingerprint"] for issue in issues(twice) if issue["check_name"] == a_defect().kind
    ]
    assert found == [a_defect().id, f"{a_defect().id}:2"]


def test_equal_remarks_are_one_issue() -> None:
    verdict = a_verdict(warnings=("the same", "the same", "another"))
    found = [
        one
        for one in issues(judged_result(), ReportContext(verdict=verdict))
        if one["check_name"] == "gate_warning"
    ]
    assert [one["description"] for one in found] == ["the same", "another"]


def test_5001_defects_are_5001_issues() -> None:
    assert len(issues(many_defects(5_001))) == 5_001


def test_an_incomplete_look_is_an_issue_with_the_same_fingerprint_in_every_run() -> None:
    (first,) = [one for one in issues(RESULTS["incomplete"]()) if one["check_name"] == "incomplete"]
    other = RESULTS["incomplete"]()
    (again,) = [one for one in issues(other) if one["check_name"] == "incomplete"]
    assert first["severity"] == "critical"
    assert first["fingerprint"] == again["fingerprint"]


def test_what_is_new_weighs_more_than_what_is_known() -> None:
    found = {one["fingerprint"]: one["severity"] for one in issues(judged_result(), judged())}
    told = [found[defect.id] for defect in judged_result().defects]
    assert told == ["critical", "critical", "info", "info"]


def test_a_gate_that_passed_leaves_nothing_critical() -> None:
    found = issues(judged_result(), ReportContext(verdict=forgiven()))
    assert "critical" not in {one["severity"] for one in found}
