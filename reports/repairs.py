# SPDX-License-Identifier: Apache-2.0
"""Repairs and undos, as text for people and as JSON for programs."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from reports.entry_cells import fields, index_cell
from reports.escaping import json_ready, printable
from reports.patches import patch_as_text, patch_record
from reports.quantities import counted
from reports.summary import closing_line
from scrub.model.repair import (
    Action,
    ActionKind,
    ActionOutcome,
    DoneAction,
    Entry,
    LostRow,
    Refusal,
    RepairReport,
    UndoReport,
)

_SHOWN_MAX = 20
_VERBS: Mapping[ActionKind, str] = {
    ActionKind.PUT: "put the missing entry",
    ActionKind.DELETE: "delete the entry",
    ActionKind.REPLACE: "replace the stored columns",
    ActionKind.KEEP_ONE: "remove all copies but one",
    ActionKind.REINDEX: "rebuild the index",
    ActionKind.RECOVER: "put the lost row back",
}
_OUTCOMES: Mapping[ActionOutcome, str] = {
    ActionOutcome.DONE: "done",
    ActionOutcome.ALREADY_RIGHT: "left alone: it was right already",
    ActionOutcome.ROW_CHANGED: "left alone: the row has changed since",
    ActionOutcome.CONFLICT: "left alone: the index holds something else in this place",
    ActionOutcome.PUT_BACK: "deleted and put back: its row came meanwhile",
    ActionOutcome.REFUSED: "left alone: the table does not take the row",
}


def repair_as_text(report: RepairReport) -> str:
    """Before, actions, refusals, after."""
    sections = list(_sections(report))
    return "\n\n".join(sections) + "\n"


def _sections(report: RepairReport) -> Iterator[str]:
    if report.before is not None:
        yield f"Before: {closing_line(report.before)}"
    if report.done:
        yield "Actions\n" + _done_table(report.done)
    elif report.plan.actions:
        heading = "In the patch" if report.patch else "Would be done"
        yield f"{heading}\n{_action_table(report.plan.actions)}"
    if report.plan.refusals:
        yield "Refused\n" + "\n".join(_refusals(report.plan.refusals))
    if recovered := _recovered(report):
        title = "Rows that were put back" if report.done else "Rows that would be put back"
        yield f"{title}\n" + "\n".join(map(_recovery, recovered[:_SHOWN_MAX]))
    keys = {fields(action.primary_key) for action in recovered}
    if lost := [row for row in report.plan.lost_rows if fields(row.primary_key) not in keys]:
        yield "Rows that were probably lost\n" + "\n".join(map(_lost, lost))
    if report.patch is not None:
        yield f"Written to {printable(str(report.patch.directory))}\n{patch_as_text(report.patch)}"
    if report.after is not None:
        yield f"After: {closing_line(report.after)}"
    yield printable(_closing(report))


def _closing(report: RepairReport) -> str:
    if report.over_limit:
        return f"nothing was changed: {report.over_limit}"
    if not report.done:
        if not report.plan.actions:
            return "there is nothing to repair"
        changes = counted(report.plan.changes, "change")
        if report.patch is not None:
            return f"nothing was changed; a patch of {changes} is in {report.patch.directory}"
        if report.only_read is not None:
            return (
                f"nothing was changed; {changes} would be made, but {report.only_read}. To get "
                "them as files, add --patch DIR"
            )
        return f"nothing was changed; {changes} would be made. To make them, add --execute"
    told = [f"{number:,} {_OUTCOMES[outcome]}" for outcome, number in report.counts.items()]
    undo = f"; to take it back: scrub undo {report.run} --execute" if report.run else ""
    left = f"; {counted(len(report.left), 'place')} still not in order" if report.left else ""
    return f"{'; '.join(told)}{left}{undo}"


def _action_table(actions: Sequence[Action]) -> str:
    rows = [_cells(action) for action in actions[:_SHOWN_MAX]]
    return _table(("index", "primary key", "what", "before", "after"), rows, len(actions))


def _done_table(done: Sequence[DoneAction]) -> str:
    rows = [(*_cells(one.action), _outcome(one)) for one in done[:_SHOWN_MAX]]
    headers = ("index", "primary key", "what", "before", "after", "outcome")
    return _table(headers, rows, len(done))


def _outcome(one: DoneAction) -> str:
    return printable(f"left alone: {one.reason}") if one.reason else _OUTCOMES[one.outcome]


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], total: int) -> str:
    text = tabulate(rows, headers=headers, disable_numparse=True)
    more = total - len(rows)
    return f"{text}\nand {more:,} more" if more > 0 else text


def _cells(action: Action) -> tuple[str, ...]:
    what = action.statement or _verb(action.index, action.kind)
    return (
        index_cell(action.index),
        fields(action.primary_key),
        printable(what),
        "-" if action.kind is ActionKind.REINDEX else _entry(action.before),
        "-" if action.kind is ActionKind.REINDEX else _entry(action.after),
    )


def _verb(index: str, kind: ActionKind) -> str:
    """A pair of the table itself keeps its values."""
    is_spelling = not index and kind is not ActionKind.RECOVER
    return "write its values in their one spelling" if is_spelling else _VERBS[kind]


def _entry(entry: Entry | None) -> str:
    return "absent" if entry is None else fields(entry)


def _refusals(refusals: Sequence[Refusal]) -> Iterator[str]:
    """One line a reason, with the rows it concerns."""
    reasons = Counter((r.defect_kind, r.index, r.reason, r.remedy) for r in refusals)
    for (kind, index, reason, remedy), number in reasons.items():
        keys = [r for r in refusals if (r.defect_kind, r.index, r.reason) == (kind, index, reason)]
        shown = "; ".join(fields(refusal.primary_key) for refusal in keys[:3])
        more = f" and {number - 3:,} more" if number > 3 else ""  # noqa: PLR2004
        yield printable(
            f"  - {counted(number, 'defect')} {kind} of {index or 'the table'} ({shown}{more}): "
            f"{reason}. What to do: {remedy}"
        )


def _lost(row: LostRow) -> str:
    unknown = ", ".join(row.absent_columns)
    return printable(
        f"  - {fields(row.columns)}, told alike by {', '.join(row.indexes)}"
        + (f"; nobody knows {unknown}" if unknown else "")
    )


def _recovered(report: RepairReport) -> list[Action]:
    """The rows that were put back, or would be."""
    if not report.done:
        return [action for action in report.plan.actions if action.lost is not None]
    return [
        one.action
        for one in report.done
        if one.action.lost is not None and one.outcome is ActionOutcome.DONE
    ]


def _recovery(action: Action) -> str:
    assert action.lost is not None, "a recovery has its row"
    unknown = ", ".join(action.lost.absent_columns)
    puts = ", ".join(index for index, _ in action.puts)
    return printable(
        f"  - {fields(action.primary_key)}, told alike by {', '.join(action.lost.indexes)}"
        + (f"; unknown, written as NULL: {unknown}" if unknown else "")
        + (f"; with its entry in {puts}" if puts else "")
    )


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
        "executed": bool(report.done),
        "over_limit": report.over_limit,
        "counts": counts,
        "actions": [_action_record(action, done.get(id(action))) for action in report.plan.actions],
        "refusals": [_refusal_record(refusal) for refusal in report.plan.refusals],
        "lost_rows": [_lost_record(row) for row in report.plan.lost_rows],
        "only_read": report.only_read,
        "patch": patch_record(report.patch) if report.patch else None,
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


def undo_as_text(report: UndoReport) -> str:
    if report.run is None:
        changes = counted(report.changes, "change")
        return (
            f"run {report.of} of table {printable(report.table)} did {changes} that can be taken "
            "back; nothing was changed. To take them back, add --execute\n"
        )
    rows = [
        (
            index_cell(one.index),
            fields(one.primary_key),
            _verb(one.index, one.kind),
            _UNDONE.get(one.outcome) or printable(f"refused: {one.reason or _OTHER}"),
        )
        for one in report.done[:_SHOWN_MAX]
    ]
    headers = ("index", "primary key", "what had been done", "outcome")
    taken = sum(one.outcome in _UNDONE for one in report.done)
    refused = len(report.done) - taken
    lines = [_table(headers, rows, len(report.done)), ""] if rows else []
    lines.append(f"{taken:,} taken back, {refused:,} refused")
    return "\n".join(lines) + "\n"


_OTHER = "the index holds something else by now"
_UNDONE: Mapping[ActionOutcome, str] = {
    ActionOutcome.DONE: "taken back",
    ActionOutcome.ALREADY_RIGHT: "it was so already",
}
