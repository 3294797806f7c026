# SPDX-License-Identifier: Apache-2.0
"""`scrub backfill`: builds indexes while their table is written to."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from scrub.cli import interrupts, options
from scrub.cli.emit import ReportOptions, emit_result
from scrub.cli.progress import shown_progress
from scrub.model.backfill import BackfillPlan, BackfillRequest, BackfillStatus
from scrub.model.build import Method, State
from scrub.model.request import SparkOptions

_FAILED_EXIT_CODE = 1


@click.group()
def backfill() -> None:
    """Build indexes while their table is written to.

    Commands that change something show what they would do; with --execute they do it. An index is
    published only after a check found it clean: exit code 0. If rows stand in its way, everything
    is taken back: exit code 1. If others do, the build waits to be resumed: exit code 3.
    """


_table = click.argument("table")
_indexes = click.argument("indexes", nargs=-1, required=True, metavar="INDEX...")
_any_indexes = click.argument("indexes", nargs=-1, metavar="[INDEX...]")
_execute = click.option("--execute", is_flag=True, help="Do it; without, only show what it is.")
_pace = click.option("--rows-per-second", type=click.IntRange(min=1), metavar="N",
                     help="Read at most so many rows of the table a second.")  # fmt: skip
_wait = click.option("--wait-limit", type=click.FloatRange(min=0), default=60.0, show_default=True,
                     metavar="SECONDS", help="How long to wait for others.")  # fmt: skip
_owner = click.option("--owner", metavar="ROLE",
                      help="Who owns the index and its functions, which act with this role's "
                      "rights. (PostgreSQL)  [default: the owner of the table]")  # fmt: skip
_format = click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text",
                       show_default=True, help="How the result is written.")  # fmt: skip


def _gently(command: Any) -> Any:
    """Options of those who do the work."""
    for option in (
        click.option("--parallel", type=click.IntRange(min=1), default=2, show_default=True,
                     metavar="N", help="Transactions at a time."),
        click.option("--chunk-seconds", type=click.FloatRange(min=0.01), metavar="SECONDS",
                     help="How long a transaction may make writers wait.  [default: 0.2, or 2 "
                     "while there are none]"),
        click.option("--pause-file", type=options.FILE, metavar="FILE",
                     help="Rest while this file is there."),
    ):  # fmt: skip
        command = option(command)
    return command


@backfill.command()
@_table
@_indexes
@options.catalog
@click.option("--method", type=click.Choice([m.value for m in Method]),
              help="Writers keep the new index from the start, or record what they do, to be "
              "merged in afterwards. (PostgreSQL)  [default: merge, or init_put if an index is "
              "unique]")  # fmt: skip
@_owner
@_pace
@_gently
@_wait
@_execute
@_format
@options.spark_options
def run(execute: bool, format_: str, spark_options: SparkOptions, **given: Any) -> NoReturn:
    """Build indexes, check them, and publish them if they are clean."""
    from scrub.app.backfill import plan_backfill, run_backfill

    given["method"] = Method(given["method"]) if given["method"] else None
    request = BackfillRequest(**given)
    if not execute:
        _show_plan(plan_backfill(request), format_)
        raise SystemExit(0)
    with _interruptible(request), shown_progress() as on_progress:
        status = run_backfill(request, spark_options=spark_options, on_progress=on_progress)
    _finish(status, format_)


@backfill.command()
@_table
@_any_indexes
@options.catalog
@_pace
@_gently
@_wait
@_format
@options.spark_options
def resume(format_: str, spark_options: SparkOptions, **given: Any) -> NoReturn:
    """Go on with a build whose process ended."""
    from scrub.app.backfill import resume_backfill

    request = BackfillRequest(**given)
    with _interruptible(request), shown_progress() as on_progress:
        status = resume_backfill(request, spark_options=spark_options, on_progress=on_progress)
    _finish(status, format_)


@backfill.command()
@_table
@_any_indexes
@options.catalog
@_format
def status(format_: str, **given: Any) -> None:
    """Show builds: how far they are, how fast, and whom they wait for."""
    from reports.builds import builds_as_json, builds_as_text
    from scrub.app.backfill import backfill_status

    found = backfill_status(BackfillRequest(**given))
    click.echo(builds_as_json(found) if format_ == "json" else builds_as_text(found))


@backfill.command()
@_table
@options.catalog
@click.option("--rows-per-second", type=click.IntRange(min=0), metavar="N",
              help="Read at most so many rows a second; 0: as many as it can.")  # fmt: skip
@click.option("--pause", is_flag=True, help="Rest.")
@click.option("--go-on", is_flag=True, help="Stop resting.")
@_format
def adjust(
    rows_per_second: int | None, pause: bool, go_on: bool, format_: str, **given: Any
) -> None:
    """Change the pace of a build that runs."""
    from reports.builds import builds_as_json, builds_as_text
    from scrub.app.backfill import adjust_backfill

    values: dict[str, object] = {}
    if rows_per_second is not None:
        values["rows_per_second"] = rows_per_second or None
    if pause and go_on:
        raise click.UsageError("--pause and --go-on exclude each other: use one of the two")
    if pause or go_on:
        values["paused"] = pause
    if not values:
        raise click.UsageError("say what to change: --rows-per-second, --pause or --go-on")
    found = adjust_backfill(BackfillRequest(indexes=(), **given), **values)
    click.echo(builds_as_json([found]) if format_ == "json" else builds_as_text([found]))


@backfill.command()
@_table
@_any_indexes
@options.catalog
@_wait
@_execute
@_format
def cancel(execute: bool, format_: str, **given: Any) -> None:
    """Take a build back, whoever runs it, and remove everything it made."""
    from scrub.app.backfill import cancel_backfill, cancel_preview

    request = BackfillRequest(**given)
    if not execute:
        _show_before(cancel_preview(request), "would be taken back", format_)
        return
    with shown_progress() as on_progress:
        status = cancel_backfill(request, on_progress=on_progress)
    _show([status], format_)


@backfill.command()
@_table
@click.argument("index")
@options.catalog
@_wait
@_execute
@_format
def drop(index: str, execute: bool, format_: str, **given: Any) -> None:
    """Remove an index that was built here, with the triggers that keep it."""
    from scrub.app.backfill import drop_index, drop_preview

    request = BackfillRequest(indexes=(index,), **given)
    if not execute:
        _show_before(drop_preview(request), "would be removed", format_)
        return
    with shown_progress() as on_progress:
        status = drop_index(request, on_progress=on_progress)
    _show([status], format_)


@backfill.command()
@_table
@_indexes
@options.catalog
@_owner
@_wait
@_execute
@_format
def renew(execute: bool, format_: str, **given: Any) -> None:
    """Make anew what keeps indexes that were built here.

    For functions of an earlier version of scrub, and for a table that was restored or altered.
    """
    from scrub.app.backfill import renew_functions, renew_preview

    request = BackfillRequest(**given)
    if not execute:
        _show_before(renew_preview(request), "would get new functions", format_)
        return
    with shown_progress() as on_progress:
        found = renew_functions(request, on_progress=on_progress)
    _show(found, format_)


@backfill.command()
@_table
@_indexes
@options.catalog
@options.result_options
@options.spark_options
def verify(
    table: str,
    indexes: tuple[str, ...],
    catalog: Any,
    report: ReportOptions,
    spark_options: SparkOptions,
) -> NoReturn:
    """Check indexes as before publishing, whoever built them. Reads only.

    Exits with 0 when they are clean, 1 when defects were found, 3 when not everything could be
    looked at: a gate for CI.
    """
    from scrub.app.backfill import verify_index

    request = BackfillRequest(table=table, indexes=indexes, catalog=catalog)
    with shown_progress() as on_progress:
        result = verify_index(request, spark_options=spark_options, on_progress=on_progress)
    emit_result(result, report, redact=False)
    raise SystemExit(result.exit_code)


@contextmanager
def _interruptible(request: BackfillRequest) -> Iterator[None]:
    """Ctrl-C is no accident, but what it leaves behind still needs somebody."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(
            "what was done stays done, and writers go on keeping it: "
            f"scrub backfill status {request.table} tells how to go on",
            err=True,
        )
        raise


def _finish(status: BackfillStatus, format_: str) -> NoReturn:
    _show([status], format_)
    raise SystemExit(0 if status.state is State.PUBLIC else _FAILED_EXIT_CODE)


def _show(found: Sequence[BackfillStatus], format_: str) -> None:
    from reports.builds import builds_as_json, builds_as_text

    interrupts.demand_none()
    click.echo(builds_as_json(found) if format_ == "json" else builds_as_text(found))


def _show_before(found: list[BackfillStatus], what: str, format_: str) -> None:
    from reports.builds import builds_as_json, builds_as_text
    from reports.escaping import printable

    if format_ == "json":
        click.echo(builds_as_json(found, executed=False))
        return
    click.echo(builds_as_text(found))
    names = printable(", ".join(name for build in found for name in build.indexes))
    click.echo(f"\nNothing was changed: {names} {what}. To do it, add --execute")


def _show_plan(plan: BackfillPlan, format_: str) -> None:
    from reports.builds import plan_as_json, plan_as_text

    if format_ == "json":
        click.echo(plan_as_json(plan))
        return
    click.echo(plan_as_text(plan))
    click.echo("\nNothing was changed. To do it, add --execute")
