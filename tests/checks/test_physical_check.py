# SPDX-License-Identifier: Apache-2.0
"""The physical check of tables of columns, through Spark: what is found, named and counted."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from checks.parts import JobSize
from reports import as_json, as_text
from scrub.app import explain_check, run_check
from scrub.model.defect import DefectKind
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.result import RunResult, Status
from tests.builders import delta_lake, entries_of, found, orders, parquet_lake, write_catalog

pytestmark = pytest.mark.spark

PARQUET = {"kind": "spark", "format": "parquet", "path": "."}
NOT_NULL = {"id": "bigint", "customer_id": "bigint", "status": "string NOT NULL"}
ENGINES = [Engine.NATIVE, Engine.SQL]
NULL, INVALID = DefectKind.NULL_VIOLATION, DefectKind.INVALID_ENCODING


def with_nulls(rows: pa.Table, column: str, *positions: int) -> pa.Table:
    values = rows.column(column).to_pylist()
    for position in positions:
        values[position] = None
    place = rows.column_names.index(column)
    return rows.set_column(place, column, pa.array(values, rows.schema.field(column).type))


def strings(*values: bytes) -> Any:
    """Strings that nobody looked at."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values).buffers())


def parquet_table(directory: Path, columns: dict[str, str], *files: pa.Table) -> Path:
    """A table `orders` without indexes."""
    (directory / "orders").mkdir()
    for number, rows in enumerate(files):
        pq.write_table(rows, directory / "orders" / f"{number:03}.parquet")
    return write_catalog(directory, {}, columns, PARQUET)


def check(catalog: Path, spark: Any, *checks: str, **more: Any) -> RunResult:
    request = CheckRequest(catalog=catalog, checks=checks or ("physical",), **more)
    return run_check(request, spark=spark)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("strategy", [Strategy.FINGERPRINT, Strategy.MERGE])
def test_nulls_are_named_beside_what_the_index_check_finds(
    tmp_path: Path, spark: Any, engine: Engine, strategy: Strategy
) -> None:
    rows = with_nulls(orders(300), "status", 7, 250)
    delta_lake(tmp_path, rows, entries_of(rows).slice(1))
    catalog = write_catalog(tmp_path, columns=NOT_NULL)
    result = check(catalog, spark, "index", "physical", engine=engine, strategy=strategy)
    physical, index = result.outcomes
    assert (physical.check, physical.index, physical.status) == ("physical", None, Status.DEFECTIVE)
    assert (physical.rows, physical.entries, physical.counts) == (300, None, {NULL: 2})
    assert index.counts == {DefectKind.MISSING: 1}
    assert found(result) == [
        ("missing_secondary_index", 0),
        ("null_violation", 7),
        ("null_violation", 250),
    ]
    assert result.exit_code == 1
    alone = check(catalog, spark, "index", engine=engine, strategy=strategy)
    assert alone.outcomes == (index,)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_clean_table_is_clean(tmp_path: Path, spark: Any, engine: Engine) -> None:
    delta_lake(tmp_path, orders(300), entries_of(orders(300)))
    result = check(write_catalog(tmp_path, columns=NOT_NULL), spark, engine=engine)
    (outcome,) = result.outcomes
    assert (result.status, outcome.rows, result.exit_code) == (Status.CLEAN, 300, 0)
    assert bool(outcome.notes) == (engine is Engine.SQL)


def test_unless_it_is_asked_for_no_more_is_read_and_nothing_is_said(
    tmp_path: Path, spark: Any
) -> None:
    rows = orders(300).append_column("note", pa.array([f"note {n}" for n in range(300)]))
    delta_lake(tmp_path, rows, entries_of(rows))
    catalog = write_catalog(tmp_path, columns=NOT_NULL | {"note": "string"})
    usual = run_check(CheckRequest(catalog=catalog), spark=spark)
    index = check(catalog, spark, "index")
    both = check(catalog, spark, "index", "physical")
    looked_at = [outcome for outcome in usual.outcomes if outcome.constraint is None]
    assert looked_at == list(index.outcomes)
    assert usual.tables[0].bytes_read == index.tables[0].bytes_read
    assert (both.tables[0].bytes_read or 0) > (usual.tables[0].bytes_read or 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_primary_key_is_never_null_whatever_the_catalog_says(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    rows = with_nulls(orders(20), "id", 3, 4)
    catalog = parquet_table(tmp_path, NOT_NULL, rows)
    result = check(catalog, spark, engine=engine)
    assert result.outcomes[0].counts == {NULL: 2}
    assert [defect.primary_key for defect in result.defects] == [{"id": None}] * 2
    if engine is Engine.NATIVE:  # where the key does not tell which row it is, its place does
        assert [(d.file or "").rpartition("/")[2] for d in result.defects] == [
            "000.parquet, row 4",
            "000.parquet, row 5",
        ]
        assert len({defect.id for defect in result.defects}) == 2


def test_a_table_without_indexes_and_without_its_index_s_relation(
    tmp_path: Path, spark: Any
) -> None:
    write_deltalake(str(tmp_path / "orders"), orders(10))
    catalog = write_catalog(tmp_path, columns=NOT_NULL)  # by_customer is not there
    plan = explain_check(CheckRequest(catalog=catalog, checks=("physical",)))
    assert [table.indexes for table in plan.tables] == [()]
    assert check(catalog, spark).status is Status.CLEAN
    catalog = write_catalog(tmp_path, {}, NOT_NULL)
    assert check(catalog, spark).status is Status.CLEAN
    index, physical = sorted(check(catalog, spark, "index", "physical").outcomes, key=str)
    assert {index.status, physical.status} == {Status.NOT_APPLICABLE, Status.CLEAN}


def test_values_that_do_not_fit(tmp_path: Path, spark: Any) -> None:
    wide = pa.array([Decimal("1.00"), Decimal("12345.00"), Decimal("2.00")], pa.decimal128(10, 2))
    rows = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int64()),
            "name": strings(b"good", b"also", b"b\xffd"),
            "amount": pa.Array.from_buffers(pa.decimal128(5, 2), 3, wide.buffers()),
            "day": pa.array([10_000_000, 0, 1], pa.int32()).cast(pa.date32()),
            "at": pa.array([0, 1, -(2**62)], pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        }
    )
    columns = {"id": "bigint", "name": "string", "amount": "decimal(5,2)", "day": "date"}
    catalog = parquet_table(tmp_path, columns | {"at": "timestamp"}, rows)
    result = check(catalog, spark)
    assert result.outcomes[0].counts == {INVALID: 4}
    assert [(d.primary_key, d.column) for d in result.defects] == [
        ({"id": 1}, "day"),
        ({"id": 2}, "amount"),
        ({"id": 3}, "at"),
        ({"id": 3}, "name"),
    ]
    assert "12345.00" in result.defects[1].detail
    assert result.defects[3].value_hex == "62ff64"
    assert [d.id for d in check(catalog, spark).defects] == [d.id for d in result.defects]
    assert len({d.id for d in result.defects}) == 4
    for report in (as_json.render(result, redact=True), as_text.render(result, redact=True)):
        assert "amount" in report
        assert not any(value in report for value in ("12345", "62ff64", "ff64", "10000000"))
    assert "12345.00" in as_text.render(result)


def test_a_file_of_another_type_is_a_defect_and_leaves_the_index_check_incomplete(
    tmp_path: Path, spark: Any
) -> None:
    rows = orders(400)
    parquet_lake(tmp_path, rows, entries_of(rows), files=4)
    catalog = write_catalog(tmp_path, columns=NOT_NULL, store=PARQUET)
    odd = tmp_path / "orders" / "002.parquet"
    table = pq.read_table(odd)
    pq.write_table(table.set_column(1, "customer_id", table["customer_id"].cast("string")), odd)
    (before,) = check(catalog, spark, "index").outcomes
    result = check(catalog, spark, "index", "physical")
    physical, index = result.outcomes
    assert replace(index, snapshot=None) == replace(before, snapshot=None)
    assert (index.status, index.undecided) == (Status.INCOMPLETE, 100)
    assert (physical.status, physical.reason, physical.rows) == (Status.DEFECTIVE, None, 400)
    (defect,) = result.defects
    assert (defect.kind, defect.column, defect.file) == (INVALID, "customer_id", str(odd))
    assert defect.detail == f"column customer_id is stored as string, not bigint, in {odd}"
    by_spark = check(catalog, spark, engine=Engine.SQL)
    assert by_spark.exit_code == 3
    assert "002.parquet" in (by_spark.outcomes[0].reason or "")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_relation_of_another_type_is_a_defect(tmp_path: Path, spark: Any, engine: Engine) -> None:
    rows = with_nulls(orders(20), "customer_id", 5)
    columns = NOT_NULL | {"customer_id": "bigint NOT NULL", "status": "int"}
    catalog = parquet_table(tmp_path, columns, rows.slice(0, 10), rows.slice(10))
    result = check(catalog, spark, engine=engine)
    expected = 2 if engine is Engine.NATIVE else 1  # Spark tells of the relation, not of its files
    assert result.outcomes[0].counts == {INVALID: expected, NULL: 1}
    assert {d.column for d in result.defects} == {"status", "customer_id"}
    assert result.outcomes[0].rows == 20


@pytest.mark.parametrize("engine", ENGINES)
def test_an_unreadable_file_is_named_and_the_check_incomplete(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    rows = orders(400)
    files = [rows.slice(start, 100) for start in range(0, 400, 100)]
    catalog = parquet_table(tmp_path, NOT_NULL, *files)
    lost = tmp_path / "orders" / "003.parquet"
    lost.write_bytes(lost.read_bytes()[:100])
    result = check(catalog, spark, engine=engine)
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.rows, result.exit_code) == (Status.INCOMPLETE, 300, 3)
    assert "1 of 4 parts" in (outcome.reason or "")
    assert "003.parquet" in (outcome.reason or "")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_limit_caps_what_is_named_but_not_the_counts(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    rows = with_nulls(orders(300), "status", *range(100, 220))
    catalog = parquet_table(tmp_path, NOT_NULL, rows.slice(0, 150), rows.slice(150))
    everything = tmp_path / "all.jsonl"
    result = check(catalog, spark, engine=engine, limit=5, all_defects=everything)
    assert found(result) == [("null_violation", number) for number in range(100, 105)]
    assert result.outcomes[0].counts == {NULL: 120}
    written = [json.loads(line) for line in everything.read_text().splitlines()]
    assert sorted(line["primary_key"]["id"] for line in written) == list(range(100, 220))
    assert len({line["id"] for line in written}) == 120
    assert check(catalog, spark, engine=engine, limit=0).defects == ()
    across = check(catalog, spark, engine=engine, limit=60)
    assert found(across) == [("null_violation", number) for number in range(100, 160)]


@pytest.mark.parametrize("engine", ENGINES)
def test_where_limits_the_rows_and_says_so(tmp_path: Path, spark: Any, engine: Engine) -> None:
    rows = with_nulls(orders(300), "status", 10, 250)
    delta_lake(tmp_path, rows, entries_of(rows))
    catalog = write_catalog(tmp_path, columns=NOT_NULL)
    result = check(catalog, spark, "index", "physical", engine=engine, where="id < 200")
    physical = result.outcomes[0]
    assert (physical.rows, physical.counts) == (200, {NULL: 1})
    assert "only rows where id < 200" in physical.notes
    assert found(result) == [("null_violation", 10)]


def test_where_may_speak_of_columns_that_identify_no_entry(tmp_path: Path, spark: Any) -> None:
    rows = with_nulls(orders(30), "customer_id", 0, 1)
    delta_lake(tmp_path, rows, entries_of(rows))
    catalog = write_catalog(tmp_path, columns=NOT_NULL | {"customer_id": "bigint NOT NULL"})
    result = check(catalog, spark, "index", "physical", where="status = 'open'")
    assert {o.check: o.status for o in result.outcomes} == {
        "physical": Status.DEFECTIVE,
        "index": Status.CLEAN,
    }
    assert found(result) == [("null_violation", 0)]


def test_a_resumed_check_has_lost_nothing(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    rows = with_nulls(orders(600), "status", *range(0, 600, 50))
    parquet_lake(tmp_path, rows, entries_of(rows), files=6)
    catalog = write_catalog(tmp_path, columns=NOT_NULL, store=PARQUET)
    request = CheckRequest(catalog=catalog, checks=("index", "physical"))
    steps: set[int] = set()

    def crash(progress: Any) -> None:
        steps.add(progress.rows_done)
        if len(steps) > 4:
            raise RuntimeError("the machine went away")

    job_size = JobSize(first_job_rows=1, job_seconds=0.0)
    with pytest.raises(RuntimeError, match="went away"):
        run_check(request, spark=spark, on_progress=crash, job_size=job_size)
    index_alone = check(catalog, spark, "index")
    assert not any(note.startswith("resumed") for note in index_alone.outcomes[0].notes)
    result = run_check(request, spark=spark, job_size=job_size)
    physical = result.outcomes[0]
    assert any(note.startswith("resumed") for note in physical.notes)
    assert (physical.rows, physical.counts) == (600, {NULL: 12})
    assert found(result) == [("null_violation", number) for number in range(0, 600, 50)]


def test_the_json_result_has_the_same_shape_as_for_pairs(tmp_path: Path, spark: Any) -> None:
    catalog = parquet_table(tmp_path, NOT_NULL, with_nulls(orders(9), "status", 4))
    document = json.loads(as_json.render(check(catalog, spark)))
    (outcome,) = document["tables"][0]["checks"]
    assert (outcome["check"], outcome["index"], outcome["status"]) == (
        "physical",
        None,
        "defective",
    )
    assert (outcome["rows"], outcome["entries"]) == (9, None)
    assert outcome["counts"] == {"null_violation": 1}
    (defect,) = document["defects"]
    assert (defect["primary_key"], defect["index"], defect["column"]) == ({"id": 4}, None, "status")
    assert defect["detail"] == "column status is NULL, which the catalog does not allow"
