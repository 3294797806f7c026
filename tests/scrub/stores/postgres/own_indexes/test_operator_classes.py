# SPDX-License-Identifier: Apache-2.0
"""Operator classes that borrow the operators of another one, and have a comparison of their own.

Their order cannot be asked for: ORDER BY means the class that had the operators first.
"""

import pytest

from scrub.model.defect import DefectKind
from scrub.model.result import Status
from tests.postgres_server import Database
from tests.scrub.stores.postgres.own_indexes.own_index_ground import blind, check, own_index, told

MISSING, DANGLING = DefectKind.MISSING, DefectKind.DANGLING
ROWS = 30


def comparing(body: str) -> str:
    return (
        "CREATE OR REPLACE FUNCTION public.own_cmp(int, int) RETURNS int IMMUTABLE "
        f"LANGUAGE sql AS 'SELECT {body}'"
    )


OWN = (
    comparing("btint4cmp($1, $2)"),
    "CREATE OPERATOR CLASS public.own FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 2 <=, "
    "OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 public.own_cmp(int, int)",
)


@pytest.fixture
def table(database: Database) -> Database:
    database.run(
        *OWN,
        "CREATE TABLE t (id int PRIMARY KEY, k int, s int)",
        f"INSERT INTO t SELECT i, i * 10, i FROM generate_series(1, {ROWS}) AS i",
        "INSERT INTO t VALUES (100, NULL, 100)",
        "VACUUM (FREEZE, ANALYZE) t",
    )
    return database


@pytest.mark.parametrize(
    "columns",
    [
        "(k public.own)",
        "(k public.own DESC NULLS LAST)",
        "(k public.own) INCLUDE (s)",
        "(k public.own, s)",
        "(s, k public.own)",
        "(k public.own) WHERE s > 5",
        "((k + 1) public.own) INCLUDE (k)",
    ],
)
def test_a_sound_index_of_an_own_class_is_clean(table: Database, columns: str) -> None:
    table.run(f"CREATE UNIQUE INDEX i ON t {columns}")
    findings = check(table, own_index("i", unique=True))
    assert (findings.status, findings.incomplete) == (Status.CLEAN, None)
    assert findings.entries == (25 + 1 if "WHERE" in columns else ROWS + 1)


@pytest.mark.parametrize("columns", ["(k public.own)", "(k public.own) INCLUDE (s)"])
def test_a_comparison_that_was_replaced_is_seen_in_the_order(table: Database, columns: str) -> None:
    table.run(f"CREATE INDEX i ON t {columns}", comparing("btint4cmp($2, $1)"))
    findings = check(table, own_index("i"))
    assert findings.counts == {DefectKind.KEY_ORDER: ROWS - 1}
    assert findings.status is Status.DEFECTIVE
    assert {defect.detail for defect in findings.defects} == {
        f"comes after k={10 * i}, before which it belongs" for i in range(1, ROWS)
    }


def test_order_is_judged_by_the_class_s_own_comparison(table: Database) -> None:
    """The borrowed operators would call every entry misplaced."""
    table.run(comparing("btint4cmp($2, $1)"), "CREATE INDEX i ON t (s, k public.own)")
    assert check(table, own_index("i")).status is Status.CLEAN


def test_rows_without_entry_and_entries_without_row_are_named(table: Database) -> None:
    table.run("CREATE INDEX i ON t (k public.own)")
    with blind(table, "i"):
        table.run("DELETE FROM t WHERE id = 5", "VACUUM t", "INSERT INTO t VALUES (77, 5555, 1)")
    findings = check(table, own_index("i"))
    assert findings.counts == {MISSING: 1, DANGLING: 1}
    assert told(findings, MISSING) == [(77, 5555)]
    assert told(findings, DANGLING) == [(50,)]


def test_entries_that_lead_to_each_other_s_rows_are_found_by_searching(table: Database) -> None:
    table.run("CREATE INDEX i ON t (k public.own)")
    with blind(table, "i"):
        table.run("CREATE TABLE places AS SELECT id, ctid AS place FROM t WHERE id IN (5, 6)")
        table.run("DELETE FROM t WHERE id IN (5, 6)", "VACUUM t")
        table.run("INSERT INTO t VALUES (6, 60, 6)", "INSERT INTO t VALUES (5, 50, 5)")
    swapped = table.rows("SELECT FROM t JOIN places ON t.ctid = place AND t.id <> places.id")
    assert len(swapped) == 2, "each row lies where the other one was"
    findings = check(table, own_index("i"))
    assert findings.counts == {MISSING: 2}
    assert told(findings, MISSING) == [(5, 50), (6, 60)]
    assert {d.detail for d in findings.defects} == {"a search for its key does not find the row"}


def test_a_unique_key_that_is_there_twice_is_found(table: Database) -> None:
    table.run(
        "CREATE INDEX i ON t (k public.own)",
        "INSERT INTO t VALUES (201, 50, 1)",
        "UPDATE pg_index SET indisunique = true WHERE indexrelid = 'i'::regclass",
    )
    findings = check(table, own_index("i", unique=True))
    assert findings.counts == {DefectKind.UNIQUE_VIOLATION: 2}
    assert [defect.index_key for defect in findings.defects] == [{"k": 50}, {"k": 50}]


def test_another_index_that_the_planner_prefers_is_named(table: Database) -> None:
    table.run("CREATE INDEX i ON t (k public.own)", "CREATE INDEX j ON t (k)", "ANALYZE t")
    findings = check(table, own_index("i"))
    if findings.status is not Status.CLEAN:  # which of the two it likes better is its own affair
        assert findings.status is Status.INCOMPLETE
        assert "reads the index j in place of i" in str(findings.incomplete)
