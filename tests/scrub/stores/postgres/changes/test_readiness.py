# SPDX-License-Identifier: Apache-2.0
"""What a stream lacks is named before anything is made."""

from collections.abc import Sequence

import pytest

from scrub.errors import RelationMismatch
from scrub.stores.postgres.changes.readiness import NotStreamable, demand_ready, whats_missing
from scrub.stores.postgres.changes.streamed_table import describe_table
from tests.postgres_server import Database

PLAIN = "CREATE TABLE public.t (id int PRIMARY KEY, v text)"


def missing_of(
    database: Database, *setup: str, key: Sequence[str] = ("id",), role: str | None = None
) -> list[str]:
    database.run(*setup)
    with database.connect() as connection:
        if role is not None:
            connection.execute(f"SET ROLE {role}")
        table = describe_table(connection, "public", "t", ["v"], key)
        return [one.message for one in whats_missing(connection, table, "a_slot")]


def test_nothing_is_missing_of_an_ordinary_table(logical_database: Database) -> None:
    assert missing_of(logical_database, PLAIN) == []


def test_everything_that_is_missing_is_named_at_once(logical_database: Database) -> None:
    logical_database.run(
        "CREATE UNLOGGED TABLE public.t (id int, v text)",
        "ALTER TABLE public.t REPLICA IDENTITY NOTHING",
    )
    with logical_database.connect() as connection:
        table = describe_table(connection, "public", "t", ["v"], ["id"])
        with pytest.raises(NotStreamable) as refused:
            demand_ready(connection, table, "a_slot")
    assert str(refused.value).splitlines() == [
        "public.t is unlogged or temporary: its changes are not in the log",
        "public.t: id of the primary key may be NULL",
        "public.t has REPLICA IDENTITY NOTHING: deletions do not say which row",
    ]
    assert "SET LOGGED" in str(refused.value.hint)
    assert refused.value.exit_code == 2


def test_the_log_must_hold_what_decoding_needs(database: Database) -> None:
    (level,) = database.rows("SHOW wal_level")[0]
    expected = [f"the server's wal_level is {level}, and changes need logical"]
    assert missing_of(database, PLAIN) == ([] if level == "logical" else expected)


def test_the_role_must_be_allowed_to_replicate(logical_database: Database) -> None:
    role = f"plain_{logical_database.name}"
    logical_database.run(f"CREATE ROLE {role}")
    try:
        missing = missing_of(
            logical_database, PLAIN, f"GRANT SELECT ON public.t TO {role}", role=role
        )
    finally:
        logical_database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
    assert missing == [f"the role {role} may not replicate"]


def test_a_slot_must_be_free_unless_it_is_there_already(logical_database: Database) -> None:
    (free,) = logical_database.rows(
        "SELECT current_setting('max_replication_slots')::int - count(*)::int "
        "FROM pg_replication_slots"
    )[0]
    names = ["a_slot", *(f"other_{number}" for number in range(1, free))]
    make = "SELECT pg_create_physical_replication_slot('{}')"
    try:
        logical_database.run(*map(make.format, names))
        assert missing_of(logical_database, PLAIN) == []
        logical_database.run("SELECT pg_drop_replication_slot('a_slot')", make.format("one_more"))
        assert missing_of(logical_database) == ["the server has no free replication slot"]
    finally:
        logical_database.run(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
            "WHERE slot_type = 'physical'"
        )


FULL = ["ALTER TABLE public.t REPLICA IDENTITY FULL"]
BY_INDEX = [
    "CREATE UNIQUE INDEX u ON public.t (n)",
    "ALTER TABLE public.t REPLICA IDENTITY USING INDEX u",
]


@pytest.mark.parametrize(
    ("setup", "key", "is_missing"),
    [
        (FULL, ["id"], False),
        (FULL, ["id", "n"], False),
        ([], ["n"], True),
        (
            [
                "CREATE UNIQUE INDEX u ON public.t (n)",
                "ALTER TABLE public.t REPLICA IDENTITY USING INDEX u",
            ],
            ["n"],
            False,
        ),
        (
            [
                "CREATE UNIQUE INDEX u ON public.t (n)",
                "ALTER TABLE public.t REPLICA IDENTITY USING INDEX u",
            ],
            ["id"],
            True,
        ),
        (["ALTER TABLE public.t DROP CONSTRAINT t_pkey"], ["id"], True),
    ],
)
def test_deletions_must_carry_the_primary_key(
    setup: list[str], key: list[str], is_missing: bool, logical_database: Database
) -> None:
    create = "CREATE TABLE public.t (id int PRIMARY KEY, n int NOT NULL, v text)"
    keep_not_null = "ALTER TABLE public.t ALTER id SET NOT NULL"
    missing = missing_of(logical_database, create, *setup, keep_not_null, key=key)
    reason = f"public.t: deletions do not carry the primary key ({', '.join(key)})"
    assert missing == ([reason] if is_missing else [])


def test_a_partition_is_streamed_with_its_table(logical_database: Database) -> None:
    parent = "CREATE TABLE public.p (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)"
    part = "CREATE TABLE public.t PARTITION OF public.p FOR VALUES FROM (0) TO (9)"
    assert missing_of(logical_database, parent, part) == ["public.t is no table of its own"]
    with logical_database.connect() as connection:
        table = describe_table(connection, "public", "p", ["v"], ["id"])
        assert whats_missing(connection, table, "a_slot") == []


def test_a_column_that_is_not_there_is_named(logical_database: Database) -> None:
    with pytest.raises(RelationMismatch, match=r"public\.t has no column v, other"):
        missing_of(logical_database, "CREATE TABLE public.t (id int)", key=["id", "v", "other"])
