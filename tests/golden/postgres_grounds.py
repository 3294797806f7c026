# SPDX-License-Identifier: Apache-2.0
"""Data sets in PostgreSQL: index tables, own indexes of every kind, and indexes to be built."""

from typing import Any

from tests.golden import orders
from tests.golden.places import Place

_COLUMNS = {
    "orders": "id bigint PRIMARY KEY, customer_id bigint, email text, status text,"
    " amount numeric(10,2), at timestamptz",
    "orders__by_customer": "customer_id bigint, amount numeric(10,2), id bigint, status text",
    "orders__by_email": "email text, id bigint",
    "orders__open_orders": "customer_id bigint, id bigint",
}


def _store(place: Place) -> dict[str, Any]:
    return {"shop": {"kind": "postgres", "url": place.names["url"]}}


def _fill(place: Place, of: orders.Orders, *relations: str) -> None:
    rows = {"orders": of.rows} | {f"orders__{name}": e for name, e in of.entries.items()}
    for relation in relations:
        place.run_sql(f"CREATE TABLE {relation} ({_COLUMNS[relation]})")
        place.copy_rows(relation, (tuple(row.values()) for row in rows[relation]))
    place.run_sql("VACUUM ANALYZE")


def postgres_orders(place: Place) -> None:
    """Damaged orders, with index tables in the same database."""
    place.make_database()
    _fill(place, orders.damaged(), *orders.RELATIONS)
    place.write_catalog(_store(place), {"orders": orders.described("shop")})


def mixed_orders(place: Place) -> None:
    """The table in PostgreSQL, two indexes in a Delta lake, one with an expression of Spark's."""
    place.make_database()
    damaged = orders.damaged()
    _fill(place, damaged, "orders", "orders__by_customer")
    tables = damaged.tables()
    place.write_delta("lake/orders__by_email", tables["orders__by_email"])
    place.write_delta("lake/orders__open_orders", tables["orders__open_orders"])
    described = orders.described("shop")
    for name in ("by_email", "open_orders"):
        described["indexes"][name]["store"] = "lake"
    stores = _store(place) | {"lake": {"kind": "delta", "path": "./lake"}}
    place.write_catalog(stores, {"orders": described})


def own_indexes(place: Place) -> None:
    """Indexes of the database itself: plain, partial, on expressions, unique, and damaged ones."""
    place.make_database()
    place.run_sql(
        "CREATE TABLE t (id int PRIMARY KEY, k int, e text, tags text[])",
        "INSERT INTO t SELECT i, nullif(i % 50, 7), CASE WHEN i % 11 > 0 THEN 'E' || i % 90 END,"
        " ARRAY['a' || i % 3] FROM generate_series(1, 500) AS i",
        "CREATE INDEX plain ON t (k) INCLUDE (e)",
        "CREATE INDEX partial ON t (k DESC NULLS LAST) WHERE k > 25",
        "CREATE INDEX of_lower ON t (lower(e))",
        "CREATE INDEX of_lower_and_id ON t (lower(e), id)",
        "CREATE UNIQUE INDEX only_one ON t (k, id)",
        "CREATE INDEX lagging ON t (e)",
        "CREATE UNIQUE INDEX clashing ON t (id, e)",
        "CREATE INDEX by_tags ON t USING gin (tags)",
        "CREATE INDEX invalid ON t (k, e)",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'invalid'::regclass",
        "VACUUM ANALYZE t",
    )
    _unseen(place, "lagging", "INSERT INTO t VALUES (601, 77, 'late', '{}')")
    _unseen(
        place, "lagging", "UPDATE t SET e = 'changed' WHERE id = 34", "DELETE FROM t WHERE id = 45"
    )
    _unseen(place, "lagging", "VACUUM t")
    names = (
        "plain",
        "partial",
        "of_lower",
        "of_lower_and_id",
        "only_one",
        "lagging",
        "clashing",
        "by_tags",
        "invalid",
    )
    columns = {
        "id": {"type": "int", "nullable": False},
        "k": {"type": "int"},
        "e": {"type": "string"},
    }
    described = {
        "store": "shop",
        "columns": columns,
        "primary_key": ["id"],
        "indexes": {name: {"native": True, "relation": name} for name in names},
    }
    place.write_catalog(_store(place), {"t": described})


def _unseen(place: Place, index: str, *statements: str) -> None:
    """While the statements run, the index sees no writes and no VACUUM."""
    ready = "UPDATE pg_index SET indisready = {} WHERE indexrelid = '{}'::regclass"
    place.run_sql(ready.format("false", index), *statements, ready.format("true", index))


def orders_to_index(place: Place) -> None:
    """Indexes to be built of a sound table, and of one whose two rows share a key.

    Two rows and no more: which part of a table a build reads first is left to chance.
    """
    place.make_database()
    _fill(place, orders.sound(120), "orders")
    place.run_sql(
        f"CREATE TABLE twins ({_COLUMNS['orders']})",
        "INSERT INTO twins (id, email) VALUES (1, 'a@example.org'), (2, 'a@example.org')",
        "VACUUM ANALYZE twins",
    )
    described = orders.described("shop")
    described["indexes"] |= {
        "by_lower": {
            "columns": [{"expr": "lower(email)", "as": "email_lower", "type": "string"}],
            "dialect": "postgres",
        },
        "by_number": {"columns": ["amount", "id"], "unique": True},
        "of_spark": {"columns": [{"expr": "reverse(email)", "as": "back", "type": "string"}]},
        "own": {"native": True, "relation": "orders_pkey"},
    }
    twins = orders.described("shop", indexes={"by_email": orders.INDEXES["by_email"]})
    place.write_catalog(_store(place), {"orders": described, "twins": twins})


def database_to_describe(place: Place) -> None:
    """A schema for `scrub init`: keys, constraints, own indexes, tables that look like indexes."""
    place.make_database()
    _fill(place, orders.sound(60), *orders.RELATIONS)
    place.run_sql(
        "CREATE TABLE customers (id bigint PRIMARY KEY, name varchar(20) NOT NULL, since date)",
        "INSERT INTO customers SELECT i, 'c' || i, '2024-01-01' FROM generate_series(0, 30) AS i",
        "CREATE TABLE no_key (a int, b text)",
        "CREATE INDEX by_name ON customers (lower(name))",
        "CREATE INDEX by_hash ON customers USING hash (name)",
        "ALTER TABLE orders ADD CONSTRAINT positive CHECK (amount >= 0)",
        "ALTER TABLE orders ADD CONSTRAINT of_customer FOREIGN KEY (customer_id)"
        " REFERENCES customers (id)",
        "VACUUM ANALYZE",
    )


def fill_in(place: Place) -> None:
    """The condition that `scrub init` left open."""
    found = place.directory / "found.yaml"
    text = found.read_text("utf-8").replace('where: "?"', "where: \"status = 'open'\", nulls: skip")
    found.write_text(text, "utf-8")
