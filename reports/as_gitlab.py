# SPDX-License-Identifier: Apache-2.0
"""Renders GitLab's code quality report: a list of remarks, which merge requests compare."""

import json

from reports.context import NO_CONTEXT, ReportContext
from reports.escaping import printable
from reports.redaction import redact_result
from reports.remarks import Remark, defect_remarks, gap_remarks, gate_remarks, hidden_remark
from scrub.model.gate import Severity
from scrub.model.result import RunResult

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def render(result: RunResult, *, redact: bool = False, context: ReportContext = NO_CONTEXT) -> str:
    if redact:
        result = redact_result(result)
    remarks = [
        *gate_remarks(context),
        *gap_remarks(result, context),
        *defect_remarks(result, context),
        *hidden_remark(result, context),
    ]
    # GitLab shows one of several remarks with the same fingerprint: equal ones are told once here.
    by_fingerprint = {remark.id: _issue(remark) for remark in remarks}
    return json.dumps(list(by_fingerprint.values()), indent=2, ensure_ascii=True) + "\n"


def _issue(remark: Remark) -> dict[str, object]:
    return {
        "description": remark.text,
        "check_name": remark.rule,
        "fingerprint": remark.id,
        "severity": _SEVERITIES[remark.level],
        "location": {"path": printable(remark.place.file), "lines": {"begin": remark.place.line}},
    }
