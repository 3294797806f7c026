# SPDX-License-Identifier: Apache-2.0
"""Violations of what the database itself declares: its planner believes it, the check does not."""

import pytest

from scrub.stores.constraints import RepeatedKeys
from tests.postgres_server import Database
from tests.scrub.stores.postgres.constraints.constraint_ground import ground, listed

T = {"id": "int", "word": "string", "number": "int"}
CHILD = {"id": "int", "parent_id": "int"}


def broken(database: Database, *checks: str, never_null: tuple[str, ...] = ()) -> list[int]:
    """The rows of t that are named; as many are counted."""
    with ground(database, t=T) as there:
        rows, rules = there.rows("t"), there.rules("t", *checks, never_null=never_null)
        counted = there.reader.count_broken(rows, rules)
        found = [row[0] for row in listed(there.reader.rows_that_break(rows, rules))]
        assert sum(counted.nulls) + sum(counted.checks) == len(found)
        return found


def test_a_check_that_was_never_validated_is_looked_at(database: Database) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, word text, number int)",
        "INSERT INTO t VALUES (1, 'a'), (2, 'z')",
        "ALTER TABLE t ADD CHECK (word < 'm') NOT VALID",
    )
    assert broken(database, "word < 'm'") == [2]


@pytest.mark.parametrize("column", ["word", "number"])
def test_a_null_where_the_database_declares_not_null_is_found(
    database: Database, column: str
) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, word text, number int)",
        "INSERT INTO t VALUES (1, NULL, NULL), (2, 'b', 2)",
        "UPDATE pg_attribute SET attnotnull = true WHERE attrelid = 't'::regclass AND attnum > 0",
    )
    if database.version >= 170000:
        # The planner takes IS NULL for false there: without the barrier nothing would be found.
        assert database.rows(f"SELECT id FROM t WHERE {column} IS NULL") == []
    assert broken(database, never_null=(column,)) == [1]
    assert broken(database, f"{column} IS NOT NULL") == [1]
    with ground(database, t=T) as there:
        rules = there.rules("t", "id > 1")
        rows = there.rows("t", where=f"{column} IS NULL")
        assert there.reader.count_broken(rows, rules).checks == (1,)


def test_not_null_that_was_never_validated_is_looked_at(database: Database) -> None:
    if database.version < 180000:
        pytest.skip("PostgreSQL has NOT NULL NOT VALID since version 18")
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, word text, number int)",
        "INSERT INTO t VALUES (1, NULL), (2, 'b')",
        "ALTER TABLE t ADD CONSTRAINT word_given NOT NULL word NOT VALID",
    )
    assert broken(database, never_null=("word",)) == [1]


def test_a_partition_whose_check_is_declared_and_broken_is_not_skipped(database: Database) -> None:
    database.run(
        "CREATE TABLE t (id int, word text, number int) PARTITION BY RANGE (id)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10)",
        "INSERT INTO t VALUES (1, 'a'), (2, 'z')",
        "ALTER TABLE t1 ADD CONSTRAINT low CHECK (word < 'm') NOT VALID",
        "UPDATE pg_constraint SET convalidated = true WHERE conname = 'low'",
        "ALTER TABLE t DETACH PARTITION t1",
        "INSERT INTO t1 VALUES (50, 'b')",
        "ALTER TABLE t1 ADD CONSTRAINT range CHECK (id IS NOT NULL AND id >= 0 AND id < 10)"
        " NOT VALID",
        "UPDATE pg_constraint SET convalidated = true WHERE conname = 'range'",
        "ALTER TABLE t ATTACH PARTITION t1 FOR VALUES FROM (0) TO (10)",
    )
    # Both times the planner takes it from the declaration that there is no such row.
    assert database.rows("SELECT id FROM t WHERE word >= 'm'") == []
    assert database.rows("SELECT id FROM t WHERE id >= 10") == []
    assert broken(database, "word < 'm'") == [2]
    assert broken(database, "id < 10") == [50]


def test_rows_that_a_damaged_unique_index_let_in_are_found(database: Database) -> None:
    ready = "UPDATE pg_index SET indisready = {} WHERE indexrelid = 't_{}'::regclass"
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, word text NOT NULL CONSTRAINT t_word UNIQUE,"
        " number int)",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        ready.format("false", "pkey"),
        ready.format("false", "word"),
    )
    database.run("INSERT INTO t VALUES (2, 'a'), (4, 'c')")
    database.run(ready.format("true", "pkey"), ready.format("true", "word"), "VACUUM ANALYZE t")
    with ground(database, t=T) as there:
        reader, rows = there.reader, there.rows("t")
        assert reader.count_copied(rows) == RepeatedKeys(1, 1)
        assert listed(reader.primary_keys_copied(rows)) == [(2, 2)]
        key = there.terms("t", "word")
        assert reader.count_shared(rows, key) == RepeatedKeys(keys=2, rows=4)
        assert [row[:2] for row in listed(reader.rows_that_share(rows, key))] == [
            (1, "a"),
            (2, "a"),
            (3, "c"),
            (4, "c"),
        ]
        # A primary key decides no other column, though the planner may think so.
        both = there.rows("t", "id", "word")
        assert reader.count_copied(both) == RepeatedKeys()


NOT_VALID = ("ALTER TABLE child ADD FOREIGN KEY (parent_id) REFERENCES parent NOT VALID",)
DECLARED = "ALTER TABLE child ADD FOREIGN KEY (parent_id) REFERENCES parent"
ORPHANS = "INSERT INTO child VALUES (2, 7), (3, NULL), (4, -3)"


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param((ORPHANS, *NOT_VALID), id="never validated"),
        pytest.param((DECLARED, "SET session_replication_role = replica", ORPHANS), id="replica"),
        pytest.param(
            (DECLARED, "ALTER TABLE child DISABLE TRIGGER ALL", ORPHANS), id="triggers disabled"
        ),
        pytest.param(
            (
                "INSERT INTO parent VALUES (7), (-3)",
                DECLARED,
                ORPHANS,
                "ALTER TABLE parent DISABLE TRIGGER ALL",
                "DELETE FROM parent WHERE id <> 1",
            ),
            id="parents deleted",
        ),
    ],
)
def test_a_reference_that_the_database_declares_is_looked_at(
    database: Database, statements: tuple[str, ...]
) -> None:
    database.run(
        "CREATE TABLE parent (id int PRIMARY KEY)",
        "INSERT INTO parent VALUES (1)",
        "CREATE TABLE child (id int PRIMARY KEY, parent_id int)",
        "INSERT INTO child VALUES (1, 1)",
        *statements,
    )
    with ground(database, child=CHILD, parent={"id": "int"}) as there:
        reference = there.reference("parent_id")
        assert there.reader.count_without_parent(reference) == 2
        assert listed(there.reader.rows_without_parent(reference)) == [(2, 7), (4, -3)]


def test_a_parent_that_its_primary_key_index_has_lost_is_still_a_parent(database: Database) -> None:
    ready = "UPDATE pg_index SET indisready = {} WHERE indexrelid = 'parent_pkey'::regclass"
    database.run(
        "CREATE TABLE parent (id int PRIMARY KEY, filler text)",
        "INSERT INTO parent SELECT i, repeat('x', 500) FROM generate_series(1, 2000) AS i",
        ready.format("false"),
    )
    database.run("INSERT INTO parent VALUES (7777)")
    database.run(
        ready.format("true"),
        "CREATE TABLE child (id int PRIMARY KEY, parent_id int)",
        "INSERT INTO child VALUES (1, 7777), (2, 8888)",
        "VACUUM ANALYZE parent, child",
    )
    plan = database.rows("EXPLAIN SELECT count(id) FROM parent")
    assert "Index Only Scan" in str(plan), "nothing would lead to the index anyway"
    with ground(database, child=CHILD, parent={"id": "int"}) as there:
        found = there.reader.rows_without_parent(there.reference("parent_id"))
        assert listed(found) == [(2, 8888)]
