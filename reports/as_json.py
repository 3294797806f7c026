# SPDX-License-Identifier: Apache-2.0
"""Renders one JSON document for tools: the result, schema version 1."""

from reports import records
from reports.context import NO_CONTEXT, ReportContext
from reports.gate_records import defect_records, gate_record
from reports.redaction import redact_result
from scrub.model.plan import CheckPlan
from scrub.model.result import RunResult


def render(result: RunResult, *, redact: bool = False, context: ReportContext = NO_CONTEXT) -> str:
    if redact:
        result = redact_result(result)
    document = {
        **records.run_record(result),
        "tables": records.tables_record(result),
        "defects": defect_records(result, context),
        **records.totals_record(result),
        **gate_record(context.verdict),
    }
    return records.as_json(document, indent=2) + "\n"


def render_plan(plan: CheckPlan, context: ReportContext = NO_CONTEXT) -> str:  # noqa: ARG001
    return records.as_json(records.plan_record(plan), indent=2) + "\n"
