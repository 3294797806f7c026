# SPDX-License-Identifier: Apache-2.0
"""What a run promises beside its answer: no writes, one scan of the table, a session left alone."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from scrub.app import check, explain_check, run_check
from scrub.model.defect import DefectKind
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.result import Status
from tests.builders import (
    BY_CUSTOMER,
    ORDER_COLUMNS,
    delta_lake,
    entries_of,
    found,
    orders,
    parquet_lake,
    write_catalog,
)
from tests.small_session import adapting_plans

pytestmark = pytest.mark.spark

FOUR_INDEXES: dict[str, dict[str, Any]] = {
    "by_customer": BY_CUSTOMER,
    "by_status": {"columns": ["status"]},
    "open_orders": {"columns": ["customer_id"], "where": "status = 'open'", "nulls": "skip"},
    "by_both": {"columns": ["status", {"column": "customer_id", "order": "desc"}]},
}


def four_index_lake(directory: Path, rows: pa.Table) -> Path:
    write_deltalake(str(directory / "orders"), rows)
    narrow = rows.select(["customer_id", "id"])
    is_open = pa.compute.equal(rows.column("status"), "open")
    for name, entries in {
        "by_customer": entries_of(rows),
        "by_status": rows.select(["status", "id"]),
        "open_orders": narrow.filter(is_open),
        "by_both": rows.select(["status", "customer_id", "id"]),
    }.items():
        write_deltalake(str(directory / f"orders__{name}"), entries)
    return write_catalog(directory, FOUR_INDEXES)


def column_bytes(table: Path, columns: set[str]) -> int:
    """What the data files hold for these columns, compressed."""
    total = 0
    for uri in DeltaTable(str(table)).file_uris():
        metadata = pq.read_metadata(uri)
        for group in range(metadata.num_row_groups):
            for leaf in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(leaf)
                total += chunk.total_compressed_size if chunk.path_in_schema in columns else 0
    return total


def contents(directory: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("engine", [Engine.NATIVE, Engine.SQL])
def test_a_check_writes_nothing(tmp_path: Path, spark: Any, engine: Engine) -> None:
    rows = orders(100)
    catalog = delta_lake(tmp_path, rows, entries_of(rows).slice(3))
    before = contents(tmp_path)
    request = CheckRequest(catalog=catalog, engine=engine, settle_seconds=0.0)
    assert run_check(request, spark=spark).defects_total == 3
    assert contents(tmp_path) == before


def test_four_indexes_read_the_tables_bytes_once(tmp_path: Path, spark: Any) -> None:
    catalog = four_index_lake(tmp_path, orders(5_000))
    once = column_bytes(tmp_path / "orders", set(ORDER_COLUMNS))
    together = run_check(CheckRequest(catalog=catalog), spark=spark)
    assert together.status is Status.CLEAN
    assert together.tables[0].bytes_read == once
    apart = [
        run_check(CheckRequest(catalog=catalog, indexes=(name,)), spark=spark)
        for name in FOUR_INDEXES
    ]
    assert sum(result.tables[0].bytes_read or 0 for result in apart) > 2 * once


def test_fingerprints_alone_start_no_join(tmp_path: Path, spark: Any) -> None:
    rows = orders(500)
    clean = delta_lake(tmp_path, rows, entries_of(rows))
    phases: list[str] = []
    run_check(
        CheckRequest(catalog=clean), spark=spark, on_progress=lambda p: phases.append(p.phase)
    )
    assert "comparing fingerprints" in phases
    assert "naming defects" not in phases


@pytest.mark.parametrize("engine", [Engine.NATIVE, Engine.SQL])
def test_when_most_buckets_differ_everything_is_joined(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    rows = orders(200)
    wrong = entries_of(rows).set_column(2, "status", pa.array(["lost"] * 200))
    catalog = delta_lake(tmp_path, rows, wrong)
    result = run_check(CheckRequest(catalog=catalog, engine=engine, limit=500), spark=spark)
    assert found(result) == [("wrong_stored_value", number) for number in range(200)]
    assert result.outcomes[0].strategy == Strategy.MERGE


def test_the_limit_caps_what_is_shown_but_not_the_counts(tmp_path: Path, spark: Any) -> None:
    rows = orders(300)
    catalog = delta_lake(tmp_path, rows, entries_of(rows).slice(120))
    result = run_check(CheckRequest(catalog=catalog, limit=5), spark=spark)
    assert len(result.defects) == 5
    assert result.defects_total == 120


def test_a_notebook_s_session_is_borrowed_and_left_as_it_was(tmp_path: Path, spark: Any) -> None:
    rows = orders(50)
    catalog = delta_lake(tmp_path, rows, entries_of(rows))
    # Whoever asks for views first has Spark note where its warehouse is, as any notebook does.
    views_before = spark.sql("SHOW VIEWS").collect()
    before = dict(spark.sparkContext.getConf().getAll())
    assert check("orders", catalog=catalog).status is Status.CLEAN
    assert check("orders", catalog=catalog, spark=spark).status is Status.CLEAN
    assert spark.range(3).count() == 3
    assert dict(spark.sparkContext.getConf().getAll()) == before
    assert spark.sql("SHOW VIEWS").collect() == views_before
    assert not spark.getTags()
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None


def test_an_unreadable_part_leaves_undecided_what_it_could_explain(
    tmp_path: Path, spark: Any
) -> None:
    """A lost file of the table makes its entries look dangling: nothing is said about them."""
    rows = orders(400)
    catalog = parquet_lake(tmp_path, rows, entries_of(rows).slice(1), files=4)
    lost = tmp_path / "orders" / "003.parquet"
    lost.write_bytes(lost.read_bytes()[:100])
    for engine in (Engine.NATIVE, Engine.SQL):
        for strategy in (Strategy.AUTO, Strategy.MERGE):
            request = CheckRequest(catalog=catalog, engine=engine, strategy=strategy)
            result = run_check(request, spark=spark)
            (outcome,) = result.outcomes
            assert outcome.undecided == 100, (engine, strategy)
            assert found(result) == [("missing_secondary_index", 0)]
            assert "003.parquet" in (outcome.reason or "")
            assert outcome.status is Status.DEFECTIVE


def test_without_a_decided_defect_an_unread_part_is_incomplete(tmp_path: Path, spark: Any) -> None:
    rows = orders(400)
    catalog = parquet_lake(tmp_path, rows, entries_of(rows), files=4)
    (tmp_path / "orders__by_customer" / "000.parquet").write_bytes(b"not parquet")
    result = run_check(CheckRequest(catalog=catalog), spark=spark)
    assert result.status is Status.INCOMPLETE
    assert result.exit_code == 3
    assert result.outcomes[0].undecided == 100
    assert result.defects_total == 0


def test_explaining_starts_no_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = orders(10)
    catalog = delta_lake(tmp_path, rows, entries_of(rows))

    def refuse(*_: Any) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("scrub.spark.session.spark_session", refuse)
    plan = explain_check(CheckRequest(catalog=catalog))
    assert plan.tables[0].side.engine is Engine.NATIVE
    assert plan.tables[0].side.facts.rows == 10


def test_a_duplicate_row_is_one_defect_however_many_indexes_show_it(
    tmp_path: Path, spark: Any
) -> None:
    rows = orders(60)
    catalog = four_index_lake(tmp_path, rows)
    write_deltalake(str(tmp_path / "orders"), rows.slice(9, 1), mode="append")
    result = run_check(CheckRequest(catalog=catalog), spark=spark)
    assert found(result) == [("duplicate_primary_key", 9)]
    assert result.defects_total == 1


def test_joining_everything_finds_a_clean_table_clean_and_counts_it(
    tmp_path: Path, spark: Any
) -> None:
    """Observing the totals of an empty adaptive plan once failed inside Spark."""
    rows = orders(2_000)
    catalog = parquet_lake(tmp_path, rows, entries_of(rows), files=4)
    request = CheckRequest(catalog=catalog, strategy=Strategy.MERGE)
    with adapting_plans(spark):
        (outcome,) = run_check(request, spark=spark).outcomes
    assert outcome.status is Status.CLEAN
    assert (outcome.rows, outcome.entries) == (2_000, 2_000)


@pytest.mark.parametrize(
    "room",
    [
        "checks.task_sums.DRIVER_ROOM",
        "checks.columns.sifting.BYTES_MAX",
        "checks.columns.few_rows.ROWS_MAX",
    ],
)
def test_what_does_not_fit_on_the_driver_takes_the_long_way_to_the_same_answer(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch, room: str
) -> None:
    rows = orders(3_000)
    entries = entries_of(rows)
    catalog = delta_lake(tmp_path, rows, pa.concat_tables([entries.slice(1), entries.slice(2_998)]))
    request = CheckRequest(catalog=catalog, tables=("orders",))
    short = run_check(request, spark=spark)
    monkeypatch.setattr(room, 0)
    long = run_check(request, spark=spark)
    assert short.outcomes[0].counts == {
        DefectKind.MISSING: 1,
        DefectKind.DUPLICATE_ENTRY: 2,
    }
    assert found(long) == found(short)
    assert [o.counts for o in long.outcomes] == [o.counts for o in short.outcomes]


def test_an_empty_index_beside_a_small_table_lacks_every_entry(tmp_path: Path, spark: Any) -> None:
    rows = orders(2)
    catalog = parquet_lake(tmp_path, rows, entries_of(rows).slice(2), files=1)
    result = run_check(CheckRequest(catalog=catalog), spark=spark)
    assert found(result) == [(DefectKind.MISSING.value, 0), (DefectKind.MISSING.value, 1)]
