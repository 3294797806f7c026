# SPDX-License-Identifier: Apache-2.0
"""A journal that a stranger put there first is not touched: his code would run as we do."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from scrub.errors import UsageError
from scrub.model.journal import RunRecord
from scrub.stores.postgres.building.builds import Builds
from scrub.stores.postgres.connections import connect, conninfo_of
from scrub.stores.postgres.repairs.journal import PostgresJournal
from tests.postgres_server import Database


@pytest.fixture
def stranger(database: Database) -> Iterator[str]:
    role = f"stranger_{database.name[-8:]}"
    database.run(f"CREATE ROLE {role}", f"GRANT CREATE ON SCHEMA public TO {role}")
    yield role
    database.run(f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}")


def test_a_strangers_journal_is_refused_and_his_trigger_never_runs(
    database: Database, stranger: str
) -> None:
    database.run(
        f"SET ROLE {stranger}",
        "CREATE TABLE scrub_runs (run text PRIMARY KEY, command text, table_name text,"
        " started timestamptz, finished timestamptz, undoes text)",
        "CREATE FUNCTION public.ran() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE EXCEPTION 'the trigger ran as %', current_user; END$$",
        "CREATE TRIGGER ran BEFORE INSERT ON scrub_runs FOR EACH ROW EXECUTE FUNCTION ran()",
        "CREATE TABLE scrub_builds (id bigint PRIMARY KEY)",
    )
    record = RunRecord(run="r", command="repair", table="t", started=datetime.now(UTC))
    with connect(conninfo_of(database.url, {})) as connection:
        with pytest.raises(UsageError, match=f"scrub_runs belongs to the role {stranger}") as why:
            PostgresJournal("public").begin(connection, record)
        assert "OWNER TO" in str(why.value.hint)
        connection.rollback()
        with pytest.raises(UsageError, match=f"scrub_builds belongs to the role {stranger}"):
            Builds("public").create(connection)
        connection.rollback()
    database.run(
        "DROP TABLE scrub_runs, scrub_builds CASCADE",
    )
    with connect(conninfo_of(database.url, {})) as connection:
        PostgresJournal("public").begin(connection, record)
        Builds("public").create(connection)


def test_a_strangers_view_in_the_place_of_a_record_is_never_read(
    database: Database, stranger: str
) -> None:
    """Functions in a view run as whoever reads it: for a preview, a status, a list of runs."""
    database.run(
        "CREATE TABLE public.ran (who text)",
        "GRANT INSERT ON public.ran TO PUBLIC",
        f"SET ROLE {stranger}",
        "CREATE FUNCTION public.ran() RETURNS bigint LANGUAGE plpgsql AS"
        " $$BEGIN INSERT INTO public.ran VALUES (current_user); RETURN 1; END$$",
        "CREATE VIEW scrub_runs AS SELECT ran()::text AS run, 'repair' AS command, 't' AS"
        " table_name, now() AS started, now() AS finished, NULL::text AS undoes",
        "CREATE VIEW scrub_journal AS SELECT ran()::text AS run",
        "CREATE VIEW scrub_builds AS SELECT ran() AS id, 't' AS table_name, '{i}'::text[] AS"
        " indexes, 'merge' AS method, 'public' AS state, '' AS runner, 0 AS rows_expected,"
        " 0 AS rows_per_second, false AS paused, '' AS failure, now() AS started,"
        " now() AS changed",
    )
    journal, builds = PostgresJournal("public"), Builds("public")
    with connect(conninfo_of(database.url, {})) as connection:
        connection.autocommit = True
        for ask in (
            lambda: journal.runs(connection),
            lambda: journal.records(connection, "1"),
            lambda: journal.forget(connection, datetime.now(UTC)),
            lambda: builds.of_table(connection, "t"),
        ):
            with pytest.raises(UsageError, match=f"belongs to the role {stranger}"):
                ask()
    assert database.rows("SELECT * FROM public.ran") == []
