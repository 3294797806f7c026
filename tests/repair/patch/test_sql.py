# SPDX-License-Identifier: Apache-2.0
"""Patches as SQL, run on a real server: exact, conditional, and harmless when run again."""

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from repair.patch.dialects import Derby, Dialect, Postgres
from repair.patch.sql import SqlPatch, patch_as_sql
from repair.patch.targets import sql_target
from repair.planning import plan_repair
from scrub.codec.arrow_types import to_arrow
from scrub.codec.json_values import to_table
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.index_shape import shape_of
from scrub.model.table import Column, EntryColumn, Nulls, Store, Table
from scrub.model.types import parse_type
from tests.postgres_server import Database, new_database
from tests.scrub.stores.postgres.repairs import postgres_ground as grounds


def patch_of(
    ground: grounds.Ground,
    defects: Sequence[Defect],
    store: Store | None = None,
    title: str = "a patch",
) -> SqlPatch:
    plan = plan_repair(defects, {ground.table.name: ground.table})
    found = ground.table.index("by_v")
    target = sql_target(store or ground.store, ground.table, found)
    assert not isinstance(target, str)
    return patch_as_sql(plan.actions, shape_of(ground.table, found), target, title)


JDBC = Store(
    name="shop", kind="spark", format="jdbc", options={"url": "jdbc:postgresql://host/shop"}
)


def run(database: Database, patch: SqlPatch) -> None:
    """As psql runs a file: the script as it is, with its own transaction."""
    with closing(database.connect()) as connection:
        connection.execute(patch.text.encode())


def ground_of(database: Database, table: Table | None = None) -> grounds.Ground:
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text)",
        "CREATE TABLE t__by_v (v text, k bigint, s text)",
        "INSERT INTO t VALUES (1, 'a', 'x'), (2, NULL, NULL), (3, 'it''s', '\\'), (4, 'd', 'y')",
        "INSERT INTO t__by_v SELECT v, k, s FROM t",
    )
    return grounds.Ground(database, table or grounds.kv_table())


def damage(database: Database) -> None:
    """One defect of each kind that is repaired, with values that quoting must survive."""
    database.run(
        "DELETE FROM t__by_v WHERE k IN (2, 3)",
        "UPDATE t__by_v SET s = E'\\\\''; DROP TABLE t; --' WHERE k = 1",
        "INSERT INTO t__by_v VALUES ('d', 4, 'y'), ('gone', 9, NULL), ('gone', 9, NULL)",
    )


@pytest.mark.parametrize("store", [None, JDBC], ids=["postgres", "jdbc"])
def test_a_patch_mends_every_kind_and_changes_nothing_when_run_again(
    database: Database, store: Store | None
) -> None:
    ground = ground_of(database)
    damage(database)
    patch = patch_of(ground, ground.defects(), store)
    assert (patch.left_out, patch.changes) == ({}, 6), patch.text
    run(database, patch)
    ground.assert_right()
    tuples = "SELECT ctid::text, xmin::text, t::text FROM t__by_v t ORDER BY 1"
    after = database.rows(tuples)
    run(database, patch)
    assert after == database.rows(tuples)


@pytest.mark.parametrize(
    "meanwhile",
    [
        "UPDATE t SET s = s || 'new'",
        "UPDATE t__by_v SET s = 'somebody else''s'",
        "DELETE FROM t",
        "INSERT INTO t VALUES (9, 'gone', NULL)",
    ],
)
def test_what_changed_meanwhile_is_left_alone(database: Database, meanwhile: str) -> None:
    """What the script does then is right for the rows as they are, or nothing."""
    ground = ground_of(database)
    damage(database)
    patch = patch_of(ground, ground.defects())
    database.run(meanwhile)
    wrong_before = {(d.kind, repr(d.expected), repr(d.actual)) for d in ground.defects()}
    run(database, patch)
    wrong_after = {(d.kind, repr(d.expected), repr(d.actual)) for d in ground.defects()}
    assert wrong_after <= wrong_before, "the patch made something wrong"


def test_a_row_that_came_meanwhile_keeps_its_entry(database: Database) -> None:
    ground = ground_of(database)
    database.run("INSERT INTO t__by_v VALUES ('gone', 9, NULL)")
    patch = patch_of(ground, ground.defects())
    database.run("INSERT INTO t VALUES (9, 'gone', NULL)")
    run(database, patch)
    ground.assert_right()


def test_the_right_entry_beside_wrong_copies_stays_alone(database: Database) -> None:
    ground = ground_of(database)
    database.run("INSERT INTO t__by_v VALUES ('a', 1, 'wrong'), ('a', 1, 'wrong')")
    run(database, patch_of(ground, ground.defects()))
    ground.assert_right()


def test_in_a_unique_index_what_goes_makes_room_for_what_comes(database: Database) -> None:
    ground = ground_of(database, grounds.kv_table(unique=True))
    database.run(
        "CREATE UNIQUE INDEX ON t__by_v (v)",
        "UPDATE t__by_v SET k = 77 WHERE k = 1",
    )
    patch = patch_of(ground, ground.defects())
    run(database, patch)
    ground.assert_right()
    database.run("UPDATE t__by_v SET k = 78 WHERE k = 1")
    run(database, patch)  # the place is somebody else's now
    assert ("a", 78, "x") in database.rows("SELECT v, k, s FROM t__by_v")


def test_partial_and_null_skipping_indexes_are_judged_by_their_conditions(
    database: Database,
) -> None:
    table = grounds.kv_table(where="s <> 'y'", nulls=Nulls.SKIP)
    ground = ground_of(database, table)
    ground.due = {
        "by_v": lambda row: (
            {"v": row["v"], "k": row["k"], "s": row["s"]}
            if row["v"] is not None and row["s"] not in (None, "y")
            else None
        )
    }
    assert len(ground.defects()) == 2, "a row that is not covered has an entry, and one with NULL"
    run(database, patch_of(ground, ground.defects()))
    ground.assert_right()


@pytest.mark.parametrize("text", ["lower(v)", "initcap(v)"])
def test_values_of_expressions_are_asked_of_the_row_where_its_database_knows_them(
    database: Database, text: str
) -> None:
    """What only Spark knows is left out, and the rest of the row decides."""
    dialect = "postgres" if text == "lower(v)" else "spark"
    made = EntryColumn(name="e", source=text, is_expression=True, type=grounds.STRING)
    index = grounds.index_of(key={}, columns=(made,), suffix={"k": grounds.BIGINT}, dialect=dialect)
    table = grounds.table_of({"k": grounds.BIGINT, "v": grounds.STRING}, index)
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v text)",
        "CREATE TABLE t__by_v (e text, k bigint)",
        "INSERT INTO t VALUES (1, 'One'), (2, NULL), (3, 'Three')",
        f"INSERT INTO t__by_v SELECT {text}, k FROM t",
        "UPDATE t__by_v SET e = 'wrong'",
    )
    expected = database.rows(f"SELECT {text}, k FROM t ORDER BY k")
    defects = [
        made
        for e, k in expected
        for made in (
            grounds.defect_of(table, "by_v", DefectKind.MISSING, expected={"e": e, "k": k}),
            grounds.defect_of(table, "by_v", DefectKind.DANGLING, actual={"e": "wrong", "k": k}),
        )
    ]
    patch = patch_of(grounds.Ground(database, table), defects)
    assert ("Not all that decides" in patch.text) is (dialect == "spark")
    run(database, patch)
    assert database.rows("SELECT e, k FROM t__by_v ORDER BY k") == expected


def test_names_are_quoted_and_types_of_the_server_are_met(database: Database) -> None:
    name, quoted = 'we"ird; -- ', '"we""ird; -- "'
    database.run(
        "CREATE TYPE mood AS ENUM ('glad', 'sad')",
        f"CREATE TABLE {quoted} (k uuid PRIMARY KEY, {quoted} mood, s numeric, c char(5))",
        f"CREATE TABLE by_it ({quoted} mood, k uuid, s numeric, c char(5))",
        f"INSERT INTO {quoted} VALUES (gen_random_uuid(), 'glad', 1.50, 'a')",
        "INSERT INTO by_it VALUES ('sad', gen_random_uuid(), 1.500, 'b')",
    )
    stored = {"s": grounds.STRING, "c": grounds.STRING}
    index = grounds.index_of(
        key={name: grounds.STRING}, suffix={"k": grounds.STRING}, stored=stored, relation="by_it"
    )
    table = grounds.table_of(
        {"k": grounds.STRING, name: grounds.STRING, **stored}, index, relation=name
    )
    (row,) = database.rows(f"SELECT k::text FROM {quoted}")
    (other,) = database.rows("SELECT k::text FROM by_it")
    expected = {name: "glad", "k": row[0], "s": "1.5", "c": "a"}
    actual = {name: "sad", "k": other[0], "s": "1.5", "c": "b"}
    missing = grounds.defect_of(table, "by_v", DefectKind.MISSING, expected=expected)
    dangling = grounds.defect_of(table, "by_v", DefectKind.DANGLING, actual=actual)
    run(database, patch_of(grounds.Ground(database, table), [missing, dangling]))
    columns = f"{quoted}::text, k::text, trim_scale(s)::text, c::text"
    assert database.rows(f"SELECT {columns} FROM by_it") == [("glad", row[0], "1.5", "a")]


def test_a_text_that_the_server_cannot_hold_is_left_out_and_named(database: Database) -> None:
    ground = ground_of(database)
    entry = {"v": "zero \0 byte", "k": 5, "s": None}
    defect = grounds.defect_of(ground.table, "by_v", DefectKind.MISSING, expected=entry)
    patch = patch_of(ground, [defect])
    assert list(patch.left_out) == [defect.id]
    assert patch.changes == 0
    run(database, patch)


TYPES = {
    "boolean": st.booleans(),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "decimal(20,4)": st.decimals(-(10**15), 10**15, places=4),
    "string": st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    "binary": st.binary(max_size=20),
    "date": st.dates(),
    "timestamp": st.datetimes(timezones=st.just(UTC)),
    "timestamp_ntz": st.datetimes(),
}


@pytest.fixture(scope="module")
def session(postgres_url: str) -> Any:
    with new_database(postgres_url) as made, closing(made.connect()) as connection:
        # Settings that sessions have here and there, and that no literal may depend on.
        connection.execute("SET TimeZone = 'Asia/Kathmandu'")
        connection.execute("SET standard_conforming_strings = off")
        connection.execute("SET DateStyle = 'ISO, DMY'")
        yield connection


@pytest.mark.parametrize("name", TYPES)
def test_literals_are_what_they_say_on_the_server(name: str, session: Any) -> None:
    of_type = parse_type(name)
    column = Column(name="c", type=of_type)
    dialect = Postgres()

    @settings(max_examples=40)
    @given(value=TYPES[name] | st.none())
    def is_exact(value: Any) -> None:
        reported = _reported(value)
        (expected,) = to_table([{"c": reported}], [column]).column("c").to_pylist()
        literal = dialect.compared(reported, of_type)
        with session.transaction(force_rollback=True):
            session.execute("SET LOCAL TimeZone = 'UTC'")
            found = session.execute(f"SELECT {literal}").fetchone()
        (found,) = pa.array(found, to_arrow(of_type)).to_pylist()
        assert str(found) == str(expected), "-0.0 is no 0.0, and NaN is itself"

    is_exact()


def _reported(value: Any) -> Value:
    """As a defect tells it."""
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return grounds.told(value)


@pytest.mark.parametrize("dialect", [Postgres(), Derby()])
@pytest.mark.parametrize("name", TYPES)
def test_no_value_of_a_result_ends_its_literal_early(dialect: Dialect, name: str) -> None:
    """Python reads times with any character between date and time."""
    for value in ("2024-01-01'10:00:00", "'); DROP TABLE t; --", "\\'; DROP TABLE t; --"):
        with suppress(ValueError, ArithmeticError):
            written = dialect.compared(value, parse_type(name))
            assert len(sqlglot.parse(f"SELECT {written}", read="postgres")) == 1


def test_no_name_ends_a_comment_early(database: Database) -> None:
    ground = ground_of(database)
    damage(database)
    title = "by\nDROP TABLE t;\r\u2028DROP TABLE t__by_v;"
    run(database, patch_of(ground, ground.defects(), title=title))
    ground.assert_right()


@pytest.mark.parametrize(
    ("url", "change", "why"),
    [
        ("jdbc:mysql://host/shop", {}, "SQL of this database is not known"),
        ("jdbc:postgresql://host/shop", {"relation": "(SELECT 1) AS q"}, "is a query"),
        ("jdbc:postgresql://host/shop", {"relation": "t; DROP TABLE t"}, "is a query"),
    ],
)
def test_where_no_sql_can_be_written_the_reason_is_told(
    url: str, change: dict[str, Any], why: str
) -> None:
    table = grounds.kv_table(**change)
    store = replace(JDBC, options={"url": url})
    told_why = sql_target(store, table, table.index("by_v"))
    assert isinstance(told_why, str)
    assert why in told_why
