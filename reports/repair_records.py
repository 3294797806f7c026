# SPDX-License-Identifier: Apache-2.0
"""Repairs as JSON for programs; fields may be added, never renamed."""

from reports.patches import index_record, patch_record
from reports.records import (
    Record,
    as_json,
    entry_record,
    run_record,
    tables_record,
    totals_record,
)
from scrub.model.repair import Action, DoneAction, LostRow, Refusal, RepairReport, RepairRequest
from scrub.model.result import RunResult


def repair_as_json(report: RepairReport) -> str:
    return as_json(repair_record(report), indent=2) + "\n"


def repair_record(report: RepairReport) -> Record:
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


def _check_record(result: RunResult | None) -> Record | None:
    """A check without its defects, which are those of the actions and refusals."""
    if result is None:
        return None
    return {**run_record(result), "tables": tables_record(result), **totals_record(result)}


def _source_record(report: RepairReport) -> Record | None:
    if report.source is None:
        return None
    return {
        "file": str(report.source),
        "defects": report.found,
        "not_in_file": report.not_in_file,
        "not_looked_at": report.not_looked_at,
    }


def _action_record(action: Action, done: DoneAction | None) -> Record:
    return {
        "kind": action.kind,
        "defect": action.defect,
        "defect_kind": action.defect_kind,
        "index": action.index,
        "primary_key": entry_record(action.primary_key),
        "before": entry_record(action.before),
        "after": entry_record(action.after),
        "statement": action.statement,
        "outcome": done.outcome if done else None,
        "in_order": done.in_order if done else None,
        "reason": done.reason or None if done else None,
        "recovery": None if action.lost is None else _recovery_record(action, action.lost),
    }


def _recovery_record(action: Action, lost: LostRow) -> Record:
    return {
        "told_by": {told.index: entry_record(told.entry) for told in lost.told},
        "written_as_null": list(lost.absent_columns),
        "puts": {index: entry_record(entry) for index, entry in action.puts},
    }


def _refusal_record(refusal: Refusal) -> Record:
    return {
        "defect": refusal.defect,
        "defect_kind": refusal.defect_kind,
        "index": refusal.index,
        "primary_key": entry_record(refusal.primary_key),
        "reason": refusal.reason,
        "remedy": refusal.remedy,
    }


def _lost_record(row: LostRow) -> Record:
    return {
        "primary_key": entry_record(row.primary_key),
        "columns": entry_record(row.columns),
        "indexes": list(row.indexes),
        "absent_columns": list(row.absent_columns),
    }


def manifest_of(report: RepairReport, request: RepairRequest) -> str:
    """What `patch.json` says: the files, where they come from, and what is not in them."""
    assert report.patch is not None, "there is a patch to tell of"
    told = repair_record(report)
    document: Record = {
        "schema_version": 1,
        "table": report.table,
        "made_at": report.patch.made_at.isoformat(),
        "from": _origin(report, request),
        "indexes": [index_record(patch) for patch in report.patch.indexes],
        "refusals": told["refusals"],
        "lost_rows": told["lost_rows"],
    }
    return as_json(document, indent=2) + "\n"


def _origin(report: RepairReport, request: RepairRequest) -> Record:
    before = report.before
    if before is None:
        return {"file": str(request.from_file)}
    snapshot = next((table.snapshot for table in before.tables), None)
    return {"run_id": before.run_id, "snapshot": snapshot, "status": before.status}
