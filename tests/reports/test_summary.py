# SPDX-License-Identifier: Apache-2.0
"""An incomplete look is never shown as clean, and a defect never hides that it was incomplete."""

from dataclasses import replace

import pytest

from reports import FORMATS, PLAN_FORMATS
from reports.context import ReportContext
from reports.grids import defects_grid
from reports.redaction import redact_result
from reports.summary import EXIT_MEANINGS, closing_line, rows_read
from scrub.model.gate import JudgedDefect, Standing
from scrub.model.result import EXIT_CODES, Status
from tests.reports.results import RESULTS, a_check, a_defect, a_plan, a_run, a_table
from tests.reports.verdicts import a_verdict


@pytest.mark.parametrize("name", ["incomplete", "nothing", "no_index"])
@pytest.mark.parametrize("report_format", FORMATS)
def test_incomplete_never_looks_like_clean(name: str, report_format: str) -> None:
    result = RESULTS[name]()
    assert result.is_incomplete
    assert "incomplete" in FORMATS[report_format](result)
    assert not closing_line(result).startswith("clean")


@pytest.mark.parametrize("report_format", ["text", "markdown"])
def test_defective_and_incomplete_says_both(report_format: str) -> None:
    rendered = FORMATS[report_format](RESULTS["defective_and_incomplete"]())
    assert "defective and incomplete: 1 defect" in rendered
    assert "Not checked" in rendered


@pytest.mark.parametrize("report_format", ["text", "markdown"])
def test_a_table_that_was_not_read_is_said_to_be_at_no_snapshot(report_format: str) -> None:
    check = a_check("by_customer", Status.INCOMPLETE, reason="it is not there", error=True)
    table = replace(a_table(check), snapshot="not read", bytes_read=None)
    rendered = FORMATS[report_format](a_run(table))
    assert "orders, not read\n" in rendered
    assert "at not read" not in rendered


@pytest.mark.parametrize("report_format", FORMATS)
def test_what_could_not_be_named_is_said_in_every_format(report_format: str) -> None:
    result = RESULTS["unnamed"]()
    assert (result.status, result.exit_code, result.defects_total) == (Status.DEFECTIVE, 1, 0)
    rendered = FORMATS[report_format](result)
    assert "at least 16 buckets differ, not named because " in rendered
    assert "no defect found" not in rendered
    assert "0 defects" not in rendered


def test_a_tables_rows_count_once_however_many_indexes_it_has() -> None:
    run = a_run(a_table(a_check("a", rows=10, entries=9), a_check("b", rows=10, entries=None)))
    assert rows_read(run) == 19


def test_every_exit_code_has_a_meaning() -> None:
    assert EXIT_MEANINGS.keys() == set(EXIT_CODES.values())


def test_a_run_to_which_nothing_applies_says_so() -> None:
    check = a_check("native", Status.NOT_APPLICABLE, reason="--where")
    closing = closing_line(a_run(a_table(check, check)))
    assert closing.endswith(
        "exit code 3 (no check applies to what was asked for, so nothing was checked)"
    )
    also_unread = a_check("other", Status.INCOMPLETE, reason="gone")
    assert "nothing was checked" not in closing_line(a_run(a_table(check, also_unread)))


def test_the_start_of_spark_is_told_apart_from_the_seconds_of_the_check() -> None:
    run = replace(RESULTS["clean"](), seconds_starting=3.14)
    assert "in 2.5 s (" in closing_line(run)
    assert ", after 3.1 s in which Spark started; exit code 0" in closing_line(run)
    assert "Spark" not in closing_line(RESULTS["clean"]())


@pytest.mark.parametrize("report_format", ["text", "markdown"])
def test_what_to_do_is_told_once(report_format: str) -> None:
    broken = a_check("a", Status.DEFECTIVE, remedies=("REINDEX INDEX CONCURRENTLY a;",))
    rendered = FORMATS[report_format](a_run(a_table(broken), a_table(broken, table="other")))
    assert "What to do" in rendered
    assert rendered.count("REINDEX INDEX CONCURRENTLY a;") == 1


def test_a_run_in_no_time_has_no_rate() -> None:
    run = RESULTS["clean"]()
    assert "(- rows/s)" in closing_line(replace(run, seconds=0.0))


def test_a_rate_leaves_out_the_time_that_settle_waits() -> None:
    run = replace(RESULTS["clean"](), seconds=62.5, seconds_waiting=60.0)
    rows = rows_read(run)
    assert f"{rows:,} rows in 62.5 s ({rows / 2.5:,.0f} rows/s)" in closing_line(run)


def test_a_check_that_does_not_apply_names_its_reason() -> None:
    check = a_check("native", Status.NOT_APPLICABLE, reason="the store is not PostgreSQL")
    rendered = FORMATS["text"](a_run(a_table(a_check("a"), check)))
    assert "orders.native, not applicable: the store is not PostgreSQL" in rendered


def test_an_estimate_of_rows_is_called_one() -> None:
    plan = a_plan()
    (table,) = plan.tables
    facts = replace(table.side.facts, rows=5000, rows_estimated=True)
    estimated = replace(table, side=replace(table.side, facts=facts))
    rendered = PLAN_FORMATS["text"](replace(plan, tables=(estimated,)))
    assert "about 5,000 rows" in rendered
    assert "about" not in PLAN_FORMATS["text"](plan)


@pytest.mark.parametrize("report_format", ["text", "markdown"])
def test_columns_that_were_not_compared_are_part_of_the_verdict(report_format: str) -> None:
    ignored = ("month", "a b", "c", "d")
    run = a_run(a_table(replace(a_check("by_customer"), ignored=ignored)))
    rendered = FORMATS[report_format](run)
    (verdict,) = [line for line in rendered.splitlines() if "by_customer" in line]
    assert "clean (not compared: month, " in verdict
    assert "c and 1 more)" in verdict
    assert "0 defects in 1 check (4 columns of indexes not compared);" in closing_line(run)


@pytest.mark.parametrize("report_format", ["json", "jsonl"])
def test_columns_that_were_not_compared_are_listed_for_programs(report_format: str) -> None:
    run = a_run(a_table(replace(a_check("by_customer"), ignored=("month",))))
    assert '"ignored_columns": [' in FORMATS[report_format](run)
    assert '"month"' in FORMATS[report_format](run)


@pytest.mark.parametrize("redact", [False, True])
def test_of_rows_that_share_an_id_each_has_its_own_standing(redact: bool) -> None:
    known, changed = a_defect(actual={"status": "paid"}), a_defect(actual={"status": "void"})
    assert known.id == changed.id
    check = a_check("by_customer", Status.DEFECTIVE, counts={known.kind: 2})
    result = a_run(a_table(check), defects=(known, changed))
    judged = tuple(
        JudgedDefect(defect=defect, standing=standing)
        for defect, standing in ((known, Standing.KNOWN), (changed, Standing.CHANGED))
    )
    context = ReportContext(verdict=a_verdict(defects=judged))
    shown = redact_result(result) if redact else result
    assert [row[-2].split()[0] for row in defects_grid(shown, context).rows] == ["known", "changed"]
