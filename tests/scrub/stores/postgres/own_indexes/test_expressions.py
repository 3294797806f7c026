# SPDX-License-Identifier: Apache-2.0
"""The database's own indexes on expressions: what they hold is compared with what rows give."""

import pytest

from checks.own_indexes.index import OwnIndexFindings
from scrub.model.defect import DefectKind
from scrub.model.result import Status
from tests.postgres_server import Database
from tests.scrub.stores.postgres.own_indexes.own_index_ground import (
    ODD_CLASS,
    blind,
    check,
    only,
    own_index,
    told,
)

MISSING, DANGLING = DefectKind.MISSING, DefectKind.DANGLING
ROWS = 40


def adding(number: int, language: str = "plpgsql") -> str:
    """A function that says it never changes, and is replaced all the same."""
    body = f"$1 + {number}"
    text = f"BEGIN RETURN {body}; END" if language == "plpgsql" else f"SELECT {body}"
    return (
        "CREATE OR REPLACE FUNCTION public.f(int) RETURNS int "
        f"IMMUTABLE LANGUAGE {language} AS '{text}'"
    )


@pytest.fixture
def table(database: Database) -> Database:
    """Forty rows, two of them with NULL, all visible to everyone."""
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, v int, e text)",
        f"INSERT INTO t SELECT i, nullif(i, 7), 'E' || i % 3 FROM generate_series(1, {ROWS}) AS i",
        "UPDATE t SET v = NULL WHERE id = 9",
        adding(1),
        "VACUUM ANALYZE t",
    )
    return database


HELD = ["(public.f(v)) INCLUDE (v)", "(public.f(v), v)", "(v, public.f(v))"]
"""An index-only scan gives what these hold, since they hold the argument, too."""
NOT_HELD = [
    "(public.f(v))",
    "(public.f(v) DESC NULLS LAST)",
    "(id, public.f(v))",
    "(public.f(v), id)",
    "(lower(e), public.f(v))",
    "(public.f(v)) WHERE e = 'E1'",
    "(public.f(v)) INCLUDE (e)",
]


@pytest.mark.parametrize("columns", [*HELD, *NOT_HELD, "((v IS NULL), lower(e))", "((v % 2))"])
def test_a_sound_index_on_an_expression_is_clean(table: Database, columns: str) -> None:
    table.run(f"CREATE INDEX i ON t {columns}", "VACUUM ANALYZE t")
    findings = check(table, own_index("i"))

    assert (findings.status, findings.incomplete) == (Status.CLEAN, None)


def check_of_replaced(table: Database, columns: str) -> OwnIndexFindings:
    """What is found in an index after its function was replaced."""
    table.run(f"CREATE INDEX i ON t {columns}", adding(2))
    return check(table, own_index("i"))


@pytest.mark.parametrize("columns", HELD)
def test_a_function_that_was_replaced_is_found_by_what_the_index_holds(
    table: Database, columns: str
) -> None:
    findings = check_of_replaced(table, columns)
    assert findings.counts == {MISSING: ROWS - 2, DANGLING: ROWS - 2}
    first = min(
        (defect for defect in findings.defects if defect.kind is DANGLING),
        key=lambda defect: defect.primary_key["id"],  # type: ignore[index]
    )
    assert first.actual == {"f": 2, "v": 1, "id": 1}
    assert "f=3" in first.detail


@pytest.mark.parametrize("columns", NOT_HELD)
def test_a_function_that_was_replaced_is_found_by_searching_for_rows(
    table: Database, columns: str
) -> None:
    """The values stay in order, so that only a search for them tells."""
    findings = check_of_replaced(table, columns)
    due = ROWS - 2 if "WHERE" not in columns else 13
    assert findings.counts == {MISSING: due}
    defect = findings.defects[0]
    assert defect.expected is not None
    assert defect.expected["f"] == defect.primary_key["id"] + 2  # type: ignore[index,operator]
    assert defect.detail == "an entry leads to the row, but a search for its key does not find it"


def test_operators_that_the_planner_does_not_see_make_it_incomplete(table: Database) -> None:
    """A function in SQL takes the place of its operator, and no search uses the index."""
    in_sql = (
        "CREATE OR REPLACE FUNCTION {}(int, int) RETURNS boolean IMMUTABLE LANGUAGE sql "
        "AS 'SELECT public.cmp($1, $2) {} 0'"
    )
    table.run(*ODD_CLASS, in_sql.format("ge", ">="), in_sql.format("le", "<="))
    table.run("CREATE INDEX i ON t ((v + 0) odd)")
    findings = check(table, own_index("i"))
    assert findings.status is Status.INCOMPLETE
    assert "the planner does not search i by its whole key" in str(findings.incomplete)


def test_values_that_changed_for_one_row_name_that_row(table: Database) -> None:
    table.run(
        "CREATE INDEX i ON t (public.f(v))",
        "CREATE OR REPLACE FUNCTION public.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS "
        "'SELECT CASE WHEN $1 = 40 THEN 99 ELSE $1 + 1 END'",
    )
    assert told(check(table, own_index("i")), MISSING) == [(40, 99)]


def test_rows_without_any_entry_are_named_once(table: Database) -> None:
    table.run("CREATE INDEX i ON t (public.f(v))")
    with blind(table, "i"):
        table.run("INSERT INTO t VALUES (101, 500), (102, NULL)")
    findings = check(table, own_index("i"))
    assert findings.counts == {MISSING: 2}
    assert told(findings, MISSING) == [(101, 501), (102, None)]
    assert {defect.detail for defect in findings.defects} == {""}


def test_what_an_index_on_an_expression_stores_beside_it_is_compared(table: Database) -> None:
    table.run("CREATE INDEX i ON t (public.f(id)) INCLUDE (v)", "VACUUM (FREEZE) t")
    with blind(table, "i"):
        table.run("DELETE FROM t WHERE id = 40", "VACUUM t", "INSERT INTO t VALUES (40, 77, 'E1')")
    findings = check(table, own_index("i"))
    assert findings.counts == {DefectKind.WRONG_STORED_VALUE: 1}
    defect = only(findings)
    assert (defect.primary_key, defect.expected) == ({"id": 40}, {"f": 41, "v": 77, "id": 40})
    assert defect.actual is not None
    assert defect.actual["v"] == 40


def test_entries_that_lead_nowhere_are_seen_where_an_index_only_scan_is_possible(
    table: Database,
) -> None:
    table.run("CREATE INDEX i ON t (public.f(v)) INCLUDE (v)")
    with blind(table, "i"):
        table.run("DELETE FROM t WHERE id = 8", "VACUUM t")
    findings = check(table, own_index("i"))
    assert findings.counts == {DANGLING: 1}
    assert told(findings, DANGLING) == [(9,)]
    assert only(findings).detail == "leads to no row"


def test_many_rows_with_one_value_are_searched_for_once(table: Database) -> None:
    """A search for each row would read all entries of its value again."""
    table.run(
        "INSERT INTO t SELECT i, 5, 'E' FROM generate_series(1001, 6000) AS i",
        "CREATE INDEX i ON t ((v % 2))",
        "VACUUM ANALYZE t",
    )
    table.run("SELECT pg_stat_reset()")
    assert check(table, own_index("i")).status is Status.CLEAN
    ((fetched,),) = table.rows(
        "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'i'"
    )
    assert fetched < 20 * (5000 + ROWS)
