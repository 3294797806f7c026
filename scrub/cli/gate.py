# SPDX-License-Identifier: Apache-2.0
"""`scrub gate`: fails on what is new, and remembers what is known."""

from pathlib import Path
from typing import Any, NoReturn

import click

from scrub.cli import completing, options
from scrub.cli.emit import ReportOptions, emit_result
from scrub.cli.files_apart import demand_apart
from scrub.cli.progress import shown_progress
from scrub.cli.screens import tell
from scrub.model.gate import BASELINE_FILE, WAIVERS_FILE, GateRequest
from scrub.model.request import CheckRequest, SparkOptions

_tables = click.argument("tables", nargs=-1, metavar="[TABLE...]",
                         shell_complete=completing.tables)  # fmt: skip
_known = options.together(
    click.option("--from", "from_file", type=options.FILE, metavar="FILE",
                 help="Judge this result of scrub check --format jsonl, instead of a new check."),
    click.option("--baseline", type=options.FILE,
                 help="The file of known defects.  [default: scrub-baseline.jsonl beside the "
                 "catalog]"),
    click.option("--write-baseline", is_flag=True,
                 help="Make all defects that are found known. Needs a complete check."),
    click.option("--prune", is_flag=True,
                 help="Drop defects from the baseline that are gone. Needs a complete check."),
)  # fmt: skip


@click.command()
@_tables
@_known
@options.check_request
@options.result_options
@options.spark_options
def gate(
    request: CheckRequest, report: ReportOptions, spark_options: SparkOptions, **given: Any
) -> NoReturn:
    """Fail on defects that are new. Without TABLE, judge all tables of the catalog.

    The exit code is 0 if there is nothing new, 1 if a defect is new, has changed, or exceeds a
    threshold, 2 if the catalog, the baseline or the waivers have a mistake, and 3 if something
    that must be checked was not.
    """
    options.demand_one_session(spark_options)
    _demand_apart(request, report, **given)
    from scrub.app.gating.gate import run_gate

    with shown_progress() as on_progress:
        judged = run_gate(
            GateRequest(check=request, **given),
            spark_options=spark_options,
            on_progress=on_progress,
        )
    emit_result(
        judged.result,
        report,
        redact=request.redact,
        verdict=judged.verdict,
        catalog=request.catalog,
    )
    for line in judged.told:
        tell(line)
    raise SystemExit(judged.verdict.exit_code)


def _demand_apart(
    request: CheckRequest,
    report: ReportOptions,
    *,
    baseline: Path | None,
    from_file: Path | None,
    **_: Any,
) -> None:
    """A report must not replace the files that the gate decides by."""
    beside = request.catalog.parent
    read = {
        "the catalog": request.catalog,
        "the baseline": baseline or beside / BASELINE_FILE,
        "the waivers": beside / WAIVERS_FILE,
        "the result of --from": from_file,
    }
    demand_apart({"--output": report.output, "--all-defects": request.all_defects}, read)
