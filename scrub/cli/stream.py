# SPDX-License-Identifier: Apache-2.0
"""`scrub stream`: indexes that are built from history and live changes, and kept current."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from scrub.cli import completing, interrupts, options
from scrub.cli.emit import ReportOptions, emit_result
from scrub.cli.groups import Group
from scrub.cli.progress import shown_progress
from scrub.cli.screens import output_screen, show, show_prose, tell
from scrub.model.command_line import command_line
from scrub.model.request import SparkOptions
from scrub.model.stream.requests import (
    EPOCH_SECONDS,
    VNODES,
    StreamPlan,
    StreamRequest,
    StreamResult,
    StreamStatus,
)


@click.group(cls=Group)
def stream() -> None:
    """Build indexes of a table from its history and its live changes, and keep them current.

    The table is in PostgreSQL, and so are the indexes, in the same database or in another one.
    Writers are never paused.

    The exit code of a run is 0 if the indexes are public, 1 if the check before that finds defects,
    2 if something is refused, and 3 if a server cannot be reached or does not show its changes. The
    same command then continues.
    """


_epoch_seconds = click.option(
    "--epoch-seconds", type=click.FloatRange(min=0.01), default=EPOCH_SECONDS, show_default=True,
    metavar="SECONDS", help="About how often entries are committed.")  # fmt: skip
_rows_per_second = click.option(
    "--rows-per-second", type=click.IntRange(min=1), metavar="N",
    help="Read at most this many rows of the history per second.")  # fmt: skip
_gently = options.together(_epoch_seconds, options.wait_limit, options.pause_file)


@stream.command()
@options.table
@click.argument("indexes", nargs=-1, required=True, metavar="INDEX...",
                shell_complete=completing.indexes)  # fmt: skip
@options.catalog
@click.option("--until", type=click.Choice(["caught-up"]),
              help="End when the indexes are public and show all that had been committed. Without "
              "it, keep them current until interrupted.")  # fmt: skip
@_rows_per_second
@_gently
@click.option("--vnodes", type=click.IntRange(min=1), default=VNODES, show_default=True,
              metavar="N", help="Into how many slices the primary key is cut at the "
              "beginning.")  # fmt: skip
@options.execute
@options.text_or_json
@options.spark_options
def run(
    until: str | None, execute: bool, format_: str, spark_options: SparkOptions, **given: Any
) -> NoReturn:
    """Build indexes, check them, publish them if they are clean, and keep them current.

    The same command continues after it was interrupted.
    """
    from scrub.app.streaming.verbs import plan_stream, run_stream

    request = StreamRequest(until_caught_up=until is not None, **given)
    if not execute:
        _show_plan(plan_stream(request), format_)
        raise SystemExit(0)
    with _interruptible(request), shown_progress() as on_progress:
        result = run_stream(request, spark_options=spark_options, on_progress=on_progress)
    _finish(result, format_, request)


@stream.command()
@options.table
@options.catalog
@click.option("--until", type=click.Choice(["caught-up"]),
              help="End when all that had been committed is shown.")  # fmt: skip
@_gently
@options.text_or_json
@options.spark_options
def resume(until: str | None, format_: str, spark_options: SparkOptions, **given: Any) -> NoReturn:
    """End a pause. If no process runs the stream, continue it, as `run` does."""
    from scrub.app.streaming.verbs import resume_stream

    request = StreamRequest(until_caught_up=until is not None, **given)
    with _interruptible(request), shown_progress() as on_progress:
        result = resume_stream(request, spark_options=spark_options, on_progress=on_progress)
    _finish(result, format_, request)


@stream.command()
@options.table
@options.catalog
@options.text_or_json
def status(format_: str, **given: Any) -> None:
    """Show how far a stream has come, how current it is, and what it waits for. Reads only."""
    from scrub.app.streaming.verbs import stream_status

    request = StreamRequest(**given)
    _show(stream_status(request), format_, request)


@stream.command()
@options.table
@options.catalog
@click.option("--all", "is_all", is_flag=True,
              help="Pause the changes, too. The server then keeps all of its log.")  # fmt: skip
@options.text_or_json
def pause(is_all: bool, format_: str, **given: Any) -> None:
    """Stop reading history. Changes to what was read are still applied."""
    from scrub.app.streaming.verbs import adjust_stream

    request = StreamRequest(**given)
    _show(adjust_stream(request, paused=True, paused_all=is_all), format_, request)


@stream.command()
@options.table
@options.catalog
@click.option("--rows-per-second", type=click.IntRange(min=0), required=True, metavar="N",
              help="Read at most this many rows per second; 0 removes the limit.")  # fmt: skip
@options.text_or_json
def adjust(rows_per_second: int, format_: str, **given: Any) -> None:
    """Change the rate of a stream, also while it runs."""
    from scrub.app.streaming.verbs import adjust_stream

    request = StreamRequest(**given)
    _show(adjust_stream(request, rows_per_second=rows_per_second or None), format_, request)


@stream.command()
@options.table
@options.catalog
@options.wait_limit
@options.redact
@options.result_options
@options.spark_options
def verify(
    report: ReportOptions, spark_options: SparkOptions, redact: bool, **given: Any
) -> NoReturn:
    """Check the indexes at one snapshot of the table, whether or not the stream runs.

    If no process runs the stream, changes are applied up to that snapshot first. The exit code is 0
    if the indexes are clean, 1 if defects were found, and 3 if the check was incomplete.
    """
    from scrub.app.streaming.verbs import verify_stream

    request = StreamRequest(**given)
    with shown_progress() as on_progress:
        judged = verify_stream(request, spark_options=spark_options, on_progress=on_progress)
    emit_result(
        judged.result, report, redact=redact, verdict=judged.verdict, catalog=request.catalog
    )
    raise SystemExit(judged.verdict.exit_code)


@stream.command()
@options.table
@options.catalog
@options.wait_limit
@options.execute
@options.text_or_json
def drop(execute: bool, format_: str, **given: Any) -> None:
    """Remove a stream: its indexes, its state, and the slot and publication that it created.

    A process that runs the stream stops.
    """
    from reports.streams import dropped_as_text, stream_as_json, stream_as_text
    from scrub.app.streaming.verbs import drop_preview, drop_stream

    request = StreamRequest(**given)
    if not execute:
        before = drop_preview(request)
        if format_ == "json":
            click.echo(stream_as_json(before, executed=False))
            return
        show(stream_as_text(before, output_screen(), catalog=request.catalog))
        what = "the indexes, the state and the slot would be removed"
        show_prose(f"\nNothing was changed: {what}. To do it, add --execute")
        return
    dropped = drop_stream(request)
    interrupts.demand_no_signal()
    is_json = format_ == "json"
    show(stream_as_json(dropped) if is_json else dropped_as_text(dropped, output_screen()))


@contextmanager
def _interruptible(request: StreamRequest) -> Iterator[None]:
    """Ctrl-C is the usual end of a stream; the slot keeps what happens from then on."""
    try:
        yield
    except KeyboardInterrupt:
        tell(
            "what was done stays done; the slot keeps the log until the stream continues: "
            + command_line("stream resume", request.table, catalog=request.catalog)
        )
        raise


def _finish(result: StreamResult, format_: str, request: StreamRequest) -> NoReturn:
    from reports.streams import stream_as_text, stream_result_as_json

    interrupts.demand_no_signal()
    if format_ == "json":
        show(stream_result_as_json(result))
    else:
        show(stream_as_text(result.status, output_screen(), catalog=request.catalog))
    raise SystemExit(result.exit_code)


def _show(found: StreamStatus, format_: str, request: StreamRequest) -> None:
    from reports.streams import stream_as_json, stream_as_text

    is_json = format_ == "json"
    text = stream_as_text(found, output_screen(), catalog=request.catalog)
    show(stream_as_json(found) if is_json else text)


def _show_plan(plan: StreamPlan, format_: str) -> None:
    from reports.streams import stream_plan_as_json, stream_plan_as_text

    if format_ == "json":
        click.echo(stream_plan_as_json(plan))
        return
    show(stream_plan_as_text(plan, output_screen()))
    click.echo("\nNothing was changed. To do it, add --execute")
