# SPDX-License-Identifier: Apache-2.0
"""Equality comes from operator classes, whatever the search path says."""

import pytest

from scrub.stores.postgres.equality import equal, equalities_of, same
from tests.postgres_server import Database

OWN_TYPE = """
    CREATE SCHEMA own;
    CREATE TYPE own.folded AS (word text);
    CREATE FUNCTION own.cmp(own.folded, own.folded) RETURNS int IMMUTABLE LANGUAGE sql
        AS 'SELECT pg_catalog.bttextcmp(lower(($1).word), lower(($2).word))';
    CREATE FUNCTION own.lt(own.folded, own.folded) RETURNS boolean IMMUTABLE LANGUAGE sql
        AS 'SELECT own.cmp($1, $2) < 0';
    CREATE FUNCTION own.eq(own.folded, own.folded) RETURNS boolean IMMUTABLE LANGUAGE sql
        AS 'SELECT own.cmp($1, $2) = 0';
    CREATE FUNCTION own.gt(own.folded, own.folded) RETURNS boolean IMMUTABLE LANGUAGE sql
        AS 'SELECT own.cmp($1, $2) > 0';
    CREATE OPERATOR own.< (FUNCTION = own.lt, LEFTARG = own.folded, RIGHTARG = own.folded);
    CREATE OPERATOR own.= (FUNCTION = own.eq, LEFTARG = own.folded, RIGHTARG = own.folded);
    CREATE OPERATOR own.> (FUNCTION = own.gt, LEFTARG = own.folded, RIGHTARG = own.folded);
    CREATE OPERATOR CLASS own.folded_ops DEFAULT FOR TYPE own.folded USING btree AS
        OPERATOR 1 own.<, OPERATOR 3 own.=, OPERATOR 5 own.>,
        FUNCTION 1 own.cmp(own.folded, own.folded);
    CREATE DOMAIN own.shouted AS own.folded;
    CREATE TYPE own.mood AS ENUM ('sad', 'glad');
    CREATE TYPE own.plain AS (a int, b text);
"""


def _oid(database: Database, table: str) -> int:
    return int(database.rows(f"SELECT '{table}'::regclass::oid")[0][0])


@pytest.fixture
def found(database: Database) -> dict[str, str | None]:
    database.run(
        OWN_TYPE,
        "CREATE TABLE t (f own.folded, d own.shouted, i bigint, v varchar(9), c char(3), n numeric,"
        ' e own.mood, r own.plain, a int[], s text COLLATE "C", g int4range, j json, u uuid)',
    )
    with database.connect(options="-c search_path=pg_catalog,pg_temp") as connection:
        return equalities_of(connection, _oid(database, "public.t"))


def test_a_type_of_another_schema_brings_its_own_operator(found: dict[str, str | None]) -> None:
    assert found["f"] == 'OPERATOR("own".=)'


def test_a_domain_is_compared_as_the_type_behind_it(found: dict[str, str | None]) -> None:
    assert found["d"] == 'OPERATOR("own".=)'


@pytest.mark.parametrize("column", ["i", "v", "c", "n", "e", "r", "a", "s", "g", "u"])
def test_types_of_the_server_are_compared_by_its_own_operator(
    found: dict[str, str | None], column: str
) -> None:
    assert found[column] == 'OPERATOR("pg_catalog".=)'


def test_what_has_no_order_has_no_equality(found: dict[str, str | None]) -> None:
    assert found["j"] is None


def test_values_are_compared_by_it(database: Database) -> None:
    database.run(OWN_TYPE)
    sql = 'OPERATOR("own".=)'
    a, b, null = "ROW('Ab')::own.folded", "ROW('aB')::own.folded", "NULL::own.folded"
    query = f"SELECT {equal(a, sql, b)}, {same(a, sql, b)}, {same(a, sql, null)}, " + same(
        null, sql, null
    )
    assert database.rows(query) == [(True, True, False, True)]
