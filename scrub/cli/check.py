# SPDX-License-Identifier: Apache-2.0
"""`scrub check`: compares tables with their indexes, and reads only."""

from typing import NoReturn

import click

from scrub.cli import options
from scrub.cli.emit import ReportOptions, emit_plan, emit_result, require_plan_format
from scrub.cli.progress import shown_progress
from scrub.model.request import CheckRequest, SparkOptions


@click.group()
def check() -> None:
    """Compare tables with their indexes. Reads only.

    Exits with 0 when everything is clean, 1 when defects were found, 3 when none was found but not
    everything could be looked at.
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
    """Check every table of the catalog."""
    _check(request, report, spark_options)


def _check(request: CheckRequest, report: ReportOptions, spark_options: SparkOptions) -> NoReturn:
    if spark_options.master and spark_options.remote:
        raise click.UsageError("--master and --remote exclude each other")
    if report.explain:
        _explain(request, report, spark_options)
    from scrub.app.check_tables import run_check

    with shown_progress() as on_progress:
        result = run_check(request, spark_options=spark_options, on_progress=on_progress)
    emit_result(result, report, redact=request.redact)
    if request.all_defects:
        click.echo(f"every defect is in {request.all_defects}", err=True)
    raise SystemExit(result.exit_code)


def _explain(request: CheckRequest, report: ReportOptions, spark_options: SparkOptions) -> NoReturn:
    require_plan_format(report)
    from scrub.app.check_tables import explain_check

    emit_plan(explain_check(request, spark_options=spark_options), report)
    raise SystemExit(0)
