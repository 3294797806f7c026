# SPDX-License-Identifier: Apache-2.0
"""Roles that try to make an index's functions work for them: with what they may do, and with more.

The functions act with the rights of whoever owns the index. So nobody else may attach them to
anything, and whatever they are attached to, they first look what they fire for.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import conninfo, errors

from scrub.model.build import DUTIES, Method, State
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import Ground, building, kv_table

pytestmark = pytest.mark.slow

TABLE = "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)"
PARTITIONED = (
    "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text) PARTITION BY RANGE (k)",
    "CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (0) TO (100)",
    "CREATE TABLE t_high PARTITION OF t FOR VALUES FROM (100) TO (200)",
)
ROWS = "INSERT INTO t SELECT n, 'v' || n FROM generate_series(1, 9) AS n"
KEEP, EMPTY = "public.t__by_v__keep", "public.t__by_v__truncate"

# What she does when her code runs with somebody else's rights.
TAKE_OVER = """
    CREATE FUNCTION {place}.take_over({place}.evil) RETURNS {type} LANGUAGE plpgsql AS $$
    BEGIN
        RAISE WARNING 'her code ran as %', current_user;
        EXECUTE format('ALTER ROLE %I SUPERUSER', session_user);
        RETURN '7';
    END $$
"""


@contextmanager
def a_role(
    database: Database, *grants: str, tables: Sequence[str] = ()
) -> Iterator[tuple[str, psycopg.Connection[Any]]]:
    """A role that may log in and nothing else, and its session."""
    name = f"mallory_{uuid.uuid4().hex[:8]}"
    database.run(*tables)
    with database.connect() as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
        try:
            for grant in grants:
                admin.execute(grant.format(name=name, db=database.name))
            url = conninfo.make_conninfo(database.url, user=name, password="secret")
            with psycopg.connect(url, autocommit=True) as session:
                yield name, session
        finally:
            admin.execute("DROP EVENT TRIGGER IF EXISTS generous")
            admin.execute(f"DROP OWNED BY {name} CASCADE")
            admin.execute(f"DROP ROLE {name}")


def is_superuser(database: Database, name: str) -> bool:
    found = database.rows(f"SELECT rolsuper FROM pg_roles WHERE rolname = '{name}'")
    return bool(found[0][0])


def let_execute(database: Database, name: str) -> None:
    """As if somebody had been careless: the functions must see for themselves."""
    database.run(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {name}")


def bait(session: psycopg.Connection[Any], place: str, table: str, of_type: str) -> None:
    """A table with the right column names, of a type whose implicit cast is her code."""
    session.execute(f"CREATE TYPE {place}.evil AS (x text)")
    session.execute(TAKE_OVER.format(place=place, type=of_type))
    session.execute(
        f"CREATE CAST ({place}.evil AS {of_type}) "
        f"WITH FUNCTION {place}.take_over({place}.evil) AS IMPLICIT"
    )
    key, value = ("bigint", f"{place}.evil") if of_type == "text" else (f"{place}.evil", "text")
    session.execute(f"CREATE TABLE {place}.{table} (k {key}, v {value}, s text)")


def insert_bait(session: psycopg.Connection[Any], relation: str, of_type: str) -> None:
    row = "(1, ROW('x'), NULL)" if of_type == "text" else "(ROW('x'), 'v', NULL)"
    session.execute(f"INSERT INTO {relation} VALUES {row}")


def attach(session: psycopg.Connection[Any], relation: str, function: str = KEEP) -> None:
    if function == KEEP:
        when = "AFTER INSERT OR UPDATE OR DELETE"
        how = "FOR EACH ROW"
    else:
        when, how = "BEFORE TRUNCATE", "FOR EACH STATEMENT"
    session.execute(
        f"CREATE OR REPLACE TRIGGER hers {when} ON {relation} {how} EXECUTE FUNCTION {function}()"
    )


def held(ground: Ground) -> list[Any]:
    return ground.entries(mark=ground.build.state is not State.PUBLIC)


def walk(ground: Ground) -> Iterator[State]:
    """Every state of a build, one after the other, with some of its work done."""
    for state in DUTIES[ground.method]:
        ground.arrive_at(state)
        yield state


@pytest.mark.parametrize("of_type", ["text", "bigint"])
@pytest.mark.parametrize("method", list(Method))
def test_nobody_becomes_superuser_through_the_triggers_of_a_build(
    database: Database, method: Method, of_type: str
) -> None:
    """All she has is TEMP; the builder is superuser, and so is the owner of the table."""
    with (
        building(database, kv_table(unique=True), method, TABLE, ROWS) as ground,
        a_role(database) as (name, mallory),
    ):
        bait(mallory, "pg_temp", "mine", of_type)
        for _ in walk(ground):
            before = held(ground)
            with pytest.raises(errors.InsufficientPrivilege, match="permission denied"):
                attach(mallory, "mine")
            let_execute(database, name)
            attach(mallory, "mine")
            with pytest.raises(errors.ObjectNotInPrerequisiteState, match="scrub"):
                insert_bait(mallory, "mine", of_type)
            assert not is_superuser(database, name)
            assert held(ground) == before
            database.run(f"REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM {name}")
        ground.assert_right()


def test_each_state_takes_the_functions_from_everybody_again(database: Database) -> None:
    """Whatever default privileges give to new functions, and others gave to old ones."""
    with a_role(database) as (name, _):
        database.run(f"ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO {name}")
        grants = f"""
            SELECT count(*) FROM pg_proc WHERE proname LIKE 't\\_\\_by%'
            AND (has_function_privilege('{name}', oid, 'EXECUTE')
                 OR has_function_privilege('public', oid, 'EXECUTE'))
        """
        with building(database, kv_table(unique=True), Method.MERGE, TABLE, ROWS) as ground:
            for _ in walk(ground):
                assert database.rows(grants) == [(0,)]
                let_execute(database, name)
                let_execute(database, "PUBLIC")


def test_entries_are_not_forged_deleted_or_emptied_from_another_relation(
    database: Database,
) -> None:
    """Of her own, of the table's name in another schema or among temporary ones, or a view."""
    with (
        building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground,
        a_role(database, "GRANT CREATE ON DATABASE {db} TO {name}") as (name, mallory),
    ):
        ground.publish()
        let_execute(database, name)
        mallory.execute("CREATE SCHEMA hers")
        mallory.execute("SET search_path = hers, pg_temp, public")
        for relation in ("hers.t", "hers.other", "pg_temp.t"):
            mallory.execute(f"CREATE TABLE {relation} (k bigint PRIMARY KEY, v text, s text)")
            mallory.execute(f"INSERT INTO {relation} VALUES (1, 'v1'), (2, 'v2')")
            attach(mallory, relation)
            for write in (
                "INSERT INTO {} VALUES (77, 'forged')",
                "DELETE FROM {}",
                "UPDATE {} SET v = v || '!'",
            ):
                with pytest.raises(errors.ObjectNotInPrerequisiteState, match="scrub"):
                    mallory.execute(write.format(relation))
            attach(mallory, relation, EMPTY)
            mallory.execute(f"TRUNCATE {relation}")
        mallory.execute("CREATE VIEW hers.seen AS SELECT 1::bigint AS k, 'v1'::text AS v, '' AS s")
        mallory.execute(
            "CREATE TRIGGER hers INSTEAD OF DELETE ON hers.seen FOR EACH ROW "
            f"EXECUTE FUNCTION {KEEP}()"
        )
        with pytest.raises(errors.ObjectNotInPrerequisiteState, match="scrub"):
            mallory.execute("DELETE FROM hers.seen")
        with pytest.raises(errors.FeatureNotSupported, match="trigger functions"):
            mallory.execute(f"SELECT {KEEP}()")
        ground.assert_right()
        assert len(ground.entries()) == 9


def test_only_its_own_partitions_are_parts_of_a_table(database: Database) -> None:
    """A partition of hers, of a table of the same shape, is not; one made later is."""
    with (
        building(database, kv_table(unique=True), Method.MERGE, *PARTITIONED, ROWS) as ground,
        a_role(database, "GRANT CREATE ON DATABASE {db} TO {name}") as (name, mallory),
    ):
        ground.publish()
        let_execute(database, name)
        mallory.execute("CREATE SCHEMA hers")
        mallory.execute(PARTITIONED[0].replace("TABLE t", "TABLE hers.t"))
        mallory.execute("CREATE TABLE hers.t_low PARTITION OF hers.t DEFAULT")
        attach(mallory, "hers.t")
        with pytest.raises(errors.ObjectNotInPrerequisiteState, match="scrub"):
            mallory.execute("INSERT INTO hers.t VALUES (1, 'forged')")
        database.run(
            "CREATE TABLE t_later PARTITION OF t FOR VALUES FROM (200) TO (300)",
            "INSERT INTO t VALUES (150, 'in another'), (260, 'in a later one')",
            "INSERT INTO t_later VALUES (251, 'by its own name')",
            "UPDATE t SET k = k + 100 WHERE k IN (5, 150)",
        )
        ground.assert_right()
        database.run("TRUNCATE t_low")
        ground.assert_right()
        database.run("ALTER TABLE t DETACH PARTITION t_low", "TRUNCATE t_low")
        ground.assert_right()


def test_replication_role_neither_escapes_the_index_nor_gets_into_it(database: Database) -> None:
    grant = "GRANT SET ON PARAMETER session_replication_role TO {name}"
    with (
        building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground,
        a_role(database, grant, "GRANT INSERT, SELECT, DELETE ON t TO {name}") as (name, mallory),
    ):
        ground.publish()
        let_execute(database, name)
        mallory.execute("SET session_replication_role = replica")
        mallory.execute("INSERT INTO t VALUES (20, 'replicated')")
        mallory.execute("DELETE FROM t WHERE k = 1")
        with pytest.raises(errors.UniqueViolation):
            mallory.execute("INSERT INTO t VALUES (21, 'replicated')")
        ground.assert_right()
        mallory.execute("CREATE TEMP TABLE mine (k bigint, v text, s text)")
        attach(mallory, "mine")
        mallory.execute("ALTER TABLE mine ENABLE ALWAYS TRIGGER hers")
        with pytest.raises(errors.ObjectNotInPrerequisiteState, match="scrub"):
            mallory.execute("INSERT INTO mine VALUES (77, 'forged')")
        ground.assert_right()


def test_event_trigger_that_opens_every_function_opens_none_of_these(database: Database) -> None:
    """It runs when a function was created, and again when its rights were taken away."""
    with a_role(database) as (name, mallory):
        database.run(
            f"""CREATE FUNCTION generous() RETURNS event_trigger LANGUAGE plpgsql AS $$
                DECLARE made record;
                BEGIN
                    FOR made IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
                        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO {name}',
                                       made.object_identity);
                    END LOOP;
                END $$""",
            """CREATE EVENT TRIGGER generous ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION')
               EXECUTE FUNCTION generous()""",
        )
        with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
            ground.publish()
            mallory.execute("CREATE TEMP TABLE mine (k bigint, v text, s text)")
            with pytest.raises(errors.InsufficientPrivilege):
                attach(mallory, "mine")
            ground.assert_right()


def test_owner_of_another_index_gets_nothing_into_this_one(database: Database) -> None:
    """Her own table, with an index that scrub built for her: its functions act as she."""
    grant = "GRANT CREATE ON SCHEMA public TO {name}"
    with (
        building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground,
        a_role(database, grant) as (name, mallory),
    ):
        ground.publish()
        mallory.execute("CREATE TABLE public.u (k bigint PRIMARY KEY, v text NOT NULL, s text)")
        index = replace(kv_table(unique=True).indexes[0], relation="u__by_v")
        table = replace(kv_table(unique=True), name="u", relation="u", indexes=(index,))
        with building(database, table, Method.INIT_PUT) as hers:
            hers.publish()
            owners = database.rows(
                "SELECT DISTINCT pg_get_userbyid(proowner) FROM pg_proc WHERE proname LIKE 'u!_%' "
                "ESCAPE '!' UNION SELECT pg_get_userbyid(relowner) FROM pg_class "
                "WHERE relname = 'u__by_v'"
            )
            assert owners == [(name,)]
            with pytest.raises(errors.InsufficientPrivilege):
                attach(mallory, "public.u")
            let_execute(database, name)
            attach(mallory, "public.u")
            with pytest.raises(errors.ObjectNotInPrerequisiteState, match="scrub"):
                mallory.execute("INSERT INTO u VALUES (77, 'forged')")
            with pytest.raises(errors.InsufficientPrivilege):
                mallory.execute("DELETE FROM t__by_v")
            mallory.execute("DROP TRIGGER hers ON u")
            mallory.execute("INSERT INTO u VALUES (77, 'her own')")
            hers.assert_right()
        ground.assert_right()


def test_functions_need_no_more_than_a_role_that_owns_the_index_and_reads_the_table(
    database: Database,
) -> None:
    """Through every state; and whoever owns the table can still add partitions to it."""
    owner = f"{database.name}_owner"
    database.run(f"CREATE ROLE {owner}", f"GRANT CREATE ON SCHEMA public TO {owner}")
    try:
        with a_role(database, "GRANT SELECT ON t TO {name}", tables=PARTITIONED) as (name, _):
            database.run(
                *(f"ALTER TABLE {table} OWNER TO {owner}" for table in ("t", "t_low", "t_high")),
                f"GRANT SELECT ON t, t_low, t_high TO {name}",
                ROWS,
            )
            ground = Ground(database, kv_table(unique=True), Method.MERGE, owner=name)
            ground.begin()
            try:
                for number, _ in enumerate(walk(ground)):
                    database.run(
                        f"SET ROLE {owner}",
                        f"INSERT INTO t VALUES ({20 + number}, 'n{number}')",
                        "UPDATE t SET v = v || '!' WHERE k = 1",
                        f"DELETE FROM t WHERE k = {2 + number}",
                    )
                database.run(
                    f"SET ROLE {owner}",
                    "CREATE TABLE t_later PARTITION OF t FOR VALUES FROM (200) TO (300)",
                    "INSERT INTO t VALUES (250, 'later')",
                    "TRUNCATE t_high",
                )
                ground.assert_right()
            finally:
                ground.build.close()
    finally:
        database.run(f"DROP OWNED BY {owner} CASCADE", f"DROP ROLE {owner}")
