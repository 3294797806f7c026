# SPDX-License-Identifier: Apache-2.0
"""Parents of foreign keys: at another version, in another store, unreadable, or not there."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from scrub.model.request import AsOf, Engine
from scrub.model.result import RunResult, Status
from tests.checks.constraints import lakes
from tests.postgres_server import Database

pytestmark = pytest.mark.spark

CUSTOMERS = {"id": "bigint"}
ORDERS = {"id": "bigint", "customer": "int", "amount": "int"}
BOTH = [Engine.AUTO, Engine.SQL]


def tables(**stores: str) -> dict[str, Any]:
    orders = lakes.a_table(
        ORDERS,
        checks={"positive": "amount > 0"},
        foreign_keys={"customer": lakes.refers("customers", "customer")},
    )
    both = {"customers": lakes.a_table(CUSTOMERS), "orders": orders}
    return {name: of | {"store": stores.get(name, "lake")} for name, of in both.items()}


def write_orders(directory: Path) -> None:
    lakes.write_table(directory, "orders", ORDERS, (1, 1, 1), (2, 9, 1), (3, None, 1), (4, 2, -1))


def assert_undecided(result: RunResult, undecided: int) -> None:
    """Nothing is called violated, and nothing is called clean."""
    outcome = lakes.outcome_of(result, "customer")
    assert outcome.status is Status.INCOMPLETE
    assert outcome.undecided == undecided
    assert outcome.counts == {}
    assert "foreign_key_violation" not in {defect.kind.value for defect in result.defects}


@pytest.mark.parametrize("engine", BOTH)
def test_a_parent_that_cannot_be_read_leaves_rows_undecided(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    write_orders(tmp_path)
    lakes.write_table(tmp_path, "customers", CUSTOMERS, (1,), (2,), (3,))
    lakes.zero(tmp_path / "customers" / "1.parquet")
    catalog = lakes.write_catalog(tmp_path, tables())
    result = lakes.check(catalog, spark, "orders", engine=engine)
    assert_undecided(result, 1)
    reason = lakes.outcome_of(result, "customer").reason or ""
    assert reason.startswith("1 row refers to keys that may be in what was not read: 1 of 2 ")
    assert "customers/1.parquet" in reason
    assert lakes.found(result, "orders") == [("positive", 4)]  # what needs no parent is looked at
    alone = lakes.check(catalog, spark, "orders", engine=engine, constraints=("customer",))
    assert alone.exit_code == 3
    assert alone.defects == ()


@pytest.mark.parametrize("engine", BOTH)
def test_no_file_of_the_parent_can_be_read(tmp_path: Path, spark: Any, engine: Engine) -> None:
    write_orders(tmp_path)
    lakes.write_table(tmp_path, "customers", CUSTOMERS, (1,), (2,))
    catalog = lakes.write_catalog(tmp_path, tables())
    lakes.zero(tmp_path / "customers" / "0.parquet")
    result = lakes.check(catalog, spark, "orders", engine=engine, constraints=("customer",))
    assert result.exit_code == 3
    assert result.defects == ()


def test_a_parent_that_is_not_there_costs_one_constraint(tmp_path: Path, spark: Any) -> None:
    write_orders(tmp_path)
    result = lakes.check(lakes.write_catalog(tmp_path, tables()), spark, "orders")
    outcome = lakes.outcome_of(result, "customer")
    assert outcome.status is Status.INCOMPLETE
    assert "customers" in (outcome.reason or "")
    assert lakes.found(result, "orders") == [("positive", 4)]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, datetime]:
    """Orders, then their customers: version 0 of them lacks customer 2. And a time between."""
    directory = tmp_path_factory.mktemp("history")
    child = pa.table(
        {
            "id": pa.array([1, 2], pa.int64()),
            "customer": pa.array([1, 2], pa.int32()),
            "amount": pa.array([1, 1], pa.int32()),
        }
    )
    write_deltalake(str(directory / "orders"), child)
    write_deltalake(str(directory / "customers"), pa.table({"id": [1]}))
    time.sleep(0.02)
    between = datetime.now(UTC)
    time.sleep(0.02)
    write_deltalake(str(directory / "customers"), pa.table({"id": [2]}), mode="append")
    lakes.write_catalog(directory, tables(), {"lake": {"kind": "delta", "path": "."}})
    return directory / "scrub.yaml", between


def test_a_parent_newer_than_its_child_is_pinned_and_told(
    history: tuple[Path, datetime], spark: Any
) -> None:
    result = lakes.check(history[0], spark, "orders")
    assert result.exit_code == 0
    assert "refers to customers at version 1" in lakes.outcome_of(result, "customer").notes


def test_as_of_applies_to_the_parent(history: tuple[Path, datetime], spark: Any) -> None:
    catalog, between = history
    older = AsOf(relation="customers", version=0)
    for as_of in (older, AsOf(time=between)):
        for engine in BOTH if as_of is older else BOTH[:1]:
            result = lakes.check(catalog, spark, "orders", engine=engine, as_of=(as_of,))
            assert lakes.found(result, "orders") == [("customer", 2)]
            assert "refers to customers at version 0" in lakes.outcome_of(result, "customer").notes


def test_a_version_that_the_parent_does_not_have_is_no_violation(
    history: tuple[Path, datetime], spark: Any
) -> None:
    missing = AsOf(relation="customers", version=7)
    result = lakes.check(history[0], spark, "orders", as_of=(missing,))
    outcome = lakes.outcome_of(result, "customer")
    assert outcome.status is Status.INCOMPLETE
    assert "7" in (outcome.reason or "")
    assert (result.exit_code, result.defects) == (3, ())


@pytest.fixture(scope="module")
def shop(postgres_url: str) -> Any:
    from tests.postgres_server import new_database

    with new_database(postgres_url) as database:
        database.run(
            "CREATE TABLE customers (id bigint)",
            "INSERT INTO customers VALUES (1), (2), (2)",
            "CREATE TABLE orders (id bigint, customer int, amount int)",
            "INSERT INTO orders VALUES (1, 1, 1), (2, 9, 1), (3, NULL, 1), (4, 2, -1)",
        )
        yield database


@pytest.mark.parametrize("in_server", [("customers",), ("orders",), ("customers", "orders")])
def test_parent_and_child_may_live_in_different_stores(
    tmp_path: Path, spark: Any, shop: Database, in_server: tuple[str, ...]
) -> None:
    write_orders(tmp_path)
    lakes.write_table(tmp_path, "customers", CUSTOMERS, (1,), (2,), (2,))
    stores = lakes.FILES | {"shop": {"kind": "postgres", "url": shop.url}}
    catalog = lakes.write_catalog(tmp_path, tables(**dict.fromkeys(in_server, "shop")), stores)
    result = lakes.check(catalog, spark, "orders")
    assert lakes.found(result, "orders") == [("customer", 2), ("positive", 4)]
    assert not result.is_incomplete
    (orphan,) = (defect for defect in result.defects if defect.constraint == "customer")
    assert orphan.detail == "customer=9 refers to no row of customers"


def test_a_parent_of_another_store_that_cannot_be_reached_is_no_violation(
    tmp_path: Path, spark: Any
) -> None:
    write_orders(tmp_path)
    nowhere = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=1"
    stores = lakes.FILES | {"shop": {"kind": "postgres", "url": nowhere}}
    catalog = lakes.write_catalog(tmp_path, tables(customers="shop"), stores)
    result = lakes.check(catalog, spark, "orders", constraints=("customer",))
    assert (result.exit_code, result.defects) == (3, ())
