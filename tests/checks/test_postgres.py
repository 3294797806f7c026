# SPDX-License-Identifier: Apache-2.0
"""Checks of tables and index tables in PostgreSQL, and between PostgreSQL and a lake."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from deltalake import write_deltalake

from scrub.app import check
from scrub.model.result import RunResult, Status
from tests.postgres_server import Database

pytestmark = pytest.mark.spark

ENTRIES = {
    "by_customer": "SELECT customer_id, id, status FROM orders",
    "open_orders": "SELECT customer_id, id FROM orders WHERE status = 'open'",
    "by_email": "SELECT email, id FROM orders WHERE email IS NOT NULL",
}
INDEXES: dict[str, Any] = {
    "by_customer": {"columns": ["customer_id"], "storing": ["status"]},
    "open_orders": {"columns": ["customer_id"], "where": "status = 'open'"},
    "by_email": {"columns": ["email"], "unique": True, "nulls": "skip"},
}
COLUMNS = {
    "id": {"type": "bigint", "nullable": False},
    "customer_id": {"type": "int"},
    "email": {"type": "string"},
    "status": {"type": "string"},
    "amount": {"type": "decimal(10,2)"},
}


@pytest.fixture
def shop(database: Database) -> Database:
    """Orders with three index tables, all in order."""
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id int, email varchar(40),"
        " status text, amount numeric(10,2))",
        "INSERT INTO orders SELECT i, nullif(i % 7, 3), CASE WHEN i % 5 > 0 THEN i || '@x' END,"
        " (ARRAY['open', 'paid', 'sent'])[1 + i % 3], i / 8.0 FROM generate_series(1, 500) i",
        *(f"CREATE TABLE orders__{name} AS {query}" for name, query in ENTRIES.items()),
    )
    return database


def catalog_of(directory: Path, database: Database, stores: dict[str, str] | None = None) -> Path:
    """A catalog in which each of `stores` is in the lake instead."""
    in_lake = stores or {}
    indexes = {
        name: of | ({"store": in_lake[name]} if name in in_lake else {"store": "shop"})
        for name, of in INDEXES.items()
    }
    table = {
        "store": in_lake.get("orders", "shop"),
        "columns": COLUMNS,
        "primary_key": ["id"],
        "indexes": indexes,
    }
    content = {
        "version": 1,
        "stores": {
            "shop": {"kind": "postgres", "url": database.url},
            "lake": {"kind": "delta", "path": str(directory / "lake")},
        },
        "tables": {"orders": table},
    }
    path = directory / "scrub.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def found(result: RunResult) -> set[tuple[str, str | None, tuple[Any, ...]]]:
    return {
        (defect.kind.value, defect.index, tuple((defect.primary_key or {}).values()))
        for defect in result.defects
    }


def plant(database: Database) -> set[tuple[str, str | None, tuple[Any, ...]]]:
    database.run(
        "DELETE FROM orders__by_customer WHERE id = 10",
        "INSERT INTO orders__by_customer VALUES (1, 9999, 'open')",
        "UPDATE orders__by_customer SET status = 'lost' WHERE id = 20",
        "UPDATE orders__by_customer SET customer_id = 6 WHERE id = 22",
        "INSERT INTO orders__by_customer SELECT * FROM orders__by_customer WHERE id = 30",
        "DELETE FROM orders__open_orders WHERE id = 3",
        "INSERT INTO orders__open_orders VALUES (1, 1)",
        "UPDATE orders SET email = '41@x' WHERE id = 42",
    )
    return {
        ("missing_secondary_index", "by_customer", (10,)),
        ("dangling_secondary_index", "by_customer", (9999,)),
        ("wrong_stored_value", "by_customer", (20,)),
        ("missing_secondary_index", "by_customer", (22,)),
        ("dangling_secondary_index", "by_customer", (22,)),
        ("duplicate_index_entry", "by_customer", (30,)),
        ("missing_secondary_index", "open_orders", (3,)),
        ("dangling_secondary_index", "open_orders", (1,)),
        ("missing_secondary_index", "by_email", (42,)),
        ("dangling_secondary_index", "by_email", (42,)),
        ("unique_violation", "by_email", (41,)),
        ("unique_violation", "by_email", (42,)),
    }


WAYS = [("auto", "auto"), ("auto", "fingerprint"), ("sql", "fingerprint"), ("sql", "merge")]


@pytest.mark.parametrize(("engine", "strategy"), WAYS)
def test_tables_that_agree_are_clean(
    shop: Database, tmp_path: Path, spark: Any, engine: str, strategy: str
) -> None:
    catalog = catalog_of(tmp_path, shop)
    result = check("orders", catalog=catalog, spark=spark, engine=engine, strategy=strategy)
    assert result.status is Status.CLEAN
    (table,) = result.tables
    assert [(c.index, c.rows, c.entries) for c in table.checks] == [
        ("by_customer", 500, 500),
        ("open_orders", 166, 166),
        ("by_email", 400, 400),
    ]


@pytest.mark.parametrize(("engine", "strategy"), WAYS)
def test_every_disagreement_is_named_once_whoever_compares(
    shop: Database, tmp_path: Path, spark: Any, engine: str, strategy: str
) -> None:
    planted = plant(shop)
    catalog = catalog_of(tmp_path, shop)
    result = check("orders", catalog=catalog, spark=spark, engine=engine, strategy=strategy)
    assert found(result) == planted
    assert len(result.defects) == len(planted)


def to_lake(shop: Database, directory: Path, relation: str) -> None:
    """Copy a relation into a Delta table."""
    with shop.connect() as connection:
        cursor = connection.execute(f'SELECT * FROM "{relation}"')
        names = [column.name for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
    types = {
        "id": pa.int64(),
        "customer_id": pa.int32(),
        "email": pa.string(),
        "status": pa.string(),
        "amount": pa.decimal128(10, 2),
    }
    schema = pa.schema([(name, types[name]) for name in names])
    write_deltalake(directory / "lake" / relation, pa.Table.from_pylist(rows, schema))


@pytest.mark.parametrize("engine", ["auto", "sql"])
@pytest.mark.parametrize(
    ("relation", "in_the_lake"),
    [("orders__by_customer", "by_customer"), ("orders", "orders")],
    ids=["index", "table"],
)
def test_what_is_in_a_lake_is_compared_with_what_is_in_the_database(
    shop: Database, tmp_path: Path, spark: Any, relation: str, in_the_lake: str, engine: str
) -> None:
    planted = plant(shop)
    to_lake(shop, tmp_path, relation)
    catalog = catalog_of(tmp_path, shop, {in_the_lake: "lake"})
    assert found(check("orders", catalog=catalog, spark=spark, engine=engine)) == planted


def test_where_limits_both_sides(shop: Database, tmp_path: Path, spark: Any) -> None:
    planted = plant(shop)
    catalog = catalog_of(tmp_path, shop)
    result = check("orders", catalog=catalog, spark=spark, where="id < 25")
    assert found(result) == {
        defect for defect in planted if defect[2][0] < 25 and defect[1] != "by_email"
    }


@pytest.mark.parametrize("asked", [{}, {"engine": "sql"}], ids=["in the server", "by Spark"])
def test_where_on_any_column_chooses_rows_and_finds_their_entries(
    shop: Database, tmp_path: Path, spark: Any, asked: dict[str, str]
) -> None:
    planted = plant(shop)
    catalog = catalog_of(tmp_path, shop)
    result = check("orders", catalog=catalog, spark=spark, where="amount >= 2.5", **asked)
    assert found(result) == {
        (kind, index, key)
        for kind, index, key in planted
        if key[0] >= 20 and kind != "dangling_secondary_index"
    }
    assert {o.index: (o.rows, o.entries) for o in result.outcomes} == {
        "by_customer": (481, 482),
        "open_orders": (160, 160),
        "by_email": (384, 384),
    }
    (seen,) = [n for o in result.outcomes if o.index == "by_email" for n in o.notes if "seen" in n]
    assert "1 entry has the primary key of a chosen row" in seen


def test_where_no_key_is_unique_an_entry_of_a_row_that_was_not_chosen_is_no_defect(
    shop: Database, tmp_path: Path
) -> None:
    shop.run(
        "ALTER TABLE orders DROP CONSTRAINT orders_pkey",
        # Two rows with one primary key, of which one is chosen; both have their entries.
        "INSERT INTO orders SELECT 40, customer_id, email, 'other', 0 FROM orders WHERE id = 40",
        "INSERT INTO orders__by_customer SELECT customer_id, 40, 'other' FROM orders WHERE id = 40"
        " LIMIT 1",
        # The same, but the chosen row's entry stores something wrong.
        "INSERT INTO orders SELECT 50, customer_id, email, 'other', 0 FROM orders WHERE id = 50",
        "INSERT INTO orders__by_customer SELECT customer_id, 50, 'other' FROM orders WHERE id = 50"
        " LIMIT 1",
        "UPDATE orders__by_customer SET status = 'lost' WHERE id = 50 AND status <> 'other'",
    )
    catalog = catalog_of(tmp_path, shop)
    result = check("orders", catalog=catalog, where="amount >= 2.5", indexes=("by_customer",))
    assert found(result) == {("wrong_stored_value", "by_customer", (50,))}


def test_a_server_that_goes_away_leaves_the_check_incomplete(
    shop: Database, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scrub.stores.postgres import sessions

    real = sessions.ask

    def ask(*arguments: Any) -> Any:
        shop.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'scrub'"
        )
        return real(*arguments)

    monkeypatch.setattr("scrub.stores.postgres.store.ask", ask)
    result = check("orders", catalog=catalog_of(tmp_path, shop), spark=spark)
    assert result.status is Status.INCOMPLETE
    assert {c.status for c in result.tables[0].checks} == {Status.INCOMPLETE}


@pytest.fixture
def traffic(shop: Database) -> Iterator[threading.Event]:
    """Somebody who writes table and index tables in one transaction, without a pause."""
    stop = threading.Event()

    def write() -> None:
        with shop.connect() as connection:
            number = 1000
            while not stop.is_set():
                number += 1
                with connection.transaction():
                    values = f"({number}, {number % 9}, '{number}@x', 'open', 1)"
                    connection.execute(f"INSERT INTO orders VALUES {values}")
                    connection.execute(
                        f"INSERT INTO orders__open_orders VALUES ({number % 9}, {number})"
                    )
                    connection.execute(
                        f"INSERT INTO orders__by_customer VALUES ({number % 9}, {number}, 'open')"
                    )
                    connection.execute(
                        f"INSERT INTO orders__by_email VALUES ('{number}@x', {number})"
                    )

    writer = threading.Thread(target=write)
    writer.start()
    yield stop
    stop.set()
    writer.join()


@pytest.mark.parametrize("strategy", ["auto", "fingerprint"])
def test_writers_never_show_as_defects(
    shop: Database, tmp_path: Path, spark: Any, traffic: threading.Event, strategy: str
) -> None:
    catalog = catalog_of(tmp_path, shop)
    for _ in range(3):
        result = check("orders", catalog=catalog, spark=spark, strategy=strategy)
        assert result.status is Status.CLEAN


def test_no_password_reaches_a_result(shop: Database, tmp_path: Path, spark: Any) -> None:
    from psycopg import conninfo

    secret = Database(conninfo.make_conninfo(shop.url, password="hush-hush"))
    result = check("orders", catalog=catalog_of(tmp_path, secret), spark=spark)
    assert "hush-hush" not in json.dumps(repr(result))


def test_values_of_a_server_are_looked_at_by_spark(
    shop: Database, tmp_path: Path, spark: Any
) -> None:
    shop.run("ALTER TABLE orders DROP CONSTRAINT orders_pkey, ALTER id DROP NOT NULL")
    shop.run("INSERT INTO orders VALUES (NULL, 1, NULL, 'paid', 1)")
    result = check("orders", catalog=catalog_of(tmp_path, shop), spark=spark, checks=["physical"])
    (outcome,) = result.tables[0].checks
    assert {kind.value: n for kind, n in outcome.counts.items()} == {"null_violation": 1}
    assert any("only NULLs" in note for note in outcome.notes)


@pytest.mark.slow
def test_twenty_checks_in_a_row_under_pgbench_find_no_false_defect(spark: Any) -> None:
    from benchmarks import postgres

    with postgres.shop(20_000) as shop, shop.traffic(600) as traffic:
        try:
            for _ in range(20):
                shop.check(spark)  # demands a clean result
            assert traffic.poll() is None, "there was traffic all the time"
        finally:
            traffic.terminate()


@pytest.mark.parametrize(("engine", "strategy"), WAYS)
def test_expressions_in_the_databases_own_dialect_are_left_to_it(
    database: Database, tmp_path: Path, spark: Any, engine: str, strategy: str
) -> None:
    """Spark would divide 7 / 2 into 3.5, and has no left()."""
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, word text, n int)",
        "INSERT INTO t SELECT i, 'Word' || i, i FROM generate_series(1, 50) i",
        "CREATE TABLE t__i AS SELECT lower(left(word, 5)) AS short, id, n / 2 AS half FROM t"
        " WHERE word ~ '[2-9]'",
        "DELETE FROM t__i WHERE id = 7",
        "UPDATE t__i SET half = 3 WHERE id = 8",
    )
    index = {
        "dialect": "postgres",
        "columns": [{"expr": "lower(left(word, 5))", "as": "short", "type": "string"}],
        "storing": [{"expr": "n / 2", "as": "half", "type": "int"}],
        "where": "word ~ '[2-9]'",
    }
    columns = {"id": {"type": "int"}, "word": {"type": "string"}, "n": {"type": "int"}}
    table = {"store": "shop", "columns": columns, "primary_key": ["id"], "indexes": {"i": index}}
    stores = {"shop": {"kind": "postgres", "url": database.url}}
    catalog = tmp_path / "scrub.yaml"
    catalog.write_text(json.dumps({"version": 1, "stores": stores, "tables": {"t": table}}))
    result = check("t", catalog=catalog, spark=spark, engine=engine, strategy=strategy)
    assert found(result) == {
        ("missing_secondary_index", "i", (7,)),
        ("wrong_stored_value", "i", (8,)),
    }


@pytest.mark.parametrize(
    "command", ["TRUNCATE orders__open_orders", "DROP TABLE orders__by_customer"]
)
def test_truncate_and_drop_wait_while_the_database_compares(
    shop: Database, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Whoever waits for an exclusive lock lets no new session in; the snapshot's own goes on."""
    from scrub.stores.postgres import sessions

    waiting: list[threading.Thread] = []
    real = sessions.ask

    def ask(*arguments: Any) -> Any:
        if not waiting:
            waiting.append(threading.Thread(target=shop.run, args=(command,)))
            waiting[0].start()
            time.sleep(0.3)
        assert waiting[0].is_alive(), "it must wait until the check is over"
        return real(*arguments)

    monkeypatch.setattr("scrub.stores.postgres.store.ask", ask)
    catalog = catalog_of(tmp_path, shop)
    catalog.write_text(
        catalog.read_text().replace(
            "kind: postgres", "kind: postgres\n    options: {lock_timeout: 100ms}"
        )
    )
    result = check("orders", catalog=catalog, spark=spark, indexes=["open_orders", "by_customer"])
    assert result.status is Status.CLEAN
    waiting[0].join(10)
    assert not waiting[0].is_alive()


def test_a_server_that_is_stopped_in_the_middle_leaves_the_check_incomplete(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import postgres
    from scrub.stores.postgres import sessions

    with postgres.shop(1000) as shop:
        real = sessions.ask

        def ask(*arguments: Any) -> Any:
            shop.stop()
            return real(*arguments)

        monkeypatch.setattr("scrub.stores.postgres.store.ask", ask)
        result = check("orders", catalog=shop.catalog, spark=spark)
    assert result.status is Status.INCOMPLETE
    (outcome,) = result.tables[0].checks
    assert "PostgreSQL" in str(outcome.reason)
