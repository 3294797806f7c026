# SPDX-License-Identifier: Apache-2.0
"""Renders SARIF 2.1.0 for code scanning: a result a defect, at the catalog's line.

Known defects that are gone are a notification and no results of baseline state `absent`: GitHub
does not read that state, and would open an alert for a defect that is no more.
"""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from reports import records
from reports.context import NO_CONTEXT, Place, ReportContext
from reports.escaping import printable
from reports.quantities import counted
from reports.redaction import redact_result
from reports.remarks import (
    Remark,
    all_names,
    defect_remarks,
    gap_remarks,
    gate_remarks,
    hidden_remark,
)
from reports.rules import RULES
from reports.standing import waiver_words
from scrub import __version__
from scrub.model.defect import CONSTRAINT_KINDS, DefectKind
from scrub.model.gate import JudgedDefect, Standing
from scrub.model.result import RunResult

RESULTS_MAX = 5_000
"""Of one run; GitHub keeps no more."""

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "%SRCROOT%"
_RULE_INDEX = {kind: number for number, kind in enumerate(DefectKind)}
_BASELINE_STATES = {
    Standing.NEW: "new",
    Standing.CHANGED: "updated",
    Standing.KNOWN: "unchanged",
    Standing.GONE: "absent",
}


def render(result: RunResult, *, redact: bool = False, context: ReportContext = NO_CONTEXT) -> str:
    if redact:
        result = redact_result(result)
    remarks = defect_remarks(result, context)
    run = {
        "tool": {"driver": _driver()},
        "automationDetails": {"id": f"scrub/{result.run_id}"},
        "invocations": [_invocation(result, context, shown=min(len(remarks), RESULTS_MAX))],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "the root of the repository"}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(remark) for remark in remarks[:RESULTS_MAX]],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return records.as_json(document, indent=2) + "\n"


def _driver() -> records.Record:
    return {
        "name": "scrub",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [
            {
                "id": kind,
                "name": "".join(word.capitalize() for word in kind.split("_")),
                "shortDescription": {"text": RULES[kind]},
                "fullDescription": {"text": RULES[kind]},
                "help": {"text": _help(kind)},
                "defaultConfiguration": {"level": "error"},
            }
            for kind in DefectKind
        ],
    }


def _help(kind: DefectKind) -> str:
    if kind in CONSTRAINT_KINDS:
        return f"No repair knows which row is right; docs/constraints.md says what {kind} means."
    return f"`scrub repair` previews what it would do about {kind}; docs/defects.md explains it."


def _invocation(result: RunResult, context: ReportContext, *, shown: int) -> records.Record:
    notifications = [*gate_remarks(context), *gap_remarks(result, context)]
    if shown < len(result.defects):
        told = f"{shown:,} of {counted(result.defects_total, 'defect')} are in this file"
        rest = {"descriptor": {"id": "hidden_defects"}, "level": "warning"}
        more = [{**rest, "message": {"text": told}}]
    else:
        notifications += hidden_remark(result, context)
        more = []
    return {
        "executionSuccessful": not result.is_incomplete,
        "exitCode": context.exit_code(result),
        "startTimeUtc": _instant(result.started_at),
        "endTimeUtc": _instant(result.started_at + timedelta(seconds=result.seconds)),
        "toolExecutionNotifications": [*map(_notification, notifications), *more],
    }


def _notification(remark: Remark) -> records.Record:
    return {
        "descriptor": {"id": remark.rule},
        "level": remark.level,
        "message": {"text": _message(remark.text)},
        "locations": [{"physicalLocation": _location(remark.place)}],
    }


def _result(remark: Remark) -> records.Record:
    defect = remark.defect
    assert defect is not None, "only defects are results"
    names = {"table": defect.table, "index": defect.index, "constraint": defect.constraint}
    # Printable: readers of other languages refuse a document with half a character in it.
    shown = {key: name and printable(name) for key, name in names.items()}
    judged = remark.judged
    return {
        "ruleId": remark.rule,
        "ruleIndex": _RULE_INDEX[defect.kind],
        "level": remark.level,
        "message": {"text": _message(remark.text)},
        "locations": [
            {
                "physicalLocation": _location(remark.place),
                "logicalLocations": [{"fullyQualifiedName": all_names(shown.values())}],
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": remark.id},
        **({} if judged is None else _standing(judged)),
        "properties": shown if judged is None else {**shown, "standing": judged.standing},
    }


def _standing(judged: JudgedDefect) -> records.Record:
    # A waiver stands beside the baseline: what it waives may be known there, or not.
    before = "new" if judged.since is None else "unchanged"
    state: records.Record = {"baselineState": _BASELINE_STATES.get(judged.standing, before)}
    if judged.standing is Standing.WAIVED:
        told = waiver_words(judged)
        accepted = {"kind": "external", "status": "accepted", "justification": printable(told)}
        state["suppressions"] = [accepted]
    return state


def _location(place: Place) -> records.Record:
    path = quote(place.file.encode("utf-8", "surrogateescape"))
    return {
        "artifactLocation": {"uri": path, "uriBaseId": _ROOT},
        "region": {"startLine": place.line},
    }


def _message(text: str) -> str:
    """Text in which nothing is a link: [text](target) would be one."""
    return re.sub(r"([\\\[\]])", r"\\\1", text)


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
