# SPDX-License-Identifier: Apache-2.0
"""What a check could not name is neither repaired nor called in order."""

from dataclasses import replace
from pathlib import Path

import pytest

from reports import FORMATS
from reports.repair_records import repair_record
from reports.repairs import repair_as_text
from scrub.app.building.gate import why_not
from scrub.app.repairing.repair import execute_repair, preview_repair
from scrub.model.repair import RepairReport, RepairRequest
from tests.builders import delta_lake, entries_of, orders
from tests.reports.results import RESULTS


@pytest.fixture
def request_of(tmp_path: Path) -> RepairRequest:
    """A repair of what a check could not name."""
    rows = orders(5)
    catalog = delta_lake(tmp_path, rows, entries_of(rows))
    earlier = tmp_path / "result.json"
    earlier.write_text(FORMATS["json"](RESULTS["unnamed"]()))
    return RepairRequest(table="orders", catalog=catalog, from_file=earlier)


def says_why(report: RepairReport) -> None:
    told = repair_as_text(report)
    assert "there is nothing to repair" not in told
    assert "could not name, and a repair needs their names" in told
    assert "by_customer: at least 16 buckets differ, not named because " in told
    assert report.exit_code == 1
    assert repair_record(report)["unnamed"].startswith("by_customer: at least 16 buckets")


def test_a_preview_says_why_there_is_nothing_to_repair_by_name(request_of: RepairRequest) -> None:
    says_why(preview_repair(request_of))


def test_a_repair_says_so_too(request_of: RepairRequest) -> None:
    says_why(execute_repair(request_of))


def test_json_lines_tell_the_same(request_of: RepairRequest, tmp_path: Path) -> None:
    lines = tmp_path / "result.jsonl"
    lines.write_text(FORMATS["jsonl"](RESULTS["unnamed"]()))
    says_why(preview_repair(replace(request_of, from_file=lines)))


def test_another_index_is_none_of_its_business(request_of: RepairRequest) -> None:
    assert request_of.from_file is not None
    told = FORMATS["json"](RESULTS["unnamed"]())
    request_of.from_file.write_text(told.replace("by_customer", "by_status"))
    report = preview_repair(replace(request_of, indexes=("by_customer",)))
    assert report.unnamed is None


def test_an_index_with_unnamed_differences_is_not_published() -> None:
    told = why_not(RESULTS["unnamed"]())
    assert told is not None
    assert "0 defects" not in told
    assert told.startswith("the check found differences: at least 16 buckets differ")
