# SPDX-License-Identifier: Apache-2.0
"""A value that the physical check rejects proves nothing: its row's differences are undecided."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from deltalake import write_deltalake

from scrub.app import run_check
from scrub.codec.arrow_types import to_arrow
from scrub.codec.rejected import rejected_rows
from scrub.model.defect import DefectKind
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.result import RunResult, Status
from scrub.model.table import Column
from scrub.model.types import parse_type
from tests.builders import delta_lake, entries_of, found, orders, write_catalog
from tests.postgres_server import Database

pytestmark = pytest.mark.spark

NOT_NULL = {
    "id": "bigint",
    "customer_id": "bigint NOT NULL",
    "status": "string NOT NULL",
}
MISSING, DANGLING = DefectKind.MISSING, DefectKind.DANGLING
WAYS = [(Engine.NATIVE, Strategy.FINGERPRINT), (Engine.SQL, Strategy.MERGE)]


def changed(rows: pa.Table, column: str, values: dict[int, Any]) -> pa.Table:
    listed = rows.column(column).to_pylist()
    for position, value in values.items():
        listed[position] = value
    place = rows.column_names.index(column)
    return rows.set_column(place, column, pa.array(listed, rows.schema.field(column).type))


def check(catalog: Path, spark: Any, **more: Any) -> RunResult:
    return run_check(CheckRequest(catalog=catalog, checks=("index",), **more), spark=spark)


@pytest.mark.parametrize(("engine", "strategy"), WAYS)
def test_a_null_that_cannot_be_leaves_its_entries_undecided(
    tmp_path: Path, spark: Any, engine: Engine, strategy: Strategy
) -> None:
    sound = orders(300)
    rows = changed(sound, "status", {7: None, 250: None})  # two stored values that seem wrong
    rows = changed(rows, "customer_id", {20: None})  # an entry that seems missing, one dangling
    delta_lake(tmp_path, rows, entries_of(sound))
    catalog = write_catalog(tmp_path, columns=NOT_NULL)
    result = check(catalog, spark, engine=engine, strategy=strategy)
    (index,) = result.outcomes
    assert (index.status, index.counts, index.undecided) == (Status.INCOMPLETE, {}, 4)
    assert index.reason is not None
    assert "4 differences concern rows of orders with a value that its column" in index.reason
    assert result.exit_code == 3
    # Sound rows are judged as ever.
    write_deltalake(
        str(tmp_path / "orders__by_customer"), entries_of(sound).slice(1), mode="overwrite"
    )
    result = check(catalog, spark, engine=engine, strategy=strategy)
    (index,) = result.outcomes
    assert (index.status, index.counts, index.undecided) == (Status.DEFECTIVE, {MISSING: 1}, 4)
    assert found(result) == [("missing_secondary_index", 0)]
    assert result.exit_code == 1


def test_a_row_without_its_key_may_be_the_one_that_an_entry_lacks(
    tmp_path: Path, spark: Any
) -> None:
    sound = orders(300)
    rows = changed(sound, "id", {20: None})
    delta_lake(tmp_path, rows, entries_of(sound))
    (index,) = check(write_catalog(tmp_path), spark).outcomes
    assert (index.status, index.counts, index.undecided) == (Status.INCOMPLETE, {}, 2)


def test_rows_that_the_condition_of_an_index_loses_are_no_reason_to_delete(
    tmp_path: Path, spark: Any
) -> None:
    """The value that decides whether there is an entry may be the one that is lost."""
    sound = orders(300)
    index = {"columns": ["customer_id"], "where": "status = 'open'"}
    entries = entries_of(sound.filter(pa.compute.equal(sound["status"], "open")))
    rows = changed(sound, "status", {0: None})
    delta_lake(tmp_path, rows, entries.select(["customer_id", "id"]))
    catalog = write_catalog(tmp_path, {"by_customer": index}, NOT_NULL)
    (outcome,) = check(catalog, spark).outcomes
    assert (outcome.counts, outcome.undecided) == ({}, 1)


def test_a_damaged_column_that_an_index_does_not_use_changes_nothing(
    tmp_path: Path, spark: Any
) -> None:
    sound = orders(300)
    rows = changed(sound, "status", {7: None})
    delta_lake(tmp_path, rows, entries_of(sound.slice(0, 299)).drop_columns("status"))
    catalog = write_catalog(tmp_path, {"by_customer": {"columns": ["customer_id"]}}, NOT_NULL)
    (index,) = check(catalog, spark).outcomes
    assert (index.counts, index.undecided) == ({MISSING: 1}, 0)


def _bad_text() -> Any:
    return pa.Array.from_buffers(pa.string(), 2, pa.array([b"fine", b"a\xff"]).buffers())


DAMAGED: dict[str, Any] = {
    "string": _bad_text,
    "date": lambda: pa.array([0, 2_932_897], pa.int32()).cast(pa.date32()),
    "timestamp": lambda: pa.array([0, 253_402_300_800_000_000], pa.int64()).view(
        to_arrow(parse_type("timestamp"))
    ),
    "timestamp_ntz": lambda: pa.array([0, -62_135_596_800_000_001], pa.int64()).view(
        to_arrow(parse_type("timestamp_ntz"))
    ),
}


@pytest.mark.parametrize(
    ("kind", "engine"), [*((kind, Engine.NATIVE) for kind in DAMAGED), ("string", Engine.SQL)]
)
def test_values_that_are_none_of_their_type(
    tmp_path: Path, spark: Any, kind: str, engine: Engine
) -> None:
    values = DAMAGED[kind]()
    column = Column(name="v", type=parse_type(kind))
    assert list(rejected_rows(values, column)) == [1]
    ids = pa.array([1, 2], pa.int64())
    (tmp_path / "orders").mkdir()
    pq.write_table(pa.table({"id": ids, "v": values}), tmp_path / "orders" / "0.parquet")
    (tmp_path / "orders__by_v").mkdir()
    nothing = pa.table({"v": values[:0], "id": ids[:0]})
    pq.write_table(nothing, tmp_path / "orders__by_v" / "0.parquet")
    store = {"kind": "spark", "format": "parquet", "path": "."}
    columns = {"id": "bigint", "v": kind}
    catalog = write_catalog(tmp_path, {"by_v": {"columns": ["v"]}}, columns, store)
    (index,) = check(catalog, spark, engine=engine).outcomes
    assert (index.counts, index.undecided) == ({MISSING: 1}, 1), index.reason


@pytest.mark.parametrize(("engine", "strategy"), [("auto", "auto"), ("sql", "merge")])
def test_in_postgresql_the_catalog_may_know_more_of_null(
    database: Database, tmp_path: Path, spark: Any, engine: str, strategy: str
) -> None:
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status text)",
        "INSERT INTO orders SELECT i, i % 10, 'open' FROM generate_series(1, 200) i",
        "CREATE TABLE orders__by_customer AS SELECT customer_id, id, status FROM orders",
        "UPDATE orders SET customer_id = NULL WHERE id = 20",
        "UPDATE orders SET status = NULL WHERE id = 21",
        "DELETE FROM orders__by_customer WHERE id = 22",
    )
    store = {"kind": "postgres", "url": database.url}
    catalog = write_catalog(tmp_path, columns=NOT_NULL, store=store)
    result = check(catalog, spark, engine=Engine(engine), strategy=Strategy(strategy))
    (index,) = result.outcomes
    assert (index.counts, index.undecided) == ({MISSING: 1}, 3), index.reason
    assert found(result) == [("missing_secondary_index", 22)]
    # Where the catalog allows NULL, it is a value like any other.
    text = yaml.safe_load(catalog.read_text())
    for column in text["tables"]["orders"]["columns"].values():
        column["nullable"] = True
    catalog.write_text(yaml.safe_dump(text))
    (index,) = check(catalog, spark).outcomes
    assert (sum(index.counts.values()), index.undecided) == (4, 0)
