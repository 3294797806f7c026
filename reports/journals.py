# SPDX-License-Identifier: Apache-2.0
"""The journal of repairs, as text."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from tabulate import tabulate

from reports.entry_cells import fields, index_cell
from reports.escaping import printable
from scrub.model.repair import ActionKind, Entry


class _Run(Protocol):
    @property
    def run(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def started(self) -> datetime: ...
    @property
    def finished(self) -> datetime | None: ...
    @property
    def undoes(self) -> str | None: ...


class _Record(Protocol):
    @property
    def index(self) -> str: ...
    @property
    def kind(self) -> ActionKind: ...
    @property
    def before(self) -> Entry | None: ...
    @property
    def after(self) -> Entry | None: ...
    @property
    def undone_by(self) -> str | None: ...


def runs_as_text(runs: Sequence[_Run]) -> str:
    if not runs:
        return "no repair is remembered\n"
    rows = [
        (
            run.run,
            f"undo of {run.undoes}" if run.undoes else run.command,
            printable(run.table),
            run.started.isoformat(sep=" ", timespec="seconds"),
            run.finished.isoformat(sep=" ", timespec="seconds") if run.finished else "cut off",
        )
        for run in runs
    ]
    headers = ("run", "what", "table", "began", "ended")
    return tabulate(rows, headers=headers, disable_numparse=True) + "\n"


def run_as_text(run: _Run, records: Sequence[_Record]) -> str:
    head = f"{run.command} {run.run} of {printable(run.table)}"
    if run.finished is None:
        head += ", cut off: run the same repair again"
    if not records:
        return f"{head}: nothing was changed\n"
    rows = [
        (
            index_cell(record.index),
            record.kind,
            "absent" if record.before is None else fields(record.before),
            "absent" if record.after in (None, _gone(record)) else fields(record.after or {}),
            record.undone_by or "-",
        )
        for record in records
    ]
    headers = ("index", "what", "before", "after", "undone by")
    return f"{head}\n{tabulate(rows, headers=headers, disable_numparse=True)}\n"


def _gone(record: _Record) -> Entry | None:
    """A deleted entry that had others beside it is journalled with itself after it."""
    return record.before if record.kind is ActionKind.DELETE else None
