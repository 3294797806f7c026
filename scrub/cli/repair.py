# SPDX-License-Identifier: Apache-2.0
"""`scrub repair`: make indexes agree with their tables."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

import click

from scrub.catalog.spelling import did_you_mean
from scrub.cli import completing, interrupts, options
from scrub.cli.groups import Group
from scrub.cli.option_values import each, read_as
from scrub.cli.progress import shown_progress
from scrub.cli.screens import output_screen, show
from scrub.errors import UsageError
from scrub.model.defect import ALIASES, DefectKind, kind_named
from scrub.model.repair import RepairReport, RepairRequest
from scrub.model.request import SparkOptions


@click.group(cls=Group, for_tables="table")
def repair() -> None:
    """Repair indexes, so that they agree with their tables. Without --execute, only show how.

    The exit code is 0 if nothing is left to repair, 1 if something was refused or is left, 2 if a
    limit forbids the repair, and 3 if a check before or after it was incomplete.
    """


def _kind(name: str) -> DefectKind:
    try:
        return kind_named(name)
    except ValueError:
        known = [*ALIASES, *(kind.value for kind in DefectKind)]
        hint = did_you_mean(name, known, "kinds")
        raise UsageError(f"--kind: there is no kind {name}", hint=hint) from None


_request = options.bundle(
    "request",
    RepairRequest,
    options.table,
    options.catalog,
    click.option("--from", "from_file", type=options.FILE, metavar="FILE",
                 help="Repair the defects in this result (json or jsonl), without a new check."),
    click.option("--index", "indexes", multiple=True, metavar="NAME",
                 shell_complete=completing.indexes,
                 help="Repair only this index. Can be repeated."),
    click.option("--kind", "kinds", multiple=True, metavar="KIND", callback=read_as(each(_kind)),
                 help="Repair only defects of this kind. Can be repeated."),
    click.option("--where", metavar="EXPR",
                 help="Check and repair only rows for which this is true."),
    click.option("--max-changes", type=click.IntRange(min=0), default=10_000, show_default=True,
                 metavar="N", help="Change nothing if more changes than this are needed."),
    click.option("--max-fraction", type=click.FloatRange(min=0), default=0.05, show_default=True,
                 metavar="F", help="Change nothing if more than this fraction of an index would "
                 "change. Can be above 1."),
    click.option("--rows-per-second", type=click.IntRange(min=1), metavar="N",
                 help="Change at most this many entries per second."),
    options.wait_limit,
    click.option("--recover-rows", is_flag=True,
                 help="Restore rows that the table has lost and that several indexes agree on."),
    click.option("--delete-last-copies", is_flag=True,
                 help="Delete entries even if they are the last copy of a row."),
    click.option("--verify", is_flag=True, help="After the repair, check all rows again."),
)  # fmt: skip


@repair.command()
@_request
@click.option(
    "--patch",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the changes as files into this new directory, and change nothing.",
)
@options.execute
@options.text_or_json
@options.spark_options  # fmt: skip
def table(
    request: RepairRequest,
    execute: bool,
    patch: Path | None,
    format_: str,
    spark_options: SparkOptions,
) -> NoReturn:
    """Repair the indexes of TABLE, or write the changes to files."""
    from scrub.app.repairing.combined_options import demand_combinable
    from scrub.app.repairing.patch import write_patch
    from scrub.app.repairing.repair import execute_repair, preview_repair

    demand_combinable(request, execute=execute, patch=patch)
    do: Callable[..., RepairReport] = execute_repair if execute else preview_repair
    if patch is not None:
        do = partial(write_patch, directory=patch)
    with shown_progress() as on_progress:
        report = do(request, spark_options=spark_options, on_progress=on_progress)
    _show(report, format_, request.catalog)
    raise SystemExit(report.exit_code)


def _show(report: RepairReport, format_: str, catalog: Path) -> None:
    from reports.repair_records import repair_as_json
    from reports.repairs import repair_as_text

    is_json = format_ == "json"
    interrupts.demand_no_signal()
    text = repair_as_text(report, output_screen(), catalog=catalog)
    show(repair_as_json(report) if is_json else text, newline=False)
