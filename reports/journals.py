# SPDX-License-Identifier: Apache-2.0
"""The journal of repairs, as text."""

from collections.abc import Mapping, Sequence

from reports import colours
from reports.entry_cells import fields, index_cell
from reports.escaping import printable
from reports.grids import Grid
from reports.quantities import count, counted
from reports.screen import PAPER, Screen
from reports.tables import table
from reports.wrapping import wrapped
from scrub.model.journal import JournalRecord, RememberedRun, RunRecord
from scrub.model.repair import ActionKind

_VERBS: Mapping[ActionKind, str] = {
    ActionKind.PUT: "put the missing entry",
    ActionKind.DELETE: "delete the entry",
    ActionKind.REPLACE: "replace the stored columns",
    ActionKind.KEEP_ONE: "remove all copies but one",
    ActionKind.REINDEX: "rebuild the index",
    ActionKind.RECOVER: "put the lost row back",
}


def runs_as_text(runs: Sequence[RememberedRun], screen: Screen = PAPER) -> str:
    if not runs:
        return "the journal holds no repair\n"
    all_ended = all(run.record.finished for run in runs)
    grid = Grid(
        headers=("run", "what", "table", "began", "ended", "changes", "undone by"),
        rows=tuple((*_cells(run.record), count(run.changes), _undone(run)) for run in runs),
        numbers=frozenset({"changes"}),
        heads=("run", "what", "table"),
        spare=("ended",) if all_ended else (),
    )
    return wrapped(table(grid, screen) + "\n", screen)


def runs_to_forget_as_text(runs: Sequence[RememberedRun], screen: Screen = PAPER) -> str:
    """What pruning would remove."""
    if not runs:
        return "nothing was changed: no run ended so long ago\n"
    those = "it, and it" if len(runs) == 1 else "them, and they"
    told = (
        f"nothing was changed; {counted(len(runs), 'run')} would be removed "
        f"from the journal. To remove {those} cannot be undone any more, add --execute\n"
    )
    return f"{runs_as_text(runs, screen)}\n{wrapped(told, screen)}"


def _cells(run: RunRecord) -> tuple[str, ...]:
    return (
        run.run,
        f"undo of {run.undoes}" if run.undoes else run.command,
        printable(run.table),
        run.started.isoformat(sep=" ", timespec="seconds"),
        run.finished.isoformat(sep=" ", timespec="seconds") if run.finished else "cut off",
    )


def _undone(run: RememberedRun) -> str:
    by = ", ".join(run.undone_by) or "-"
    return by if run.undone in (0, run.changes) else f"{by} ({run.undone:,} of {run.changes:,})"


def run_as_text(run: RunRecord, records: Sequence[JournalRecord], screen: Screen = PAPER) -> str:
    head = f"{run.command} {run.run} of {printable(run.table)}"
    if run.finished is None:
        head += ", cut off: run the same repair again"
    if not records:
        return wrapped(f"{head}: nothing was changed\n", screen)
    changes = table(_changes(records), screen)
    return wrapped(f"{colours.title(head, screen)}\n{changes}\n", screen)


def _changes(records: Sequence[JournalRecord]) -> Grid:
    rows = (
        (
            index_cell(record.index),
            verb(record.index, record.kind),
            before_cell(record),
            after_cell(record),
            record.undone_by or "-",
        )
        for record in records
    )
    headers = ("index", "what", "before", "after", "undone by")
    return Grid(headers, tuple(rows), heads=("index", "what"))


def verb(index: str, kind: ActionKind) -> str:
    """What a change does; a pair of the table itself, which has no index, keeps its values."""
    is_spelling = not index and kind is not ActionKind.RECOVER
    return "write its values in their canonical encoding" if is_spelling else _VERBS[kind]


def before_cell(change: JournalRecord) -> str:
    """What was there."""
    if change.before is None:
        return "absent"
    is_copied = change.kind is ActionKind.KEEP_ONE
    return f"{fields(change.before)}{', several times' if is_copied else ''}"


def after_cell(change: JournalRecord) -> str:
    """What was left of it; a deleted entry may have others beside it, which are journalled."""
    if change.after is None or change.kind is ActionKind.DELETE:
        return "absent"
    return f"{fields(change.after)}{', once' if change.kind is ActionKind.KEEP_ONE else ''}"
