# SPDX-License-Identifier: Apache-2.0
"""Tables that are altered after an index on them was published, and while it is built.

Writes go on and the index follows, as one of the server's own would; or the writer is told that it
is an index of scrub's that stands in the way, and what to do.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from psycopg import errors

from scrub.errors import StoreUnavailable
from scrub.model.build import Method, State
from scrub.model.table import EntryColumn, Table
from scrub.stores.postgres.building.renewing import renew
from scrub.stores.postgres.building.standing import Standing, standing_of
from scrub.stores.postgres.entry_sql import entry_sql
from scrub.stores.postgres.index_names import IndexNames
from scrub.stores.postgres.relations import find_relation
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import STRING, Ground, building, kv_table

pytestmark = pytest.mark.slow

TABLE = "CREATE TABLE t (k int PRIMARY KEY, v varchar(10) NOT NULL, s text, x int)"
PARTITIONED = (
    "CREATE TABLE t (k int PRIMARY KEY, v varchar(10) NOT NULL, s text, x int) "
    "PARTITION BY RANGE (k)",
    # Its columns have other numbers than those of the table.
    "CREATE TABLE low (gone int, x int, s text, v varchar(10) NOT NULL, k int PRIMARY KEY)",
    "ALTER TABLE low DROP COLUMN gone",
    "ALTER TABLE t ATTACH PARTITION low FOR VALUES FROM (0) TO (5)",
    "CREATE TABLE high PARTITION OF t DEFAULT",
)
ROWS = "INSERT INTO t SELECT n, 'v' || n FROM generate_series(1, 9) AS n"
NAMES = IndexNames(index="by_v", schema="public", relation_name="t__by_v")

followed = pytest.mark.parametrize(
    ("alter", "names"),
    [
        (["ALTER TABLE t ALTER v TYPE varchar(40)"], "k v s"),
        (["ALTER TABLE t ALTER v TYPE text"], "k v s"),
        (["ALTER TABLE t ALTER k TYPE bigint"], "k v s"),
        (["ALTER TABLE t RENAME v TO w"], "k w s"),
        (["ALTER TABLE t RENAME k TO id"], "id v s"),
        (["ALTER TABLE t RENAME v TO w", "ALTER TABLE t ALTER w TYPE text"], "k w s"),
        (["ALTER TABLE t DROP COLUMN x", "ALTER TABLE t ADD COLUMN y text DEFAULT 'y'"], "k v s"),
        (["ALTER TABLE t ADD COLUMN o text", "ALTER TABLE t ADD COLUMN rows int"], "k v s"),
        (["ALTER TABLE t RENAME TO renamed"], "k v s"),
        (["CREATE SCHEMA other", "ALTER TABLE t SET SCHEMA other"], "k v s"),
        # A new table takes the place of the old one, which goes on having its index.
        (["ALTER TABLE t RENAME TO old", "CREATE TABLE t (k int, v text, s text)"], "k v s"),
    ],
    ids=lambda value: "; ".join(value) if isinstance(value, list) else "",
)


def table_now(database: Database) -> str:
    """Whatever it is called by now, the relation that has the trigger."""
    ((name,),) = database.rows(
        "SELECT tgrelid::regclass::text FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid "
        "WHERE tgname = 't__by_v__keep' AND tgparentid = 0"
    )
    return str(name)


def writes(table: str, key: str, value: str, stored: str) -> Iterator[str]:
    yield f"INSERT INTO {table} ({key}, {value}, {stored}) VALUES (20, 'new', 's')"
    yield f"UPDATE {table} SET {value} = 'changed' WHERE {key} = 2"
    yield f"UPDATE {table} SET {stored} = 'stored' WHERE {key} = 3"
    yield f"UPDATE {table} SET {key} = 30 WHERE {key} = 4"
    yield f"DELETE FROM {table} WHERE {key} = 5"
    yield f"INSERT INTO {table} ({key}, {value}) VALUES (6, 'b') ON CONFLICT ({key}) " + (
        f"DO UPDATE SET {value} = excluded.{value}"
    )


@followed
def test_index_follows_a_table_that_is_altered(
    database: Database, alter: list[str], names: str
) -> None:
    """In sessions that wrote before, and in new ones."""
    key, value, stored = names.split()
    table = kv_table(unique=True, stored=True)
    with building(database, table, Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.publish()
        alter_and_write(ground, alter, key, value, stored)


def test_index_follows_partitions_whose_columns_have_other_numbers(database: Database) -> None:
    table = kv_table(unique=True, stored=True)
    alter = [
        "ALTER TABLE t RENAME k TO id",
        "ALTER TABLE t RENAME v TO w",
        "ALTER TABLE t DROP COLUMN x",
        "ALTER TABLE t ALTER w TYPE text",
        "ALTER TABLE t RENAME TO renamed",
    ]
    with building(database, table, Method.MERGE, *PARTITIONED, ROWS) as ground:
        ground.publish()
        name = alter_and_write(ground, alter, "id", "w", "s")
        database.run("TRUNCATE low")
        assert_follows(ground, name, "id", "w", "s")
        assert len(ground.entries()) > 4


def alter_and_write(ground: Ground, alter: list[str], key: str, value: str, stored: str) -> str:
    """Returns what the table is called by now."""
    database = ground.database
    with ground.writer(autocommit=True) as open_session:
        open_session.execute("UPDATE t SET v = v || '!' WHERE k <= 9")
        database.run(*alter)
        name = table_now(database)
        for number, statement in enumerate(writes(name, key, value, stored)):
            if number % 2:
                open_session.execute(statement)
            else:
                database.run(statement)
            assert_follows(ground, name, key, value, stored)
        with pytest.raises(errors.UniqueViolation, match="by_v"):
            open_session.execute(f"INSERT INTO {name} ({key}, {value}) VALUES (40, 'changed')")
    assert_follows(ground, name, key, value, stored)
    return name


def assert_follows(ground: Ground, name: str, key: str, value: str, stored: str) -> None:
    rows = ground.database.rows(f"SELECT {value}, {key}, {stored} FROM {name} ORDER BY 1, 2, 3")
    assert ground.entries() == rows


def test_wider_column_holds_what_it_could_not_before(database: Database) -> None:
    with building(database, kv_table(unique=True), Method.MERGE, TABLE, ROWS) as ground:
        ground.publish()
        database.run(
            "ALTER TABLE t ALTER v TYPE varchar(60)",
            f"UPDATE t SET v = '{'long' * 12}' WHERE k = 1",
            "ALTER TABLE t ADD COLUMN w numeric(4, 1)",
        )
        ground.assert_right()


@pytest.mark.parametrize(
    ("alter", "write", "told"),
    [
        (["ALTER TABLE t DROP COLUMN v"], "INSERT INTO t (k) VALUES (20)", "column v is gone"),
        (["ALTER TABLE t DROP COLUMN v"], "DELETE FROM t", "column v is gone"),
        (
            ["ALTER TABLE t RENAME v TO w", "ALTER TABLE t ADD COLUMN v text"],
            "UPDATE t SET w = 'x' WHERE k = 1",
            "another column is now called v",
        ),
        (
            ["ALTER TABLE t RENAME k TO id", "ALTER TABLE t RENAME v TO k"],
            "UPDATE t SET k = 'x' WHERE id = 1",
            "another column is now called k",
        ),
        (
            ["ALTER TABLE t ALTER v TYPE int USING k"],
            "UPDATE t SET v = 17 WHERE k = 1",
            "column v now has type integer",
        ),
        (
            ["ALTER TABLE t ALTER k TYPE bigint"],
            "INSERT INTO t VALUES (5000000000, 'x')",
            "cannot hold a value",
        ),
        (
            ["ALTER TABLE t ALTER v DROP NOT NULL"],
            "INSERT INTO t VALUES (20, NULL)",
            "no place for NULL",
        ),
    ],
    ids=["dropped", "dropped, delete", "replaced", "shifted", "other type", "too large", "null"],
)
def test_writer_is_told_which_index_cannot_follow_and_what_to_do(
    database: Database, alter: list[str], write: str, told: str
) -> None:
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.publish()
        database.run(*alter)
        with pytest.raises(errors.ObjectNotInPrerequisiteState) as caught:
            database.run(write)
        assert "scrub: index by_v" in str(caught.value)
        assert told in str(caught.value)
        assert "scrub backfill drop t by_v --execute" in str(caught.value.diag.message_hint)


def standing(database: Database, table: str = "t") -> Standing:
    with database.connect() as connection:
        return standing_of(connection, find_relation(connection, "public", table), NAMES)


def renewed(database: Database, table: Table) -> None:
    with database.connect() as connection:
        entry = entry_sql(connection, "public", table, table.indexes[0])
        renew(connection, find_relation(connection, "public", table.relation), entry)


def test_status_says_what_moved_and_renewing_follows_the_catalog(database: Database) -> None:
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.publish()
        assert standing(database) == Standing("by_v")
        database.run("ALTER TABLE t RENAME v TO w", "ALTER TABLE t RENAME TO u")
        assert standing(database, "u").to_renew == (
            'the table was called "public"."t"',
            "column v is now called w",
        )
        table = kv_table(unique=True)
        index = replace(table.indexes[0], key=(EntryColumn(name="w", source="w", type=STRING),))
        renewed(database, replace(table, relation="u", indexes=(index,)))
        assert standing(database, "u") == Standing("by_v")
        database.run("UPDATE u SET w = 'after' WHERE k = 1", "DELETE FROM u WHERE k = 2")
        assert database.rows("SELECT w, k FROM t__by_v ORDER BY 2") == database.rows(
            "SELECT w, k FROM u ORDER BY 2"
        )
        database.run("ALTER TABLE u DROP COLUMN w")
        assert standing(database, "u").to_check == ("column w is gone",)


def test_functions_of_an_older_form_are_told_and_renewed(database: Database) -> None:
    """Everybody may use them, and a trigger that somebody disabled is told as well."""
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.publish()
        for name in ("keep", "truncate"):
            database.run(
                f"CREATE OR REPLACE FUNCTION t__by_v__{name}() RETURNS trigger SECURITY DEFINER "
                "LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
                f"GRANT EXECUTE ON FUNCTION t__by_v__{name}() TO PUBLIC",
            )
        assert standing(database).to_renew == (
            "its functions may be used by everybody",
            "its functions are of an older form, which any role could misuse",
        )
        renewed(database, kv_table(unique=True))
        assert standing(database) == Standing("by_v")
        database.run("UPDATE t SET v = 'after' WHERE k = 1")
        ground.assert_right()
        database.run("ALTER TABLE t DISABLE TRIGGER t__by_v__keep")
        (told,) = standing(database).to_check
        assert "disabled" in told


def test_table_that_was_restored_is_known_by_its_name_and_types(database: Database) -> None:
    """A restore numbers everything anew; a table of other types is not taken for it."""
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.publish()
        trigger = (
            "CREATE TRIGGER t__by_v__keep AFTER INSERT OR UPDATE OR DELETE ON t "
            "FOR EACH ROW EXECUTE FUNCTION t__by_v__keep()"
        )
        database.run(
            "CREATE TABLE copied AS SELECT s, v, k FROM t",
            "DROP TABLE t",
            "ALTER TABLE copied ADD PRIMARY KEY (k)",
            "ALTER TABLE copied RENAME TO t",
            trigger,
            "ALTER TABLE t ENABLE ALWAYS TRIGGER t__by_v__keep",
            "UPDATE t SET v = 'after' WHERE k = 1",
            "DELETE FROM t WHERE k = 2",
        )
        ground.assert_right()
        assert standing(database).to_renew == ("public.t was recreated since",)
        renewed(database, kv_table(unique=True))
        assert standing(database) == Standing("by_v")
        database.run("UPDATE t SET v = 'again' WHERE k = 1")
        ground.assert_right()
        database.run(
            "DROP TABLE t",
            "CREATE TABLE t (k int PRIMARY KEY, v json)",
            trigger,
        )
        with pytest.raises(errors.ObjectNotInPrerequisiteState, match="no column v of type"):
            database.run("INSERT INTO t VALUES (1, '{}')")


@pytest.mark.parametrize("method", list(Method))
def test_writers_go_on_when_a_column_is_renamed_during_a_build_and_the_build_stops(
    database: Database, method: Method
) -> None:
    """It goes on when the column has its name again; nothing is lost meanwhile."""
    with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
        ground.arrive_at(State.BACKFILLING)
        database.run(
            "ALTER TABLE t RENAME v TO w",
            "INSERT INTO t (k, w) VALUES (20, 'new')",
            "UPDATE t SET w = 'changed' WHERE k IN (1)",
            "DELETE FROM t WHERE k = 2",
        )
        with pytest.raises(StoreUnavailable, match=r'column "?v"? does not exist'):
            ground.load()
        database.run("ALTER TABLE t RENAME w TO v")
        ground.publish()
        ground.assert_right()
