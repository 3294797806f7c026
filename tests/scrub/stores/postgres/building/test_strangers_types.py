# SPDX-License-Identifier: Apache-2.0
"""Types of somebody else in the table: none of the code that she can hang on them is called.

Whoever owns an enum can make casts between it and any type of the server's, and whoever owns a
domain decides what its checks call. All of it would run with the rights of whoever builds, checks
or repairs, or of the owner of the index.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from psycopg import errors

from scrub.errors import UsageError
from scrub.model.build import Method, State
from scrub.model.entry_shape import EntryShape
from scrub.model.table import Column, Store
from scrub.model.types import parse_type
from scrub.stores.entry_states import Outcome
from tests.postgres_server import Database
from tests.scrub.stores.conditional_writes import PostgresWrites
from tests.scrub.stores.postgres.building.ground import Ground, building, kv_table
from tests.scrub.stores.postgres.building.test_hostile_roles import a_role, walk
from tests.scrub.stores.postgres.own_indexes.own_index_ground import blind, check, own_index

pytestmark = pytest.mark.slow

TYPES_OF_TEXT = ("text", "varchar", "name", "json")
OWN = (
    "LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE EXCEPTION 'her code ran as %', current_user; END$$"
)


@contextmanager
def her_enum(database: Database) -> Iterator[psycopg.Connection[Any]]:
    """An enum that everybody may use, with casts that call her from and to all kinds of text."""
    with a_role(database, "GRANT CREATE ON SCHEMA public TO {name}") as (_, mallory):
        mallory.execute("CREATE TYPE public.mood AS ENUM ('a', 'b', 'c', 'd')")
        for other in TYPES_OF_TEXT:
            mallory.execute(f"CREATE FUNCTION public.to_{other}(public.mood) RETURNS {other} {OWN}")
            mallory.execute(f"CREATE FUNCTION public.of_{other}({other}) RETURNS public.mood {OWN}")
            mallory.execute(
                f"CREATE CAST (public.mood AS {other}) "
                f"WITH FUNCTION public.to_{other}(public.mood) AS ASSIGNMENT"
            )
            mallory.execute(
                f"CREATE CAST ({other} AS public.mood) "
                f"WITH FUNCTION public.of_{other}({other}) AS ASSIGNMENT"
            )
        yield mallory


@contextmanager
def her_enum_indexed(database: Database, method: Method, *statements: str) -> Iterator[Ground]:
    with (
        her_enum(database),
        building(database, kv_table(unique=True), method, *statements) as ground,
    ):
        yield ground


@pytest.mark.parametrize("method", list(Method))
def test_no_cast_is_called_for_values_of_a_strangers_enum(
    database: Database, method: Method
) -> None:
    """Indexed: when rows clash, during the build and after it, and both are named."""
    table = "CREATE TABLE t (k bigint PRIMARY KEY, v public.mood NOT NULL, s text)"
    rows = "INSERT INTO t VALUES (1, 'a'), (2, 'b')"
    with her_enum_indexed(database, method, table, rows) as ground:
        for state in walk(ground):
            database.run("UPDATE t SET v = 'c' WHERE k = 2", "UPDATE t SET v = 'b' WHERE k = 2")
            if state is not State.PUBLIC:
                database.run("INSERT INTO t VALUES (8, 'b')", "DELETE FROM t WHERE k = 8")
        ground.assert_right()
        with pytest.raises(errors.UniqueViolation) as refused:
            database.run("INSERT INTO t VALUES (3, 'a')")
        assert refused.value.diag.message_detail == "a"


@pytest.mark.parametrize("method", list(Method))
def test_no_cast_is_called_for_keys_of_a_strangers_enum(database: Database, method: Method) -> None:
    """As the primary key, whose values travel as text."""
    table = "CREATE TABLE t (k public.mood PRIMARY KEY, v text NOT NULL, s text)"
    rows = "INSERT INTO t VALUES ('a', 'x'), ('b', 'y')"
    with her_enum_indexed(database, method, table, rows) as ground:
        for state in walk(ground):
            if state is not State.PUBLIC:
                database.run("INSERT INTO t VALUES ('d', 'y')", "DELETE FROM t WHERE k = 'd'")
            database.run("UPDATE t SET v = v || '!'")
        ground.assert_right()


def test_a_condition_on_a_strangers_enum_is_refused(database: Database) -> None:
    """Nothing of the server's own makes text of it for ever, and her cast is not asked."""
    described = kv_table(unique=False)
    index = replace(described.indexes[0], where="v = 'a'")
    with (
        her_enum(database),
        pytest.raises(UsageError, match="must be marked IMMUTABLE") as refused,
        building(
            database,
            replace(described, indexes=(index,)),
            Method.MERGE,
            "CREATE TABLE t (k bigint PRIMARY KEY, v public.mood NOT NULL, s text)",
        ),
    ):
        pass
    assert "enum_out" in str(refused.value)


@pytest.mark.parametrize(("column", "base"), [("k", "bigint"), ("v", "text")])
@pytest.mark.parametrize("method", list(Method))
def test_checks_of_a_strangers_domain_run_only_as_whoever_writes(
    database: Database, method: Method, column: str, base: str
) -> None:
    """Even of a domain behind a domain; and index tables hold what is behind both."""
    writer = f"{database.name}_writer"
    types = {"k": "bigint", "v": "text", column: "public.outer_one"}
    with a_role(
        database,
        "GRANT CREATE ON SCHEMA public TO {name}",
        tables=(
            "CREATE TABLE public.ran (who text)",
            "GRANT INSERT ON public.ran TO PUBLIC",
            f"CREATE ROLE {writer}",
        ),
    ) as (_, mallory):
        mallory.execute(
            f"CREATE FUNCTION public.checked({base}) RETURNS boolean LANGUAGE plpgsql AS "
            "$$BEGIN INSERT INTO public.ran VALUES (current_user); RETURN true; END$$"
        )
        mallory.execute(f"CREATE DOMAIN public.inner_one AS {base} CHECK (public.checked(VALUE))")
        mallory.execute(
            "CREATE DOMAIN public.outer_one AS public.inner_one CHECK (public.checked(VALUE))"
        )
        try:
            with building(
                database,
                kv_table(unique=True),
                method,
                f"CREATE TABLE t (k {types['k']} PRIMARY KEY, v {types['v']} NOT NULL, s text)",
                "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
                f"GRANT INSERT, UPDATE, DELETE, SELECT ON t TO {writer}",
                "DELETE FROM public.ran",
            ) as ground:
                for number, _ in enumerate(walk(ground)):
                    database.run(
                        f"SET ROLE {writer}",
                        f"INSERT INTO t VALUES ({10 + number}, 'n{number}')",
                        f"UPDATE t SET v = v || '!' WHERE k = {10 + number}",
                        f"DELETE FROM t WHERE k = {10 + number}",
                    )
                ground.assert_right()
                assert database.rows("SELECT DISTINCT who FROM public.ran") == [(writer,)]
                held = "SELECT pg_typeof(v)::text, pg_typeof(k)::text FROM t__by_v LIMIT 1"
                assert database.rows(held) == [("text", "bigint")]
        finally:
            database.run(f"DROP OWNED BY {writer}", f"DROP ROLE {writer}")


def test_entries_with_a_strangers_enum_are_written_without_her_casts(database: Database) -> None:
    """As repairs write them: found, put and deleted by values that came as text."""
    column = Column(name="v", type=parse_type("string"), nullable=False)
    owner = Column(name="k", type=parse_type("bigint"), nullable=False)
    shape = EntryShape(relation="i", indexed=(column,), suffix=(owner,))
    one = pa.table({"v": ["a"], "k": [1]})
    with her_enum(database):
        database.run("CREATE TABLE i (v public.mood, k bigint, PRIMARY KEY (v, k))")
        writer = PostgresWrites(Store(name="shop", kind="postgres", url=database.url))
        assert writer.init_put(shape, one, fail_on_tombstones=True) == [Outcome.WRITTEN]
        assert writer.init_put(shape, one, fail_on_tombstones=True) == [Outcome.UNCHANGED]
        assert writer.delete_if_equal(shape, one) == [Outcome.WRITTEN]
        assert database.rows("SELECT count(*) FROM i") == [(0,)]


def test_an_index_of_the_server_on_a_strangers_enum_is_checked_without_her_casts(
    database: Database,
) -> None:
    with her_enum(database):
        database.run(
            "CREATE TABLE t (id int PRIMARY KEY, k public.mood)",
            "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
            "CREATE INDEX i ON t (k)",
            "VACUUM (FREEZE, ANALYZE) t",
        )
        with blind(database, "i"):
            database.run("INSERT INTO t VALUES (3, 'c')")
        findings = check(database, own_index("i", "k"))
        (defect,) = findings.defects
        assert (dict(defect.primary_key or {}), dict(defect.index_key or {})) == (
            {"id": 3},
            {"k": "c"},
        )
