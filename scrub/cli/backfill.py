# SPDX-License-Identifier: Apache-2.0
"""`scrub backfill`: builds indexes while their table is written to."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from reports.escaping import printable
from scrub.cli import completing, interrupts, options
from scrub.cli.emit import ReportOptions, emit_result
from scrub.cli.groups import Group
from scrub.cli.progress import shown_progress
from scrub.cli.screens import output_screen, show, show_prose, tell
from scrub.errors import UsageError
from scrub.model.backfill import BackfillPlan, BackfillRequest, BackfillResult, BackfillStatus
from scrub.model.build import Method
from scrub.model.command_line import command_line
from scrub.model.request import SparkOptions


@click.group(cls=Group)
def backfill() -> None:
    """Build indexes while applications write to the table.

    Commands that change something only show what they would do, unless you pass --execute.

    An index is published only if a check finds it clean; the exit code is then 0. If rows of the
    table do not allow the index, everything is removed again, and the exit code is 1. If other
    transactions block the build for too long, it can be resumed, and the exit code is 3.
    """


_indexes = click.argument("indexes", nargs=-1, required=True, metavar="INDEX...",
                          shell_complete=completing.indexes)  # fmt: skip
_any_indexes = click.argument("indexes", nargs=-1, metavar="[INDEX...]",
                              shell_complete=completing.indexes)  # fmt: skip
_pace = click.option("--rows-per-second", type=click.IntRange(min=1), metavar="N",
                     help="Read at most this many rows of the table per second.")  # fmt: skip
_owner = click.option("--owner", metavar="ROLE",
                      help="The owner of the index and of its trigger functions, which run with "
                      "the rights of this role. (PostgreSQL)  "
                      "[default: the owner of the table]")  # fmt: skip


_gently = options.together(
    options.pause_file,
    click.option("--chunk-seconds", type=click.FloatRange(min=0.01), metavar="SECONDS",
                 help="About how long one transaction takes, for which writers may have to "
                 "wait.  [default: 0.2, or 2 while nobody else writes]"),
    click.option("--parallel", type=click.IntRange(min=1), default=2, show_default=True,
                 metavar="N", help="The number of concurrent transactions."),
)  # fmt: skip
_on_request = options.together(options.wait_limit, options.execute, options.text_or_json)


@backfill.command()
@options.table
@_indexes
@options.catalog
@click.option("--method", type=click.Choice([m.value for m in Method]),
              help="init_put: writers maintain the new index from the start. merge: writers record "
              "their changes, which are merged afterwards. (PostgreSQL)  [default: merge, or "
              "init_put if an index is unique]")  # fmt: skip
@_owner
@_pace
@_gently
@_on_request
@options.spark_options
def run(execute: bool, format_: str, spark_options: SparkOptions, **given: Any) -> NoReturn:
    """Build indexes, check them, and publish them if they are clean."""
    from scrub.app.building.verbs import plan_backfill, run_backfill

    given["method"] = Method(given["method"]) if given["method"] else None
    request = BackfillRequest(**given)
    if not execute:
        _show_plan(plan_backfill(request), format_)
        raise SystemExit(0)
    with _interruptible(request), shown_progress() as on_progress:
        result = run_backfill(request, spark_options=spark_options, on_progress=on_progress)
    _finish(result, format_, request)


@backfill.command()
@options.table
@_any_indexes
@options.catalog
@_pace
@_gently
@options.wait_limit
@options.text_or_json
@options.spark_options
def resume(format_: str, spark_options: SparkOptions, **given: Any) -> NoReturn:
    """Continue a build whose process has ended."""
    from scrub.app.building.verbs import resume_backfill

    request = BackfillRequest(**given)
    with _interruptible(request), shown_progress() as on_progress:
        result = resume_backfill(request, spark_options=spark_options, on_progress=on_progress)
    _finish(result, format_, request)


@backfill.command()
@options.table
@_any_indexes
@options.catalog
@options.text_or_json
def status(format_: str, **given: Any) -> None:
    """Show the state and rate of builds, and which transactions they wait for. Reads only."""
    from scrub.app.building.verbs import backfill_status

    request = BackfillRequest(**given)
    _show(backfill_status(request), format_, request)


@backfill.command()
@options.table
@options.catalog
@click.option("--rows-per-second", type=click.IntRange(min=0), metavar="N",
              help="Read at most this many rows per second; 0 removes the limit.")  # fmt: skip
@click.option("--pause", is_flag=True, help="Pause the build.")
@click.option("--go-on", is_flag=True, help="Continue a paused build.")
@options.text_or_json
def adjust(
    rows_per_second: int | None, pause: bool, go_on: bool, format_: str, **given: Any
) -> None:
    """Change the rate of a running build, or pause it."""
    from scrub.app.building.verbs import adjust_backfill

    values: dict[str, object] = {}
    if rows_per_second is not None:
        values["rows_per_second"] = rows_per_second or None
    if pause and go_on:
        raise UsageError("--pause and --go-on exclude each other", hint="use one of the two")
    if pause or go_on:
        values["paused"] = pause
    if not values:
        raise UsageError(
            "nothing is to be changed", hint="say what: --rows-per-second, --pause or --go-on"
        )
    request = BackfillRequest(indexes=(), **given)
    _show([adjust_backfill(request, **values)], format_, request)


@backfill.command()
@options.table
@_any_indexes
@options.catalog
@_on_request
def cancel(execute: bool, format_: str, **given: Any) -> None:
    """Cancel a build, whichever process runs it, and remove everything it created."""
    from scrub.app.building.verbs import cancel_backfill, cancel_preview

    request = BackfillRequest(**given)
    _change(cancel_backfill, cancel_preview, "would be reversed", request, execute, format_)


@backfill.command()
@options.table
@click.argument("index", shell_complete=completing.indexes)
@options.catalog
@_on_request
def drop(index: str, execute: bool, format_: str, **given: Any) -> None:
    """Remove an index that scrub built, with its triggers."""
    from scrub.app.building.verbs import drop_index, drop_preview

    request = BackfillRequest(indexes=(index,), **given)
    _change(drop_index, drop_preview, "would be removed", request, execute, format_)


@backfill.command()
@options.table
@_indexes
@options.catalog
@_owner
@_on_request
def renew(execute: bool, format_: str, **given: Any) -> None:
    """Recreate the trigger functions of indexes that scrub built in PostgreSQL.

    Use it after an upgrade of scrub, and after a table was restored or altered.
    """
    from scrub.app.building.verbs import renew_functions, renew_preview

    request = BackfillRequest(**given)
    would = "would get new functions"
    _change(renew_functions, renew_preview, would, request, execute, format_)


@backfill.command()
@options.table
@_indexes
@options.catalog
@options.redact
@options.pace
@options.result_options
@options.spark_options
def verify(
    report: ReportOptions, spark_options: SparkOptions, redact: bool, **given: Any
) -> NoReturn:
    """Run the check that precedes publishing, whichever tool built the index. Reads only.

    The exit code is 0 if the indexes are clean, 1 if defects were found, and 3 if the check was
    incomplete. Nothing is known or waived here: scrub gate judges indexes that are in use.
    """
    from scrub.app.building.verbs import verify_index

    request = BackfillRequest(**given)
    with shown_progress() as on_progress:
        judged = verify_index(request, spark_options=spark_options, on_progress=on_progress)
    emit_result(
        judged.result, report, redact=redact, verdict=judged.verdict, catalog=request.catalog
    )
    raise SystemExit(judged.verdict.exit_code)


@contextmanager
def _interruptible(request: BackfillRequest) -> Iterator[None]:
    """Ctrl-C is no accident, but what it leaves behind still needs somebody."""
    try:
        yield
    except KeyboardInterrupt:
        tell(
            "what was done stays done, and writers go on keeping it; to see how to continue: "
            + command_line("backfill status", request.table, catalog=request.catalog)
        )
        raise


def _finish(result: BackfillResult, format_: str, request: BackfillRequest) -> NoReturn:
    interrupts.demand_no_signal()
    _show(result.builds, format_, request)
    raise SystemExit(result.exit_code)


def _change(
    verb: Callable[..., list[BackfillStatus]],
    preview: Callable[[BackfillRequest], list[BackfillStatus]],
    would: str,
    request: BackfillRequest,
    execute: bool,
    format_: str,
) -> None:
    """Do something to indexes, or show what would be done to them."""
    if not execute:
        _show_before(preview(request), would, format_, request)
        return
    with shown_progress() as on_progress:
        done = verb(request, on_progress=on_progress)
    interrupts.demand_no_signal()
    _show(done, format_, request)


def _show(found: Sequence[BackfillStatus], format_: str, request: BackfillRequest) -> None:
    from reports.builds import builds_as_json, builds_as_text

    is_json = format_ == "json"
    text = builds_as_text(found, output_screen(), catalog=request.catalog)
    show(builds_as_json(found) if is_json else text)


def _show_before(
    found: list[BackfillStatus], what: str, format_: str, request: BackfillRequest
) -> None:
    from reports.builds import builds_as_json, builds_as_text

    if format_ == "json":
        click.echo(builds_as_json(found, executed=False))
        return
    show(builds_as_text(found, output_screen(), catalog=request.catalog))
    names = printable(", ".join(name for build in found for name in build.indexes))
    show_prose(f"\nNothing was changed: {names} {what}. To do it, add --execute")


def _show_plan(plan: BackfillPlan, format_: str) -> None:
    from reports.builds import plan_as_json, plan_as_text

    if format_ == "json":
        click.echo(plan_as_json(plan))
        return
    show(plan_as_text(plan, output_screen()))
    click.echo("\nNothing was changed. To do it, add --execute")
