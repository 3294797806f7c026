# SPDX-License-Identifier: Apache-2.0
"""Repairs and undos, as text for people."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reports import colours
from reports.entry_cells import fields, index_cell
from reports.escaping import printable
from reports.grids import Grid
from reports.journals import after_cell, before_cell, verb
from reports.patches import how_to_apply, patch_as_text
from reports.quantities import counted
from reports.screen import PAPER, Screen
from reports.summary import closing_line, not_looked_at
from reports.tables import table
from reports.truncation import truncate
from reports.wrapping import wrapped
from scrub.model.command_line import command_line
from scrub.model.journal import JournalRecord, UndoReport
from scrub.model.repair import (
    Action,
    ActionKind,
    ActionOutcome,
    DoneAction,
    Entry,
    LostRow,
    Refusal,
    RepairReport,
)
from scrub.model.result import RunResult

_SHOWN_MAX = 20
_OUTCOMES: Mapping[ActionOutcome, str] = {
    ActionOutcome.DONE: "done",
    ActionOutcome.ALREADY_RIGHT: "left alone: it was right already",
    ActionOutcome.ROW_CHANGED: "left alone: the row has changed since",
    ActionOutcome.CONFLICT: "left alone: the index holds something else in this place",
    ActionOutcome.PUT_BACK: "deleted and put back: its row was inserted in the meantime",
    ActionOutcome.REFUSED: "left alone: the database refused it",
}


def repair_as_text(
    report: RepairReport, screen: Screen = PAPER, *, catalog: Path | None = None
) -> str:
    """Before, actions, refusals, after."""
    return wrapped("\n\n".join(_sections(report, screen, catalog)) + "\n", screen)


def _sections(report: RepairReport, screen: Screen, catalog: Path | None) -> Iterator[str]:
    def titled(title: str, text: str) -> str:
        return f"{colours.title(title, screen)}\n{text}"

    if report.before is not None:
        yield _checked("Before", report.before, screen)
    if report.not_looked_at is not None:
        yield printable(f"Not checked: {truncate(report.not_looked_at)}")
    if report.done:
        yield titled("Actions", _done_table(report.done, screen))
    elif report.plan.actions:
        heading = "In the patch" if report.patch else "Would be done"
        yield titled(heading, _action_table(report.plan.actions, screen))
    if report.plan.refusals:
        yield titled("Refused", "\n".join(_refusals(report.plan.refusals)))
    if recovered := _recovered(report):
        title = "Rows that were put back" if report.done else "Rows that would be put back"
        yield titled(title, "\n".join(map(_recovery, recovered[:_SHOWN_MAX])))
    keys = {fields(action.primary_key) for action in recovered}
    if lost := [row for row in report.plan.lost_rows if fields(row.primary_key) not in keys]:
        yield titled(_lost_title(report), "\n".join(map(_lost, lost)))
    if report.patch is not None:
        written = f"Written to {printable(str(report.patch.directory))}"
        yield titled(written, patch_as_text(report.patch))
    if report.after is not None:
        yield _checked("After", report.after, screen)
    if report.no_after is not None:
        yield printable(f"After: the check afterwards could not run: {report.no_after}")
    if report.not_in_file:
        yield printable(_cut(report))
    yield printable(_closing(report, catalog))


def _checked(when: str, result: RunResult, screen: Screen) -> str:
    """How a check ended, and what it did not look at."""
    lines = [f"{colours.title(when, screen)}: {colours.status(closing_line(result), screen)}"]
    if reasons := list(not_looked_at(result)):
        lines += [
            "",
            colours.title("Not checked", screen),
            *(f"  - {reason}" for reason in reasons),
        ]
    return "\n".join(lines)


def _cut(report: RepairReport) -> str:
    """What a file does not hold, since its check had shown a part only."""
    total = report.chosen + report.not_in_file
    return (
        f"{report.source} holds {report.chosen:,} of {counted(total, 'defect')}: the others are "
        "left. To have them all, check again with a higher --limit, or with --all-defects FILE, "
        "and repair from that"
    )


def _closing(report: RepairReport, catalog: Path | None) -> str:
    if report.over_limit:
        return f"nothing was changed: {report.over_limit}"
    if report.done:
        return _done(report, catalog)
    if not report.plan.actions:
        return _nothing(report)
    changes = counted(report.plan.changes, "change")
    is_one = report.plan.changes == 1
    them = "it" if is_one else "them"
    if report.patch is not None:
        how = printable(how_to_apply(report.patch))
        return f"nothing was changed; a patch of {changes} is in {report.patch.directory}. {how}"
    if report.only_read is not None:
        return (
            f"nothing was changed; {changes} would be made, but {report.only_read}. To get "
            f"{them} as files, add --patch DIR"
        )
    looked_at = "it is" if is_one else "each is"
    told = f", as {report.source} says; {looked_at} checked again then" if report.source else ""
    return f"nothing was changed; {changes} would be made{told}. To make {them}, add --execute"


def _nothing(report: RepairReport) -> str:
    """Why there are no actions: only who has looked at everything can say that all is well."""
    if report.plan.refusals:
        return f"nothing was changed: {_refused(len(report.plan.refusals))}"
    if report.unnamed:
        return f"nothing was changed: {_NO_NAMES}. {report.unnamed}"
    if report.is_incomplete:
        return (
            "nothing was changed: not everything was checked, so there may be defects that "
            "were not found"
        )
    if report.not_in_file:
        return "nothing was changed: the file holds none of the defects that were asked for"
    if report.found and not report.chosen:
        where = f" in {report.source}" if report.source else ""
        some = "the defect" if report.found == 1 else f"none of the {report.found:,} defects"
        none = f"{some}{where} {'is not' if report.found == 1 else 'is'}"
        return f"nothing was changed: {none} one that was asked for, by table, --index and --kind"
    return "there is nothing to repair"


def _refused(number: int) -> str:
    return "the defect was refused" if number == 1 else f"all {number:,} defects were refused"


def _done(report: RepairReport, catalog: Path | None) -> str:
    told = [f"{number:,} {_OUTCOMES[outcome]}" for outcome, number in report.counts.items()]
    left = f"; {counted(len(report.left), 'place')} still differ" if report.left else ""
    left += f"; {_NO_NAMES}. {report.unnamed}" if report.unnamed else ""
    undo = ""
    if report.run is not None and report.can_be_undone:
        undo = f"; to undo it: {command_line('undo', report.run, '--execute', catalog=catalog)}"
    return f"{'; '.join(told)}{left}{undo}"


def _action_table(actions: Sequence[Action], screen: Screen) -> str:
    rows = [_cells(action) for action in actions[:_SHOWN_MAX]]
    headers = ("index", "primary key", "what", "before", "after")
    return _table(headers, rows, len(actions), screen)


def _done_table(done: Sequence[DoneAction], screen: Screen) -> str:
    rows = [(*_cells(one.action), _outcome(one)) for one in done[:_SHOWN_MAX]]
    headers = ("index", "primary key", "what", "before", "after", "outcome")
    return _table(headers, rows, len(done), screen)


def _outcome(one: DoneAction) -> str:
    return (
        printable(f"left alone: {truncate(one.reason)}") if one.reason else _OUTCOMES[one.outcome]
    )


def _table(
    headers: tuple[str, ...], rows: Sequence[tuple[str, ...]], total: int, screen: Screen
) -> str:
    heads = ("index", "primary key", "what", "what had been done", "outcome")
    grid = Grid(headers, tuple(rows), first=heads, heads=heads)
    more = total - len(rows)
    text = table(grid, screen)
    return f"{text}\nand {more:,} more" if more > 0 else text


def _cells(action: Action) -> tuple[str, ...]:
    what = action.statement or verb(action.index, action.kind)
    return (
        index_cell(action.index),
        fields(action.primary_key),
        printable(what),
        "-" if action.kind is ActionKind.REINDEX else _entry(action.before),
        "-" if action.kind is ActionKind.REINDEX else _entry(action.after),
    )


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
            f"{truncate(reason)}. What to do: {remedy}"
        )


def _lost_title(report: RepairReport) -> str:
    if not report.plan.deletes_last_copies:
        return "Rows that were probably lost"
    if report.done:
        return "Rows whose last copies were to be deleted, as asked with --delete-last-copies"
    return "Rows whose last copies would be deleted, as asked with --delete-last-copies"


def _lost(row: LostRow) -> str:
    unknown = ", ".join(row.absent_columns)
    return printable(
        f"  - {fields(row.columns)}, found alike in {', '.join(row.indexes)}"
        + (f"; unknown: {unknown}" if unknown else "")
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
        f"  - {fields(action.primary_key)}, found alike in {', '.join(action.lost.indexes)}"
        + (f"; unknown, written as NULL: {unknown}" if unknown else "")
        + (f"; with its entry in {puts}" if puts else "")
    )


def undo_as_text(report: UndoReport, screen: Screen = PAPER) -> str:
    return wrapped(_undo_text(report, screen), screen)


def _undo_text(report: UndoReport, screen: Screen) -> str:
    if not report.changes:
        return f"{_nothing_to_undo(report)}\n"
    if report.run is None:
        them = "it" if len(report.changes) == 1 else "them"
        return (
            f"{colours.title('Would be undone', screen)}\n{_to_undo(report.changes, screen)}\n"
            f"\nrun {printable(report.of)} of table {printable(report.table)} did "
            f"{counted(len(report.changes), 'change')} that can be undone; nothing was "
            f"changed. To undo {them}, add --execute\n"
        )
    rows = [
        (
            index_cell(one.index),
            fields(one.primary_key),
            verb(one.index, one.kind),
            _UNDONE.get(one.outcome) or printable(f"refused: {truncate(one.reason or _OTHER)}"),
        )
        for one in report.done[:_SHOWN_MAX]
    ]
    headers = ("index", "primary key", "what had been done", "outcome")
    taken = sum(one.outcome in _UNDONE for one in report.done)
    refused = len(report.done) - taken
    lines = [_table(headers, rows, len(report.done), screen), ""] if rows else []
    lines.append(f"{taken:,} undone, {refused:,} refused")
    return "\n".join(lines) + "\n"


def _to_undo(changes: Sequence[JournalRecord], screen: Screen) -> str:
    """An undo goes from what was left, where it is still so, to what was there."""
    rows = [
        (index_cell(one.index), verb(one.index, one.kind), after_cell(one), before_cell(one))
        for one in changes[:_SHOWN_MAX]
    ]
    headers = ("index", "what had been done", "as it was left", "comes back")
    return _table(headers, rows, len(changes), screen)


def _nothing_to_undo(report: UndoReport) -> str:
    run = f"run {printable(report.of)} of table {printable(report.table)}"
    if report.undone_by:
        by = ", ".join(map(printable, report.undone_by))
        return f"nothing was changed: {run} was already undone, by {by}"
    return f"nothing was changed: {run} changed nothing, so there is nothing to undo"


_NO_NAMES = (
    "the check found differences that it could not name, and a repair needs their names; fix what "
    "kept the check from naming them, then repair again"
)
_OTHER = "the index now holds something else"
_UNDONE: Mapping[ActionOutcome, str] = {
    ActionOutcome.DONE: "undone",
    ActionOutcome.ALREADY_RIGHT: "it was so already",
}
