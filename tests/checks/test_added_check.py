# SPDX-License-Identifier: Apache-2.0
"""A check that is one file and one line of the registry gets all that the others have."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from checks import registry
from checks.parts import JobSize
from reports.as_text import render_plan
from scrub.app import explain_check, run_check
from scrub.model.defect import DefectKind
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.result import RunResult, Status
from tests.builders import delta_lake, entries_of, found, orders, parquet_lake, write_catalog
from tests.checks.made_up_check import DEAREST, BrokenCheck, DearestCheck
from tests.checks.pairs import pair_ground
from tests.postgres_server import Database

pytestmark = pytest.mark.spark

TOO_DEAR = [number for number in range(300) if number % 100 > DEAREST]
EVERY_CHECK = ("index", "physical", "dearest")


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "CHECKS", (*registry.CHECKS, DearestCheck()))


def check(catalog: Path, spark: Any, *checks: str, **more: Any) -> RunResult:
    request = CheckRequest(catalog=catalog, checks=checks or EVERY_CHECK, **more)
    return run_check(request, spark=spark)


@pytest.mark.parametrize("engine", [Engine.NATIVE, Engine.SQL])
@pytest.mark.parametrize("strategy", [Strategy.FINGERPRINT, Strategy.MERGE])
def test_it_counts_and_names_in_the_same_scan(
    tmp_path: Path, spark: Any, engine: Engine, strategy: Strategy
) -> None:
    catalog = delta_lake(tmp_path, orders(300), entries_of(orders(300)).slice(1))
    result = check(catalog, spark, engine=engine, strategy=strategy)
    physical, dearest, index = result.outcomes
    assert [of.check for of in result.outcomes] == ["physical", "dearest", "index"]
    assert (physical.status, physical.rows) == (Status.CLEAN, 300)
    assert dearest.counts == {DefectKind.INVALID_ENCODING: len(TOO_DEAR)}
    assert index.counts == {DefectKind.MISSING: 1}
    assert found(result) == [
        *(("invalid_encoding", number) for number in TOO_DEAR),
        ("missing_secondary_index", 0),
    ]
    details = {d.detail for d in result.defects if d.kind is DefectKind.INVALID_ENCODING}
    assert details == {f"customer_id is more than {DEAREST}"}


def test_alone_it_reads_its_columns_only_and_where_limits_it(tmp_path: Path, spark: Any) -> None:
    catalog = delta_lake(tmp_path, orders(300), entries_of(orders(300)))
    plan = explain_check(CheckRequest(catalog=catalog, checks=("dearest",)))
    assert [(of.check, of.columns) for of in plan.tables[0].whole] == [
        ("dearest", ("id", "customer_id"))
    ]
    assert "columns id, customer_id for the dearest check" in render_plan(plan)
    result = check(catalog, spark, "dearest", where="id < 100")
    (outcome,) = result.outcomes
    assert (outcome.rows, outcome.counts) == (100, {DefectKind.INVALID_ENCODING: 9})
    everything = check(catalog, spark, "physical")
    assert (result.tables[0].bytes_read or 0) < (everything.tables[0].bytes_read or 0)


@pytest.mark.parametrize("engine", [Engine.NATIVE, Engine.SQL])
def test_a_file_that_cannot_be_read_leaves_it_incomplete(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    catalog = parquet_lake(tmp_path, orders(300), entries_of(orders(300)), files=3)
    (tmp_path / "orders" / "001.parquet").write_bytes(b"PAR1 no more PAR1")
    result = check(catalog, spark, "dearest", engine=engine)
    (outcome,) = result.outcomes
    assert outcome.status is Status.DEFECTIVE
    assert outcome.is_incomplete
    assert "001.parquet" in (outcome.reason or "")


def test_a_column_of_another_type_is_refused_since_the_check_does_not_judge_types(
    tmp_path: Path, spark: Any
) -> None:
    rows = orders(300)
    text = rows.column("customer_id").cast(pa.string())
    catalog = parquet_lake(
        tmp_path, rows.set_column(1, "customer_id", text), entries_of(rows), files=1
    )
    (outcome,) = check(catalog, spark, "physical", "dearest").outcomes[1:]
    assert (outcome.check, outcome.status) == ("dearest", Status.INCOMPLETE)
    assert "is stored as string, the catalog says bigint" in (outcome.reason or "")


def test_one_file_of_another_type_costs_it_that_file_only(tmp_path: Path, spark: Any) -> None:
    rows = orders(300)
    catalog = parquet_lake(tmp_path, rows, entries_of(rows), files=3)
    text = rows.column("customer_id").cast(pa.string())
    odd = rows.set_column(1, "customer_id", text).slice(100, 100)
    pq.write_table(odd, tmp_path / "orders" / "001.parquet")
    physical, dearest = check(catalog, spark, "physical", "dearest").outcomes
    assert physical.counts == {DefectKind.INVALID_ENCODING: 1}
    assert dearest.counts == {DefectKind.INVALID_ENCODING: 18}
    assert dearest.is_incomplete


def test_it_resumes_with_the_others(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "lake").mkdir()
    catalog = delta_lake(tmp_path / "lake", orders(150), entries_of(orders(300)))
    write_deltalake(str(tmp_path / "lake" / "orders"), orders(300).slice(150), mode="append")
    request = CheckRequest(catalog=catalog, checks=EVERY_CHECK)
    small = JobSize(first_job_rows=1, job_seconds=0.0)
    phases: list[str] = []

    class Stop(Exception):
        pass

    def interrupt(progress: Any) -> None:
        phases.append(progress.phase)
        if progress.rows_done >= 300:
            raise Stop

    with pytest.raises(Stop):
        run_check(request, spark=spark, on_progress=interrupt, job_size=small)
    result = run_check(request, spark=spark, job_size=small)
    assert [of.status for of in result.outcomes] == [Status.CLEAN, Status.DEFECTIVE, Status.CLEAN]
    assert result.outcomes[1].counts == {DefectKind.INVALID_ENCODING: len(TOO_DEAR)}
    assert any("resumed" in note for note in result.outcomes[1].notes)


def test_where_only_a_server_reads_spark_counts(
    spark: Any, tmp_path: Path, database: Database
) -> None:
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status text)",
        "INSERT INTO orders SELECT i, i, 'open' FROM generate_series(1, 95) i",
    )
    catalog = write_catalog(tmp_path, {}, store={"kind": "postgres", "url": database.url})
    (outcome,) = check(catalog, spark, "dearest").outcomes
    assert (outcome.engine, outcome.rows) == ("sql", 95)
    assert outcome.counts == {DefectKind.INVALID_ENCODING: 5}


def test_a_look_that_raises_costs_its_own_check_and_tells_no_value(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "CHECKS", (registry.INDEX, registry.PHYSICAL, BrokenCheck()))
    catalog = delta_lake(tmp_path, orders(30), entries_of(orders(30)))
    physical, dearest, index = check(catalog, spark).outcomes
    assert (physical.status, index.status) == (Status.CLEAN, Status.CLEAN)
    assert dearest.status is Status.INCOMPLETE
    assert "the check raises ValueError in made_up_check.py, line " in (dearest.reason or "")
    assert "secret" not in (dearest.reason or "")


def test_a_table_without_the_column_is_not_applicable(tmp_path: Path, spark: Any) -> None:
    rows = orders(30).drop_columns(["customer_id"])
    write_deltalake(str(tmp_path / "orders"), rows)
    catalog = write_catalog(tmp_path, {}, {"id": "bigint", "status": "string"})
    (outcome,) = check(catalog, spark, "dearest").outcomes
    assert outcome.status is Status.NOT_APPLICABLE
    assert outcome.reason == "no column of the table concerns it"


def test_pairs_are_not_applicable_by_name(tmp_path: Path, spark: Any) -> None:
    catalog = pair_ground.write_catalog(tmp_path, pair_ground.ONE_FAMILY)
    pair_ground.write_pairs(tmp_path, pair_ground.all_pairs(pair_ground.table_of(catalog), 20))
    result = check(catalog, spark, "physical", "dearest", tables=("pairs",))
    outcomes = {of.check: of for of in result.outcomes}
    assert outcomes["physical"].status is Status.CLEAN
    assert outcomes["dearest"].status is Status.NOT_APPLICABLE
    assert outcomes["dearest"].reason == "it is for tables of columns"
    (alone,) = check(catalog, spark, "dearest", tables=("pairs",)).outcomes
    assert alone.status is Status.NOT_APPLICABLE
