# SPDX-License-Identifier: Apache-2.0
"""`scrub check`: compares tables with their indexes, and reads only."""

import sys
from pathlib import Path
from typing import NoReturn

import click

from scrub.cli import options
from scrub.cli.emit import ReportOptions, emit_plan, emit_result, require_plan_format
from scrub.cli.files_apart import demand_apart
from scrub.cli.groups import Group
from scrub.cli.progress import shown_progress
from scrub.cli.screens import tell
from scrub.errors import ScrubError, UsageError
from scrub.model.command_line import command_line
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.result import RunResult, Status


@click.group(cls=Group, for_tables="table")
def check() -> None:
    """Compare tables with their indexes. Reads only.

    The exit code is 0 if everything is clean, 1 if defects were found, and 3 if no defect was found
    but the check was incomplete.
    """


@check.command()
@options.tables
@options.check_request
@options.report_options
@options.spark_options
def table(request: CheckRequest, report: ReportOptions, spark_options: SparkOptions) -> None:
    """Check the named tables."""
    _check(request, report, spark_options)


@check.command()
@options.check_request
@options.report_options
@options.spark_options
def database(request: CheckRequest, report: ReportOptions, spark_options: SparkOptions) -> None:
    """Check all tables of the catalog."""
    _check(request, report, spark_options)


def _check(request: CheckRequest, report: ReportOptions, spark_options: SparkOptions) -> NoReturn:
    options.demand_one_session(spark_options)
    written = {"--output": report.output, "--all-defects": request.all_defects}
    demand_apart(written, {"the catalog": request.catalog})
    if report.explain:
        _explain(request, report, spark_options)
    from scrub.app.checking.tables import run_check

    with shown_progress() as on_progress:
        result = run_check(request, spark_options=spark_options, on_progress=on_progress)
    emit_result(result, report, redact=request.redact, catalog=request.catalog)
    if report.gx_docs:
        _write_docs(result, request, report.gx_docs)
    if request.all_defects:
        which = " that could be named" if result.unnamed_total else ""
        tell(f"every defect{which} is in {request.all_defects}")
    if report.format == "text":
        _tell_of_repair(request.catalog, result)
        _tell_of_prepare(spark_options, result)
    raise SystemExit(result.exit_code)


def _write_docs(result: RunResult, request: CheckRequest, directory: Path) -> None:
    from scrub.gx.data_docs import write_data_docs

    index = write_data_docs(result, request.catalog, directory, redact=request.redact)
    tell(f"Data Docs are in {index}")


def _tell_of_repair(catalog: Path, result: RunResult) -> None:
    if result.status is not Status.DEFECTIVE:
        return
    from scrub.app.repairing.stores import repairable_tables

    try:
        tables = repairable_tables(catalog, result)
    except ScrubError:
        return  # the catalog has gone since: that must not cost the result its exit code
    for name in tables:
        command = command_line("repair table", name, catalog=catalog)
        tell(f"to see what a repair would do: {command}")


def _tell_of_prepare(spark_options: SparkOptions, result: RunResult) -> None:
    """To a person who has waited for Spark, once."""
    if not (result.seconds_starting and sys.stderr.isatty()):
        return
    from scrub.app.prepare_suggestion import suggest_once

    if suggest_once(spark_options):
        tell("to make Spark start faster from now on, run once: scrub prepare")


def _explain(request: CheckRequest, report: ReportOptions, spark_options: SparkOptions) -> NoReturn:
    require_plan_format(report)
    if report.gx_docs:
        raise UsageError(
            "--explain runs nothing that --gx-docs could show", hint="leave one of the two out"
        )
    from scrub.app.checking.tables import explain_check

    emit_plan(explain_check(request, spark_options=spark_options), report)
    raise SystemExit(0)
