# SPDX-License-Identifier: Apache-2.0
"""Columns of types from other schemas: what is equal is what their operator class says it is."""

from dataclasses import replace

import pytest
from psycopg import errors

from scrub.errors import RelationMismatch
from scrub.model.build import DUTIES, Method, State
from scrub.model.table import EntryColumn, Table
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.foreign_types import (
    CI,
    SCHEMA,
    case_insensitive_type,
    citext,
    offers_citext,
)
from tests.scrub.stores.postgres.building.ground import (
    BIGINT,
    STRING,
    Clashed,
    building,
    kv_table,
    persistently,
)

pytestmark = pytest.mark.slow

both_methods = pytest.mark.parametrize("method", list(Method))


def types(database: Database, name: str) -> tuple[list[str], str]:
    if name == "ci":
        return case_insensitive_type(), CI
    if not offers_citext(database):
        pytest.skip("this server has no citext")
    return citext(), f'"{SCHEMA}".citext'


def value(name: str, text: str) -> str:
    return f"ROW('{text}')" if name == "ci" else f"'{text}'"


@both_methods
@pytest.mark.parametrize("name", ["ci", "citext"])
def test_unique_index_of_a_type_in_another_schema_knows_its_equality(
    database: Database, method: Method, name: str
) -> None:
    """By the path, `=` is that of another type: a copy comes in, and a row loses its entry."""
    made, of_type = types(database, name)
    create = f"CREATE TABLE t (k bigint PRIMARY KEY, v {of_type} NOT NULL, s text)"
    rows = f"INSERT INTO t VALUES (1, {value(name, 'Ann')}), (2, {value(name, 'Bob')})"
    with building(database, kv_table(unique=True), method, *made, create, rows) as ground:
        for number, state in enumerate(DUTIES[method]):
            ground.arrive_at(state)
            k = 10 * (number + 1)
            database.run(
                f"INSERT INTO t VALUES ({k}, {value(name, f'New{k}')})",
                f"UPDATE t SET v = {value(name, 'ANN' if number % 2 else 'ann')} WHERE k = 1",
                f"UPDATE t SET v = {value(name, f'bOB{k}')} WHERE k = 2",
                f"INSERT INTO t VALUES ({k + 1}, {value(name, f'gone{k}')})",
                f"DELETE FROM t WHERE k = {k + 1}",
                # The new owner of a key comes before the old one has left.
                f"INSERT INTO t VALUES ({k + 2}, {value(name, f'l{k}')}), "
                f"({k + 3}, {value(name, f'm{k}')})",
                f"UPDATE t SET v = CASE k WHEN {k + 2} THEN {value(name, f'M{k}')}::{of_type} "
                f"ELSE {value(name, f'L{k}')}::{of_type} END WHERE k IN ({k + 2}, {k + 3})",
            )
        for text in ("ANN", "Ann", "ann"):
            with pytest.raises(errors.UniqueViolation):
                database.run(f"INSERT INTO t VALUES (77, {value(name, text)})")
        assert shown(database, "t__by_v") == shown(database, "t")


def shown(database: Database, relation: str) -> list[tuple[str, int]]:
    return sorted(database.rows(f"SELECT v::text, k FROM {relation}"))


@both_methods
def test_rows_that_are_equal_by_their_type_clash(database: Database, method: Method) -> None:
    create = f"CREATE TABLE t (k bigint PRIMARY KEY, v {CI} NOT NULL, s text)"
    rows = "INSERT INTO t VALUES (1, ROW('Ann')), (2, ROW('ANN'))"
    with (
        building(
            database, kv_table(unique=True), method, *case_insensitive_type(), create, rows
        ) as ground,
        pytest.raises(Clashed),
    ):
        ground.publish()


@both_methods
@pytest.mark.parametrize("order", [("k", "v"), ("v", "k")])
def test_primary_key_of_such_a_type_is_read_in_its_order(
    database: Database, method: Method, order: tuple[str, str]
) -> None:
    """Its operators and those of its other column are in different schemas."""
    create = f"CREATE TABLE t (k bigint, v {CI}, s text NOT NULL, PRIMARY KEY ({', '.join(order)}))"
    rows = (
        f"INSERT INTO t SELECT n % 5, ROW(chr(65 + n % 7) || n)::{CI}, 's' || n "
        "FROM generate_series(1, 60) AS n"
    )
    table = kv_table(unique=True)
    plain = {name: EntryColumn(name=name, source=name, type=BIGINT) for name in ("k", "v")}
    index = replace(
        table.indexes[0],
        key=(EntryColumn(name="s", source="s", type=STRING),),
        suffix=tuple(plain[name] for name in order),
    )
    table = replace(table, primary_key=order, indexes=(index,))
    with building(database, table, method, *case_insensitive_type(), create, rows) as ground:
        ground.advance_to(State.WRITE_AND_DELETE)
        ground.build.plan_load(3)
        ground.advance_to(State.BACKFILLING)
        persistently(lambda: ground.build.load_step(0, 4))
        database.run(
            "UPDATE t SET v = ROW(upper((v).t)), s = upper(s) WHERE k = 1",
            "UPDATE t SET k = k + 10 WHERE k = 2",
            "DELETE FROM t WHERE k = 3",
            # Both rows of one key become suspects, and are looked at again.
            "UPDATE t SET s = CASE s WHEN 's5' THEN 's10' ELSE 's5' END WHERE s IN ('s5', 's10')",
        )
        ground.load(rows=4)
        ground.publish()
        ground.assert_right()


@pytest.mark.parametrize("stored", [False, True], ids=["indexed", "stored"])
def test_type_without_an_order_is_refused_by_name(database: Database, stored: bool) -> None:
    table: Table = kv_table(unique=False, stored=stored)
    column = "s" if stored else "v"
    database.run(f"CREATE TABLE t (k bigint PRIMARY KEY, v {'text' if stored else 'json'}, s json)")
    with (
        pytest.raises(RelationMismatch, match=f"public.t.{column} is of type json") as caught,
        building(database, table, Method.INIT_PUT),
    ):
        pass
    assert caught.value.hint
