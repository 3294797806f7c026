# SPDX-License-Identifier: Apache-2.0
"""Every session finds names in one path, whatever urls, options, roles and databases say."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from psycopg import conninfo

from scrub.model.types import parse_type
from scrub.stores.postgres.connections import connect, conninfo_of
from scrub.stores.postgres.sessions import ask, fetch
from scrub.stores.postgres.shared_snapshot import SharedSnapshot
from tests.postgres_server import Database

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
