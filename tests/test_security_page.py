# SPDX-License-Identifier: Apache-2.0
"""The roles of docs/security.md: what the page grants is enough, and nothing of it is too much."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from psycopg import conninfo

from scrub.cli import main
from tests.postgres_server import Database

PAGE = Path(__file__).parents[1] / "docs" / "security.md"
ROLES = ("scrub_check", "scrub_repair", "scrub_build", "scrub_keeper", "sales_owner")
TABLES = (
    "CREATE ROLE sales_owner NOLOGIN",
    "CREATE SCHEMA sales AUTHORIZATION sales_owner",
    "SET ROLE sales_owner",
    "CREATE TABLE sales.orders (id int8 PRIMARY KEY, customer int8, email text, amount int8)",
    "INSERT INTO sales.orders SELECT i, i % 7, 'm' || i, i FROM generate_series(1, 300) AS i",
    "CREATE TABLE sales.orders__by_customer"
    " (customer int8, id int8, amount int8, PRIMARY KEY (customer, id))",
    "RESET ROLE",
)
DAMAGE = (
    "DELETE FROM sales.orders__by_customer",
    "INSERT INTO sales.orders__by_customer SELECT customer, id, amount FROM sales.orders"
    " WHERE id <> 17",
    "INSERT INTO sales.orders__by_customer VALUES (1, 9000, 1)",
    "UPDATE sales.orders__by_customer SET amount = 0 WHERE id = 42",
)
COMMANDS = {
    "scrub_check": "check table orders --index by_customer",
    "scrub_repair": "repair table orders --index by_customer --execute",
    "scrub_build": "backfill run orders by_email --owner scrub_keeper --execute",
}
DONE = {"scrub_check": 1, "scrub_repair": 0, "scrub_build": 0}
DROP = "backfill drop orders by_email --execute"


@dataclass(frozen=True)
class Grant:
    """One right of the page, for one role."""

    right: str
    on: str
    role: str

    @property
    def taken(self) -> str:
        return f"REVOKE {self.right}{self.on} FROM {self.role}"

    @property
    def given(self) -> str:
        return f"GRANT {self.right}{self.on} TO {self.role}"

    @property
    def user(self) -> str:
        """Whose command needs it."""
        return "scrub_build" if self.role == "scrub_keeper" else self.role


def statements(database: str) -> list[str]:
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    text = "\n".join(blocks).replace("DATABASE shop", f"DATABASE {database}")
    return [part.strip() for part in text.split(";") if part.strip()]


def grants(database: str) -> Iterator[Grant]:
    """Each right alone: of some that are granted together, one may be too much."""
    for statement in statements(database):
        if found := re.fullmatch(r"GRANT (.*?)( ON (?:SCHEMA |DATABASE )?.*)? TO (\w+)", statement):
            for right in found[1].split(", "):
                yield Grant(right, found[2] or "", found[3])


@pytest.fixture
def shop(database: Database) -> Iterator[Database]:
    """The page, typed."""
    database.run(*TABLES, *DAMAGE, *statements(database.name))
    yield database
    database.run(
        *(f"DROP OWNED BY {role} CASCADE" for role in ROLES),
        *(f"DROP ROLE {role}" for role in ROLES),
    )


class Scrub:
    """Commands, each as its own role."""

    def __init__(
        self, database: Database, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.database, self.folder, self.capsys, self.said = database, folder, capsys, ""

    def run(self, role: str, command: str) -> int:
        url = conninfo.make_conninfo(self.database.url, user=role)
        table = {
            "store": "shop",
            "columns": {
                "id": {"type": "bigint", "nullable": False},
                "customer": {"type": "bigint"},
                "email": {"type": "string"},
                "amount": {"type": "bigint"},
            },
            "primary_key": ["id"],
            "indexes": {
                "by_customer": {"columns": ["customer"], "storing": ["amount"]},
                "by_email": {"columns": ["email"]},
            },
        }
        stores = {"shop": {"kind": "postgres", "url": url, "schema": "sales"}}
        catalog = self.folder / "scrub.yaml"
        catalog.write_text(
            json.dumps({"version": 1, "stores": stores, "tables": {"orders": table}})
        )
        try:
            code = main.run([*command.split(), "--catalog", str(catalog)])
        except SystemExit as stop:
            code = int(stop.code or 0)
        printed = self.capsys.readouterr()
        self.said = printed.out + printed.err
        return code


@pytest.fixture
def scrub(
    shop: Database,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Scrub:
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    return Scrub(shop, tmp_path, capsys)


def test_each_role_can_do_its_work_and_no_grant_of_it_is_too_much(
    scrub: Scrub, shop: Database
) -> None:
    needless = []
    for grant in grants(shop.name):
        shop.run(*DAMAGE, grant.taken)
        code = scrub.run(grant.user, COMMANDS[grant.user])
        if code == DONE[grant.user]:
            needless.append(grant)
            if grant.user == "scrub_build":
                scrub.run(grant.user, DROP)
        else:
            assert code in (1, 2, 3), (grant, scrub.said)
            named = grant.on.split()[-1].split(".")[-1] if grant.on else grant.right
            assert any(name in scrub.said for name in (named, "orders", "sales")), scrub.said
        shop.run(grant.given)
    assert needless == []
    shop.run(*DAMAGE)
    for role, command in COMMANDS.items():
        assert scrub.run(role, command) == DONE[role], scrub.said
    assert shop.rows("SELECT count(*) FROM sales.orders__by_email") == [(300,)]
    owners = shop.rows(
        "SELECT DISTINCT pg_get_userbyid(proowner) FROM pg_proc WHERE proname LIKE 'orders\\_\\_%'"
    )
    assert owners == [("scrub_keeper",)]
    assert scrub.run("scrub_build", DROP) == 0, scrub.said
