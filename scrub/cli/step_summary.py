# SPDX-License-Identifier: Apache-2.0
"""Appends a result to the summary of a step of GitHub Actions, if this is one."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.errors import ScrubError

if TYPE_CHECKING:
    from reports.context import ReportContext
    from scrub.model.result import RunResult

VARIABLE = "GITHUB_STEP_SUMMARY"


def append_step_summary(result: "RunResult", context: "ReportContext", *, redact: bool) -> None:
    """Append Markdown to the file that GitHub names; what others wrote there stays."""
    if not (name := os.environ.get(VARIABLE)):
        return
    from reports.as_github import SUMMARY_BYTES_MAX, render_summary

    path = Path(name)
    try:
        taken = path.stat().st_size if path.exists() else 0
        room = SUMMARY_BYTES_MAX - taken - 1  # a line break parts it from what is there
        text = render_summary(result, redact=redact, context=context, bytes_max=room)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n{text}" if taken and text else text)
    except OSError as error:
        what = f"the summary could not be written to {path}: {error.strerror}"
        raise ScrubError(what, hint=f"${VARIABLE} names a file that can be written") from error
