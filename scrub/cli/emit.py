# SPDX-License-Identifier: Apache-2.0
"""Puts a result where the user asked for it: standard output, or a file that is whole or absent."""

import os
from dataclasses import dataclass
from pathlib import Path

import click

from scrub.cli import interrupts
from scrub.errors import ScrubError
from scrub.model.plan import CheckPlan
from scrub.model.result import RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """How the user wants to read the result."""

    format: str = "text"
    output: Path | None = None
    explain: bool = False
    gx_docs: Path | None = None


def emit_result(result: RunResult, report: ReportOptions, *, redact: bool) -> None:
    from reports import FORMATS

    emit_text(FORMATS[report.format](result, redact=redact), report.output)


def emit_plan(plan: CheckPlan, report: ReportOptions) -> None:
    from reports import PLAN_FORMATS

    emit_text(PLAN_FORMATS[report.format](plan), report.output)


def require_plan_format(report: ReportOptions) -> None:
    """Refuse a format that plans do not have, before anything is read."""
    from reports import PLAN_FORMATS

    if report.format not in PLAN_FORMATS:
        raise click.UsageError(f"--explain is written as {' or '.join(PLAN_FORMATS)}")


def emit_text(text: str, output: Path | None) -> None:
    interrupts.demand_no_signal()
    try:
        if output is None:
            click.echo(text, nl=False)
        else:
            write_whole(output, text)
    except BrokenPipeError:
        raise  # the reader has seen enough; main says nothing about it
    except OSError as error:
        place = output or "standard output"
        raise ScrubError(f"the result could not be written to {place}: {error.strerror}") from error


def write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it."""
    target = path.resolve()  # a link stays a link
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8")  # a device or a pipe cannot be replaced
        return
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
