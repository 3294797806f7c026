# SPDX-License-Identifier: Apache-2.0
"""Results and plans as JSON-ready records, schema version 1: fields may be added, never renamed."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from reports.escaping import json_ready, json_without_commands
from scrub.model.defect import Defect, Value
from scrub.model.plan import CheckPlan, ConstraintPlan, IndexPlan, Side, TablePlan
from scrub.model.result import CheckOutcome, RunResult, TableResult, worst
from scrub.model.table import DATABASE_PATH

SCHEMA_VERSION = 1

Record = dict[str, Any]


def as_json(record: Record, *, indent: int | None = None) -> str:
    """ASCII only, so that no character of the data reaches a terminal unescaped; never NaN."""
    text = json.dumps(record, indent=indent, ensure_ascii=True, allow_nan=False)
    return json_without_commands(text)


def run_record(result: RunResult) -> Record:
    """The run without its parts."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": result.run_id,
        "status": result.status,
        "started_at": _instant(result.started_at),
        "seconds": round(result.seconds, 3),
        "seconds_starting": round(result.seconds_starting, 3),
        "seconds_waiting": round(result.seconds_waiting, 3),
        "ran": result.ran,
        "pace": result.pace,
        "where": result.where,
        "redacted": result.redacted,
        "definitions": {
            table: definition.as_record() for table, definition in result.definitions.items()
        },
    }


def totals_record(result: RunResult) -> Record:
    return {
        "checks_total": len(result.outcomes),
        "defects_shown": len(result.defects),
        "defects_total": result.defects_total,
        "unnamed_total": result.unnamed_total,
        "incomplete": result.is_incomplete,
        "exit_code": result.exit_code,
    }


def table_record(table: TableResult) -> Record:
    """The table without its checks."""
    return {
        "table": table.table,
        "status": worst(table.checks),
        "error": table.error,
        "snapshot": table.snapshot,
        "bytes_read": table.bytes_read,
    }


def tables_record(result: RunResult) -> list[Record]:
    """Every table with its checks."""
    return [
        {**table_record(table), "checks": [check_record(outcome) for outcome in table.checks]}
        for table in result.tables
    ]


def check_record(outcome: CheckOutcome) -> Record:
    return {
        "check": outcome.check,
        "index": outcome.index,
        "constraint": outcome.constraint,
        "status": outcome.status,
        "reason": outcome.reason,
        "error": outcome.error,
        "rows": outcome.rows,
        "entries": outcome.entries,
        "transient": outcome.transient,
        "undecided": outcome.undecided,
        "unnamed": outcome.unnamed,
        "counts": dict(outcome.counts),
        "incomplete": outcome.is_incomplete,
        "snapshot": outcome.snapshot,
        "engine": outcome.engine,
        "strategy": outcome.strategy,
        "notes": list(outcome.notes),
        "remedies": list(outcome.remedies),
        "ignored_columns": list(outcome.ignored),
        "not_looked_for": list(outcome.not_looked_for),
    }


def defect_record(defect: Defect) -> Record:
    return {
        "id": defect.id,
        "kind": defect.kind,
        "table": defect.table,
        "index": defect.index,
        "constraint": defect.constraint,
        "primary_key": entry_record(defect.primary_key),
        "index_key": entry_record(defect.index_key),
        "expected": entry_record(defect.expected),
        "actual": entry_record(defect.actual),
        "differing_columns": list(defect.differing_columns),
        "key_hex": defect.key_hex,
        "value_hex": defect.value_hex,
        "column": defect.column,
        "file": defect.file,
        "stored_type": defect.stored_type,
        "row_digest": defect.row_digest,
        "snapshot": defect.snapshot,
        "detail": defect.detail,
    }


def plan_record(plan: CheckPlan) -> Record:
    return {
        "schema_version": SCHEMA_VERSION,
        "strategy": plan.strategy,
        "runs": None if plan.place is None else str(plan.place),
        "pace": plan.pace,
        "tables": [_table_plan_record(table) for table in plan.tables],
        "not_checked": [
            {
                "table": part.table,
                "check": part.check,
                "index": part.index,
                "constraint": part.constraint,
                "status": "incomplete" if part.incomplete else "not_applicable",
                "reason": part.reason,
            }
            for part in plan.not_checked
        ],
        "walked": [
            {
                "table": part.table,
                "index": part.index,
                "reading": part.reading,
                "rows": part.rows,
                "rows_estimated": True,
                "notes": list(part.notes),
            }
            for part in plan.own_indexes
        ],
    }


def _table_plan_record(plan: TablePlan) -> Record:
    return {
        "table": plan.table.name,
        **_side_record(plan.side),
        "buckets": 1 << plan.bucket_bits,
        # A check of the whole table has a field of its name, with the columns that it reads.
        "physical": None,
        **{one.check: list(one.columns) for one in plan.whole},
        "where": plan.where,
        "computed": [
            {"expression": of.computed, "type": str(of.type), "search_path": DATABASE_PATH}
            for of in plan.table.columns
            if of.computed is not None
        ],
        "notes": [*plan.notes, *(note for one in plan.whole for note in one.notes)],
        "indexes": [_index_plan_record(index) for index in plan.indexes],
        "constraints": [_constraint_plan_record(one) for one in plan.constraints],
    }


def _constraint_plan_record(plan: ConstraintPlan) -> Record:
    return {
        "constraint": plan.constraint.name,
        "kind": plan.constraint.kind,
        "way": plan.way,
        "way_reason": plan.reason,
        "columns": list(plan.columns),
        "parent": None if plan.parent is None else plan.parent.label,
        "notes": list(plan.notes),
    }


def _index_plan_record(plan: IndexPlan) -> Record:
    return {"index": plan.index.name, **_side_record(plan.side), "notes": list(plan.notes)}


def _side_record(side: Side) -> Record:
    # Field by field: the facts also hold storage options, which may be secrets.
    return {
        "store": side.facts.store,
        "relation": side.facts.relation,
        "snapshot": side.facts.snapshot.label,
        "rows": side.facts.rows,
        "rows_estimated": side.facts.rows_estimated,
        "bytes": side.facts.bytes,
        "splits": len(side.facts.splits),
        "engine": side.engine,
        "engine_reason": side.reason,
        "columns": list(side.columns),
    }


def entry_record(entry: Mapping[str, Value] | None) -> Record | None:
    """An entry, or a key, that there may not be."""
    return None if entry is None else {name: json_ready(value) for name, value in entry.items()}


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
