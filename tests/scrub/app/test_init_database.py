# SPDX-License-Identifier: Apache-2.0
"""A first catalog from a database: what is declared is taken over, the rest is a marked guess."""

from pathlib import Path

import pytest
from psycopg import conninfo

from scrub.app.init_database import init_database, is_database
from scrub.catalog import load_catalog
from scrub.errors import ScrubError, UsageError
from scrub.stores.postgres.connections import without_password
from tests.postgres_server import Database


@pytest.fixture
def url(database: Database) -> str:
    """A url, for that is what people have."""
    parts = conninfo.conninfo_to_dict(database.url)
    port = f"&port={parts['port']}" if "port" in parts else ""
    return f"postgresql://{parts['user']}:hush-hush@/{parts['dbname']}?host={parts['host']}{port}"


@pytest.fixture
def shop(database: Database) -> Database:
    database.run(
        "CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL)",
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id int REFERENCES customers,"
        " status text, amount numeric(10,2) CHECK (amount >= 0),"
        " tags text[] CHECK (array_length(tags, 1) < 5))",
        "CREATE INDEX open_orders ON orders (lower(status)) WHERE status = 'open'",
        "INSERT INTO customers SELECT i, 'c' FROM generate_series(1, 9) i",
        "INSERT INTO orders SELECT i, 1 + i % 9, 'open', i FROM generate_series(1, 99) i",
        "CREATE TABLE orders__by_customer AS SELECT customer_id, id, status FROM orders",
    )
    return database


def test_the_catalog_holds_what_the_database_declares(
    shop: Database, url: str, tmp_path: Path
) -> None:
    path = tmp_path / "scrub.yaml"
    result = init_database(url, path)
    assert result.tables == {
        "customers": ("customers_pkey",),
        "orders": ("by_customer", "open_orders", "orders_pkey"),
    }
    orders = load_catalog(path).tables["orders"]
    assert [(c.name, str(c.type), c.nullable) for c in orders.columns] == [
        ("id", "bigint", False),
        ("customer_id", "int", True),
        ("status", "string", True),
        ("amount", "decimal(10,2)", True),
    ]
    assert orders.primary_key == ("id",)
    assert [(key.columns, key.references) for key in orders.foreign_keys] == [
        (("customer_id",), "customers")
    ]
    assert list(orders.checks) == ["orders_amount_check"]
    assert [(i.name, i.native, i.unique) for i in orders.indexes] == [
        ("by_customer", False, False),
        ("open_orders", True, False),
        ("orders_pkey", True, True),
    ]


def test_guesses_are_marked_and_facts_are_not(shop: Database, url: str, tmp_path: Path) -> None:
    path = tmp_path / "scrub.yaml"
    init_database(url, path)
    lines = path.read_text().splitlines()
    guesses = [
        lines[n + 1].split(":")[0].strip() for n, line in enumerate(lines) if "guess:" in line
    ]
    assert guesses == ["by_customer"]
    assert any("left out: tags, is an array" in line for line in lines)


def test_no_password_is_written(shop: Database, url: str, tmp_path: Path) -> None:
    init_database(url, tmp_path / "scrub.yaml")
    assert "hush-hush" not in (tmp_path / "scrub.yaml").read_text()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("postgresql://u:p@h:5432/d?sslmode=require", "postgresql://u@h:5432/d?sslmode=require"),
        ("postgresql://u:p%40q@/d?host=/tmp/x", "postgresql://u@/d?host=/tmp/x"),
        ("postgres://h/d?password=p&user=u", "postgres://h/d?user=u"),
        ("postgresql:///d", "postgresql:///d"),
    ],
)
def test_a_url_without_its_password(given: str, kept: str) -> None:
    assert without_password(given) == kept
    assert is_database(given)


def test_an_empty_schema_is_told(database: Database, url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no table in schema public"):
        init_database(url, tmp_path / "scrub.yaml")
    assert not (tmp_path / "scrub.yaml").exists()


def test_a_catalog_that_is_there_is_kept(shop: Database, url: str, tmp_path: Path) -> None:
    path = tmp_path / "scrub.yaml"
    path.write_text("mine")
    with pytest.raises(ScrubError, match="already"):
        init_database(url, path)
    assert path.read_text() == "mine"


def test_the_url_of_another_database_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="no databases of kind mysql") as caught:
        is_database("mysql://u:hush-hush@h/d")
    assert "hush-hush" not in str(caught.value) + str(caught.value.hint)
