# SPDX-License-Identifier: Apache-2.0
"""Entries that are spelled otherwise than their rows: equal is what the operator class calls so."""

from collections.abc import Iterator

import pytest
from psycopg import conninfo

from scrub.model.defect import DefectKind
from scrub.model.result import Status
from tests.postgres_server import Database
from tests.scrub.stores.postgres.login_roles import login_role
from tests.scrub.stores.postgres.own_indexes.own_index_ground import (
    ODD_CLASS,
    blind,
    check,
    only,
    own_index,
)

TYPES = (
    "CREATE TYPE price AS (amount numeric, unit text)",
    "CREATE DOMAIN amount AS numeric",
)
EQUAL = [
    ("numeric", "1.0", "1.000"),
    ("amount", "1.0", "1.000"),
    ("float8", "0", "-0"),
    ("float4", "-0", "0"),
    ("numeric[]", "{1.0,NULL}", "{1.000,NULL}"),
    ("float8[]", "{-0}", "{0}"),
    ("price", "(1.0,EUR)", "(1.000,EUR)"),
    ("numrange", "[1.0,2)", "[1.000,2)"),
    ("jsonb", '{"a": 1.0}', '{"a": 1.000}'),
    ("bpchar", "ab", "ab  "),
    ("interval", "24:00:00", "1 day"),
]
DIFFERENT = [
    ("numeric", "1.0", "1.001"),
    ("float8", "0", "1e-300"),
    ("float8", "0", "NaN"),
    ("numeric[]", "{1.0,NULL}", "{1.0,0}"),
    ("price", "(1.0,EUR)", "(1.0,eur)"),
    ("jsonb", '{"a": 1.0}', '{"a": "1.0"}'),
    ("bpchar", "ab", "Ab"),
    ("text", "ab", "ab "),
    ("text[]", "{ab}", "{AB}"),
    ("bytea", "\\x00", "\\x0000"),
]


def a_table(database: Database, of_type: str, stored: str, index: str) -> None:
    """Five rows on one page; the last one has the value."""
    database.run(
        *TYPES,
        f"CREATE TABLE t (id int PRIMARY KEY, k {of_type}, n int)",
        "INSERT INTO t SELECT i, NULL, i FROM generate_series(1, 4) AS i",
        f"INSERT INTO t VALUES (5, '{stored}', 5)",
        f"CREATE INDEX i ON t {index}",
        "VACUUM (FREEZE, ANALYZE) t",
    )


def respell(database: Database, value: str, number: int = 5) -> None:
    """Let the entry lead to a row with another value, in the place of the one it was made for."""
    with blind(database, "i"):
        database.run(
            "DELETE FROM t WHERE id = 5",
            "VACUUM t",
            f"INSERT INTO t VALUES (5, '{value}', {number})",
        )


@pytest.mark.parametrize("index", ["(k)", "(n) INCLUDE (k)"])
@pytest.mark.parametrize(("of_type", "stored", "given"), EQUAL)
def test_an_equal_value_in_another_spelling_is_no_defect(
    database: Database, of_type: str, stored: str, given: str, index: str
) -> None:
    a_table(database, of_type, stored, index)
    respell(database, given)
    findings = check(database, own_index("i"))
    assert (findings.status, findings.counts) == (Status.CLEAN, {})


@pytest.mark.parametrize(("of_type", "stored", "given"), DIFFERENT)
def test_a_value_that_is_not_equal_is_found(
    database: Database, of_type: str, stored: str, given: str
) -> None:
    a_table(database, of_type, stored, "(k)")
    respell(database, given)
    assert check(database, own_index("i")).counts == {
        DefectKind.MISSING: 1,
        DefectKind.DANGLING: 1,
    }


def test_a_stored_value_that_is_not_equal_is_found(database: Database) -> None:
    a_table(database, "numeric", "1.0", "(n) INCLUDE (k)")
    respell(database, "1.001")
    assert check(database, own_index("i")).counts == {DefectKind.WRONG_STORED_VALUE: 1}


def test_a_class_that_tells_spellings_apart_decides(database: Database) -> None:
    a_table(database, "price", "(1.0,EUR)", "(k record_image_ops)")
    respell(database, "(1.000,EUR)")
    assert check(database, own_index("i")).counts == {
        DefectKind.MISSING: 1,
        DefectKind.DANGLING: 1,
    }


def test_a_class_that_calls_different_numbers_equal_does_not_hide_them(
    database: Database,
) -> None:
    """An index-only scan would show the number of the entry, which is another one."""
    by_tens = ODD_CLASS[0].replace("$1", "$1 / 10").replace("$2", "$2 / 10")
    database.run(by_tens, *ODD_CLASS[1:])
    a_table(database, "int", "13", "(k odd)")
    respell(database, "14")
    findings = check(database, own_index("i"))
    assert findings.counts == {DefectKind.MISSING: 1, DefectKind.DANGLING: 1}


@pytest.fixture
def some_columns(database: Database) -> Iterator[Database]:
    """The database as a role sees it that may read two columns of three."""
    with login_role(database) as (role, seen):
        database.run(f"ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {role}")
        yield seen


def test_a_role_that_knows_no_places_compares_by_value_too(
    database: Database, some_columns: Database
) -> None:
    a_table(database, "numeric[]", "{1.0}", "(k) INCLUDE (n)")
    database.run(
        f"REVOKE SELECT ON t FROM {conninfo.conninfo_to_dict(some_columns.url)['user']}",
        f"GRANT SELECT (k, n) ON t TO {conninfo.conninfo_to_dict(some_columns.url)['user']}",
    )
    respell(database, "{1.000}")
    assert check(some_columns, own_index("i")).counts == {}
    respell(database, "{1.00}", number=7)
    findings = check(some_columns, own_index("i"))
    assert findings.counts == {DefectKind.WRONG_STORED_VALUE: 1}
    assert only(findings).actual == {"k": "{1.0}", "n": 5}
