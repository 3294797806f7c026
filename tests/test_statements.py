# SPDX-License-Identifier: Apache-2.0
"""No statement of any command calls what others put into schemas of the path.

A first run of all commands gives every statement. For each name in them without a schema, there
are look-alikes in the second run: in schemas that the role's own path has before PostgreSQL's.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg import conninfo

from scrub.cli import main
from scrub.stores.postgres.connections import SEARCH_PATH
from tests.postgres_server import Database, new_database
from tests.statement_log import LoggingServer, Names, keywords_of, logging_server, plant

ROWS = 300
TABLES = (
    "CREATE SCHEMA evil",
    "CREATE SCHEMA shop",
    "CREATE TYPE shop.mood AS ENUM ('glad', 'sad')",
    "CREATE TABLE shop.orders (id int8 PRIMARY KEY, customer varchar(20), email text,"
    " mood shop.mood, amount numeric(10,2), seen timestamptz)",
    f"INSERT INTO shop.orders SELECT i, 'c' || i % 7, 'Mail' || i, 'glad', i, now() "
    f"FROM generate_series(1, {ROWS}) AS i",
    "CREATE INDEX orders_email ON shop.orders (lower(email))",
    "CREATE INDEX orders_customer ON shop.orders (customer, id)",
    "CREATE TABLE shop.orders__by_customer AS SELECT customer, id, email, mood, amount, seen"
    " FROM shop.orders",
    "CREATE TABLE shop.orders__by_lower AS SELECT lower(email) AS low, id, customer, mood, amount,"
    " seen, email FROM shop.orders",
    "VACUUM ANALYZE shop.orders",
)
DAMAGE = (
    "DELETE FROM shop.orders__by_customer WHERE id = 17",
    "UPDATE shop.orders__by_customer SET amount = 0 WHERE id = 42",
    "INSERT INTO shop.orders__by_lower SELECT 'x', 9000 + id, customer, mood, amount, seen, email"
    " FROM shop.orders__by_lower LIMIT 2",
)
PINNED = "-c search_path=pg_catalog"
LOST = "DELETE FROM shop.orders WHERE id = 99"
STORED = ["email", "mood", "amount", "seen"]
INDEXES = {
    "by_customer": {"columns": ["customer"], "storing": STORED},
    "by_lower": {
        "columns": [{"expr": "lower(email)", "as": "low", "type": "string"}],
        "dialect": "postgres",
        "storing": ["customer", "mood", "amount", "seen", "email"],
    },
    "own": {"own": True, "relation": "orders_customer"},
    "own_lower": {"own": True, "relation": "orders_email"},
    "by_seen": {"columns": ["seen"]},
    "by_email": {"columns": ["email"], "unique": True},
}
TYPES = {"id": "bigint", "customer": "string", "email": "string", "mood": "string"}
TYPES |= {"amount": "decimal(10,2)", "seen": "timestamp"}
CHECKED = "--index by_customer --index by_lower --index own --index own_lower"


class Walk:
    """All commands that ask PostgreSQL, one after the other."""

    def __init__(
        self, database: Database, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.database, self.folder, self.capsys = database, folder, capsys
        self.catalog = folder / "scrub.yaml"
        table = {
            "store": "shop",
            "columns": {name: {"type": of} for name, of in TYPES.items()},
            "primary_key": ["id"],
            "indexes": INDEXES,
        }
        store = {"kind": "postgres", "url": database.url, "schema": "shop"}
        self.catalog.write_text(
            json.dumps({"version": 1, "stores": {"shop": store}, "tables": {"orders": table}})
        )

    def codes(self, owner: Database) -> dict[str, int]:
        """What each command exits with, by its words."""
        return dict(self._run(owner))

    def _run(self, owner: Database) -> Iterator[tuple[str, int]]:
        url = self.database.url
        yield "init", self.scrub("init", url, "--schema", "shop", "--catalog", self.folder / "new")
        yield from self.each("catalog validate", "catalog show", f"check table orders {CHECKED}")
        yield from self.each(f"check table orders {CHECKED} --explain")
        for build in ("by_seen", "by_email"):
            yield from self.each(
                f"backfill run orders {build}",
                f"backfill run orders {build} --execute",
                f"backfill status orders {build}",
                f"backfill verify orders {build}",
            )
        # A writer whose path leads astray: what keeps the indexes must not follow it.
        _as_writer(owner, "UPDATE shop.orders SET amount = amount, email = email")
        _as_writer(owner, *DAMAGE, options=PINNED)
        some = "--index by_customer --index by_lower"
        yield from self.each(f"check table orders {CHECKED}", f"repair table orders {some}")
        patch = self.scrub(
            "repair", "table", "orders", *some.split(), "--patch", self.folder / "patch"
        )
        yield "patch", patch
        yield from self.each(f"repair table orders {some} --execute --verify")
        run = self.last_run()
        yield from self.each("journal list")
        for command in ("journal show RUN", "undo RUN", "undo RUN --execute"):
            yield command, self.scrub(*command.replace("RUN", run).split())
        yield from self.each(f"repair table orders {some} --execute")
        _as_writer(owner, LOST, options=PINNED)
        yield from self.each(
            "repair table orders --recover-rows",
            "repair table orders --recover-rows --execute",
            "journal prune --older-than 0 --execute",
            "backfill drop orders by_seen",
            "backfill drop orders by_seen --execute",
        )

    def last_run(self) -> str:
        found = re.findall(r"scrub undo (\w+)", self.said)
        assert found, self.said
        return str(found[-1])

    def each(self, *commands: str) -> Iterator[tuple[str, int]]:
        for command in commands:
            yield command, self.scrub(*command.split())

    def scrub(self, *arguments: object) -> int:
        given = [str(argument) for argument in arguments]
        if "--catalog" not in given:
            given += ["--catalog", str(self.catalog)]
        try:
            code = main.run(given)
        except SystemExit as stop:
            code = int(stop.code or 0)
        printed = self.capsys.readouterr()
        self.said = printed.out + printed.err
        assert code in (0, 1), (given, self.said)
        return code


def _as_writer(owner: Database, *statements: str, **parameters: str) -> None:
    """What an application does; in the log it is told apart from the rest by our name."""
    with owner.connect(application_name="scrub", **parameters) as connection:
        for statement in statements:
            connection.execute(statement)


@contextmanager
def shop(server: LoggingServer) -> Iterator[tuple[Database, Database]]:
    """A database, as its owner sees it and as scrub does: with a role whose path leads astray."""
    with new_database(server.url) as owner:
        owner.run(
            *TABLES,
            "DROP ROLE IF EXISTS walker",
            "CREATE ROLE walker LOGIN SUPERUSER",
            "ALTER ROLE walker SET search_path = evil, public, shop, pg_catalog",
            f"ALTER DATABASE {owner.name} SET search_path = evil, public, shop, pg_catalog",
        )
        yield owner, Database(conninfo.make_conninfo(owner.url, user="walker"))
        owner.run("REASSIGN OWNED BY walker TO postgres", "DROP ROLE walker")


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("spark")  # which all commands borrow
def test_no_statement_calls_a_look_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    server = logging_server()
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    with shop(server) as (owner, walker):
        codes = Walk(walker, tmp_path / "first", capsys).codes(owner)
        statements = server.statements(owner.name)
        names = Names.of(statements, keywords_of(owner))
    assert len(statements) > 200
    assert len(re.findall(r"CREATE (?:OR REPLACE )?FUNCTION", "\n".join(statements))) >= 2, (
        "nothing was built"
    )
    with shop(server) as (owner, walker):
        # Two more, to show that look-alikes are called where the path has them.
        wider = replace(
            names, functions=names.functions | {"lower"}, operators=names.operators | {"*"}
        )
        planted = plant(owner, wider, ("evil", "public", "shop"))
        assert planted > 1000
        # They work: a session with the role's own path calls them.
        walker.rows("SELECT lower('A'::varchar), '1'::float8 * 2")
        called = " ".join(server.called(owner.name, ""))
        assert "lower(varchar)" in called
        assert "operator *(float8, int4)" in called
        again = Walk(walker, tmp_path / "second", capsys).codes(owner)
        assert server.called(owner.name, "scrub") == set()
        assert again == codes
        paths = {
            path.partition(" SET ")[0].strip(" ;")
            for text in server.statements(owner.name)
            for path in re.findall(r"(?i)\bsearch_path\s*(?:=|TO)([^\n$]*)", text)
        }
        assert SEARCH_PATH in paths
        assert paths <= {SEARCH_PATH, "''", "DEFAULT"}, "no schema of users"
