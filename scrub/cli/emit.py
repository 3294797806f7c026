# SPDX-License-Identifier: Apache-2.0
"""Puts a result where the user asked for it: standard output, or a file that is whole or absent."""

from dataclasses import dataclass, replace
from pathlib import Path

from reports.screen import PAPER, Screen
from scrub.cli import interrupts
from scrub.cli.catalog_places import catalog_places
from scrub.cli.screens import output_screen, show
from scrub.cli.step_summary import append_step_summary
from scrub.errors import ScrubError, UsageError
from scrub.model.gate import Verdict
from scrub.model.plan import CheckPlan
from scrub.model.result import RunResult
from scrub.whole_files import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """How the user wants to read the result."""

    format: str = "text"
    output: Path | None = None
    explain: bool = False
    gx_docs: Path | None = None


def emit_result(
    result: RunResult,
    report: ReportOptions,
    *,
    redact: bool,
    verdict: Verdict | None = None,
    catalog: Path | None = None,
) -> None:
    """Write a result, with a gate's verdict if any; some formats point into the catalog."""
    from reports import FORMATS, WITH_PLACES
    from reports.context import ReportContext

    context = ReportContext(verdict=verdict, screen=_screen(report))
    if catalog is not None and report.format in WITH_PLACES:
        context = replace(context, places=catalog_places(catalog))
    emit_text(FORMATS[report.format](result, redact=redact, context=context), report.output)
    if report.format == "github":
        append_step_summary(result, context, redact=redact)


def emit_plan(plan: CheckPlan, report: ReportOptions) -> None:
    from reports import PLAN_FORMATS
    from reports.context import ReportContext

    context = ReportContext(screen=_screen(report))
    emit_text(PLAN_FORMATS[report.format](plan, context), report.output)


def _screen(report: ReportOptions) -> Screen:
    return PAPER if report.output else output_screen()


def require_plan_format(report: ReportOptions) -> None:
    """Refuse a format that plans do not have, before anything is read."""
    from reports import PLAN_FORMATS

    if report.format not in PLAN_FORMATS:
        known = " or ".join(PLAN_FORMATS)
        raise UsageError(
            f"--explain is not written as {report.format}", hint=f"add --format {known}"
        )


def emit_text(text: str, output: Path | None) -> None:
    interrupts.demand_no_signal()
    try:
        if output is None:
            show(text, newline=False)
        else:
            write_whole(output, text)
    except BrokenPipeError:
        raise  # the reader has seen enough; main says nothing about it
    except OSError as error:
        place = output or "standard output"
        raise ScrubError(f"the result could not be written to {place}: {error.strerror}") from error
