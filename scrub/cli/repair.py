# SPDX-License-Identifier: Apache-2.0
"""`scrub repair`, `scrub undo`, `scrub journal`: bring indexes to agree with their tables."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click

from scrub.cli import interrupts, options
from scrub.cli.progress import shown_progress
from scrub.model.defect import ALIASES, DefectKind
from scrub.model.repair import RepairReport, RepairRequest
from scrub.model.request import SparkOptions

_LEFT_EXIT_CODE = 1
_execute = click.option("--execute", is_flag=True, help="Do it; without, only show what it is.")
_format = click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text",
                       show_default=True, help="How the result is written.")  # fmt: skip


@click.group()
def repair() -> None:
    """Bring indexes to agree with their tables. Shows what it would do; --execute does it.

    Exits with 0 when nothing is left to repair, 1 when something was refused or is left, 2 when a
    limit forbids it, 3 when a check before or afterwards could not look at everything.
    """


@repair.command()
@click.argument("table")
@options.catalog
@click.option(
    "--from",
    "from_file",
    type=options.FILE,
    metavar="FILE",
    help="Repair the defects of this result (json or jsonl), instead of a new check's.",
)
@click.option(
    "--index",
    "indexes",
    multiple=True,
    metavar="NAME",
    help="Repair only this index; may be repeated.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Repair only defects of this kind; may be repeated.",
)
@click.option("--where", metavar="EXPR", help="Check and repair only rows for which this holds.")
@click.option(
    "--max-changes",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Write nothing if there would be more changes.",
)
@click.option(
    "--max-fraction",
    type=click.FloatRange(min=0),
    default=0.05,
    show_default=True,
    metavar="F",
    help="Write nothing if more than this share of an index would change; may be above 1.",
)
@click.option(
    "--rows-per-second",
    type=click.IntRange(min=1),
    metavar="N",
    help="Change at most so many entries a second.",
)
@click.option(
    "--wait-limit",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for other transactions.",
)
@click.option(
    "--recover-rows",
    is_flag=True,
    help="Put rows back that the table lost and several indexes tell alike.",
)
@click.option(
    "--delete-last-copies",
    is_flag=True,
    help="Delete entries even if they are all that is left of a row.",
)
@click.option("--verify", is_flag=True, help="Check afterwards what was repaired, all rows.")
@click.option(
    "--patch",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the changes as files into this new directory, instead of making them.",
)
@_execute
@_format
@options.spark_options  # fmt: skip
def table(
    execute: bool,
    patch: Path | None,
    format_: str,
    spark_options: SparkOptions,
    kinds: tuple[str, ...],
    **given: Any,
) -> NoReturn:
    """Repair the indexes of a table, or write what would repair them as files."""
    from scrub.app.repair import execute_repair, preview_repair
    from scrub.app.repair_patch import write_patch

    request = RepairRequest(kinds=tuple(map(_kind, kinds)), **given)
    if request.from_file is not None and request.where is not None:
        raise click.UsageError(
            "--where chooses rows to check, and the defects of --from are given; choose among them "
            "with --index and --kind, or check with --where and give that result to --from"
        )
    if patch is not None and (execute or request.verify):
        other = "--execute" if execute else "--verify"
        raise click.UsageError(f"--patch changes nothing, so it does not go with {other}")
    if request.verify and not execute:
        raise click.UsageError("--verify checks what was repaired; add --execute, or leave it out")
    do: Callable[..., RepairReport] = execute_repair if execute else preview_repair
    if patch is not None:
        do = partial(write_patch, directory=patch)
    with shown_progress() as on_progress:
        report = do(request, spark_options=spark_options, on_progress=on_progress)
    _show(report, format_)
    raise SystemExit(report.exit_code)


def _kind(name: str) -> DefectKind:
    if name in ALIASES:
        return ALIASES[name]
    try:
        return DefectKind(name)
    except ValueError:
        known = ", ".join(kind.value for kind in DefectKind)
        raise click.UsageError(f"--kind {name}: there is no such kind; there are {known}") from None


def _show(report: RepairReport, format_: str) -> None:
    from reports.repair_records import repair_as_json
    from reports.repairs import repair_as_text

    render = repair_as_json if format_ == "json" else repair_as_text
    interrupts.demand_none()
    click.echo(render(report), nl=False)


@click.command()
@click.argument("run")
@options.catalog
@_execute
def undo(run: str, catalog: Path, execute: bool) -> NoReturn:
    """Take back what a repair did, where its result is still there."""
    from reports.repairs import undo_as_text
    from scrub.app.repair_journal import execute_undo, preview_undo

    if not execute:
        click.echo(undo_as_text(preview_undo(catalog, run)), nl=False)
        raise SystemExit(0)
    with shown_progress() as on_progress:
        report = execute_undo(catalog, run, on_progress=on_progress)
    click.echo(undo_as_text(report), nl=False)
    refused = [one for one in report.done if one.outcome not in ("done", "already_right")]
    raise SystemExit(_LEFT_EXIT_CODE if refused else 0)


@click.group()
def journal() -> None:
    """Look at what repairs did."""


@journal.command(name="list")
@options.catalog
def list_(catalog: Path) -> None:
    """The repairs and undos that are remembered."""
    from reports.journals import runs_as_text
    from scrub.app.repair_journal import list_runs

    click.echo(runs_as_text(list_runs(catalog)), nl=False)


@journal.command()
@click.argument("run")
@options.catalog
def show(run: str, catalog: Path) -> None:
    """Every change of one run, before and after."""
    from reports.journals import run_as_text
    from scrub.app.repair_journal import show_run

    click.echo(run_as_text(*show_run(catalog, run)), nl=False)


@journal.command()
@click.option("--older-than", type=click.FloatRange(min=0), required=True, metavar="DAYS",
              help="Forget runs that ended longer ago.")  # fmt: skip
@options.catalog
@_execute
def prune(older_than: float, catalog: Path, execute: bool) -> None:
    """Forget old runs; they cannot be undone any more."""
    from reports.journals import runs_to_forget_as_text
    from reports.quantities import counted
    from scrub.app.repair_journal import forget_runs, runs_to_forget

    if not execute:
        click.echo(runs_to_forget_as_text(runs_to_forget(catalog, older_than)), nl=False)
        return
    click.echo(f"{counted(forget_runs(catalog, older_than), 'run')} forgotten")
