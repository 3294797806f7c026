# SPDX-License-Identifier: Apache-2.0
"""Every session finds names in one path, whatever urls, options, roles and databases say."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from psycopg import conninfo

from reports import as_json, as_text
from scrub.app import check, explain_check
from scrub.errors import RelationMismatch
from scrub.model.request import CheckRequest
from scrub.model.result import Status
from scrub.model.table import Column
from scrub.model.types import parse_type
from scrub.stores.postgres.connections import connect, conninfo_of
from scrub.stores.postgres.sessions import ask, fetch
from scrub.stores.postgres.shared_snapshot import SharedSnapshot
from tests.postgres_server import Database
from tests.scrub.stores.postgres.own_indexes.own_index_ground import store_of
from tests.scrub.stores.sample import no_session

PINNED = "pg_catalog, pg_temp"
SHOWN = "SELECT pg_catalog.current_setting('search_path')"


@pytest.fixture
def led_astray(database: Database) -> Iterator[Database]:
    """A role whose sessions begin with the path of somebody else."""
    role = f"astray_{database.name[-8:]}"
    database.run(
        "CREATE SCHEMA evil",
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE ON SCHEMA evil TO {role}",
        f"ALTER DATABASE {database.name} SET search_path = evil, public, pg_catalog",
        f"ALTER ROLE {role} SET search_path = evil, public, pg_catalog",
        f"ALTER ROLE {role} IN DATABASE {database.name} SET search_path = evil, pg_catalog",
    )
    yield Database(conninfo.make_conninfo(database.url, user=role))
    database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def paths_of_all_sessions(made: str) -> set[str]:
    """Of both drivers, of the session that holds the snapshot, and of those that read at it."""
    snapshot = SharedSnapshot(made)
    column = ("path", parse_type("string"))
    arrived: pa.Table = fetch(
        made, snapshot, "SELECT true, pg_catalog.current_setting('search_path')", [column]
    )
    with connect(made) as connection, snapshot.connection.transaction():
        rows = [connection.execute(SHOWN).fetchone(), snapshot.connection.execute(SHOWN).fetchone()]
    found = {str(row[0]) for row in (*rows, ask(made, snapshot, SHOWN)) if row}
    snapshot.close()
    return found | set(arrived["path"].to_pylist())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"search_path": "evil"},
        {"options": "-c search_path=evil"},
        {"options": "--search_path=evil"},
    ],
)
def test_no_option_of_the_catalog_changes_the_path(
    led_astray: Database, options: dict[str, str]
) -> None:
    assert paths_of_all_sessions(conninfo_of(led_astray.url, options)) == {PINNED}


def test_neither_the_url_nor_the_environment_changes_the_path(
    led_astray: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c search_path=evil")
    assert paths_of_all_sessions(conninfo_of(led_astray.url, {})) == {PINNED}
    url = conninfo.make_conninfo(led_astray.url, options="-c search_path=evil")
    assert paths_of_all_sessions(conninfo_of(url, {})) == {PINNED}


def test_a_path_is_pinned_even_after_a_trigger_on_login(database: Database) -> None:
    if database.version < 170000:
        pytest.skip("triggers on login came with PostgreSQL 17")
    database.run(
        "CREATE SCHEMA evil",
        "CREATE FUNCTION public.astray() RETURNS event_trigger LANGUAGE plpgsql AS "
        "$$BEGIN PERFORM pg_catalog.set_config('search_path', 'evil, public', false); END$$",
        "CREATE EVENT TRIGGER astray ON login EXECUTE FUNCTION public.astray()",
        "ALTER EVENT TRIGGER astray ENABLE ALWAYS",
    )
    assert database.rows(SHOWN) == [("evil, public",)]
    assert paths_of_all_sessions(conninfo_of(database.url, {})) == {PINNED}


def test_a_session_goes_back_to_the_pinned_path_when_it_forgets_its_own(
    led_astray: Database,
) -> None:
    with connect(conninfo_of(led_astray.url, {})) as connection:
        connection.execute("SET search_path = public")
        connection.execute("RESET search_path")
        assert connection.execute(SHOWN).fetchone() == (PINNED,)


def computed(expression: str) -> list[Column]:
    return [Column(name="made", type=parse_type("string"), computed=expression)]


@pytest.mark.parametrize(
    ("expression", "missing"),
    [
        ("f(word)", r"function f\(text\) does not exist"),
        ("word::own", 'type "own" does not exist'),
        ("word %% word", "operator does not exist: text %% text"),
    ],
)
def test_a_name_outside_the_path_is_refused_by_name_before_anything_is_read(
    database: Database, expression: str, missing: str
) -> None:
    database.run(
        "CREATE DOMAIN own AS text",
        "CREATE FUNCTION f(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1'",
        "CREATE FUNCTION twice(text, text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1'",
        "CREATE OPERATOR %% (FUNCTION = twice, LEFTARG = text, RIGHTARG = text)",
        "CREATE TABLE t (id int PRIMARY KEY, word text)",
    )
    store = store_of(database)
    with pytest.raises(RelationMismatch, match=missing) as refused:
        store.pin("t", None, no_session, computed(expression))
    assert f"`{expression}`" in str(refused.value)
    assert "with their schema" in str(refused.value.hint)
    for written in ("public.f(word)", "word::public.own", "word OPERATOR(public.%%) word"):
        store.pin("t", None, no_session, computed(written))
    store.close()


def test_explain_shows_what_the_database_computes_and_where_it_finds_names(
    database: Database, tmp_path: Path
) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, word text)",
        "CREATE TABLE t__by_word (l text, id int)",
    )
    by_word = {
        "columns": [{"expr": "lower(word)", "as": "l", "type": "string"}],
        "dialect": "postgres",
    }
    table = {
        "store": "shop",
        "columns": {"id": {"type": "int", "nullable": False}, "word": {"type": "string"}},
        "primary_key": ["id"],
        "indexes": {"by_word": by_word},
    }
    store = {"kind": "postgres", "url": database.url}
    catalog = tmp_path / "scrub.yaml"
    catalog.write_text(
        yaml.safe_dump({"version": 1, "stores": {"shop": store}, "tables": {"t": table}})
    )
    plan = explain_check(CheckRequest(tables=("t",), catalog=catalog))
    shown = as_text.render_plan(plan)
    assert "the database computes lower(word), of type string" in shown
    assert "finds names in pg_catalog, pg_temp only" in shown
    told = json.loads(as_json.render_plan(plan))["tables"][0]["computed"]
    assert told == [{"expression": "lower(word)", "type": "string", "search_path": PINNED}]


def test_no_cast_of_a_strangers_type_is_called(database: Database, tmp_path: Path) -> None:
    """An enum may have a cast of its own, and so may a type with the name of PostgreSQL's."""
    function = "LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'a stranger was called'; END$$"
    database.run(
        "CREATE TYPE mood AS ENUM ('glad', 'sad')",
        f"CREATE FUNCTION told(mood) RETURNS text {function}",
        "CREATE CAST (mood AS text) WITH FUNCTION told(mood) AS IMPLICIT",
        "CREATE TABLE t (id int PRIMARY KEY, m mood)",
        "INSERT INTO t VALUES (1, 'glad'), (2, 'sad')",
        "CREATE TABLE t__by_m AS SELECT m, id FROM t",
        *(
            statement
            for name in ("citext", "int8", "text")
            for statement in (
                f"CREATE TYPE public.{name} AS (x int)",
                f"CREATE FUNCTION told(public.{name}) RETURNS pg_catalog.text {function}",
                f"CREATE CAST (public.{name} AS pg_catalog.text) WITH FUNCTION "
                f"told(public.{name}) AS IMPLICIT",
                f"CREATE TABLE of_{name} (id int PRIMARY KEY, m public.{name})",
            )
        ),
    )
    table = {
        "store": "shop",
        "columns": {"id": {"type": "int", "nullable": False}, "m": {"type": "string"}},
        "primary_key": ["id"],
        "indexes": {"by_m": {"columns": ["m"]}},
    }
    catalog = tmp_path / "scrub.yaml"
    store = {"kind": "postgres", "url": database.url}
    catalog.write_text(
        yaml.safe_dump({"version": 1, "stores": {"shop": store}, "tables": {"t": table}})
    )
    result = check("t", catalog=catalog)
    assert [outcome.status for outcome in result.outcomes] == [Status.CLEAN]
    pinned = store_of(database)
    for name in ("citext", "int8", "text"):
        with pytest.raises(RelationMismatch, match=f"column m is of type public.{name}"):
            pinned.pin(
                f"of_{name}", None, no_session, [Column(name="m", type=parse_type("string"))]
            )
    pinned.close()
