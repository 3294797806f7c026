# SPDX-License-Identifier: Apache-2.0
"""Own indexes and a role that may read some columns: what can be seen is, the rest named."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from psycopg import conninfo

from scrub.model.defect import DefectKind
from scrub.model.result import Status
from tests.postgres_server import Database
from tests.scrub.stores.postgres.login_roles import login_role
from tests.scrub.stores.postgres.own_indexes.own_index_ground import (
    TABLE,
    blind,
    check,
    own_index,
    told,
)


@pytest.fixture
def some_columns(database: Database) -> Iterator[Database]:
    """The database as a role sees it that may read two columns of three."""
    with login_role(database) as (role, seen):
        database.run(
            "CREATE TABLE t (id int PRIMARY KEY, k int, secret text)",
            "INSERT INTO t SELECT i, i % 50, 's' || i FROM generate_series(1, 200) i",
            f"GRANT SELECT (id, k) ON t TO {role}",
        )
        yield seen


@pytest.fixture
def role(some_columns: Database) -> str:
    return str(conninfo.conninfo_to_dict(some_columns.url)["user"])


def test_a_sound_index_of_readable_columns_is_compared_and_the_grant_told(
    database: Database, some_columns: Database, role: str
) -> None:
    database.run(
        "CREATE INDEX by_k ON t (k DESC, id)",
        "CREATE INDEX made ON t ((k + 1))",
        "CREATE INDEX part ON t (k) INCLUDE (id) WHERE id > 100",
    )
    for index, rows in (
        (own_index("t_pkey", "id", unique=True), 200),
        (own_index("by_k", "k", "id"), 200),
        (own_index("made"), 200),
        (own_index("part", "k"), 100),
    ):
        found = check(some_columns, index)
        assert (found.status, found.counts) == (Status.INCOMPLETE, {}), found
        assert (found.rows, found.entries) == (rows, rows)
        assert "lead to the right rows is not seen by a role" in str(found.incomplete)
        assert str(found.incomplete).endswith(f'GRANT SELECT ON "public"."t" TO "{role}"')
        assert check(database, index).status is Status.CLEAN


@pytest.mark.parametrize(
    "definition",
    [
        "ON t (secret)",
        "ON t (k) INCLUDE (secret)",
        "ON t (k) WHERE secret IS NOT NULL",
        "ON t (lower(secret))",
    ],
)
def test_a_column_that_may_not_be_read_is_named_with_the_grant(
    database: Database, some_columns: Database, role: str, definition: str
) -> None:
    database.run(f"CREATE INDEX i {definition}")
    found = check(some_columns, own_index("i"))
    assert found.status is Status.INCOMPLETE
    assert found.incomplete == (
        "no permission to read secret of public.t, which i needs; "
        f'GRANT SELECT ON "public"."t" TO "{role}"'
    )
    assert found.entries is None


def test_what_differs_is_found_without_knowing_where_rows_lie(
    database: Database, some_columns: Database
) -> None:
    database.run("CREATE INDEX i ON t (k, id)", "VACUUM (FREEZE) t")
    with blind(database, "i"):
        database.run("INSERT INTO t VALUES (301, 7, 'x')", "DELETE FROM t WHERE id = 5", "VACUUM t")
    found = check(some_columns, own_index("i", "k", "id"))
    assert found.status is Status.DEFECTIVE
    assert found.counts == {DefectKind.MISSING: 1, DefectKind.DANGLING: 1}
    assert told(found, DefectKind.MISSING) == [(301, 7, 301)]
    assert told(found, DefectKind.DANGLING) == [(5, 5, 5)]
    assert found.incomplete is not None
    assert found.remedies == ['REINDEX INDEX CONCURRENTLY "public"."i";']


def test_a_wrong_stored_column_is_one_defect(database: Database, some_columns: Database) -> None:
    database.run("CREATE INDEX i ON t (id) INCLUDE (k)", "VACUUM (FREEZE) t")
    with blind(database, "i"):
        database.run("DELETE FROM t WHERE id = 5", "VACUUM t", "INSERT INTO t VALUES (5, 49, 's')")
    found = check(some_columns, own_index("i", "id"))
    assert found.counts == {DefectKind.WRONG_STORED_VALUE: 1}
    (defect,) = found.defects
    assert (defect.expected, defect.actual) == ({"id": 5, "k": 49}, {"id": 5, "k": 5})


def test_rows_that_share_a_unique_key_are_named(database: Database, some_columns: Database) -> None:
    database.run("CREATE UNIQUE INDEX i ON t (k, id)", "ALTER TABLE t DROP CONSTRAINT t_pkey")
    with blind(database, "i"):
        database.run("INSERT INTO t VALUES (9, 9, 'again')")
    found = check(some_columns, own_index("i", "k", "id", unique=True))
    assert found.counts == {DefectKind.MISSING: 1, DefectKind.UNIQUE_VIOLATION: 2}
    assert told(found, DefectKind.UNIQUE_VIOLATION) == [(9, 9, 9), (9, 9, 9)]


def test_partitions_that_may_not_be_read_are_named(
    database: Database, some_columns: Database, role: str
) -> None:
    database.run(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100)",
        f"GRANT SELECT ON p TO {role}",
    )
    found = check(
        some_columns,
        own_index("p_pkey", "id", unique=True),
        table=replace(TABLE, name="p", relation="p"),
    )
    assert found.status is Status.INCOMPLETE
    assert str(found.incomplete).endswith(f'GRANT SELECT ON "public"."p1" TO "{role}"')
