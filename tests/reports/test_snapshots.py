# SPDX-License-Identifier: Apache-2.0
"""Every report looks as it did; SCRUB_WRITE_SNAPSHOTS=1 writes the files after a wanted change."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reports import FORMATS, PLAN_FORMATS
from scrub.model.result import RunResult
from tests.reports.results import RESULTS, a_plan
from tests.reports.verdicts import judged, judged_result

REDACTED = ("defective", "physical")
SNAPSHOTS = Path(__file__).parent / "snapshots"


def matches_snapshot(name: str, rendered: str) -> None:
    path = SNAPSHOTS / name
    if os.environ.get("SCRUB_WRITE_SNAPSHOTS") == "1":
        path.write_text(rendered, encoding="utf-8")
    assert path.exists(), f"{name} is missing; look at the report, then SCRUB_WRITE_SNAPSHOTS=1"
    assert rendered == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("report_format", FORMATS)
@pytest.mark.parametrize(("name", "make"), RESULTS.items())
def test_a_result(name: str, make: Callable[[], RunResult], report_format: str) -> None:
    matches_snapshot(f"{name}.{report_format}", FORMATS[report_format](make()))


@pytest.mark.parametrize("report_format", FORMATS)
@pytest.mark.parametrize("name", REDACTED)
def test_a_redacted_result(name: str, report_format: str) -> None:
    rendered = FORMATS[report_format](RESULTS[name](), redact=True)
    matches_snapshot(f"{name}_redacted.{report_format}", rendered)


@pytest.mark.parametrize("report_format", FORMATS)
def test_a_judged_result(report_format: str) -> None:
    rendered = FORMATS[report_format](judged_result(), context=judged())
    matches_snapshot(f"judged.{report_format}", rendered)


@pytest.mark.parametrize("report_format", PLAN_FORMATS)
def test_a_plan(report_format: str) -> None:
    rendered = PLAN_FORMATS[report_format](a_plan())
    assert "hunter2" not in rendered
    matches_snapshot(f"plan.{report_format}", rendered)


def test_no_snapshot_is_left_over() -> None:
    names = [*RESULTS, "judged", *(f"{name}_redacted" for name in REDACTED)]
    wanted = {f"{name}.{end}" for name in names for end in FORMATS}
    wanted |= {f"plan.{end}" for end in PLAN_FORMATS}
    assert {path.name for path in SNAPSHOTS.iterdir()} == wanted
