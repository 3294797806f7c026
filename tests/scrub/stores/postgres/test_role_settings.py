# SPDX-License-Identifier: Apache-2.0
"""What a role or a database is set to changes nothing of what is read."""

import time

import pytest

from scrub.stores.constraints import RepeatedKeys
from tests.postgres_server import Database
from tests.scrub.stores.postgres.constraints.constraint_ground import ground, listed
from tests.scrub.stores.postgres.login_roles import login_role

LETTERS = {"id": "int", "v": "string"}


@pytest.fixture
def letters(database: Database) -> Database:
    database.run(
        "CREATE TABLE letters (id int, v text)",
        "INSERT INTO letters VALUES (1, 'é'), (2, '日'), (3, 'é')",
    )
    return database


def assert_read_as_stored(seen: Database) -> None:
    with ground(seen, letters=LETTERS) as there:
        reader, rows = there.reader, there.rows("letters")
        rules = there.rules("letters", "v IN ('é', '日')", "v <> 'é'")
        assert reader.count_broken(rows, rules).checks == (0, 2)
        shared = listed(reader.rows_that_share(rows, there.terms("letters", "v")))
        assert [row[:2] for row in shared] == [(1, "é"), (3, "é")]


def test_letters_arrive_as_they_are_whatever_encoding_the_role_has(letters: Database) -> None:
    with login_role(letters) as (name, seen):
        letters.run(
            f"GRANT SELECT ON letters TO {name}",
            f"ALTER ROLE {name} SET client_encoding = 'LATIN1'",
        )
        assert seen.rows("SHOW client_encoding") == [("LATIN1",)]
        assert_read_as_stored(seen)


def test_letters_arrive_as_they_are_whatever_encoding_the_environment_has(
    letters: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    assert_read_as_stored(letters)


def test_a_role_whose_transactions_end_soon_keeps_its_snapshot(letters: Database) -> None:
    if letters.version < 170000:
        pytest.skip("transactions have a timeout since version 17")
    with login_role(letters) as (name, seen):
        letters.run(
            f"GRANT SELECT ON letters TO {name}",
            f"ALTER ROLE {name} SET transaction_timeout = '100ms'",
        )
        with ground(seen, letters=LETTERS) as there:
            time.sleep(0.3)
            key = there.terms("letters", "v")
            assert there.reader.count_shared(there.rows("letters"), key) == RepeatedKeys(1, 2)


def test_a_materialized_view_is_read_like_a_table(letters: Database) -> None:
    letters.run("CREATE MATERIALIZED VIEW kept AS SELECT * FROM letters")
    with ground(letters, kept=LETTERS) as there:
        key = there.terms("kept", "v")
        assert there.reader.count_shared(there.rows("kept"), key) == RepeatedKeys(1, 2)
