# SPDX-License-Identifier: Apache-2.0
"""JUnit's XML is valid by Jenkins' schema, and fails where a gate would."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from reports.as_junit import render
from reports.context import ReportContext
from scrub.model.gate import Severity, Standing
from scrub.model.result import RunResult
from tests.reports.many import many_defects
from tests.reports.results import RESULTS
from tests.reports.verdicts import a_verdict, forgiven, judged, judged_result


@cache
def schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(Path(__file__).parent / "schemas" / "junit-10.xsd"))


def cases(result: RunResult, context: ReportContext | None = None) -> dict[str, list[str]]:
    """What each case holds."""
    rendered = render(result, context=context or ReportContext())
    schema().validate(rendered.partition("\n")[2])
    root = ET.fromstring(rendered)
    for suites in (root, *root.iter("testsuite")):
        for field, tag in (("tests", "testcase"), ("errors", "error"), ("failures", "failure")):
            if suites.get(field) is not None:
                assert int(suites.get(field, "")) == len(list(suites.iter(tag)))
    return {str(case.get("name")): [part.tag for part in case] for case in root.iter("testcase")}


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("context", [ReportContext(), judged()], ids=["check", "gate"])
def test_every_result_is_valid(make: Callable[[], RunResult], context: ReportContext) -> None:
    assert cases(make(), context)


def test_the_schema_rejects_what_is_broken_on_purpose() -> None:
    whole = render(RESULTS["defective"]()).partition("\n")[2]
    assert schema().is_valid(whole)
    assert not schema().is_valid(whole.replace("<failure", "<fault").replace("/failure", "/fault"))
    assert not schema().is_valid(whole.replace('name="index by_email"', ""))


def test_only_what_is_new_fails() -> None:
    assert cases(judged_result(), judged()) == {
        "constraint positive": ["system-out"],
        "constraint other": [],
        "index by_customer": ["failure"],
        "index by_email": ["error"],
        "gate": ["failure"],
    }


def test_without_a_verdict_every_defect_fails() -> None:
    assert cases(judged_result()) == {
        "constraint positive": ["failure"],
        "constraint other": [],
        "index by_customer": ["failure"],
        "index by_email": ["error"],
    }


def test_a_gate_that_passes_has_no_failure() -> None:
    assert cases(judged_result(), ReportContext(verdict=forgiven())) == {
        "constraint positive": ["system-out"],
        "constraint other": [],
        "index by_customer": ["system-out"],
        "index by_email": ["skipped"],
        "gate": ["system-out"],
    }


def test_a_gate_that_lacks_coverage_is_an_error() -> None:
    verdict = replace(forgiven(), exit_code=3, reasons=("orders.by_email was not looked at",))
    found = cases(judged_result(), ReportContext(verdict=verdict))
    assert found["gate"] == ["error"]
    assert found["index by_email"] == ["error"]


@pytest.mark.parametrize("severity", Severity)
def test_a_check_fails_where_the_gate_fails_because_of_it(severity: Severity) -> None:
    """An error below its threshold fails nothing, and a warning above its own does."""
    verdict = a_verdict()
    for fails, part in ((False, "system-out"), (True, "failure")):
        judged_so = tuple(replace(one, severity=severity, fails=fails) for one in verdict.defects)
        found = cases(judged_result(), ReportContext(verdict=replace(verdict, defects=judged_so)))
        assert found["index by_customer"] == [part]
        assert found["gate"] == ["failure"]


def test_a_new_defect_that_is_not_shown_fails_its_check() -> None:
    whole = many_defects(3)
    known = tuple(replace(a_verdict().defects[2], defect=defect) for defect in whole.defects[:2])
    counts = {Standing.KNOWN: 2, Standing.NEW: 1}
    shown = replace(whole, defects=whole.defects[:2])
    context = ReportContext(verdict=a_verdict(defects=known, counts=counts))
    assert cases(shown, context)["index by_customer"] == ["failure"]
    none_new = ReportContext(verdict=a_verdict(defects=known, counts={Standing.KNOWN: 3}))
    assert cases(shown, none_new)["index by_customer"] == ["system-out"]
