# SPDX-License-Identifier: Apache-2.0
"""Renders JUnit's XML, which CI systems show: a suite a table, a test case a check."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from reports.cases import Case, Ending, cases, decision_ending
from reports.context import NO_CONTEXT, ReportContext
from reports.escaping import printable
from reports.redaction import redact_result
from reports.standing import decision_line, gone_lines, reason_lines
from reports.truncation import truncate
from scrub.model.gate import Verdict
from scrub.model.result import RunResult, TableResult

_FIELDS = {"failures": Ending.FAILED, "errors": Ending.ERROR, "skipped": Ending.SKIPPED}


def render(result: RunResult, *, redact: bool = False, context: ReportContext = NO_CONTEXT) -> str:
    if redact:
        result = redact_result(result)
    by_table = [(table, list(cases(result, table, context))) for table in result.tables]
    endings = [case.ending for _, found in by_table for case in found]
    suites = [_suite(result, table, found) for table, found in by_table]
    if not result.outcomes:
        suites.insert(0, _nothing_was_checked())
        endings.append(Ending.ERROR)
    if context.verdict is not None:
        suites.append(_gate(context.verdict, decision_ending(context.verdict.exit_code)))
        endings.append(decision_ending(context.verdict.exit_code))
    root = ET.Element("testsuites", {"name": "scrub", **_counted(endings)})
    del root.attrib["skipped"]  # Jenkins' schema knows it of suites only
    root.set("time", f"{result.seconds:.3f}")
    root.extend(suites)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(result: RunResult, table: TableResult, found: Sequence[Case]) -> ET.Element:
    counts = _counted([case.ending for case in found])
    suite = ET.Element("testsuite", {"name": printable(table.table), **counts})
    suite.set("timestamp", result.started_at.isoformat())
    properties = ET.SubElement(suite, "properties")
    for name, value in (("run_id", result.run_id), ("snapshot", table.snapshot)):
        ET.SubElement(properties, "property", {"name": name, "value": printable(value)})
    suite.extend(map(_case, found))
    return suite


def _nothing_was_checked() -> ET.Element:
    """Without a test case, a run that looked at nothing would look clean."""
    suite = ET.Element("testsuite", {"name": "scrub", **_counted([Ending.ERROR])})
    case = ET.SubElement(suite, "testcase", {"classname": "scrub", "name": "check"})
    ET.SubElement(case, "error", {"type": "incomplete", "message": "nothing was checked"})
    return suite


def _case(found: Case) -> ET.Element:
    case = ET.Element("testcase", {"classname": found.table, "name": found.name})
    told = [printable(truncate(note)) for note in found.outcome.notes]
    lines = list(found.lines)
    match found.ending:
        case Ending.FAILED:
            failure = {"type": "defects", "message": found.message}
            ET.SubElement(case, "failure", failure).text = "\n".join(lines)
        case Ending.ERROR:
            kind = "error" if found.outcome.error else "incomplete"
            error = {"type": kind, "message": found.message}
            ET.SubElement(case, "error", error).text = "\n".join(lines) or None
        case Ending.SKIPPED:
            ET.SubElement(case, "skipped", {"message": found.message})
        case Ending.PASSED:
            told = lines + told  # what a gate forgives is told all the same
    if told:
        ET.SubElement(case, "system-out").text = "\n".join(told)
    return case


def _gate(verdict: Verdict, ending: Ending) -> ET.Element:
    """The decision as a case of its own: thresholds and coverage are of no single check."""
    suite = ET.Element("testsuite", {"name": "scrub gate", **_counted([ending])})
    case = ET.SubElement(suite, "testcase", {"classname": "scrub", "name": "gate"})
    told = [*reason_lines(verdict), *(f"gone: {line}" for line in gone_lines(verdict))]
    if ending is Ending.PASSED:
        ET.SubElement(case, "system-out").text = "\n".join([decision_line(verdict), *told])
    else:
        tag, kind = ("failure", "gate") if ending is Ending.FAILED else ("error", "incomplete")
        decided = {"type": kind, "message": decision_line(verdict)}
        ET.SubElement(case, tag, decided).text = "\n".join(told)
    return suite


def _counted(endings: Sequence[Ending]) -> dict[str, str]:
    counts = {field: str(endings.count(ending)) for field, ending in _FIELDS.items()}
    return {"tests": str(len(endings)), **counts}
