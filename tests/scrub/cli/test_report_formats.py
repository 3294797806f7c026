# SPDX-License-Identifier: Apache-2.0
"""How a result reaches code hosts: places in the catalog, and the summary of a step."""

import json
from pathlib import Path

import pytest

from scrub.cli.catalog_places import catalog_places
from scrub.cli.emit import ReportOptions, emit_result
from scrub.errors import ScrubError
from tests.reports.many import many_defects
from tests.reports.results import RESULTS
from tests.reports.verdicts import a_verdict, judged_result

CATALOG = """\
version: 1
stores:
  lake: {kind: delta, path: "${LAKE_THAT_IS_NOT_SET}"}
tables:
  orders:
    store: lake
    columns: {id: {type: bigint}, customer_id: {type: bigint}, amount: {type: bigint}}
    primary_key: [id]
    checks:
      positive: amount > 0
    indexes:
      by_customer: {columns: [customer_id]}
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    path = tmp_path / "repository" / "data" / "scrub.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(CATALOG)
    return path


def test_a_place_is_relative_to_the_repository(
    catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (catalog.parents[1] / ".git").mkdir()
    monkeypatch.chdir(catalog.parent)
    places = catalog_places(Path("scrub.yaml"))
    assert places.file == "data/scrub.yaml"
    assert places.place("orders").line == 5
    assert places.place("orders", "by_customer").line == 12
    assert places.place("orders", None, "positive").line == 10
    assert places.place("orders", "by_nothing").line == 5
    assert places.place("nothing").line == 1


def test_without_a_repository_a_place_is_relative_to_the_directory(
    catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(catalog.parents[1])
    assert catalog_places(catalog).file == "data/scrub.yaml"
    monkeypatch.chdir("/")
    assert "repository/data/scrub.yaml" in catalog_places(catalog).file
    (catalog.parents[2] / "elsewhere").mkdir()
    monkeypatch.chdir(catalog.parents[2] / "elsewhere")
    assert catalog_places(catalog).file == "scrub.yaml"


@pytest.mark.parametrize("text", ["", "version: 1\n", "a: [\n", None])
def test_a_catalog_that_changed_since_costs_no_result(catalog: Path, text: str | None) -> None:
    catalog.unlink() if text is None else catalog.write_text(text)
    assert catalog_places(catalog).place("orders", "by_customer").line == 1


def test_sarif_points_into_the_catalog_and_has_the_verdict(
    catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = ReportOptions(format="sarif")
    emit_result(judged_result(), report, redact=True, verdict=a_verdict(), catalog=catalog)
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    lines = [
        one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in run["results"]
    ]
    assert lines == [12, 12, 12, 10]
    assert run["results"][1]["baselineState"] == "updated"
    assert "paid" not in json.dumps(run)


@pytest.fixture
def step_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def test_the_summary_of_a_step_is_appended(
    step_summary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step_summary.write_text("before\n")
    emit_result(RESULTS["defective"](), ReportOptions(format="github"), redact=True)
    text = step_summary.read_text()
    assert text.startswith("before\n\n**defective")
    assert "| wrong&#95;stored" in text or "| wrong_stored_value |" in text
    assert "paid" not in text
    assert capsys.readouterr().out.startswith("::error file=scrub.yaml,line=1")


def test_the_summary_of_a_step_fits_with_what_is_there(step_summary: Path) -> None:
    step_summary.write_text("x" * 900_000)
    emit_result(many_defects(5_001), ReportOptions(format="github"), redact=False)
    assert 900_000 < step_summary.stat().st_size <= 1 << 20
    assert "of 5,001 defects" in step_summary.read_text()
    step_summary.write_text("x" * (1 << 20))
    emit_result(many_defects(1), ReportOptions(format="github"), redact=False)
    assert step_summary.stat().st_size <= (1 << 20) + 1


@pytest.mark.parametrize("report_format", ["text", "sarif", "gitlab", "markdown"])
def test_other_formats_leave_the_summary_alone(step_summary: Path, report_format: str) -> None:
    emit_result(RESULTS["defective"](), ReportOptions(format=report_format), redact=False)
    assert not step_summary.exists()


def test_outside_of_github_there_is_no_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "")
    emit_result(RESULTS["clean"](), ReportOptions(format="github"), redact=False)


def test_a_summary_that_cannot_be_written_is_an_error(
    step_summary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step_summary.mkdir()
    with pytest.raises(ScrubError, match=r"the summary could not be written to .*summary\.md"):
        emit_result(RESULTS["clean"](), ReportOptions(format="github"), redact=False)
    assert "clean" in capsys.readouterr().out, "the result is told first"
