# SPDX-License-Identifier: Apache-2.0
"""`scrub undo` and `scrub journal`: what repairs did, and taking it back."""

from pathlib import Path
from typing import NoReturn

import click

from scrub.cli import options
from scrub.cli.groups import Group
from scrub.cli.progress import shown_progress
from scrub.cli.screens import color, output_screen, show, show_prose


@click.command()
@options.run
@options.catalog
@options.execute
@color
def undo(run: str, catalog: Path, execute: bool) -> NoReturn:
    """Undo the changes of a repair that are still in place."""
    from reports.repairs import undo_as_text
    from scrub.app.repairing.journal import execute_undo, preview_undo

    if not execute:
        show(undo_as_text(preview_undo(catalog, run), output_screen()), newline=False)
        raise SystemExit(0)
    with shown_progress() as on_progress:
        report = execute_undo(catalog, run, on_progress=on_progress)
    show(undo_as_text(report, output_screen()), newline=False)
    raise SystemExit(report.exit_code)


@click.group(cls=Group)
def journal() -> None:
    """Show recorded repairs."""


@journal.command(name="list")
@options.catalog
@color
def list_(catalog: Path) -> None:
    """List the recorded repairs and undos."""
    from reports.journals import runs_as_text
    from scrub.app.repairing.journal import list_runs

    show(runs_as_text(list_runs(catalog), output_screen()), newline=False)


@journal.command(name="show")
@options.run
@options.catalog
@color
def show_(run: str, catalog: Path) -> None:
    """Show every change of one run, before and after."""
    from reports.journals import run_as_text
    from scrub.app.repairing.journal import show_run

    show(run_as_text(*show_run(catalog, run), output_screen()), newline=False)


@journal.command()
@click.option("--older-than", type=click.FloatRange(min=0), required=True, metavar="DAYS",
              help="Delete the records of runs that ended more than DAYS days ago.")  # fmt: skip
@options.catalog
@options.execute
@color
def prune(older_than: float, catalog: Path, execute: bool) -> None:
    """Delete the records of old runs, which can then no longer be undone."""
    from reports.journals import runs_to_forget_as_text
    from reports.quantities import counted
    from scrub.app.repairing.journal import forget_runs, runs_to_forget

    if not execute:
        forgotten = runs_to_forget(catalog, older_than)
        show(runs_to_forget_as_text(forgotten, output_screen()), newline=False)
        return
    show_prose(f"{counted(forget_runs(catalog, older_than), 'run')} removed from the journal")
