# SPDX-License-Identifier: Apache-2.0
"""Expressions of indexes that say they never change, and do: with settings, time, or other data."""

import pytest

from scrub.model.defect import DefectKind
from scrub.model.result import Status
from tests.postgres_server import Database
from tests.scrub.stores.postgres.own_indexes.own_index_ground import blind, check, own_index, told


@pytest.fixture
def table(database: Database) -> Database:
    """Twenty rows, each an hour after the one before it, between midnight and midnight."""
    database.run(
        "CREATE TABLE lookup (k int PRIMARY KEY, name text)",
        "INSERT INTO lookup SELECT i, 'n' || i FROM generate_series(1, 20) AS i",
        "CREATE TABLE t (id int PRIMARY KEY, at timestamptz, day date, took interval, "
        "ratio float8, bytes bytea, words text)",
        "INSERT INTO t SELECT i, '2026-03-01 02:10:00+00'::timestamptz + i * interval '1 hour', "
        "'2026-03-01'::date + i, i * interval '1 day 3 hours', 0.1 * i, '\\x00'::bytea, "
        "'The ' || i || ' foxes' FROM generate_series(1, 20) AS i",
        "VACUUM ANALYZE t",
    )
    return database


def immutable(
    takes: str, gives: str, body: str, language: str = "sql", name: str = "f", more: str = ""
) -> str:
    return (
        f"CREATE FUNCTION public.{name}({takes}) RETURNS {gives} IMMUTABLE LANGUAGE {language} "
        f"{more} AS $body$ {body} $body$"
    )


SETTINGS = [
    ("TimeZone", immutable("timestamptz", "date", "SELECT $1::date"), "public.f(at)"),
    (
        "TimeZone",
        immutable("timestamptz", "timestamptz", "SELECT date_trunc('hour', $1)"),
        "public.f(at)",
    ),
    (
        "TimeZone",
        immutable("timestamptz", "int", "BEGIN RETURN extract(hour FROM $1); END", "plpgsql"),
        "public.f(at)",
    ),
    ("DateStyle", immutable("date", "text", "SELECT $1::text"), "public.f(day)"),
    ("IntervalStyle", immutable("interval", "text", "SELECT $1::text"), "public.f(took)"),
    ("extra_float_digits", None, "(ratio::text)"),
    ("bytea_output", None, "(bytes::text)"),
    (
        "default_text_search_config",
        immutable("text", "tsvector", "SELECT to_tsvector($1)"),
        "public.f(words)",
    ),
]


@pytest.mark.parametrize(("setting", "function", "expression"), SETTINGS)
def test_an_expression_that_depends_on_a_setting_makes_it_incomplete(
    table: Database, setting: str, function: str | None, expression: str
) -> None:
    table.run(*([function] if function else []), f"CREATE INDEX i ON t ({expression})")
    findings = check(table, own_index("i"))
    assert (findings.status, findings.counts) == (Status.INCOMPLETE, {})
    assert f"depends on {setting}" in str(findings.incomplete)


def test_entries_made_under_another_time_zone_are_not_called_defects(table: Database) -> None:
    function = immutable("timestamptz", "date", "SELECT $1::date")
    with table.connect() as connection:
        connection.execute("SET TimeZone = 'Pacific/Auckland'")
        connection.execute(function)
        connection.execute("CREATE INDEX i ON t (public.f(at)) INCLUDE (at)")
    findings = check(table, own_index("i"))
    assert (findings.status, findings.counts) == (Status.INCOMPLETE, {})


OTHER = [
    ("current_setting", immutable("int", "text", "SELECT $1 || current_setting('app.x', true)")),
    ("now", immutable("int", "boolean", "SELECT now() > '2020-01-01' AND $1 > 0")),
    ("current_date", immutable("int", "date", "SELECT current_date + $1")),
    ("random", immutable("int", "float8", "SELECT $1 + random()")),
    ("current_user", immutable("int", "text", "BEGIN RETURN current_user; END", "plpgsql")),
    ("lookup", immutable("int", "text", "SELECT name FROM public.lookup WHERE k = $1")),
]


@pytest.mark.parametrize(("named", "function"), OTHER)
def test_an_expression_that_depends_on_more_than_its_row_makes_it_incomplete(
    table: Database, named: str, function: str
) -> None:
    table.run(function, "CREATE INDEX i ON t (public.f(id))")
    findings = check(table, own_index("i"))
    assert (findings.status, findings.counts) == (Status.INCOMPLETE, {})
    assert named in str(findings.incomplete)
    assert "not immutable" in str(findings.incomplete)


def test_a_function_that_calls_such_a_function_is_seen_through(table: Database) -> None:
    table.run(
        immutable("int", "date", "SELECT current_date + $1", name="inner_one"),
        immutable("int", "date", "BEGIN RETURN public.inner_one($1); END", "plpgsql"),
        "CREATE INDEX i ON t (public.f(id))",
    )
    findings = check(table, own_index("i"))
    assert findings.status is Status.INCOMPLETE
    assert "inner_one" in str(findings.incomplete)


def test_a_body_that_the_server_has_parsed_is_looked_at_too(table: Database) -> None:
    table.run(
        "CREATE FUNCTION public.f(int) RETURNS date IMMUTABLE LANGUAGE sql "
        "BEGIN ATOMIC SELECT CURRENT_DATE + $1; END",
        "CREATE INDEX i ON t (public.f(id))",
    )
    assert "current_date" in str(check(table, own_index("i")).incomplete).lower()


def test_a_condition_that_depends_on_a_setting_makes_it_incomplete(table: Database) -> None:
    table.run(
        immutable("timestamptz", "boolean", "SELECT $1::date = '2026-03-01'"),
        "CREATE INDEX i ON t (id) WHERE public.f(at)",
    )
    findings = check(table, own_index("i"))
    assert (findings.status, findings.counts) == (Status.INCOMPLETE, {})
    assert "its condition depends on TimeZone" in str(findings.incomplete)


def test_rows_without_entry_are_found_whatever_the_expression_gives(table: Database) -> None:
    table.run(
        immutable("timestamptz", "date", "SELECT $1::date"),
        "CREATE INDEX i ON t (public.f(at))",
    )
    with blind(table, "i"):
        table.run("INSERT INTO t VALUES (101, '2026-03-01 12:00+00')")
    findings = check(table, own_index("i"))
    assert findings.counts == {DefectKind.MISSING: 1}
    assert told(findings, DefectKind.MISSING) == [(101, "2026-03-01")]
    assert "depends on TimeZone" in str(findings.incomplete)


@pytest.mark.parametrize(
    ("function", "columns"),
    [
        (
            immutable("timestamptz", "date", "SELECT $1::date", more="SET TimeZone = 'UTC'"),
            "(public.f(at))",
        ),
        (
            immutable("timestamptz", "date", "SELECT ($1 AT TIME ZONE 'UTC')::date"),
            "(public.f(at))",
        ),
        (
            immutable(
                "text",
                "text",
                "-- not now(), nor FROM lookup\n SELECT lower($1) || 'random()' /* current_date */",
            ),
            "(public.f(words))",
        ),
        (immutable("int", "text", "SELECT $1::text"), "(public.f(id)) WHERE id > 3"),
        (immutable("int", "float8", "SELECT 1.0 / $1"), "(public.f(id - 1)) WHERE id > 1"),
    ],
)
def test_an_expression_that_is_immutable_in_fact_is_checked(
    table: Database, function: str, columns: str
) -> None:
    table.run(function, f"CREATE INDEX i ON t {columns}")
    findings = check(table, own_index("i"))
    assert (findings.status, findings.incomplete) == (Status.CLEAN, None)
