# SPDX-License-Identifier: Apache-2.0
"""Tables and indexes of every shape: names, keys, expressions, conditions, and NULLs."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from psycopg import errors

from scrub.errors import UsageError
from scrub.model.build import Method, State
from scrub.model.table import Column, EntryColumn, Index, Nulls, Table
from scrub.model.types import ColumnType, TypeName
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import (
    BIGINT,
    STATES,
    STRING,
    Clashed,
    Ground,
    building,
    kv_table,
)

pytestmark = pytest.mark.slow

INT, BOOLEAN = ColumnType(TypeName.INT), ColumnType(TypeName.BOOLEAN)
NUMBER = ColumnType(TypeName.DECIMAL, precision=12, scale=4)

every_state = pytest.mark.parametrize(("method", "state"), STATES)
both_methods = pytest.mark.parametrize("method", list(Method))

# Names that need quotes, and names that the trigger function has for things of its own.
LINES = 'Order "Lines" of t'
CREATE = f"""
    CREATE TABLE {'"' + LINES.replace('"', '""') + '"'} (
        "Tenant" bigint, n int, o text, "E-Mail" text NOT NULL, has numeric, "Open?" boolean,
        r text, PRIMARY KEY ("Tenant", n))
"""
COLUMNS = (
    Column(name="Tenant", type=BIGINT, nullable=False),
    Column(name="n", type=INT, nullable=False),
    Column(name="o", type=STRING),
    Column(name="E-Mail", type=STRING, nullable=False),
    Column(name="has", type=NUMBER),
    Column(name="Open?", type=BOOLEAN),
    Column(name="r", type=STRING),
)


def _plain(name: str) -> EntryColumn:
    of_type = next(column.type for column in COLUMNS if column.name == name)
    return EntryColumn(name=name, source=name, type=of_type)


def _index(name: str, *key: EntryColumn, **others: Any) -> Index:
    return Index(
        name=name,
        store="shop",
        relation=f"{LINES}__{name}",
        key=key,
        suffix=(_plain("Tenant"), _plain("n")),
        dialect="postgres",
        **others,
    )


MAIL = EntryColumn(name="mail", source='lower("E-Mail")', is_expression=True, type=STRING)
TABLE = Table(
    name="lines",
    store="shop",
    relation=LINES,
    columns=COLUMNS,
    primary_key=("Tenant", "n"),
    indexes=(
        _index("by mail", MAIL, unique=True),
        _index("open", _plain("o"), where='"Open?"', stored=(_plain("has"), _plain("r"))),
        _index("by_has", _plain("has"), nulls=Nulls.SKIP),
        _index("by_pair", _plain("o"), _plain("has"), unique=True),
    ),
)
ROWS = """
    INSERT INTO {} VALUES
        (1, 1, 'x', 'Ann@Example.com', 1.5, true, NULL),
        (1, 2, 'x', 'bob@example.com', NULL, true, 'r'),
        (1, 3, NULL, 'Cyd@example.com', NULL, false, NULL),
        (2, 1, NULL, 'Dan@example.com', NULL, NULL, NULL),
        (2, 2, 'y', 'eve@example.com', 2.5, true, NULL),
        (2, 3, 'y', 'fay@example.com', 3.5, false, NULL)
"""


def _written(database: Database, *statements: str) -> None:
    quoted = '"' + LINES.replace('"', '""') + '"'
    database.run(*(statement.format(quoted) for statement in statements))


@every_state
def test_four_indexes_of_one_scan(database: Database, method: Method, state: State) -> None:
    """Two of them unique; an expression, a condition, NULLs skipped, NULLs in a pair."""
    database.run(CREATE)
    _written(database, ROWS)
    with building(database, TABLE, method) as ground:
        ground.arrive_at(state)
        _written(
            database,
            """UPDATE {} SET "E-Mail" = upper("E-Mail") WHERE n = 1""",
            """UPDATE {} SET "Open?" = NOT "Open?" WHERE n > 1""",
            """UPDATE {} SET n = 9, has = has + 1 WHERE "Tenant" = 2 AND n = 3""",
            """UPDATE {} SET has = NULL WHERE "Tenant" = 1 AND n = 1""",
            """DELETE FROM {} WHERE "Tenant" = 2 AND n = 2""",
            """INSERT INTO {} VALUES (3, 1, NULL, 'New@Example.com', 7, true, 'new')""",
        )
        ground.publish()
        ground.assert_right()
        assert ground.entries(index=0) == [
            ("ann@example.com", 1, 1),
            ("bob@example.com", 1, 2),
            ("cyd@example.com", 1, 3),
            ("dan@example.com", 2, 1),
            ("fay@example.com", 2, 9),
            ("new@example.com", 3, 1),
        ]
        assert ground.entries(index=1) == [
            ("x", 1, 1, None, None),
            ("y", 2, 9, Decimal("4.5"), None),
            (None, 1, 3, None, None),
            (None, 3, 1, Decimal(7), "new"),
        ]
        assert ground.entries(index=2) == [(Decimal("4.5"), 2, 9), (Decimal(7), 3, 1)]
        assert len(ground.entries(index=3)) == 6


@both_methods
def test_tombstones_are_found_without_reading_all_entries(
    database: Database, method: Method
) -> None:
    """Nobody has analysed a new table, and it is published while writers wait."""
    scans = "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 't__by_v'"
    create = "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)"
    rows = "INSERT INTO t SELECT n, n, NULL FROM generate_series(1, 9) AS n"
    with building(database, kv_table(unique=False), method, create, rows) as ground:
        ground.advance_to(State.VALIDATING)
        ground.build.connection.execute("SELECT pg_stat_force_next_flush()")
        before = database.rows(scans)
        ground.settle()
        ground.build.connection.execute("SELECT pg_stat_force_next_flush()")
        assert database.rows(scans) == before


@both_methods
def test_the_server_knows_how_large_an_index_is_before_it_is_checked(
    database: Database, method: Method
) -> None:
    """A plan for a table that seems empty takes a multiple of the time, if it ends at all."""
    create = "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)"
    rows = "INSERT INTO t SELECT n, n, NULL FROM generate_series(1, 3000) AS n"
    with building(database, kv_table(unique=False), method, create, rows) as ground:
        ground.advance_to(State.VALIDATING)
        known = "SELECT reltuples FROM pg_class WHERE oid = 't__by_v'::regclass"
        assert database.rows(known) == [(3000.0,)]


@both_methods
def test_clash_names_rows_by_all_columns_of_their_key(database: Database, method: Method) -> None:
    database.run(CREATE)
    _written(database, ROWS)
    _written(database, "INSERT INTO {} VALUES (7, 7, 'q', 'ANN@EXAMPLE.COM')")
    with (
        building(database, TABLE, method) as ground,
        pytest.raises(Clashed) as caught,
    ):
        ground.publish()
    (clash,) = caught.value.clashes
    assert clash.key == {"mail": "ann@example.com"}
    rows = [clash.row, clash.owner]
    assert sorted(rows, key=str) == [{"Tenant": "1", "n": "1"}, {"Tenant": "7", "n": "7"}]


@both_methods
def test_composite_keys_are_loaded_in_ranges(database: Database, method: Method) -> None:
    database.run(CREATE)
    _written(
        database,
        "INSERT INTO {} SELECT a, b, 'o', a || '/' || b FROM generate_series(1, 9) AS a, "
        "generate_series(1, 9) AS b",
    )
    with building(database, TABLE, method) as ground:
        ground.advance()
        ground.build.plan_load(4)
        ground.advance()
        assert ground.build.unfinished("load") == [0, 1, 2, 3]
        _written(database, """UPDATE {} SET "Tenant" = 10 - "Tenant", n = n + 10""")
        ground.load(rows=7)
        ground.publish()
        ground.assert_right()


@every_state
def test_nullable_column_of_an_index_that_is_not_unique(
    database: Database, method: Method, state: State
) -> None:
    create = "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text)"
    rows = "INSERT INTO t VALUES (1, NULL), (2, NULL), (3, 'c'), (4, 'd')"
    table = kv_table(unique=False, nullable=True, stored=True)
    with building(database, table, method, create, rows) as ground:
        ground.arrive_at(state)
        database.run(
            "UPDATE t SET v = 'a' WHERE k = 1",
            "UPDATE t SET v = NULL, s = 's' WHERE k = 3",
            "DELETE FROM t WHERE k = 2",
            "INSERT INTO t VALUES (5, NULL, NULL)",
            "UPDATE t SET s = 's' WHERE k = 5",
        )
        ground.publish()
        ground.assert_right()
        expected = [("a", 1, None), ("d", 4, None), (None, 3, "s"), (None, 5, "s")]
        assert ground.entries() == expected


@both_methods
def test_condition_that_means_the_same_everywhere_needs_no_dialect(
    database: Database, method: Method
) -> None:
    table = kv_table(unique=True)
    table = replace(table, indexes=(replace(table.indexes[0], where="k > 2"),))
    create = "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)"
    rows = "INSERT INTO t VALUES (1, 'a'), (2, 'a'), (3, 'a'), (4, 'd')"
    with building(database, table, method, create, rows) as ground:
        ground.arrive_at(State.BACKFILLING)
        database.run("UPDATE t SET k = 5 WHERE k = 4", "UPDATE t SET k = 0 WHERE k = 2")
        ground.publish()
        ground.assert_right()
        assert ground.entries() == [("a", 3), ("d", 5)]


def test_equal_values_that_are_not_the_same_are_written_to_a_public_index(
    database: Database,
) -> None:
    """1.0 and 1.00 are equal, and an index holds what the row holds."""
    table = kv_table(unique=True, stored=True)
    create = "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s numeric)"
    with building(
        database, table, Method.INIT_PUT, create, "INSERT INTO t VALUES (1, 'a', 1.0)"
    ) as ground:
        ground.publish()
        database.run("UPDATE t SET s = 1.00")
        assert database.rows("SELECT s::text FROM t__by_v") == [("1.00",)]


def _with_expression(expression: str) -> Table:
    table = kv_table(unique=False)
    key = EntryColumn(name="v", source=expression, is_expression=True, type=STRING)
    return replace(table, indexes=(replace(table.indexes[0], key=(key,), dialect="postgres"),))


@pytest.mark.parametrize("name", ["shouted", "public.shouted"])
def test_function_is_found_by_every_writer_or_refused_at_once(
    database: Database, name: str
) -> None:
    """Not by whoever has the right search_path: every other writer would fail."""
    database.run(
        "CREATE SCHEMA shop",
        "CREATE TABLE shop.t (k bigint PRIMARY KEY, v text NOT NULL, s text)",
        "INSERT INTO shop.t VALUES (1, 'a')",
        "CREATE FUNCTION shouted(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT upper($1)'",
    )
    ground = Ground(database, _with_expression(f"{name}(v)"), Method.INIT_PUT, schema="shop")
    if "." not in name:
        with pytest.raises(UsageError, match="shouted"):
            ground.begin()
        database.run("INSERT INTO shop.t VALUES (2, 'b')")
        return
    ground.begin()
    with ground.writer() as writer:
        writer.execute("SET search_path = pg_catalog")
        writer.execute("INSERT INTO shop.t VALUES (2, 'b')")
    ground.publish()
    ground.assert_right()
    assert ground.entries() == [("A", 1), ("B", 2)]
    ground.build.close()


@pytest.mark.parametrize("expression", ["now()::text || v", "to_char(moment, 'HH24')"])
def test_expression_that_depends_on_more_than_the_row_is_refused(
    database: Database, expression: str
) -> None:
    """Writers in other time zones would make other entries."""
    database.run("CREATE TABLE t (k bigint PRIMARY KEY, v text, s text, moment timestamptz)")
    ground = Ground(database, _with_expression(expression), Method.INIT_PUT)
    with pytest.raises(UsageError, match="IMMUTABLE"):
        ground.begin()
    assert database.rows("SELECT to_regclass('t__by_v')") == [(None,)]


def test_reversed_build_leaves_nothing_behind(database: Database) -> None:
    database.run(CREATE)
    _written(database, ROWS)
    before = database.rows(_THINGS)
    with building(database, TABLE, Method.MERGE) as ground:
        ground.arrive_at(State.MERGING)
        ground.reverse()
    left = set(database.rows(_THINGS)) - set(before)
    assert {name for (name,) in left if not name.startswith("scrub_build")} == set()


_THINGS = """
    SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT tgname::text FROM pg_trigger WHERE NOT tgisinternal
"""


def test_writers_of_a_public_unique_pair_are_refused(database: Database) -> None:
    database.run(CREATE)
    _written(database, ROWS)
    with building(database, TABLE, Method.INIT_PUT) as ground:
        ground.publish()
        with pytest.raises(errors.UniqueViolation):
            _written(database, "INSERT INTO {} VALUES (8, 8, 'y', 'h@example.com', 2.5)")
        _written(database, "INSERT INTO {} VALUES (8, 8, 'x', 'h@example.com', NULL)")
        ground.assert_right()
