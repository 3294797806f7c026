# SPDX-License-Identifier: Apache-2.0
"""`scrub backfill` as it is typed, right and wrong, on a real PostgreSQL."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import psycopg
import pytest

from reports import FORMATS
from scrub.app.building.verbs import run_backfill
from scrub.catalog import load_catalog
from scrub.cli import main
from scrub.errors import StoreUnavailable
from scrub.model.backfill import BackfillRequest, BackfillResult
from scrub.model.build import Method
from scrub.stores.postgres.building.opening import PostgresBuilds
from tests.postgres_server import Database
from tests.reports.results import RESULTS
from tests.scrub.stores.postgres.building.ground import Background, until

INDEXES: Mapping[str, Any] = {
    "by_customer": {"columns": ["customer_id"], "storing": ["status"]},
    "by_email": {"columns": ["email"], "unique": True},
    "by_lower": {"columns": [{"expr": "lower(email)", "as": "low"}]},
    "own": {"own": True, "relation": "orders_pkey"},
    "by_day": {"columns": [{"expr": "date_format(created, 'yyyy')", "as": "d", "type": "string"}]},
}
COLUMNS = {
    "id": "bigint",
    "customer_id": "bigint",
    "email": "string",
    "status": "string",
    "created": "timestamp",
}
LEFT = """
    SELECT relname::text FROM pg_class WHERE relname LIKE 'orders\\_\\_%'
    UNION ALL SELECT proname::text FROM pg_proc WHERE proname LIKE 'orders\\_\\_%'
    UNION ALL SELECT tgname::text FROM pg_trigger WHERE tgname LIKE 'orders\\_\\_%'
"""
Scrub = Callable[..., int]


@contextmanager
def a_gate_that_cannot_look(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as once:
        once.setattr("scrub.app.building.gate.run_check", lambda *_, **__: RESULTS["incomplete"]())
        yield


def output_of(scrub: Scrub, capsys: pytest.CaptureFixture[str], command: str) -> str:
    assert scrub(command) == 0
    return capsys.readouterr().out


def refusal_of(scrub: Scrub, capsys: pytest.CaptureFixture[str], command: str) -> str:
    assert scrub(command) == 2
    return capsys.readouterr().err


@pytest.fixture
def shop(database: Database) -> Database:
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint NOT NULL, email text,"
        " status text, created timestamptz)",
        "INSERT INTO orders SELECT i, i % 7, i || '@x.org', 'open', now()"
        " FROM generate_series(1, 400) AS i",
        "ANALYZE orders",
    )
    return database


@pytest.fixture
def catalog(shop: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    return described(shop.url, tmp_path)


def described(url: str, directory: Path, indexes: Mapping[str, Any] = INDEXES) -> Path:
    table = {
        "store": "shop",
        "columns": {name: {"type": type_} for name, type_ in COLUMNS.items()},
        "primary_key": ["id"],
        "indexes": dict(indexes),
    }
    stores = {"shop": {"kind": "postgres", "url": url}}
    path = directory / "scrub.yaml"
    path.write_text(json.dumps({"version": 1, "stores": stores, "tables": {"orders": table}}))
    return path


@pytest.fixture
def scrub(catalog: Path) -> Scrub:
    """The command line, in this process."""

    def run(command: str, *arguments: str) -> int:
        try:
            return main.run(["backfill", *command.split(), *arguments, "--catalog", str(catalog)])
        except SystemExit as stop:
            return int(stop.code or 0)

    return run


def left_behind(database: Database) -> list[str]:
    return sorted(name for (name,) in database.rows(LEFT))


def builds_of(catalog: Path) -> tuple[PostgresBuilds, Any]:
    loaded = load_catalog(catalog)
    return PostgresBuilds(loaded.stores["shop"]), loaded.tables["orders"]


def begun(catalog: Path, name: str = "by_customer") -> None:
    """A build whose process ended at once."""
    builds, table = builds_of(catalog)
    with closing(builds):
        indexes = [index for index in table.indexes if index.name == name]
        builds.begin(table, indexes, Method.INIT_PUT, None).close()


@contextmanager
def writing(database: Database) -> Iterator[psycopg.Connection[Any]]:
    """A transaction that has written and does not end."""
    with psycopg.connect(database.url, application_name="till 3") as connection:
        connection.execute("UPDATE orders SET status = 'held' WHERE id = 1")
        yield connection
        connection.rollback()


# Without Spark: what is refused, and what only looks.


@pytest.mark.parametrize("method", Method)
def test_a_preview_shows_what_would_be_done_and_changes_nothing(
    scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str], method: Method
) -> None:
    assert scrub(f"run orders by_customer by_email --method {method} --rows-per-second 500") == 0
    output = capsys.readouterr().out
    assert "To build by_customer, by_email of orders (about 400 rows)" in output
    assert 'create "public"."orders__by_email" ("email", "id"), unique' in output
    assert "0.2 s, or 2 s while nobody else writes, 2 at a time, at most 500 rows/s" in output
    assert ("keep them from then on" in output) == (method is Method.INIT_PUT)
    assert ("merge concurrent writes" in output) == (method is Method.MERGE)
    assert output.endswith("Nothing was changed. To do it, add --execute\n")
    assert left_behind(shop) == []
    assert shop.rows("SELECT to_regclass('scrub_builds')") == [(None,)]


@pytest.mark.parametrize(
    ("indexes", "method"),
    [
        ("by_customer", Method.MERGE),
        ("by_email", Method.INIT_PUT),
        ("by_customer by_email", Method.INIT_PUT),
    ],
)
def test_without_a_method_the_build_takes_the_one_that_suits_its_indexes(
    scrub: Scrub, capsys: pytest.CaptureFixture[str], indexes: str, method: Method
) -> None:
    assert scrub(f"run orders {indexes}") == 0
    assert f"(about 400 rows), method {method}:" in capsys.readouterr().out


def test_a_preview_for_programs(scrub: Scrub, capsys: pytest.CaptureFixture[str]) -> None:
    plan = json.loads(output_of(scrub, capsys, "run orders by_customer --format json"))
    assert plan["plan"]["indexes"] == ["by_customer"]
    assert plan["plan"]["rows"] == 400
    assert plan["executed"] is False


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("run order by_customer", ["the catalog has no table order", "orders"]),
        ("run orders by_costumer", ["no index by_costumer of orders", "by_customer"]),
        ("resume order", ["the catalog has no table order"]),
        ("status orders by_mail", ["no index by_mail of orders", "by_email"]),
        (
            "resume orders",
            ["no build of any index of table orders is under way", "scrub backfill status orders"],
        ),
        ("cancel orders --execute", ["no build of any index of table orders is under way"]),
        ("adjust orders --pause", ["no build of any index of table orders is under way"]),
        ("drop orders by_email --execute", ["was not built by scrub, or is not public"]),
        ("run orders", ["scrub backfill run needs INDEX", "TABLE INDEX..."]),
        ("adjust orders", ["--rows-per-second, --pause or --go-on"]),
        ("adjust orders --pause --go-on", ["--pause and --go-on exclude each other"]),
        ("run orders by_email --rows-per-second 0", ["0 is not in the range x>=1"]),
        ("run orders by_email --parallel 0", ["0 is not in the range x>=1"]),
        ("run orders by_email --wait-limit -1", ["-1.0 is not in the range x>=0"]),
        ("run orders by_email --method swap", ["'swap' is not one of 'init_put', 'merge'"]),
        ("verify orders by_mail", ["the catalog has no index by_mail of orders", "by_email"]),
        (
            "verify orders own",
            ["one of the database's own", "scrub check table orders --index own"],
        ),
        (
            "run orders by_day --execute",
            [
                "index by_day: `date_format(created, 'yyyy')`",
                "add `dialect: postgres` to the index\n",
            ],
        ),
        (
            "run orders by_lower",
            ["add `dialect: postgres` to the index, and `type:` beside `as: low`\n"],
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_hint(
    scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str], command: str, told: list[str]
) -> None:
    assert scrub(command) == 2
    errors = capsys.readouterr().err
    for text in told:
        assert text in errors
    assert left_behind(shop) == []


def test_a_table_of_which_nothing_was_built(
    scrub: Scrub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no index of this table was built by scrub" in output_of(scrub, capsys, "status orders")
    for command in ("cancel orders", "drop orders by_email"):
        assert scrub(command) == scrub(f"{command} --execute") == 2


@pytest.mark.parametrize(
    "command",
    ["cancel orders by_customer", "cancel orders by_email", "drop orders by_email"],
)
def test_a_preview_refuses_what_would_be_refused(
    catalog: Path, scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """by_customer is public, by_email was taken back."""
    begun(catalog, "by_email")
    assert scrub("cancel orders --execute") == 0
    begun(catalog)
    shop.run("UPDATE scrub_builds SET state = 'public' WHERE state <> 'reversed'")
    capsys.readouterr()
    assert scrub(command) == 2
    preview = capsys.readouterr()
    assert preview.out == ""
    assert "hint: to see what there is: scrub backfill status orders" in preview.err
    assert refusal_of(scrub, capsys, f"{command} --execute") == preview.err


def test_a_preview_refuses_what_is_left_of_something_else(
    scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the index's own relation, but one that its build needs, too."""
    shop.run("CREATE TABLE orders__by_customer__recorded (id bigint)")
    assert "orders__by_customer__recorded" in refusal_of(scrub, capsys, "run orders by_customer")
    assert left_behind(shop) == ["orders__by_customer__recorded"]


def test_a_column_that_the_table_lacks_is_told_with_the_one_that_was_meant(
    catalog: Path, scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.run("ALTER TABLE orders RENAME customer_id TO customer_ids")
    errors = refusal_of(scrub, capsys, "run orders by_customer")
    assert "orders has no column customer_id" in errors
    assert "did you mean customer_ids?" in errors


@pytest.mark.parametrize("expression", ["lowr(email)", "to_char(created, 'HH24')"])
def test_a_preview_tries_expressions_and_leaves_nothing(
    shop: Database,
    tmp_path: Path,
    scrub: Scrub,
    capsys: pytest.CaptureFixture[str],
    expression: str,
) -> None:
    columns = [{"expr": expression, "as": "v", "type": "string"}]
    described(shop.url, tmp_path, {"by_v": {"columns": columns, "dialect": "postgres"}})
    assert scrub("run orders by_v") == 2
    preview = capsys.readouterr()
    assert preview.out == ""
    assert "index by_v: the database cannot keep" in preview.err
    assert left_behind(shop) == []
    assert refusal_of(scrub, capsys, "run orders by_v --execute") == preview.err


def test_a_preview_names_only_what_would_go(
    catalog: Path, scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(catalog)
    shop.run("UPDATE scrub_builds SET state = 'public'")
    begun(catalog, "by_email")
    assert scrub("drop orders by_email") == 2, "it is still loading"
    capsys.readouterr()
    preview = json.loads(output_of(scrub, capsys, "cancel orders --format json"))
    assert preview["executed"] is False
    assert [build["indexes"] for build in preview["builds"]] == [["by_email"]]
    assert scrub("drop orders by_customer --format json") == 0
    assert json.loads(capsys.readouterr().out)["builds"][0]["indexes"] == ["by_customer"]


IN_THE_WAY = {
    "a relation in the place of the index": (
        "CREATE TABLE orders__by_customer (x int)",
        'a relation "public"."orders__by_customer" already exists',
        "scrub backfill verify orders by_customer",
        ["orders__by_customer"],
    ),
    "a table that cannot be read in order": (
        "ALTER TABLE orders DROP CONSTRAINT orders_pkey",
        "has no unique index on (id)",
        'CREATE UNIQUE INDEX CONCURRENTLY ON "public"."orders" ("id")',
        [],
    ),
}


@pytest.mark.parametrize("execute", ["", "--execute"])
@pytest.mark.parametrize(
    ("statement", "told", "hint", "left"), IN_THE_WAY.values(), ids=IN_THE_WAY.keys()
)
def test_what_is_in_the_way_is_refused_before_anything_is_made(
    scrub: Scrub,
    shop: Database,
    capsys: pytest.CaptureFixture[str],
    execute: str,
    statement: str,
    told: str,
    hint: str,
    left: list[str],
) -> None:
    shop.run(statement)
    errors = refusal_of(scrub, capsys, f"run orders by_customer {execute}")
    assert told in errors
    assert hint in errors
    assert left_behind(shop) == left


@pytest.mark.parametrize("execute", ["", "--execute"])
def test_an_index_that_scrub_built_already(
    catalog: Path, scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str], execute: str
) -> None:
    begun(catalog)
    shop.run("UPDATE scrub_builds SET state = 'public'")
    errors = refusal_of(scrub, capsys, f"run orders by_customer {execute}")
    assert "index by_customer of table orders is already built and public" in errors
    assert "scrub backfill verify orders by_customer" in errors
    assert "scrub backfill drop orders by_customer --execute" in errors


def test_a_role_that_may_not_is_told_what_it_lacks(
    shop: Database, tmp_path: Path, scrub: Scrub, capsys: pytest.CaptureFixture[str]
) -> None:
    role = f"reader_{shop.name}"
    shop.run(f"CREATE ROLE {role} LOGIN", f"GRANT SELECT ON orders TO {role}")
    try:
        url = psycopg.conninfo.make_conninfo(shop.url, user=role)
        described(url, tmp_path)
        assert scrub("run orders by_customer") == 2, "a preview, too"
        errors = capsys.readouterr().err
        assert "permission denied for schema public" in errors
        assert "connect as the owner of orders" in errors
        assert scrub("run orders by_customer --execute") == 2, "nothing was begun"
        errors = capsys.readouterr().err
        assert "permission denied for schema public" in errors
        assert "connect as the owner of orders" in errors
        shop.run(f"GRANT CREATE ON SCHEMA public TO {role}")
        shop.run(f"GRANT TRIGGER ON orders TO {role}")
        assert scrub("run orders by_customer") == 2
        assert f"the role {role} does not own orders" in capsys.readouterr().err
        assert scrub("run orders by_customer --execute") == 2
        assert f"the role {role} does not own orders" in capsys.readouterr().err
        assert left_behind(shop) == []
    finally:
        shop.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def published(catalog: Path, shop: Database) -> None:
    """An index that is public as far as its functions are concerned; nothing was loaded."""
    begun(catalog)
    shop.run("UPDATE scrub_builds SET state = 'public'")


def test_functions_that_everybody_may_use_are_told_and_renewed(
    catalog: Path, scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """As those are that an earlier version of scrub made."""
    published(catalog, shop)
    shop.run("GRANT EXECUTE ON FUNCTION orders__by_customer__keep() TO PUBLIC")
    told = output_of(scrub, capsys, "status orders")
    assert "to be renewed: its functions may be used by everybody" in told
    assert "scrub backfill renew orders by_customer" in told
    assert scrub("renew orders by_customer") == 0
    assert "would get new functions. To do it, add --execute" in capsys.readouterr().out
    (found,) = json.loads(output_of(scrub, capsys, "status orders --format json"))["builds"]
    assert found["to_renew"] == ["its functions may be used by everybody"]
    assert scrub("renew orders by_customer --execute --format json") == 0
    (found,) = json.loads(capsys.readouterr().out)["builds"]
    assert found["to_renew"] == []


def test_only_what_scrub_published_can_be_renewed(
    catalog: Path, scrub: Scrub, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(catalog)
    for execute in ("", "--execute"):
        assert scrub(f"renew orders by_customer {execute}") == 2
        assert "was not built by scrub, or is not public" in capsys.readouterr().err


def test_an_index_whose_column_is_gone_can_be_dropped(
    catalog: Path, scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    published(catalog, shop)
    shop.run("ALTER TABLE orders DROP COLUMN customer_id")
    assert "to be checked: column customer_id is gone" in output_of(scrub, capsys, "status orders")
    assert scrub("drop orders by_customer") == 0
    assert scrub("drop orders by_customer --execute") == 0
    assert left_behind(shop) == []


def test_index_and_functions_belong_to_the_role_that_is_named(
    scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """A role that may read the table and owns nothing else; a preview finds what it lacks."""
    role = f"keeper_{shop.name}"
    assert scrub(f"run orders by_customer --owner {role}") == 2
    assert f'CREATE ROLE "{role}" NOLOGIN' in capsys.readouterr().err
    shop.run(f"CREATE ROLE {role}")
    try:
        for missing in (f'GRANT SELECT ON "public"."orders" TO "{role}"',):
            assert missing in refusal_of(scrub, capsys, f"run orders by_customer --owner {role}")
            shop.run(missing)
        assert scrub(f"run orders by_customer --owner {role}") == 0
        assert left_behind(shop) == []
    finally:
        shop.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


NOT_BUILT = "index by_email of table orders is not there: there is no relation"
TO_BUILD = "build it with: scrub backfill run orders by_email --execute"


def half_built(shop: Database, directory: Path) -> None:
    """The nearest name is that of another index of the table, which is not what was meant."""
    shop.run("CREATE TABLE orders__by_customer AS SELECT customer_id, id, status FROM orders")
    described(shop.url, directory, {n: INDEXES[n] for n in ("by_customer", "by_email")})


def test_an_index_that_is_not_built_yet_cannot_be_verified(
    catalog: Path, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    half_built(shop, catalog.parent)
    command = ["backfill", "verify", "orders", "by_email", "--catalog", str(catalog)]
    assert main.run(command) == 2
    errors = capsys.readouterr().err
    assert f"error: {NOT_BUILT}" in errors
    assert f"hint: {TO_BUILD} --catalog {catalog}\n" in errors


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("verb", ["check", "repair"])
def test_an_index_that_is_not_built_yet_costs_no_other_its_check(
    catalog: Path, shop: Database, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    half_built(shop, catalog.parent)
    with pytest.raises(SystemExit) as ended:
        main.run([verb, "table", "orders", "--catalog", str(catalog)])
    assert ended.value.code == 3
    told = capsys.readouterr().out
    assert NOT_BUILT in told
    assert f"{TO_BUILD} --catalog {catalog}; or choose others with --index" in told


def test_a_second_run_is_told_who_runs(
    catalog: Path, scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    builds, table = builds_of(catalog)
    with closing(builds):
        builds.hold(table)
        session = builds.connection.info.backend_pid
        assert scrub("run orders by_customer --execute") == 3
        errors = capsys.readouterr().err
        assert f"another process runs a build of table orders: session {session} of" in errors
        assert "scrub backfill status orders" in errors
    assert left_behind(shop) == []


def test_a_transaction_that_leaves_no_room_to_begin_is_named(
    scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    with writing(shop) as writer:
        assert scrub("run orders by_customer --execute --wait-limit 0.1") == 3
        errors = capsys.readouterr().err
        assert f"session {writer.info.backend_pid} of" in errors
        assert "till 3" in errors
        assert "idle in transaction" in errors
        assert "nothing was begun" in errors
    assert left_behind(shop) == []
    assert shop.rows("SELECT to_regclass('scrub_builds')") == [(None,)]


def test_a_build_that_nobody_runs(
    catalog: Path, scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(catalog)
    output = output_of(scrub, capsys, "status orders")
    assert "by_customer of orders: beginning" in output
    assert "not running: scrub backfill resume orders" in output
    for command in ("run orders by_email", "run orders by_email --execute"):
        assert scrub(command) == 2
        errors = capsys.readouterr().err
        assert "a build of by_customer is under way (delete_only)" in errors
        assert "scrub backfill cancel orders" in errors
    assert scrub("cancel orders") == 0
    assert "by_customer would be reversed. To do it, add --execute" in capsys.readouterr().out
    assert left_behind(shop)
    assert scrub("cancel orders --execute --format json") == 0
    (build,) = json.loads(capsys.readouterr().out)["builds"]
    assert (build["state"], build["failure"]) == ("reversed", "cancelled")
    assert left_behind(shop) == []
    shop.run("INSERT INTO orders VALUES (9000, 1, 'new@x.org', 'open', now())")


def test_a_catalog_that_no_longer_has_the_index(
    catalog: Path, scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(catalog)
    described(shop.url, catalog.parent, {"by_email": INDEXES["by_email"]})
    assert scrub("cancel orders by_email --execute") == 2
    for execute in ("", "--execute"):
        assert scrub(f"cancel orders {execute}") == 2
        assert "no longer has index by_customer" in capsys.readouterr().err
    described(shop.url, catalog.parent)
    assert scrub("cancel orders --execute") == 0


def test_whoever_ends_in_order_holds_nobody_up(catalog: Path, shop: Database) -> None:
    """A server notices only a moment later that a session has ended."""
    for _ in range(20):
        builds, table = builds_of(catalog)
        builds.hold(table)
        builds.close()
        assert shop.rows("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'") == []


def test_cancelling_waits_for_the_process_that_runs_the_build(
    catalog: Path, scrub: Scrub, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(catalog)
    builds, table = builds_of(catalog)
    with closing(builds):
        builds.hold(table)
        assert scrub("cancel orders --execute --wait-limit 0.1") == 3
        assert "another process runs a build" in capsys.readouterr().err
    assert scrub("cancel orders --execute") == 0


def test_a_build_that_was_published_meanwhile_is_not_cancelled(
    catalog: Path, scrub: Scrub, shop: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(catalog)
    builds, table = builds_of(catalog)
    with closing(builds):
        builds.hold(table)

        def publish() -> None:
            until(lambda: bool(builds_waiting(shop)))
            shop.run("UPDATE scrub_builds SET state = 'public'")
            builds.close()

        def builds_waiting(database: Database) -> list[tuple[Any, ...]]:
            """The runner's sign has been changed: somebody wants to take over."""
            return database.rows(f"SELECT 1 FROM scrub_builds WHERE runner <> '{signed}'")

        ((signed,),) = shop.rows("SELECT runner FROM scrub_builds")
        meanwhile = Background(publish)
        assert scrub("cancel orders --execute") == 2
        meanwhile.result()
    assert "no build of any index of table orders is under way" in capsys.readouterr().err
    assert "orders__by_customer" in left_behind(shop)


def test_pace_and_pause_of_a_build_are_remembered(
    catalog: Path, scrub: Scrub, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(catalog)
    output = output_of(scrub, capsys, "adjust orders --rows-per-second 5000 --pause")
    assert "allowed: 5,000 rows/s" in output
    assert "paused" in output
    assert scrub("adjust orders --rows-per-second 0 --go-on --format json") == 0
    (build,) = json.loads(capsys.readouterr().out)["builds"]
    assert (build["rows_per_second"], build["paused"]) == (None, False)


@pytest.mark.parametrize("command", ["run orders by_customer --execute", "resume orders"])
def test_who_interrupts_is_told_what_is_left(
    scrub: Scrub,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    def interrupted(*given: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    verb, *_ = command.split()
    monkeypatch.setattr(f"scrub.app.building.verbs.{verb}_backfill", interrupted)
    assert scrub(command) == 130
    assert "to see how to continue: scrub backfill status orders" in capsys.readouterr().err


def test_an_index_that_cannot_be_reached_is_not_verified(
    shop: Database, tmp_path: Path, scrub: Scrub, capsys: pytest.CaptureFixture[str]
) -> None:
    described(f"host={tmp_path} dbname=nowhere", tmp_path)
    assert scrub("verify orders by_email") == 3
    assert scrub("status orders") == 3
    assert "error: " in capsys.readouterr().err


# With Spark.


class Run:
    """A build in a thread: what runs in the other terminal."""

    def __init__(self, catalog: Path, spark: Any, *indexes: str, **options: Any) -> None:
        request = BackfillRequest(table="orders", indexes=indexes, catalog=catalog, **options)
        self._run: Background[BackfillResult] = Background(
            lambda: run_backfill(request, spark=spark)
        )

    def result(self) -> BackfillResult:
        return self._run.result()


def loaded(shop: Database) -> int:
    if shop.rows("SELECT to_regclass('scrub_build_ranges')") == [(None,)]:
        return 0
    return int(shop.rows("SELECT coalesce(sum(rows), 0) FROM scrub_build_ranges")[0][0])


@pytest.mark.spark
@pytest.mark.parametrize("method", Method)
def test_several_indexes_are_built_used_verified_and_dropped(
    scrub: Scrub, shop: Database, spark: Any, capsys: pytest.CaptureFixture[str], method: Method
) -> None:
    assert scrub(f"run orders by_customer by_email --method {method} --execute") == 0
    output = capsys.readouterr().out
    assert [line for line in output.splitlines() if not line.startswith("  chunks")] == [
        "by_customer of orders: public",
        "  loaded: 400 rows, 400 entries",
        "by_email of orders: public",
        "  loaded: 400 rows, 400 entries",
    ]
    shop.run("UPDATE orders SET customer_id = 99 WHERE id = 5", "DELETE FROM orders WHERE id = 6")
    assert shop.rows("SELECT id FROM orders__by_customer WHERE customer_id = 99") == [(5,)]

    found = json.loads(output_of(scrub, capsys, "status orders --format json"))["builds"]
    assert sorted(build["indexes"][0] for build in found) == ["by_customer", "by_email"]
    assert {build["state"] for build in found} == {"public"}
    assert {(build["rows"], build["entries"]) for build in found} == {(400, 400)}

    assert "scrub backfill verify" in refusal_of(scrub, capsys, "run orders by_email --execute")

    assert scrub("verify orders by_customer by_email --format json") == 0
    assert json.loads(capsys.readouterr().out)["status"] == "clean"
    shop.run("DELETE FROM orders__by_email WHERE id = 7")
    if "junit" in FORMATS:
        assert scrub("verify orders by_customer by_email --format junit") == 1
        cases = list(ElementTree.fromstring(capsys.readouterr().out).iter("testcase"))
        failed = {case.get("name"): len(case.findall("failure")) for case in cases}
        assert sorted(failed.values()) == [0, 1, 1], "one of two indexes, and so the gate"
        assert failed["gate"] == 1
    else:
        assert scrub("verify orders by_email") == 1
    shop.run("ALTER TABLE orders__by_email RENAME TO elsewhere")
    assert scrub("verify orders by_email --format json") == 2, "there is nothing to look at"
    shop.run("ALTER TABLE elsewhere RENAME TO orders__by_email")
    capsys.readouterr()

    assert scrub("drop orders by_email") == 0
    assert "by_email would be removed. To do it, add --execute" in capsys.readouterr().out
    assert "orders__by_email" in left_behind(shop)
    assert scrub("drop orders by_email --execute") == 0
    assert not [name for name in left_behind(shop) if "email" in name]
    shop.run("UPDATE orders SET customer_id = 98 WHERE id = 5")
    assert shop.rows("SELECT customer_id FROM orders__by_customer WHERE id = 5") == [(98,)]
    assert scrub("drop orders by_customer --execute") == 0
    assert left_behind(shop) == []


@pytest.mark.spark
@pytest.mark.parametrize("method", Method)
def test_rows_that_share_a_unique_key_are_named_and_everything_is_taken_back(
    scrub: Scrub, shop: Database, spark: Any, capsys: pytest.CaptureFixture[str], method: Method
) -> None:
    shop.run("UPDATE orders SET email = 'same@x.org' WHERE id IN (17, 230)")
    assert scrub(f"run orders by_email by_customer --method {method} --execute") == 1
    output = capsys.readouterr().out
    assert "by_email, by_customer of orders: not there (reversed)" in output
    assert "why: unique index by_email: rows id=" in output
    assert "scrub backfill run orders by_email by_customer --execute" in output
    assert "id=17" in output
    assert "id=230" in output
    assert "email=same@x.org" in output
    assert left_behind(shop) == []
    shop.run("UPDATE orders SET email = 'other@x.org' WHERE id = 17")
    (build,) = json.loads(output_of(scrub, capsys, "status orders --format json"))["builds"]
    assert build["state"] == "reversed"
    assert "same@x.org" in build["failure"]
    assert scrub(f"run orders by_email --method {method} --execute") == 0


@pytest.mark.spark
def test_a_transaction_that_stays_open_is_named_and_the_build_resumed_without_it(
    catalog: Path, scrub: Scrub, shop: Database, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(catalog)
    with writing(shop) as writer:
        assert scrub("resume orders --wait-limit 0.2") == 3
        errors = capsys.readouterr().err
        assert "after 0.2 seconds, the build still waits for" in errors
        assert f"session {writer.info.backend_pid} of" in errors
        assert "more seconds; what was done stays done: scrub backfill resume orders" in errors
        assert scrub("status orders") == 0
        assert f"writing now: session {writer.info.backend_pid} of" in capsys.readouterr().out
    assert "public" in output_of(scrub, capsys, "resume orders")
    assert scrub("resume orders") == 2


@pytest.mark.spark
def test_a_check_that_cannot_look_leaves_the_build_to_be_resumed(
    scrub: Scrub,
    shop: Database,
    spark: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with a_gate_that_cannot_look(monkeypatch):
        assert scrub("run orders by_customer --execute") == 3
    errors = capsys.readouterr().err
    assert "could not look at everything" in errors
    assert "what was done stays done: scrub backfill resume orders" in errors
    assert scrub("status orders") == 0
    assert "by_customer of orders: loaded; being checked (validating)" in capsys.readouterr().out
    assert scrub("resume orders") == 0


@pytest.mark.spark
def test_a_build_that_runs_is_watched_slowed_paused_and_let_go(
    catalog: Path, scrub: Scrub, shop: Database, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(catalog, spark, "by_customer", rows_per_second=60)
    until(lambda: loaded(shop) > 0)
    output = output_of(scrub, capsys, "status orders")
    assert "by_customer of orders: being loaded (backfilling)" in output
    assert "of about 400 rows" in output
    assert "rows/s" in output
    assert "s left" in output
    assert "allowed: 60 rows/s" in output
    assert "run by session" in output
    assert scrub("run orders by_email --execute") == 3
    assert "another process runs a build of table orders: session" in capsys.readouterr().err
    assert scrub("resume orders") == 3
    assert "another process runs a build" in capsys.readouterr().err

    (build,) = json.loads(output_of(scrub, capsys, "adjust orders --pause --format json"))["builds"]
    assert build["paused"]
    time.sleep(1.0)  # the chunks that were being put
    rows = loaded(shop)
    time.sleep(0.5)
    assert loaded(shop) == rows < 400
    assert scrub("adjust orders --rows-per-second 0 --go-on") == 0
    assert run.result().exit_code == 0
    assert scrub("verify orders by_customer") == 0


@pytest.mark.spark
def test_a_run_whose_session_was_ended_is_still_seen_to_run(
    catalog: Path, scrub: Scrub, shop: Database, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def runner() -> str:
        scrub("status orders --format json")
        (build,) = json.loads(capsys.readouterr().out)["builds"]
        return str(build["runner"])

    run = Run(catalog, spark, "by_customer", rows_per_second=40)
    until(lambda: loaded(shop) > 0)
    first = runner()
    assert first.startswith("session ")
    shop.run(f"SELECT pg_terminate_backend({first.split()[1]})")
    until(lambda: runner() not in (first, "None"))
    assert scrub("run orders by_email --execute") == 3
    assert scrub("adjust orders --rows-per-second 0") == 0
    assert run.result().exit_code == 0


@pytest.mark.spark
def test_a_pause_file_rests_the_build_while_it_is_there(
    catalog: Path, scrub: Scrub, shop: Database, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = catalog.parent / "pause"
    file.touch()
    run = Run(catalog, spark, "by_customer", rows_per_second=40, pause_file=file)

    def is_paused() -> bool:
        builds = shop.rows("SELECT to_regclass('scrub_builds')") != [(None,)]
        return builds and shop.rows("SELECT paused FROM scrub_builds") == [(True,)]

    until(is_paused)
    scrub("adjust orders --rows-per-second 0")
    assert shop.rows("SELECT state FROM scrub_builds") == [("backfilling",)]
    file.unlink()
    assert run.result().exit_code == 0


@pytest.mark.spark
@pytest.mark.parametrize("paused", [False, True], ids=["running", "paused"])
def test_cancelling_from_another_terminal_leaves_nothing_and_disturbs_nobody(
    catalog: Path,
    scrub: Scrub,
    shop: Database,
    spark: Any,
    capsys: pytest.CaptureFixture[str],
    paused: bool,
) -> None:
    run = Run(catalog, spark, "by_customer", "by_email", rows_per_second=20)
    done = threading.Event()

    def write() -> int:
        written = 0
        with shop.connect() as connection:
            while not done.is_set():
                connection.execute(
                    "UPDATE orders SET customer_id = customer_id + 1 WHERE id = %s",
                    (1 + written % 400,),
                )
                written += 1
        return written

    writer = Background(write)
    until(lambda: loaded(shop) > 0)
    if paused:
        assert scrub("adjust orders --pause") == 0
    assert scrub("cancel orders --execute") == 0
    assert "by_customer, by_email of orders: not there (reversed)" in capsys.readouterr().out
    with pytest.raises(StoreUnavailable, match="another process has taken over") as told:
        run.result()
    assert "scrub backfill status orders" in str(told.value.hint)
    done.set()
    assert writer.result() > 0
    assert left_behind(shop) == []
