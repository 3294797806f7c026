# SPDX-License-Identifier: Apache-2.0
"""Repairs as JSON for programs; fields may be added, never renamed."""

import json
from typing import Any

from reports.escaping import json_ready
from reports.patches import patch_record
from reports.records import run_record, tables_record, totals_record
from scrub.model.repair import Action, DoneAction, Entry, LostRow, Refusal, RepairReport
from scrub.model.result import RunResult


def repair_as_json(report: RepairReport) -> str:
    return json.dumps(repair_record(report), indent=2, allow_nan=False) + "\n"


def repair_record(report: RepairReport) -> dict[str, Any]:
    """A repair in plain values."""
    done = {id(one.action): one for one in report.done}
    counts = {str(outcome): number for outcome, number in report.counts.items()}
    return {
        "schema_version": 1,
        "table": report.table,
        "run": report.run,
        "executed": report.is_executed,
        "exit_code": report.exit_code,
        "incomplete": report.is_incomplete or report.no_after is not None,
        "unnamed": report.unnamed,
        "before": _check_record(report.before),
        "from": _source_record(report),
        "after": _check_record(report.after),
        "after_reason": report.no_after,
        "over_limit": report.over_limit,
        "counts": counts,
        "actions": [_action_record(action, done.get(id(action))) for action in report.plan.actions],
        "refusals": [_refusal_record(refusal) for refusal in report.plan.refusals],
        "deletes_last_copies": report.plan.deletes_last_copies,
        "lost_rows": [_lost_record(row) for row in report.plan.lost_rows],
        "only_read": report.only_read,
        "patch": patch_record(report.patch) if report.patch else None,
    }


def _check_record(result: RunResult | None) -> dict[str, Any] | None:
    """A check without its defects, which are those of the actions and refusals."""
    if result is None:
        return None
    return {**run_record(result), "tables": tables_record(result), **totals_record(result)}


def _source_record(report: RepairReport) -> dict[str, Any] | None:
    if report.source is None:
        return None
    return {
        "file": str(report.source),
        "defects": report.found,
        "not_in_file": report.not_in_file,
        "not_looked_at": report.not_looked_at,
    }


def _action_record(action: Action, done: DoneAction | None) -> dict[str, Any]:
    return {
        "kind": action.kind,
        "defect": action.defect,
        "defect_kind": action.defect_kind,
        "index": action.index,
        "primary_key": _json(action.primary_key),
        "before": _json(action.before),
        "after": _json(action.after),
        "statement": action.statement,
        "outcome": done.outcome if done else None,
        "in_order": done.in_order if done else None,
        "reason": done.reason or None if done else None,
        "recovery": None if action.lost is None else _recovery_record(action, action.lost),
    }


def _recovery_record(action: Action, lost: LostRow) -> dict[str, Any]:
    return {
        "told_by": {told.index: _json(told.entry) for told in lost.told},
        "written_as_null": list(lost.absent_columns),
        "puts": {index: _json(entry) for index, entry in action.puts},
    }


def _refusal_record(refusal: Refusal) -> dict[str, Any]:
    return {
        "defect": refusal.defect,
        "defect_kind": refusal.defect_kind,
        "index": refusal.index,
        "primary_key": _json(refusal.primary_key),
        "reason": refusal.reason,
        "remedy": refusal.remedy,
    }


def _lost_record(row: LostRow) -> dict[str, Any]:
    return {
        "primary_key": _json(row.primary_key),
        "columns": _json(row.columns),
        "indexes": list(row.indexes),
        "absent_columns": list(row.absent_columns),
    }


def _json(entry: Entry | None) -> dict[str, Any] | None:
    return None if entry is None else {name: json_ready(value) for name, value in entry.items()}
