# SPDX-License-Identifier: Apache-2.0
"""The database's own indexes: sound ones of every kind, and ones that writers were kept from."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import conninfo

from scrub.errors import RelationMismatch, StoreUnavailable
from scrub.model.defect import DefectKind
from scrub.model.result import Status
from scrub.stores.postgres.building.relations_made import EQUAL_NULLS_VERSION
from scrub.stores.postgres.own_indexes import reader as index_reader
from scrub.stores.postgres.own_indexes.description import describe_index
from scrub.stores.postgres.own_indexes.operator_classes import LESS
from scrub.stores.postgres.store import PostgresStore
from tests.postgres_server import Database
from tests.scrub.stores.postgres.login_roles import login_role
from tests.scrub.stores.postgres.own_indexes.own_index_ground import (
    ODD_CLASS,
    TABLE,
    blind,
    check,
    compare_by_rest,
    only,
    own_index,
    store_of,
    told,
)
from tests.scrub.stores.sample import no_session

MISSING, DANGLING = DefectKind.MISSING, DefectKind.DANGLING
ROWS = """
    INSERT INTO t SELECT i, nullif(i % 50, 7), CASE WHEN i % 11 > 0 THEN 'e' || i % 90 END
    FROM generate_series(1, 1000) AS i
"""


@pytest.fixture
def table(database: Database) -> Database:
    """A thousand rows, some with NULLs, all visible to everyone."""
    database.run("CREATE TABLE t (id int PRIMARY KEY, k int, e text)", ROWS, "VACUUM ANALYZE t")
    return database


@pytest.mark.parametrize(
    ("definition", "columns", "entries"),
    [
        ("INDEX i ON t (k)", ("k",), 1000),
        ("UNIQUE INDEX i ON t (k, id)", ("k", "id"), 1000),
        ("INDEX i ON t (k) WHERE k > 25", ("k",), 480),
        ("INDEX i ON t (id) WHERE e IS NULL", ("id",), 90),
        ("INDEX i ON t (lower(e))", ("e_lower",), 1000),
        ("INDEX i ON t ((k || '/' || e), id) WHERE k < 3", ("both", "id"), 60),
        ("INDEX i ON t (k) INCLUDE (e)", ("k",), 1000),
        ("INDEX i ON t (k DESC NULLS LAST, e NULLS FIRST)", ("k", "e"), 1000),
        ("INDEX i ON t (e DESC, k)", ("e", "k"), 1000),
        ('INDEX i ON t (e COLLATE "C")', ("e",), 1000),
        ("INDEX i ON t (e text_pattern_ops)", ("e",), 1000),
        ("INDEX i ON t ((ROW(k, e)::pair))", ("both",), 1000),
    ],
)
def test_a_sound_index_is_clean(
    table: Database, definition: str, columns: tuple[str, ...], entries: int
) -> None:
    table.run("CREATE TYPE pair AS (k int, e text)", f"CREATE {definition}", "VACUUM t")
    findings = check(table, own_index("i", *columns, unique="UNIQUE" in definition))
    assert (findings.status, findings.incomplete) == (Status.CLEAN, None)
    assert (findings.rows, findings.entries) == (entries, entries)
    assert [note for note in findings.notes if "has expressions" not in note] == []


def test_an_empty_table_is_clean(database: Database) -> None:
    database.run("CREATE TABLE t (id int PRIMARY KEY, k int)", "CREATE INDEX i ON t (k)")
    findings = check(database, own_index("i", "k"))
    assert (findings.status, findings.rows, findings.entries) == (Status.CLEAN, 0, 0)


def test_partitions_are_checked_one_by_one(database: Database) -> None:
    database.run(
        "CREATE TABLE t (id int, k int, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (100) TO (300) PARTITION BY RANGE (id)",
        "CREATE TABLE t2a PARTITION OF t2 FOR VALUES FROM (100) TO (300)",
        "CREATE INDEX i ON t (k)",
        "INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 200) AS i",
        "VACUUM ANALYZE t",
    )
    findings = check(database, own_index("i", "k"))
    assert (findings.status, findings.rows, findings.entries) == (Status.CLEAN, 200, 200)
    with blind(database, "t2a_k_idx"):
        database.run("INSERT INTO t VALUES (250, 77)")
    findings = check(database, own_index("i", "k"))
    assert findings.counts == {MISSING: 1}
    assert told(findings, MISSING) == [(250, 77)]
    assert only(findings).detail == "in t2a_k_idx"


def test_a_clean_check_fetches_three_lines(
    table: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.run("CREATE UNIQUE INDEX i ON t (k, id)")
    fetched = []
    rows = index_reader.IndexSessions.rows

    def counting(*arguments: Any) -> Iterator[Any]:
        for row in rows(*arguments):
            fetched.append(row)
            yield row

    monkeypatch.setattr(index_reader.IndexSessions, "rows", counting)
    assert check(table, own_index("i", "k", "id", unique=True)).status is Status.CLEAN
    assert [row[0] for row in fetched] == [1000, 1000, 1000]


def test_rows_that_the_index_was_not_told_of_are_named(table: Database) -> None:
    table.run("CREATE INDEX i ON t (k)")
    with blind(table, "i"):
        table.run("INSERT INTO t VALUES (2001, 3), (2002, NULL)", "UPDATE t SET k = 99 WHERE id=5")
    findings = check(table, own_index("i", "k"))
    assert findings.status is Status.DEFECTIVE
    assert findings.counts == {MISSING: 3}
    assert told(findings, MISSING) == [(5, 99), (2001, 3), (2002, None)]
    by_row = {defect.primary_key["id"]: defect for defect in findings.defects}  # type: ignore[index]
    assert by_row[5].expected == {"k": 99, "id": 5}
    assert by_row[5].actual is None


def test_entries_without_a_row_are_named_where_pages_are_visible(table: Database) -> None:
    table.run("CREATE INDEX i ON t (k)")
    with blind(table, "i"):
        table.run("DELETE FROM t WHERE id IN (8, 9, 7)", "VACUUM t")
    findings = check(table, own_index("i", "k"))
    assert findings.counts == {DANGLING: 3}
    assert sorted(str(defect.index_key) for defect in findings.defects) == [
        "{'k': 8}",
        "{'k': 9}",
        "{'k': None}",
    ]
    assert {defect.detail for defect in findings.defects} == {"leads to no row"}
    assert (findings.rows, findings.entries) == (997, 1000)


def test_pages_that_are_not_visible_are_told(table: Database) -> None:
    table.run("CREATE INDEX i ON t (k)", "UPDATE t SET e = 'x' WHERE id = 1")
    findings = check(table, own_index("i", "k"))
    assert findings.status is Status.CLEAN
    # The server's own number is of the last VACUUM, which saw all of them.
    assert findings.notes == []
    table.run("INSERT INTO t SELECT i, i FROM generate_series(3000, 9000) AS i")
    (note,) = check(table, own_index("i", "k")).notes
    assert "pages of t at its last VACUUM" in note


def test_entries_that_lead_to_a_later_row_in_the_same_place(database: Database) -> None:
    table = database
    table.run(
        "CREATE TABLE t (id int PRIMARY KEY, k int)",
        "INSERT INTO t SELECT i, i FROM generate_series(1, 50) AS i",  # all on one page
        "CREATE INDEX i ON t (k)",
    )
    with blind(table, "i"):
        table.run("DELETE FROM t WHERE id IN (3, 4)", "VACUUM t", "INSERT INTO t VALUES (2001, 60)")
    table.run("INSERT INTO t VALUES (2002, 61)")  # gets an entry of its own beside the stale one
    findings = check(table, own_index("i", "k"))
    assert findings.counts == {MISSING: 1, DANGLING: 2}
    assert told(findings, MISSING) == [(2001, 60)]
    assert {row[1:] for row in told(findings, DANGLING)} == {(3,), (4,)}
    assert {defect.detail for defect in findings.defects if defect.kind is DANGLING} == {
        "leads to a row that gives k=60",
        "leads to a row that gives k=61",
    }


@pytest.mark.parametrize("columns", ["(k, id)", "(k) INCLUDE (id)", "(id) INCLUDE (k)"])
def test_an_entry_that_leads_to_another_row_is_shown_with_its_own_contents(
    database: Database, columns: str
) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, k int)",
        "INSERT INTO t SELECT i, i * 10 FROM generate_series(1, 9) AS i",
        f"CREATE INDEX i ON t {columns}",
        "VACUUM (FREEZE) t",
    )
    with blind(database, "i"):
        database.run("DELETE FROM t WHERE id = 5", "VACUUM t", "INSERT INTO t VALUES (77, 60)")
    findings = check(database, own_index("i"))
    assert findings.counts == {MISSING: 1, DANGLING: 1}
    (dangling,) = (defect for defect in findings.defects if defect.kind is DANGLING)
    assert dangling.actual == {"k": 50, "id": 5}
    assert dangling.primary_key == {"id": 77}  # of the row that it leads to
    assert dangling.index_key is not None
    assert dangling.index_key.items() <= {"k": 50, "id": 5}.items()
    (missing,) = (defect for defect in findings.defects if defect.kind is MISSING)
    assert missing.expected == {"k": 60, "id": 77}


def test_an_entry_of_a_row_outside_the_condition_is_dangling(database: Database) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, k int, open boolean)",
        "INSERT INTO t SELECT i, i, true FROM generate_series(1, 100) AS i",
        "CREATE INDEX i ON t (k) WHERE open",
        "VACUUM ANALYZE t",
    )
    with blind(database, "i"):
        database.run("DELETE FROM t WHERE id = 40", "VACUUM t", "INSERT INTO t VALUES (40, 40)")
    findings = check(database, own_index("i", "k"))
    assert findings.counts == {DANGLING: 1}
    assert told(findings, DANGLING) == [(40, 40)]
    assert only(findings).detail == "the row does not satisfy the index's condition"


def test_an_index_of_expressions_is_seen_through_its_rows(table: Database) -> None:
    table.run("CREATE INDEX i ON t (upper(e))")
    with blind(table, "i"):
        table.run("INSERT INTO t VALUES (2001, 3, 'new')")
    findings = check(table, own_index("i", "e_upper"))
    assert findings.counts == {MISSING: 1}
    assert only(findings).expected == {"e_upper": "NEW", "id": 2001}
    assert any("has expressions" in note for note in findings.notes)


@pytest.mark.parametrize("expression", ["k", "(k + 0)"])
def test_a_tree_that_is_out_of_order_is_walked_whole(table: Database, expression: str) -> None:
    table.run(*ODD_CLASS, f"CREATE INDEX i ON t ({expression} odd)")
    assert check(table, own_index("i", "k")).status is Status.CLEAN
    table.run(compare_by_rest(10))
    findings = check(table, own_index("i", "k"))
    # From 9 to 10, 19 to 20, 29 to 30 and 39 to 40.
    assert findings.counts == {DefectKind.KEY_ORDER: 4}
    assert {defect.index_key["k"] for defect in findings.defects} == {10, 20, 30, 40}  # type: ignore[index]
    assert {defect.detail for defect in findings.defects} == {
        f"comes after k={last}, before which it belongs" for last in (9, 19, 29, 39)
    }
    assert all(defect.primary_key for defect in findings.defects)
    # Of an expression only the row tells a value: what the entry itself holds is not known.
    own = {"k": 10} if expression == "k" else None
    first = min(findings.defects, key=lambda defect: defect.index_key["k"])  # type: ignore[index,arg-type,return-value]
    assert (first.actual and {"k": first.actual["k"]}) == own


@pytest.mark.parametrize("clashing_nulls", [False, True])
def test_a_unique_key_that_is_there_twice(database: Database, clashing_nulls: bool) -> None:
    if clashing_nulls and database.version < EQUAL_NULLS_VERSION:
        pytest.skip("PostgreSQL before 15 has no unique index in which NULLs clash")
    clause = "NULLS NOT DISTINCT" if clashing_nulls else ""
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, k int)",
        "INSERT INTO t SELECT i, i FROM generate_series(1, 100) AS i",
        "INSERT INTO t VALUES (200, NULL)",
        f"CREATE UNIQUE INDEX i ON t (k) {clause}",
    )
    with blind(database, "i"):
        database.run("INSERT INTO t VALUES (101, 50), (102, 50), (201, NULL)")
    findings = check(database, own_index("i", "k", unique=True))
    violations = [(50, 50), (101, 50), (102, 50)]
    if clashing_nulls:
        violations += [(200, None), (201, None)]
    assert told(findings, DefectKind.UNIQUE_VIOLATION) == violations
    assert told(findings, MISSING) == [(101, 50), (102, 50), (201, None)]
    assert findings.counts == {MISSING: 3, DefectKind.UNIQUE_VIOLATION: len(violations)}


def test_a_clash_that_the_index_knows_of_is_found_too(database: Database) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, k int)",
        "INSERT INTO t SELECT i, i / 2 FROM generate_series(1, 5) AS i",
        "CREATE INDEX i ON t (k)",
        "UPDATE pg_index SET indisunique = true WHERE indexrelid = 'i'::regclass",
    )
    findings = check(database, own_index("i", "k", unique=True))
    assert told(findings, DefectKind.UNIQUE_VIOLATION) == [(2, 1), (3, 1), (4, 2), (5, 2)]
    assert list(findings.counts) == [DefectKind.UNIQUE_VIOLATION]


def test_counts_are_exact_when_names_are_few(table: Database) -> None:
    table.run("CREATE INDEX i ON t (k)")
    with blind(table, "i"):
        table.run("INSERT INTO t SELECT i, i FROM generate_series(2001, 2500) AS i")
    findings = check(table, own_index("i", "k"), limit=7)
    assert findings.counts == {MISSING: 500}
    assert len(findings.defects) == 7


def test_an_identical_index_that_is_preferred_is_named(table: Database) -> None:
    table.run("CREATE INDEX i ON t (k)", "CREATE INDEX j ON t (k)", "ANALYZE t")
    read = {name: check(table, own_index(name, "k")) for name in ("i", "j")}
    assert sorted(found.status for found in read.values()) == [Status.CLEAN, Status.INCOMPLETE]
    (passed_by,) = (name for name, found in read.items() if found.status is Status.INCOMPLETE)
    other = "j" if passed_by == "i" else "i"
    assert str(read[passed_by].incomplete).startswith(
        f"{passed_by} could not be read: "
        f"the planner reads the index {other} in place of {passed_by}; "
    )


def test_an_index_with_more_columns_is_not_taken_for_it(table: Database) -> None:
    table.run("CREATE INDEX j ON t (k, id)", "CREATE INDEX i ON t (k)", "ANALYZE t")
    for name, columns in (("i", ("k",)), ("j", ("k", "id"))):
        assert check(table, own_index(name, *columns)).status is Status.CLEAN


@pytest.mark.parametrize(
    ("column", "words"), [("indisvalid", "is not valid"), ("indisready", "is not ready for writes")]
)
def test_an_index_that_is_not_in_use_is_incomplete(
    table: Database, column: str, words: str
) -> None:
    table.run(
        "CREATE INDEX i ON t (k)",
        f"UPDATE pg_index SET {column} = false WHERE indexrelid = 'i'::regclass",
    )
    findings = check(table, own_index("i", "k"))
    assert findings.status is Status.INCOMPLETE
    assert words in str(findings.incomplete)
    outcome = findings.outcome(own_index("i", "k"))
    assert outcome.reason == findings.incomplete
    assert outcome.remedies == (
        'REINDEX INDEX CONCURRENTLY "public"."i"; or, if nobody needs it, '
        'DROP INDEX CONCURRENTLY "public"."i";',
    )


def test_a_partition_without_the_index_is_incomplete(database: Database) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, k int) PARTITION BY RANGE (id)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (100)",
        "CREATE INDEX i ON ONLY t (k)",
    )
    assert check(database, own_index("i", "k")).status is Status.INCOMPLETE


def test_other_access_methods_are_not_applicable(table: Database) -> None:
    table.run("CREATE INDEX i ON t USING hash (k)")
    findings = check(table, own_index("i", "k"))
    assert findings.status is Status.NOT_APPLICABLE
    assert "it is hash" in str(findings.not_applicable)


def test_a_collation_that_has_changed_is_noted_and_the_index_read(table: Database) -> None:
    table.run(
        f"CREATE COLLATION old ({collation_with_version(table)})",
        "CREATE INDEX i ON t (e COLLATE old)",
        "UPDATE pg_collation SET collversion = '0' WHERE collname = 'old'",
        "VACUUM t",
    )
    ((now,),) = table.rows(
        "SELECT pg_collation_actual_version(oid) FROM pg_collation WHERE collname = 'old'"
    )
    findings = check(table, own_index("i", "e"))
    assert (findings.status, findings.entries) == (Status.CLEAN, 1000)
    (note,) = findings.notes
    assert note.startswith(f"collation old was of version 0 and now is of {now}")
    assert findings.remedies == [
        'REINDEX INDEX CONCURRENTLY "public"."i"; after all indexes with this collation, '
        'ALTER COLLATION "public"."old" REFRESH VERSION;'
    ]


def test_a_default_collation_that_has_changed_is_refreshed_for_the_database(
    table: Database,
) -> None:
    ((server,),) = table.rows("SHOW server_version_num")
    name = str(conninfo.conninfo_to_dict(table.url)["dbname"])
    known = int(server) >= 150000 and table.rows(
        "SELECT FROM pg_database WHERE datname = current_database()"
        " AND pg_database_collation_actual_version(oid) IS NOT NULL"
    )
    if not known:
        pytest.skip("the default collation of this server has no version")
    table.run(
        "CREATE INDEX i ON t (e)",
        "UPDATE pg_database SET datcollversion = '0' WHERE datname = current_database()",
    )
    (remedy,) = check(table, own_index("i", "e")).remedies
    assert remedy.endswith(f'ALTER DATABASE "{name}" REFRESH COLLATION VERSION;')


def test_every_broken_index_has_a_remedy_and_names_in_it_are_quoted(database: Database) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, k int)",
        'CREATE UNIQUE INDEX "a ""b" ON t (k)',
        "INSERT INTO t SELECT i, i FROM generate_series(1, 10) i",
    )
    index, reindex = (
        own_index('a "b', "k", unique=True),
        'REINDEX INDEX CONCURRENTLY "public"."a ""b";',
    )
    with blind(database, '"a ""b"'):
        database.run("INSERT INTO t VALUES (11, 11)")
    assert check(database, index).remedies == [reindex]
    with blind(database, '"a ""b"'):
        database.run("INSERT INTO t VALUES (12, 1)")
    (remedy,) = check(database, index).remedies
    assert remedy == f'change or merge the rows that share a key of "public"."a ""b"; {reindex}'


def has_icu(database: Database) -> bool:
    """A server without it still lists one of its collations, by the name of unicode."""
    return bool(database.rows("SELECT FROM pg_collation WHERE collname = 'und-x-icu'"))


def collation_with_version(database: Database) -> str:
    """PostgreSQL's own ones have versions since 17; before, those of ICU have."""
    ((version,),) = database.rows("SHOW server_version_num")
    if int(version) >= 170000:
        return "provider = builtin, locale = 'C.UTF-8'"
    if not has_icu(database):
        pytest.skip("the collations of this server have no versions")
    return "provider = icu, locale = 'und'"


def test_entries_that_are_equal_to_their_rows_in_other_letters_are_found(
    database: Database,
) -> None:
    if not has_icu(database):
        pytest.skip("this server has no collation in which other letters are equal")
    database.run(
        "CREATE COLLATION letters"
        " (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
        "CREATE TABLE t (id int PRIMARY KEY, e text COLLATE letters)",
        "INSERT INTO t VALUES (1, 'ab'), (2, 'AB'), (3, 'Äb'), (4, 'b')",
        "CREATE INDEX i ON t (e)",
        "VACUUM ANALYZE t",
    )
    assert check(database, own_index("i", "e")).status is Status.CLEAN
    with blind(database, "i"):
        database.run("DELETE FROM t WHERE id = 2", "VACUUM t", "INSERT INTO t VALUES (5, 'aB')")
    findings = check(database, own_index("i", "e"))
    assert findings.counts == {MISSING: 1, DANGLING: 1}
    assert told(findings, MISSING) == [(5, "aB")]
    assert told(findings, DANGLING) == [(5, "AB")]


@pytest.fixture
def reader_role(table: Database) -> Iterator[Database]:
    """The database as a role sees it that may only read the table."""
    with login_role(table) as (role, seen):
        table.run(f"GRANT SELECT ON t TO {role}")
        yield seen


def test_select_is_all_that_a_role_needs(table: Database, reader_role: Database) -> None:
    table.run("CREATE UNIQUE INDEX i ON t (k, id)")
    index = own_index("i", "k", "id", unique=True)
    assert check(reader_role, index).status is Status.CLEAN
    with blind(table, "i"):
        table.run("INSERT INTO t VALUES (2001, 3)")
    assert told(check(reader_role, index), MISSING) == [(2001, 3, 2001)]


def test_policies_that_hide_rows_make_it_incomplete(table: Database, reader_role: Database) -> None:
    table.run("CREATE INDEX i ON t (k)", "ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    with pytest.raises(StoreUnavailable, match="row-level security"):
        check(reader_role, own_index("i", "k"))


def test_writes_after_the_snapshot_are_not_findings(table: Database) -> None:
    from checks.own_indexes.index import check_own_index

    table.run("CREATE INDEX i ON t (k)")
    store = store_of(table)
    store.pin("t", None, no_session, ())
    table.run(
        "DELETE FROM t WHERE id < 100",
        "UPDATE t SET k = k + 100 WHERE id < 500",
        "INSERT INTO t SELECT i, i FROM generate_series(2001, 3000) AS i",
        "VACUUM t",
    )
    findings = check_own_index(store, TABLE, own_index("i", "k"), 100)
    store.close()
    assert (findings.status, findings.rows, findings.entries) == (Status.CLEAN, 1000, 1000)


def test_names_of_any_kind_are_quoted(database: Database) -> None:
    database.run(
        'CREATE TABLE "o""dd t" ("i d" int PRIMARY KEY, "k""%k" int)',
        'CREATE INDEX "by ""k" ON "o""dd t" ("k""%k")',
        'INSERT INTO "o""dd t" SELECT i, i FROM generate_series(1, 100) AS i',
    )
    from dataclasses import replace

    from scrub.model.table import Column
    from scrub.model.types import parse_type

    column = Column(name="i d", type=parse_type("int"))
    odd = replace(TABLE, relation='o"dd t', columns=(column,), primary_key=("i d",))
    index = own_index('by "k', 'k"%k')
    assert check(database, index, table=odd).status is Status.CLEAN
    with blind(database, '"by ""k"'):
        database.run('INSERT INTO "o""dd t" VALUES (101, 7)')
    assert told(check(database, index, table=odd), MISSING) == [(101, 7)]


def test_mistakes_in_names_are_told(table: Database) -> None:
    table.run("CREATE INDEX by_key ON t (k)", "CREATE TABLE other (id int PRIMARY KEY)")
    with pytest.raises(RelationMismatch, match="there is no index by_kay") as caught:
        check(table, own_index("by_kay", "k"))
    assert caught.value.hint == "did you mean by_key?"
    with pytest.raises(RelationMismatch, match=r"belongs to other, not to public\.t"):
        check(table, own_index("other_pkey", "id"))
    findings = check(table, own_index("by_key", "e", unique=True))
    assert findings.notes == [
        "the catalog says (e), the index is on (k)",
        "in the database the index is not unique",
    ]


def test_an_index_is_described(table: Database) -> None:
    table.run(
        'CREATE INDEX i ON t (k DESC, lower(e) COLLATE "C" NULLS FIRST) INCLUDE (id) WHERE k > 3'
    )
    store = store_of(table)
    found = describe_index(store.snapshot.connection, "public", "i")
    store.close()
    k, lower, stored = found.columns
    assert (k.expression, k.descending, k.nulls_first, k.collation) == ("k", True, True, None)
    assert (lower.expression, lower.nulls_first) == ("(lower(e))", True)
    assert lower.collation == '"pg_catalog"."C"'
    assert k.order is not None
    assert k.order.operators[LESS] == 'OPERATOR("pg_catalog".<)'
    assert k.order.compare == '"pg_catalog"."btint4cmp"'
    assert (stored.name, stored.is_key) == ("id", False)
    assert (found.predicate, found.is_unique, found.method) == ("(k > 3)", False, "btree")


keys = st.one_of(st.none(), st.integers(-3, 3))
texts = st.one_of(st.none(), st.sampled_from(["", "a", "B", "b", "é", "ab"]))
options = st.sampled_from(["", "DESC", "NULLS FIRST", "DESC NULLS LAST"])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(keys, texts), max_size=40),
    order=st.tuples(options, options),
    unseen=st.lists(st.tuples(keys, texts), max_size=5),
    moved=st.sets(st.integers(1, 40), max_size=4),
)
def test_exactly_the_unseen_writes_are_missing(
    database: Database,
    rows: list[tuple[int | None, str | None]],
    order: tuple[str, str],
    unseen: list[tuple[int | None, str | None]],
    moved: set[int],
) -> None:
    insert = "INSERT INTO t VALUES (%s, %s, %s)"
    with database.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, k int, e text)")
        connection.execute(f"CREATE INDEX i ON t (k {order[0]}, e {order[1]})")
        for number, row in enumerate(rows, 1):
            connection.execute(insert, (number, *row))
        with blind(database, "i"):
            for number, row in enumerate(unseen, 101):
                connection.execute(insert, (number, *row))
            for number in moved:
                connection.execute("UPDATE t SET k = 50, e = 'z' WHERE id = %s", (number,))
    findings = check(database, own_index("i", "k", "e"))
    gone = {number for number in moved if number <= len(rows)}
    expected = {(number, 50, "z") for number in gone}
    expected |= {(number, *row) for number, row in enumerate(unseen, 101)}
    assert set(told_unsorted(findings)) == expected
    assert findings.counts.get(MISSING, 0) == len(expected)
    assert set(findings.counts) <= {MISSING}


def told_unsorted(findings: Any) -> list[tuple[Any, ...]]:
    return [
        (*defect.primary_key.values(), *defect.index_key.values()) for defect in findings.defects
    ]


def test_a_store_needs_no_table_pinned_before(table: Database) -> None:
    from checks.own_indexes.index import check_own_index

    store: PostgresStore = store_of(table)
    findings = check_own_index(store, TABLE, own_index("t_pkey", "id", unique=True), 10)
    store.close()
    assert findings.status is Status.CLEAN
