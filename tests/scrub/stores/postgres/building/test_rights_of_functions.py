# SPDX-License-Identifier: Apache-2.0
"""What an index's functions tell and run for others, who have fewer rights than their owner."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from psycopg import errors

from scrub.model.build import Method
from scrub.model.table import EntryColumn, Table
from scrub.stores.postgres.building.renewing import renew
from scrub.stores.postgres.building.standing import standing_of
from scrub.stores.postgres.connections import connect, conninfo_of
from scrub.stores.postgres.entry_sql import entry_sql
from scrub.stores.postgres.index_names import IndexNames
from scrub.stores.postgres.relations import find_relation
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import STRING, Ground, building, kv_table
from tests.scrub.stores.postgres.building.test_hostile_roles import PARTITIONED, ROWS, TABLE, a_role

pytestmark = pytest.mark.slow

NAMES = IndexNames(index="by_v", schema="public", relation_name="t__by_v")


def by_both() -> Table:
    """A unique index on s and v together."""
    table = kv_table(unique=True)
    key = tuple(EntryColumn(name=name, source=name, type=STRING) for name in ("s", "v"))
    return replace(table, indexes=(replace(table.indexes[0], key=key),))


def test_an_error_tells_values_only_to_roles_that_may_read_the_table(database: Database) -> None:
    """She may set one column; the other one of the key is none of her business."""
    rows = "INSERT INTO t SELECT n, 'hidden', n FROM generate_series(1, 3) AS n"
    with (
        building(database, by_both(), Method.INIT_PUT, TABLE, rows) as ground,
        a_role(database, "GRANT UPDATE (s), SELECT (s), INSERT ON t TO {name}") as (name, mallory),
    ):
        ground.publish()

        def told() -> str | None:
            with pytest.raises(errors.UniqueViolation, match="another row has this key") as refused:
                mallory.execute("UPDATE t SET s = '1' WHERE s = '2'")
            return refused.value.diag.message_detail

        hidden = "Its values are shown only to roles that may read the whole table."
        assert told() == hidden
        database.run(f"GRANT SELECT ON t TO {name}")
        assert told() == "1, hidden"
        database.run(
            "ALTER TABLE t ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON t USING (k < 3)"
        )
        assert told() == hidden
        database.run("ALTER TABLE t DISABLE ROW LEVEL SECURITY", f"REVOKE SELECT ON t FROM {name}")
        with pytest.raises(errors.UniqueViolation) as refused:
            database.run(f"SET ROLE {name}", "INSERT INTO t VALUES (9, 'hidden', '1')")
        assert refused.value.diag.message_detail == hidden
        ground.assert_right()


@pytest.fixture
def keeper(database: Database) -> Iterator[str]:
    """A role that owns indexes, and nothing else."""
    role = f"{database.name}_keeper"
    database.run(
        f"CREATE ROLE {role}",
        f"GRANT USAGE, CREATE ON SCHEMA public TO {role}",
        "CREATE TABLE public.ran (who text)",
        "GRANT INSERT ON public.ran TO PUBLIC",
    )
    yield role
    database.run(f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}")


@pytest.mark.parametrize("tables", [(TABLE,), PARTITIONED])
def test_policies_of_the_tables_owner_are_not_run_as_the_owner_of_the_index(
    database: Database, keeper: str, tables: tuple[str, ...]
) -> None:
    """He may own indexes of other tables, too, and read those."""
    with a_role(database, "GRANT CREATE ON SCHEMA public TO {name}") as (_, mallory):
        for statement in (*tables, ROWS):
            mallory.execute(statement)
        names = ["t"] if len(tables) == 1 else ["t", "t_low", "t_high"]
        mallory.execute(f"GRANT SELECT ON {', '.join(names)} TO {keeper}")
        ground = Ground(database, kv_table(unique=True), Method.INIT_PUT, owner=keeper)
        ground.begin()
        try:
            ground.publish()
            mallory.execute(
                "CREATE FUNCTION public.hers() RETURNS boolean LANGUAGE plpgsql AS "
                "$$BEGIN INSERT INTO public.ran VALUES (current_user); RETURN true; END$$"
            )
            for name in names:
                mallory.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
                mallory.execute(f"CREATE POLICY p ON {name} USING (public.hers())")
            for write in ("INSERT INTO t VALUES (50, 'x')", "DELETE FROM t", "UPDATE t SET s = v"):
                with pytest.raises(errors.ObjectNotInPrerequisiteState, match="row security") as no:
                    mallory.execute(write)
                assert "BYPASSRLS" in str(no.value.diag.message_hint)
            if len(names) > 1:
                with pytest.raises(errors.ObjectNotInPrerequisiteState, match="row security"):
                    mallory.execute("TRUNCATE t_low")
            assert database.rows("SELECT * FROM public.ran") == []
            for name in names:
                mallory.execute(f"ALTER TABLE {name} DISABLE ROW LEVEL SECURITY")
            mallory.execute("INSERT INTO t VALUES (50, 'x')")
            ground.assert_right()
        finally:
            ground.build.close()


def test_functions_that_a_former_owner_of_the_table_could_replace_are_told(
    database: Database,
) -> None:
    """A table changes hands, and its trigger functions do not; to renew them gives them away."""
    with a_role(database, "GRANT CREATE ON SCHEMA public TO {name}") as (name, mallory):
        mallory.execute(TABLE)
        with (
            building(database, kv_table(unique=True), Method.INIT_PUT, ROWS) as ground,
            connect(conninfo_of(database.url, {})) as connection,
        ):
            connection.autocommit = True
            ground.publish()

            def told() -> tuple[str, ...]:
                table = find_relation(connection, "public", "t")
                return standing_of(connection, table, NAMES).to_renew

            assert told() == ()
            database.run("ALTER TABLE t OWNER TO CURRENT_USER")
            wrong = f"its functions belong to {name}, who owned the table, and could replace them"
            assert told() == (wrong,)
            entry = entry_sql(connection, "public", ground.table, ground.table.indexes[0])
            renew(connection, find_relation(connection, "public", "t"), entry)
            assert told() == ()
            ground.assert_right()
        with pytest.raises(errors.InsufficientPrivilege):
            mallory.execute("DELETE FROM t__by_v")
