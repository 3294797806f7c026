# SPDX-License-Identifier: Apache-2.0
"""Renders one JSON object a line: the run first, then its checks, then its defects."""

from collections.abc import Iterator

from reports import records
from reports.context import NO_CONTEXT, ReportContext
from reports.gate_records import defect_records, gate_record
from reports.redaction import redact_defect, redact_result
from scrub.model.defect import Defect
from scrub.model.result import RunResult


def render(result: RunResult, *, redact: bool = False, context: ReportContext = NO_CONTEXT) -> str:
    if redact:
        result = redact_result(result)
    return "".join(_lines(result, context))


def defect_line(defect: Defect, *, redact: bool = False) -> str:
    """One defect with its line break, as in a whole report and as in `--all-defects`."""
    shown = redact_defect(defect) if redact else defect
    return _line("defect", records.defect_record(shown))


def _lines(result: RunResult, context: ReportContext) -> Iterator[str]:
    run = {**records.run_record(result), **records.totals_record(result)}
    yield _line("run", {**run, **gate_record(context.verdict)})
    for table in result.tables:
        for outcome in table.checks:
            # `snapshot` is the index's, as in the JSON document; the table's has its own name.
            where = {"table": table.table, "table_snapshot": table.snapshot}
            yield _line("check", {**where, **records.check_record(outcome)})
    for record in defect_records(result, context):
        yield _line("defect", record)


def _line(kind: str, record: records.Record) -> str:
    return records.as_json({"type": kind, **record}) + "\n"
