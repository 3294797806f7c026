# SPDX-License-Identifier: Apache-2.0
"""A gate's verdict as JSON-ready records; a result that nobody judged has none of these fields."""

from reports.context import ReportContext
from reports.records import Record, defect_record
from scrub.model.gate import JudgedDefect, KnownDefect, Standing, Verdict, Waiver
from scrub.model.result import RunResult


def gate_record(verdict: Verdict | None) -> Record:
    """The field `gate`, if there is one."""
    if verdict is None:
        return {}
    return {
        "gate": {
            "exit_code": verdict.exit_code,
            "reasons": list(verdict.reasons),
            "warnings": list(verdict.warnings),
            "counts": {standing: verdict.counts.get(standing, 0) for standing in Standing},
            "gone": [_known_record(known) for known in verdict.gone],
        }
    }


def defect_records(result: RunResult, context: ReportContext) -> list[Record]:
    """Every defect that is shown, with its standing if it was judged."""
    if context.verdict is None:
        return [defect_record(defect) for defect in result.defects]
    return [
        {**defect_record(defect), **_standing_record(judged)}
        for defect, judged in zip(result.defects, context.judged(result.defects), strict=True)
    ]


def _standing_record(judged: JudgedDefect | None) -> Record:
    if judged is None:
        fields = ("standing", "severity", "since", "waiver", "content")
        return dict.fromkeys(fields)
    return {
        "standing": judged.standing,
        "severity": judged.severity,
        "since": judged.since.isoformat() if judged.since else None,
        "waiver": _waiver_record(judged.waiver) if judged.waiver else None,
        "content": judged.content or None,
    }


def _waiver_record(waiver: Waiver) -> Record:
    return {
        "reason": waiver.reason,
        "by": waiver.by,
        "until": waiver.until.isoformat(),
        "line": waiver.line,
    }


def _known_record(known: KnownDefect) -> Record:
    return {
        "id": known.id,
        "kind": known.kind,
        "table": known.table,
        "index": known.index,
        "constraint": known.constraint,
        "since": known.since.isoformat(),
    }
