# SPDX-License-Identifier: Apache-2.0
"""Renders one JSON object a line: the run first, then its checks, then its defects."""

from collections.abc import Iterator

from reports import records
from reports.redaction import redact_defect, redact_result
from scrub.model.defect import Defect
from scrub.model.result import RunResult


def render(result: RunResult, *, redact: bool = False) -> str:
    if redact:
        result = redact_result(result)
    return "".join(_lines(result))


def defect_line(defect: Defect, *, redact: bool = False) -> str:
    """One defect with its line break, as in a whole report and as in `--all-defects`."""
    shown = redact_defect(defect) if redact else defect
    return _line("defect", records.defect_record(shown))


def _lines(result: RunResult) -> Iterator[str]:
    yield _line("run", {**records.run_record(result), **records.totals_record(result)})
    for table in result.tables:
        for outcome in table.checks:
            # `snapshot` is the index's, as in the JSON document; the table's has its own name.
            where = {"table": table.table, "table_snapshot": table.snapshot}
            yield _line("check", {**where, **records.check_record(outcome)})
    for defect in result.defects:
        yield defect_line(defect)


def _line(kind: str, record: records.Record) -> str:
    return records.as_json({"type": kind, **record}) + "\n"
