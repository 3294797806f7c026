# SPDX-License-Identifier: Apache-2.0
"""Roles that may not see everything, others who interfere, and that nothing is written."""

from collections.abc import Iterator

import pytest

from scrub.errors import StoreUnavailable
from scrub.stores.constraints import RepeatedKeys
from scrub.stores.postgres.constraints.stored_rows import READ_STORED_ROWS
from scrub.stores.postgres.sessions import ask
from tests.postgres_server import Database
from tests.scrub.stores.postgres.constraints.constraint_ground import ground, listed
from tests.scrub.stores.postgres.login_roles import login_role

CHILD = {"id": "int", "parent_id": "int"}
PARENT = {"id": "int"}


@pytest.fixture
def family(database: Database) -> Database:
    database.run(
        "CREATE TABLE parent (id int PRIMARY KEY, secret text)",
        "INSERT INTO parent VALUES (1), (2)",
        "CREATE TABLE child (id int PRIMARY KEY, parent_id int, secret text)",
        "INSERT INTO child VALUES (10, 1), (11, 9), (12, NULL)",
    )
    return database


@pytest.fixture
def role(family: Database) -> Iterator[tuple[str, Database]]:
    with login_role(family) as (name, seen):
        family.run(f"GRANT SELECT ON child TO {name}")
        yield name, seen


def test_a_parent_that_cannot_be_read_is_no_violation(role: tuple[str, Database]) -> None:
    with (
        pytest.raises(StoreUnavailable, match="permission denied for table parent"),
        ground(role[1], child=CHILD, parent=PARENT),
    ):
        pass


def test_a_right_that_is_taken_away_in_between_is_told(
    family: Database, role: tuple[str, Database]
) -> None:
    name, seen = role
    family.run(f"GRANT SELECT ON parent TO {name}")
    with ground(seen, child=CHILD, parent=PARENT) as there:
        reference = there.reference("parent_id")
        assert there.reader.count_without_parent(reference) == 1
        family.run(f"REVOKE SELECT ON parent FROM {name}")
        with pytest.raises(StoreUnavailable, match="permission denied for table parent"):
            there.reader.count_without_parent(reference)
        with pytest.raises(StoreUnavailable, match="permission denied for table parent"):
            listed(there.reader.rows_without_parent(reference))


def test_the_columns_of_the_key_are_enough(family: Database, role: tuple[str, Database]) -> None:
    name, seen = role
    family.run(
        f"REVOKE SELECT ON child FROM {name}",
        f"GRANT SELECT (id) ON parent TO {name}",
        f"GRANT SELECT (id, parent_id) ON child TO {name}",
    )
    with ground(seen, child=CHILD, parent=PARENT) as there:
        found = there.reader.rows_without_parent(there.reference("parent_id"))
        assert listed(found) == [(11, 9)]


def test_rows_that_policies_hide_make_a_parent_unreadable(
    family: Database, role: tuple[str, Database]
) -> None:
    name, seen = role
    if family.version < 150000:
        pytest.skip("views have an invoker since version 15")
    family.run(
        "ALTER TABLE parent ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY half ON parent USING (id < 2)",
        f"GRANT SELECT ON parent TO {name}",
        "CREATE VIEW shown WITH (security_invoker) AS SELECT * FROM parent",
        f"GRANT SELECT ON shown TO {name}",
    )
    hidden = "row-level security"
    with pytest.raises(StoreUnavailable, match=hidden), ground(seen, child=CHILD, parent=PARENT):
        pass
    with ground(seen, child=CHILD, shown=PARENT) as there:
        reference = there.reference("parent_id", parent="shown")
        with pytest.raises(StoreUnavailable, match=hidden):
            there.reader.count_without_parent(reference)
        with pytest.raises(StoreUnavailable, match=hidden):
            listed(there.reader.rows_without_parent(reference))


def test_a_column_that_is_not_there_is_told(family: Database) -> None:
    with ground(family, child=CHILD, parent={"id": "int", "gone": "int"}) as there:
        reference = there.reference("parent_id", "gone")
        with pytest.raises(StoreUnavailable, match="has no column gone"):
            there.reader.count_without_parent(reference)


def test_operators_and_functions_of_others_are_not_called(
    family: Database, role: tuple[str, Database]
) -> None:
    name, seen = role
    family.run(
        "CREATE SCHEMA evil",
        f"GRANT USAGE ON SCHEMA evil TO {name}",
        f"GRANT SELECT ON parent TO {name}",
        f"ALTER ROLE {name} SET search_path = evil, pg_catalog",
        "CREATE FUNCTION evil.always(int, int) RETURNS bool LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR evil.= (FUNCTION = evil.always, LEFTARG = int, RIGHTARG = int)",
        "CREATE OPERATOR evil.> (FUNCTION = evil.always, LEFTARG = int, RIGHTARG = int)",
        "CREATE FUNCTION evil.count(int) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'",
        "CREATE FUNCTION evil.sum(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'",
        "INSERT INTO child VALUES (13, 9)",
    )
    with ground(seen, child=CHILD, parent=PARENT) as there:
        reader, rows = there.reader, there.rows("child")
        assert reader.count_without_parent(there.reference("parent_id")) == 2
        rules = there.rules("child", "parent_id > 5", never_null=("parent_id",))
        broken = reader.count_broken(rows, rules)
        assert (broken.rows, broken.nulls, broken.checks) == (4, (1,), (1,))
        assert reader.count_shared(rows, there.terms("child", "parent_id")) == RepeatedKeys(1, 2)


def test_everything_is_read_at_the_snapshot(family: Database) -> None:
    with ground(family, child=CHILD, parent=PARENT) as there:
        family.run(
            "INSERT INTO child VALUES (20, 1), (21, 77), (22, NULL)",
            "DELETE FROM parent WHERE id = 1",
            "INSERT INTO parent VALUES (9)",
        )
        reader, rows = there.reader, there.rows("child")
        assert listed(reader.rows_without_parent(there.reference("parent_id"))) == [(11, 9)]
        assert reader.count_without_parent(there.reference("parent_id")) == 1
        rules = there.rules("child", never_null=("parent_id",))
        assert reader.count_broken(rows, rules).nulls == (1,)
        assert reader.count_shared(rows, there.terms("child", "parent_id")) == RepeatedKeys()


def test_queries_run_in_transactions_that_cannot_write(family: Database) -> None:
    """A view may call a function that writes; the server refuses it."""
    family.run(
        "CREATE FUNCTION writing(int) RETURNS int LANGUAGE sql AS"
        " 'INSERT INTO public.parent VALUES (1000 + $1); SELECT $1'",
        "CREATE VIEW spoilt AS SELECT writing(id) AS id FROM parent",
    )
    with ground(family, child=CHILD, spoilt=PARENT) as there:
        reference = there.reference("parent_id", parent="spoilt")
        with pytest.raises(StoreUnavailable, match="read-only transaction"):
            there.reader.count_without_parent(reference)
        with pytest.raises(StoreUnavailable, match="read-only transaction"):
            listed(there.reader.rows_without_parent(reference))
    assert family.rows("SELECT count(*) FROM parent") == [(2,)]


def test_a_value_that_its_type_cannot_hold_is_told(database: Database) -> None:
    database.run("CREATE TABLE t (id int, v bigint)", "INSERT INTO t VALUES (1, 5000000000)")
    with (
        ground(database, t={"id": "int", "v": "int"}) as there,
        pytest.raises(StoreUnavailable, match="integer out of range"),
    ):
        there.reader.count_broken(there.rows("t"), there.rules("t", "v > 0"))


def test_the_settings_of_a_query_do_not_outlive_it(
    family: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last attempt runs in the session of the snapshot, which others use after it."""
    shown = "SELECT pg_catalog.current_setting('enable_indexscan')"
    monkeypatch.setattr("scrub.stores.postgres.sessions.ATTEMPTS", 1)
    with ground(family, child=CHILD) as there:
        store = there.store
        assert ask(store.conninfo, store.snapshot, shown, None, READ_STORED_ROWS) == ("off",)
        assert store.snapshot.connection.execute(shown).fetchone() == ("on",)


@pytest.mark.parametrize("options", [{}, {"max_parallel_workers_per_gather": "2"}])
def test_counts_are_the_same_while_others_write(family: Database, options: dict[str, str]) -> None:
    with ground(family, options, child=CHILD, parent=PARENT) as there, family.connect() as writer:
        writer.execute("BEGIN")
        writer.execute("INSERT INTO child VALUES (99, 99)")
        reader, rows = there.reader, there.rows("child")
        assert reader.count_without_parent(there.reference("parent_id")) == 1
        assert reader.count_shared(rows, there.terms("child", "parent_id")) == RepeatedKeys()
        assert reader.count_copied(rows) == RepeatedKeys()
        assert reader.count_broken(rows, there.rules("child", "id > 10")).checks == (1,)
