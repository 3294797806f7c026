# SPDX-License-Identifier: Apache-2.0
"""Names that a build gives, taken by somebody who may create things in the same schema."""

import pytest
from psycopg import errors

from scrub.errors import UsageError
from scrub.model.build import Method, State
from scrub.stores.postgres.building.renewing import renew
from scrub.stores.postgres.connections import connect, conninfo_of
from scrub.stores.postgres.entry_sql import entry_sql
from scrub.stores.postgres.relations import find_relation
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import building, kv_table
from tests.scrub.stores.postgres.building.test_hostile_roles import (
    ROWS,
    TABLE,
    a_role,
    is_superuser,
)

pytestmark = pytest.mark.slow

MAY_CREATE = "GRANT CREATE ON SCHEMA public TO {name}"
FUNCTION = "RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
OWNERS = """
    SELECT DISTINCT pg_get_userbyid(proowner) FROM pg_proc WHERE proname LIKE 't!_!_by%' ESCAPE '!'
"""


def hint_of_refusal(database: Database, told: str) -> str:
    """What is to be done, when a build is refused with these words."""
    with (
        pytest.raises(UsageError, match=told) as refused,
        building(database, kv_table(unique=True), Method.INIT_PUT),
    ):
        pass
    return str(refused.value.hint)


@pytest.mark.parametrize("function", ["keep", "truncate"])
def test_a_function_that_somebody_made_first_is_refused_by_name(
    database: Database, function: str
) -> None:
    """It would stay hers: she could replace it, and her code would run as every writer."""
    with a_role(database, MAY_CREATE, tables=(TABLE, ROWS)) as (name, mallory):
        mallory.execute(f"CREATE FUNCTION public.t__by_v__{function}() {FUNCTION}")
        told = f"t__by_v__{function}.*of the role {name}"
        assert "DROP FUNCTION" in hint_of_refusal(database, told)
        database.run("INSERT INTO t VALUES (100, 'x')")
        assert not is_superuser(database, name)


def test_renewed_functions_are_taken_from_whoever_made_them_meanwhile(database: Database) -> None:
    """The builder owns the table, so nothing of its own has to be given away."""
    with a_role(database, MAY_CREATE) as (_, mallory):
        with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
            ground.publish()
            owners = database.rows(OWNERS)
            database.run("DROP TRIGGER t__by_v__keep ON t", "DROP FUNCTION public.t__by_v__keep()")
            mallory.execute(f"CREATE FUNCTION public.t__by_v__keep() {FUNCTION}")
            assert len(database.rows(OWNERS)) == 2
            with connect(conninfo_of(database.url, {})) as connection:
                connection.autocommit = True
                entry = entry_sql(connection, "public", ground.table, ground.table.indexes[0])
                renew(connection, find_relation(connection, "public", "t"), entry)
        assert database.rows(OWNERS) == owners
        with pytest.raises(errors.InsufficientPrivilege):
            mallory.execute(f"CREATE OR REPLACE FUNCTION public.t__by_v__keep() {FUNCTION}")


@pytest.mark.parametrize(
    "made",
    [
        "VIEW public.t__by_v__recorded AS SELECT 1 AS x",
        "TABLE public.t__by_v__suspects (x int)",
        "MATERIALIZED VIEW public.t__by_v__trial AS SELECT 1 AS x",
        "SEQUENCE public.t__by_v_key",
        "TYPE public.t__by_v AS ENUM ('x')",
        "DOMAIN public.t__by_v__suspects AS int",
    ],
)
def test_every_name_of_a_build_that_is_taken_is_refused_before_it_begins(
    database: Database, made: str
) -> None:
    kind, _, name = made.partition(" public.")
    name = name.split()[0]
    with a_role(database, MAY_CREATE, tables=(TABLE, ROWS)) as (role, mallory):
        mallory.execute(f"CREATE {made}")
        hint = hint_of_refusal(database, f'"{name}" already, of the role {role}')
        assert f'DROP {kind} "public"."{name}"' in hint


@pytest.mark.parametrize(
    "made",
    [
        "CREATE VIEW public.t__by_v__recorded AS SELECT 1 AS x",
        "CREATE TABLE public.t__by_v__recorded (x int)",
    ],
)
def test_what_somebody_makes_during_a_build_neither_stops_it_nor_is_dropped(
    database: Database, made: str
) -> None:
    with a_role(database, MAY_CREATE, tables=(TABLE, ROWS)) as (_, mallory):
        with building(database, kv_table(unique=True), Method.INIT_PUT) as ground:
            mallory.execute(made)
            ground.publish()
            ground.assert_right()
            ground.build.advance(State.REVERSING)
            ground.build.reverse()
        assert database.rows("SELECT to_regclass('t__by_v') IS NULL") == [(True,)]
        mallory.execute("SELECT * FROM public.t__by_v__recorded")
