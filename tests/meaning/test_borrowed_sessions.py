# SPDX-License-Identifier: Apache-2.0
"""A borrowed session keeps its own time zone, and the check is made in the catalog's."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from reports import as_markdown, as_text
from reports.records import tables_record
from scrub.app import check, explain_check, run_check
from scrub.app.repairing.repair import execute_repair
from scrub.app.selftest_and_demo.selftest import run_selftest
from scrub.catalog import load_catalog
from scrub.model.repair import RepairRequest
from scrub.model.request import CheckRequest, Engine
from scrub.model.result import Status
from scrub.spark.time_zone import SETTING, in_time_zone
from scrub.stores.open import open_store
from tests.meaning.event_lake import BY_DAY, by_day, event_catalog, events, moments, write_events

pytestmark = pytest.mark.spark

BERLIN = "Europe/Berlin"
NOTE = f"expressions evaluated in time zone {BERLIN}"


@pytest.fixture
def notebook(spark: Any) -> Iterator[Any]:
    """A session of somebody in Berlin, beside the one that all tests share."""
    session = spark.newSession()
    session.conf.set(SETTING, BERLIN)
    yield session
    # It became the active one with its first frame.
    spark.createDataFrame([(1,)], "n int")


def test_it_is_judged_in_the_catalog_s_zone_and_left_in_its_own(
    tmp_path: Path, notebook: Any
) -> None:
    write_events(tmp_path)
    notebook.createDataFrame([(1,)], "n int")  # makes it the active one
    before = dict(notebook.conf.getAll)
    result = check("events", catalog=event_catalog(tmp_path))
    assert result.status is Status.CLEAN
    assert dict(notebook.conf.getAll) == before
    active = type(notebook).getActiveSession()
    assert active._jsparkSession.equals(notebook._jsparkSession)
    assert check("events", catalog=event_catalog(tmp_path, time_zone=BERLIN)).defects_total == 120


def test_views_of_a_borrowed_session_are_seen(tmp_path: Path, notebook: Any) -> None:
    """The copy has what the session has, so that relations of Spark's catalog are there."""
    rows = events(moments(20))
    for name, table in (("seen_events", rows), ("seen_events_by_day", by_day(rows, "UTC"))):
        notebook.createDataFrame(table).createOrReplaceTempView(name)
    catalog = event_catalog(
        tmp_path,
        {"by_day": BY_DAY | {"relation": "seen_events_by_day"}},
        store={"kind": "spark", "format": "table"},
    )
    text = catalog.read_text().replace('"primary_key"', '"relation": "seen_events", "primary_key"')
    catalog.write_text(text)
    assert check("events", catalog=catalog, spark=notebook).status is Status.CLEAN


def test_tables_of_several_zones_in_one_check(tmp_path: Path, spark: Any) -> None:
    new_york = "America/New_York"
    write_events(tmp_path, new_york)
    write_events(tmp_path, BERLIN, "calls")
    catalog = event_catalog(tmp_path, time_zone=new_york, overrides={"calls": BERLIN})
    result = run_check(CheckRequest(catalog=catalog), spark=spark)
    assert result.status is Status.CLEAN
    assert [table.table for table in result.tables] == ["events", "calls"]
    wrong = event_catalog(tmp_path, time_zone=BERLIN, overrides={"calls": new_york})
    other = run_check(CheckRequest(catalog=wrong, limit=130), spark=spark)
    by_index = {(o.index, sum(o.counts.values())) for t in other.tables for o in t.checks}
    assert by_index == {("by_day", 120), ("by_name", 0)}
    assert len(other.defects) == 130, "the limit is that of the whole run"
    everything = tmp_path / "all.jsonl"
    run_check(CheckRequest(catalog=wrong, all_defects=everything, limit=1), spark=spark)
    assert len(everything.read_text().splitlines()) == other.defects_total


def test_the_report_names_the_zone_where_it_mattered(tmp_path: Path, spark: Any) -> None:
    write_events(tmp_path, BERLIN)
    request = CheckRequest(catalog=event_catalog(tmp_path, time_zone=BERLIN))
    result = run_check(request, spark=spark)
    notes = {outcome.index: outcome.notes for outcome in result.outcomes}
    assert NOTE in notes["by_day"]
    assert not any("time zone" in note for note in notes["by_name"])
    for shown in (as_text.render(result), as_markdown.render(result), str(tables_record(result))):
        assert NOTE in shown
    (table,) = explain_check(request).tables
    assert [NOTE in index.notes for index in table.indexes] == [True, False]


def test_times_in_csv_are_of_the_table_s_zone(tmp_path: Path, spark: Any) -> None:
    """Text without a zone: the table's; with one, the instant it says."""
    at = moments(20)
    texts = [moment.astimezone(ZoneInfo(BERLIN)).strftime("%Y-%m-%d %H:%M:%S") for moment in at]
    rows = events(at)
    (tmp_path / "events").mkdir()
    (tmp_path / "events__by_day").mkdir()
    bare = rows.set_column(1, "at", pa.array(texts))
    pyarrow.csv.write_csv(bare, tmp_path / "events" / "0.csv")
    pyarrow.csv.write_csv(by_day(rows, BERLIN), tmp_path / "events__by_day" / "0.csv")
    store = {"kind": "spark", "format": "csv", "path": "."}
    catalog = event_catalog(tmp_path, {"by_day": BY_DAY}, time_zone=BERLIN, store=store)
    assert check("events", catalog=catalog, spark=spark).status is Status.CLEAN


def test_partition_values_are_utc_in_every_zone(tmp_path: Path, spark: Any) -> None:
    """A day alone, too: it was midnight of the session's zone to Spark, and of UTC to tasks."""
    rows = events(moments(3))
    for day in ("2024-03-01", "2024-03-02 05%3A00%3A00"):
        directory = tmp_path / "events" / f"at={day}"
        directory.mkdir(parents=True)
        pq.write_table(rows.drop_columns(["at"]), directory / "0.parquet")
    catalog = event_catalog(
        tmp_path, {}, time_zone=BERLIN, store={"kind": "spark", "format": "parquet", "path": "."}
    )
    loaded = load_catalog(catalog)
    table, store = loaded.tables["events"], open_store(loaded.stores["lake"])
    facts = store.pin(table.relation, None, lambda: spark, table.columns)
    with in_time_zone(spark, BERLIN) as session:
        frame = store.frame(session, facts, table.columns, facts.splits)
        found = {row[0] for row in frame.selectExpr("unix_seconds(at)").distinct().collect()}
    assert found == {1709251200, 1709355600}


def test_a_repair_over_a_borrowed_session_writes_the_catalog_s_days(
    tmp_path: Path, notebook: Any
) -> None:
    write_events(tmp_path, "Asia/Kathmandu")
    rows = events(moments(60))
    damaged = by_day(rows, "Asia/Kathmandu").slice(2)
    write_deltalake(str(tmp_path / "events__by_day"), damaged, mode="overwrite")
    catalog = event_catalog(tmp_path, time_zone="Asia/Kathmandu")
    report = execute_repair(RepairRequest(catalog=catalog, table="events"), spark=notebook)
    assert [done.outcome.value for done in report.done] == ["done"] * 2
    assert check("events", catalog=catalog, spark=notebook).status is Status.CLEAN
    assert notebook.conf.get(SETTING) == BERLIN


class Forbidding:
    """A session of a platform that lets nobody copy it."""

    def __init__(self, of_jvm: Any) -> None:
        self._of_jvm = of_jvm

    def __getattr__(self, name: str) -> Any:
        if name == "cloneSession":
            raise PermissionError("not on this platform")
        return getattr(self._of_jvm, name)


def test_what_depends_on_a_zone_that_cannot_be_had_is_incomplete_by_name(
    tmp_path: Path, notebook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_events(tmp_path)
    catalog = event_catalog(tmp_path)
    monkeypatch.setattr(notebook, "_jsparkSession", Forbidding(notebook._jsparkSession))
    request = CheckRequest(catalog=catalog, tables=("events",), engine=Engine.SQL)
    result = run_check(request, spark=notebook)
    outcomes = {outcome.index: outcome for outcome in result.outcomes}
    assert outcomes["by_name"].status is Status.CLEAN
    assert outcomes["by_day"].status is Status.INCOMPLETE
    assert "UTC in the catalog and Europe/Berlin" in (outcomes["by_day"].reason or "")
    assert f"set {SETTING} to UTC" in (outcomes["by_day"].reason or "")


def test_tasks_evaluate_in_the_catalog_s_zone_whatever_the_session_s(
    tmp_path: Path, notebook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where so much differs that Spark has to name it, its session must mean the same."""
    write_events(tmp_path)
    catalog = event_catalog(tmp_path)
    monkeypatch.setattr(notebook, "_jsparkSession", Forbidding(notebook._jsparkSession))
    assert check("events", catalog=catalog, spark=notebook).status is Status.CLEAN
    of_berlin = by_day(events(moments(60)), BERLIN)
    write_deltalake(str(tmp_path / "events__by_day"), of_berlin, mode="overwrite")
    result = check("events", catalog=catalog, spark=notebook)
    outcomes = {outcome.index: outcome for outcome in result.outcomes}
    assert outcomes["by_name"].status is Status.CLEAN
    assert "UTC in the catalog and Europe/Berlin" in (outcomes["by_day"].reason or "")
    assert "at least" in (outcomes["by_day"].reason or ""), "that it differs is certain"
    assert (outcomes["by_day"].defects, outcomes["by_day"].status) == (0, Status.DEFECTIVE)


def test_a_session_of_another_thread_is_borrowed_too(tmp_path: Path, spark: Any) -> None:
    """It is active in its own thread only; elsewhere it was changed, and stopped at the end."""
    write_events(tmp_path, BERLIN, count=5)
    before = dict(spark.conf.getAll)
    catalog = event_catalog(tmp_path, time_zone=BERLIN)
    with ThreadPoolExecutor(1) as other:
        assert other.submit(check, "events", catalog=catalog).result().status is Status.CLEAN
    assert dict(spark.conf.getAll) == before
    assert spark.range(3).count() == 3


def test_a_self_test_judges_copies_in_the_table_s_zone(tmp_path: Path, spark: Any) -> None:
    write_events(tmp_path, BERLIN)
    catalog = event_catalog(tmp_path, time_zone=BERLIN)
    result = run_selftest("events", catalog=catalog, rows=60, spark=spark)
    assert result.also_found == 0
    assert not any(result.unexpected.values())
