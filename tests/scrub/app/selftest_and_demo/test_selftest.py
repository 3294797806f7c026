# SPDX-License-Identifier: Apache-2.0
"""A self-test finds what it planted in a copy, and leaves the user's files as they are."""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from scrub.app.checking.tables import explain_check, run_check
from scrub.app.selftest_and_demo.copy_files import write_copies
from scrub.app.selftest_and_demo.faults import FAULTS, plant_all
from scrub.app.selftest_and_demo.sampling import sample_table
from scrub.app.selftest_and_demo.selftest import run_selftest
from scrub.app.selftest_and_demo.verdicts import EngineReport, trials, unexpected
from scrub.catalog import load_catalog
from scrub.errors import StoreUnavailable, UsageError
from scrub.model.request import CheckRequest
from scrub.stores.open import open_store
from tests.scrub.app.selftest_and_demo.test_faults import INDEXES, a_copy
from tests.ways import WAYS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = """\
version: 1
stores:
  lake: {kind: delta, path: ./my lake}
tables:
  orders:
    store: lake
    columns:
      id:     {type: bigint, nullable: false}
      e mail: {type: string}
      status: {type: string}
      amount: {type: "decimal(10,2)"}
      paid:   {type: timestamp}
    primary_key: [id]
    indexes:
      by_mail:
        columns: [{expr: "lower(`e mail`)", as: mail}]
        unique: true
        storing: [{expr: "amount * 2", as: double}, paid]
      open: {columns: [paid, {column: id, order: desc}], where: "status = 'open'", nulls: skip}
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    path = tmp_path / "scrub.yaml"
    path.write_text(CATALOG)
    return path


def write_orders(directory: Path, rows: int) -> None:
    amount = pa.array(range(rows), pa.int64()).cast(pa.decimal128(19, 0))
    orders = pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "e mail": pa.array([f"Name{n}@Example.org" for n in range(rows)], pa.string()),
            "status": pa.array([("open", "paid", None)[n % 3] for n in range(rows)], pa.string()),
            "amount": amount.cast(pa.decimal128(10, 2), safe=False),
            "paid": pa.array(
                [n * 1_000_001 if n % 4 else None for n in range(rows)], pa.timestamp("us", "UTC")
            ),
        }
    )
    twice = pa.array(range(0, 2 * rows, 2), pa.int64()).cast(pa.decimal128(21, 2), safe=False)
    by_mail = pa.table(
        {
            "mail": pa.compute.utf8_lower(orders["e mail"]),
            "id": orders["id"],
            "double": twice,
            "paid": orders["paid"],
        }
    )
    is_open = pa.compute.equal(orders["status"], "open")
    covered = pa.compute.and_(is_open.fill_null(False), orders["paid"].is_valid())
    write_deltalake(directory / "orders", orders)
    write_deltalake(directory / "orders__by_mail", by_mail)
    write_deltalake(directory / "orders__open", orders.filter(covered).select(["paid", "id"]))


def digest_of(directory: Path) -> str:
    digest = sha256()
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


@pytest.mark.spark
def test_every_fault_is_found_in_every_way(
    spark: "SparkSession", catalog: Path, tmp_path: Path
) -> None:
    write_orders(tmp_path / "my lake", 300)
    before = digest_of(tmp_path / "my lake")
    keep = tmp_path / "kept"
    result = run_selftest("orders", catalog=catalog, rows=1000, keep=keep, spark=spark)
    assert (result.exit_code, result.not_tried, result.also_found) == (0, (), 0)
    assert (result.rows, result.rows_total) == (300, 300)
    assert result.engines[-1] == "merge"
    assert "sql" in result.engines
    assert {trial.fault for trial in result.trials} == {fault.name for fault in FAULTS}
    assert not any(result.unexpected.values())
    assert digest_of(tmp_path / "my lake") == before
    assert load_catalog(keep / "planted" / "scrub.yaml").tables["orders_1"].index("open").where


@pytest.mark.spark
def test_a_sample_takes_the_same_rows_of_table_and_indexes(
    spark: "SparkSession", catalog: Path, tmp_path: Path
) -> None:
    write_orders(tmp_path / "my lake", 3000)
    stores = {name: open_store(store) for name, store in load_catalog(catalog).stores.items()}
    (plan,) = explain_check(CheckRequest(catalog=catalog), spark=spark).tables
    sample = sample_table(plan, stores, spark, 500)
    chosen = set(sample.copy.rows["id"].to_pylist())
    covered = {n for n in chosen if n % 3 == 0 and n % 4}
    assert 400 < len(chosen) <= 500
    assert sample.rows_total == 3000
    assert set(sample.copy.entries["by_mail"]["id"].to_pylist()) == chosen
    assert set(sample.copy.entries["open"]["id"].to_pylist()) == covered
    again = sample_table(plan, stores, spark, 500)
    assert set(again.copy.rows["id"].to_pylist()) == chosen


@pytest.mark.spark
def test_defects_of_the_user_are_told_apart_from_those_planted(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Plain columns only, so that the native engine reads everything."""
    (faulty, *_), _ = plant_all(a_copy(200), INDEXES, seed=1)
    catalog = write_copies([faulty.copy], tmp_path)
    result = run_selftest(faulty.copy.table.name, catalog=catalog, rows=1000, spark=spark)
    assert result.engines == tuple(way.name for way in WAYS)
    assert all(set(trial.found.values()) == {trial.planted} for trial in result.trials)
    assert result.also_found == sum(len(fault.expected) for fault in faulty.faults)
    assert result.exit_code == 0
    assert not any(result.unexpected.values())


@pytest.mark.spark
def test_an_empty_table_proves_nothing(
    spark: "SparkSession", catalog: Path, tmp_path: Path
) -> None:
    write_orders(tmp_path / "my lake", 0)
    result = run_selftest("orders", catalog=catalog, rows=1000, spark=spark)
    assert (result.exit_code, result.trials) == (3, ())


@pytest.mark.spark
def test_a_file_that_cannot_be_read_is_named(
    spark: "SparkSession", catalog: Path, tmp_path: Path
) -> None:
    write_orders(tmp_path / "my lake", 50)
    (file,) = (tmp_path / "my lake" / "orders__open").glob("*.parquet")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(StoreUnavailable, match="orders cannot be copied"):
        run_selftest("orders", catalog=catalog, rows=1000, spark=spark)


def test_mistakes_are_answered_without_spark(catalog: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no table order"):
        run_selftest("order", catalog=catalog, rows=10)
    with pytest.raises(UsageError, match="not empty"):
        run_selftest("orders", catalog=catalog, rows=10, keep=tmp_path)


def test_a_catalog_of_copies_keeps_every_definition(tmp_path: Path) -> None:
    copy = a_copy(10)
    loaded = load_catalog(write_copies([copy], tmp_path)).tables["orders"]
    assert loaded.primary_key == copy.table.primary_key
    for index, original in zip(loaded.indexes, copy.table.indexes, strict=True):
        assert (index.key, index.suffix, index.stored) == (
            original.key,
            original.suffix,
            original.stored,
        )
        assert (index.unique, index.where, index.nulls) == (
            original.unique,
            original.where,
            original.nulls,
        )


@pytest.mark.spark
def test_the_copies_can_be_checked_with_every_strategy(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """The faults as a suite of its own: fingerprints and the full join report the same."""
    copies, _ = plant_all(a_copy(), INDEXES, seed=11)
    catalog = write_copies([each.copy for each in copies], tmp_path)
    for strategy in ("fingerprint", "merge"):
        result = run_check(CheckRequest(catalog=catalog, strategy=strategy), spark=spark)
        report = EngineReport.of(result, [each.copy.table for each in copies])
        assert all(trial.passed for trial in trials(copies, {strategy: report}))
        assert not unexpected(copies, report, EngineReport())
