# SPDX-License-Identifier: Apache-2.0
"""Renders JUnit's XML, which CI systems show: a suite a table, a test case a check."""

from xml.etree import ElementTree as ET

from reports.entry_cells import defect_text
from reports.escaping import printable
from reports.redaction import redact_result
from reports.summary import unnamed
from reports.truncation import truncate
from scrub.model.defect import Defect
from scrub.model.result import CheckOutcome, RunResult, Status, TableResult


def render(result: RunResult, *, redact: bool = False) -> str:
    if redact:
        result = redact_result(result)
    root = ET.Element("testsuites", {"name": "scrub", **_counted(result.outcomes)})
    root.set("time", f"{result.seconds:.3f}")
    if not result.outcomes:
        root.append(_nothing_was_checked())
    for table in result.tables:
        of_table = [defect for defect in result.defects if defect.table == table.table]
        root.append(_suite(result, table, of_table))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(result: RunResult, table: TableResult, defects: list[Defect]) -> ET.Element:
    suite = ET.Element("testsuite", {"name": printable(table.table), **_counted(table.checks)})
    suite.set("timestamp", result.started_at.isoformat())
    properties = ET.SubElement(suite, "properties")
    for name, value in (("run_id", result.run_id), ("snapshot", table.snapshot)):
        ET.SubElement(properties, "property", {"name": name, "value": printable(value)})
    left = list(defects)
    for outcome in table.checks:
        own = [defect for defect in left if _is_of(defect, outcome, table)]
        left = [defect for defect in left if defect not in own]
        suite.append(_case(table, outcome, own))
    return suite


def _nothing_was_checked() -> ET.Element:
    """Without a test case, a run that looked at nothing would look clean."""
    suite = ET.Element("testsuite", {"name": "scrub", "tests": "1", "errors": "1"})
    case = ET.SubElement(suite, "testcase", {"classname": "scrub", "name": "check"})
    ET.SubElement(case, "error", {"type": "incomplete", "message": "nothing was checked"})
    return suite


def _is_of(defect: Defect, outcome: CheckOutcome, table: TableResult) -> bool:
    """Whether a check found this defect; several checks may concern one index."""
    if defect.kind not in outcome.counts:
        return False
    own = [other for other in table.checks if other.index == defect.index]
    return outcome.index == defect.index or not any(defect.kind in o.counts for o in own)


def _case(table: TableResult, outcome: CheckOutcome, defects: list[Defect]) -> ET.Element:
    name = f"{outcome.check} {outcome.index}" if outcome.index else outcome.check
    case = ET.Element("testcase", {"classname": printable(table.table), "name": printable(name)})
    match outcome.status:
        case Status.DEFECTIVE:
            counts = [f"{count:,} {kind}" for kind, count in outcome.counts.items()]
            if outcome.unnamed:
                counts.append(unnamed(outcome.unnamed))
            told = {"type": "defects", "message": ", ".join(counts)}
            failure = ET.SubElement(case, "failure", told)
            lines = [defect_text(defect) for defect in defects]
            if outcome.defects > len(defects):
                lines.append(f"and {outcome.defects - len(defects):,} more")
            if outcome.is_incomplete:
                lines.append(
                    f"incomplete: {printable(truncate(outcome.reason or 'some are undecided'))}"
                )
            failure.text = "\n".join(lines)
        case Status.INCOMPLETE:
            reason = printable(truncate(outcome.reason or "not everything was checked"))
            kind = "error" if outcome.error else "incomplete"
            ET.SubElement(case, "error", {"type": kind, "message": reason})
        case Status.NOT_APPLICABLE:
            ET.SubElement(case, "skipped", {"message": printable(truncate(outcome.reason or ""))})
        case Status.CLEAN:
            pass
    if outcome.notes:
        ET.SubElement(case, "system-out").text = "\n".join(
            printable(truncate(note)) for note in outcome.notes
        )
    return case


def _counted(outcomes: tuple[CheckOutcome, ...]) -> dict[str, str]:
    statuses = [outcome.status for outcome in outcomes]
    return {
        "tests": str(len(statuses)),
        "failures": str(statuses.count(Status.DEFECTIVE)),
        "errors": str(statuses.count(Status.INCOMPLETE)),
        "skipped": str(statuses.count(Status.NOT_APPLICABLE)),
    }
