# SPDX-License-Identifier: Apache-2.0
"""Reading PostgreSQL at one snapshot: types, names, privileges, locks, lost connections."""

import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from psycopg import conninfo

from scrub.errors import RelationMismatch, StoreUnavailable, UsageError
from scrub.model.relation import RelationFacts
from scrub.model.request import AsOf
from scrub.model.table import Column, Store
from scrub.model.types import parse_type
from scrub.stores.postgres.reader import PostgresSplitReader
from scrub.stores.postgres.shared_snapshot import read_at
from scrub.stores.postgres.store import PostgresStore
from scrub.stores.unreadable import UnreadableSplit
from tests.postgres_server import Database
from tests.scrub.stores.postgres.login_roles import login_role
from tests.scrub.stores.sample import no_session

SUICIDE = "SELECT pg_terminate_backend(pg_backend_pid())"


def column(name: str, of_type: str) -> Column:
    return Column(name=name, type=parse_type(of_type))


def store_of(database: Database, **options: str) -> PostgresStore:
    return PostgresStore(Store(name="shop", kind="postgres", url=database.url, options=options))


@pytest.fixture
def store(database: Database) -> Iterator[PostgresStore]:
    made = store_of(database)
    yield made
    made.close()


def pin(store: PostgresStore, relation: str, columns: Sequence[Column]) -> RelationFacts:
    return store.pin(relation, None, no_session, columns)


def read(facts: RelationFacts, columns: Sequence[Column]) -> list[dict[str, Any]]:
    batches = [
        batch
        for split in facts.splits
        for batch in PostgresSplitReader(split, columns, facts.storage_options).batches()
    ]
    return [row for batch in batches for row in batch.to_pylist()]


def test_every_type_with_a_counterpart_is_read_exactly(
    database: Database, store: PostgresStore
) -> None:
    database.run(
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "CREATE DOMAIN amount AS numeric(8,3)",
        """CREATE TABLE t (id int PRIMARY KEY, b boolean, i2 smallint, i8 bigint, f4 real,
           f8 double precision, n numeric(10,2), free numeric, d amount, c char(5),
           v varchar(9), t text, u uuid, raw bytea, day date, at timestamptz,
           wall timestamp, m mood)""",
        """INSERT INTO t VALUES (1, true, -3, 1::bigint << 40, 1.5, 'NaN', 12.50, 1.500, 7.125,
           'ab',
           'vc', E'é\\n', '00000000-0000-0000-0000-00000000000a', '\\x00ff', '2026-02-28',
           '2026-02-28 12:00+02', '2026-02-28 12:00', 'happy')""",
        "INSERT INTO t (id) VALUES (2)",
    )
    types = {
        "id": "int",
        "b": "boolean",
        "i2": "smallint",
        "i8": "bigint",
        "f4": "float",
        "f8": "double",
        "n": "decimal(10,2)",
        "free": "string",
        "d": "decimal(8,3)",
        "c": "string",
        "v": "string",
        "t": "string",
        "u": "string",
        "raw": "binary",
        "day": "date",
        "at": "timestamp",
        "wall": "timestamp_ntz",
        "m": "string",
    }
    columns = [column(name, of) for name, of in types.items()]
    facts = pin(store, "t", columns)
    assert {name: str(of) for name, of in facts.columns.items()} == types
    first, second = sorted(read(facts, columns), key=lambda row: row["id"])
    assert first.pop("f8") != first.get("f8")  # NaN
    assert first == {
        "id": 1,
        "b": True,
        "i2": -3,
        "i8": 1 << 40,
        "f4": 1.5,
        "n": Decimal("12.50"),
        "free": "1.5",
        "d": Decimal("7.125"),
        "c": "ab",
        "v": "vc",
        "t": "é\n",
        "u": "00000000-0000-0000-0000-00000000000a",
        "raw": b"\x00\xff",
        "day": date(2026, 2, 28),
        "at": datetime(2026, 2, 28, 10, tzinfo=UTC),
        "wall": datetime(2026, 2, 28, 12),
        "m": "happy",
    }
    assert set(second.values()) == {2, None}


def test_infinite_times_are_neither_equal_nor_lost(
    database: Database, store: PostgresStore
) -> None:
    database.run(
        "CREATE TABLE t (at timestamptz)",
        "INSERT INTO t VALUES ('infinity'), ('-infinity'), ('1999-12-31')",
    )
    columns = [column("at", "timestamp")]
    facts = pin(store, "t", columns)
    (batch,) = PostgresSplitReader(facts.splits[0], columns, facts.storage_options).batches()
    assert len(set(batch.column(0).cast(pa.int64()).to_pylist())) == 3


@pytest.mark.parametrize(
    ("sql_type", "words"),
    [
        ("text[]", r"is an array \(text\[\]\)"),
        ("interval", "is of type interval"),
        ("jsonb", "is of type jsonb"),
        ("time", "is of type time without time zone"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(
    database: Database, store: PostgresStore, sql_type: str, words: str
) -> None:
    database.run(f"CREATE TABLE t (id int, odd {sql_type})")
    with pytest.raises(RelationMismatch, match=f"public.t: column odd {words}"):
        pin(store, "t", [column("id", "int"), column("odd", "string")])


def test_names_of_any_kind_are_quoted(database: Database, store: PostgresStore) -> None:
    name, inner = 'or"der; DROP TABLE x --', "se lect"
    quoted = '"' + name.replace('"', '""') + '"'
    database.run(f'CREATE TABLE {quoted} ("{inner}" int)', f"INSERT INTO {quoted} VALUES (7)")
    columns = [column(inner, "int")]
    assert read(pin(store, name, columns), columns) == [{inner: 7}]


def test_another_schema_is_named_with_a_dot(database: Database, store: PostgresStore) -> None:
    database.run("CREATE SCHEMA side", "CREATE TABLE side.t (id int)")
    assert pin(store, "side.t", [column("id", "int")]).splits[0].uri == '"side"."t"'


def test_a_missing_relation_is_told_with_a_neighbour(
    database: Database, store: PostgresStore
) -> None:
    database.run("CREATE TABLE orders (id int)")
    with pytest.raises(RelationMismatch, match="no relation order in schema public") as caught:
        pin(store, "order", [column("id", "int")])
    assert caught.value.hint == "did you mean orders?"


def test_splits_cover_every_row_once(
    database: Database, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrub.stores.postgres.pinned.PAGES_PER_SPLIT", 3)
    database.run(
        "CREATE TABLE t (id int, filler text)",
        "INSERT INTO t SELECT i, repeat('x', 200) FROM generate_series(1, 1000) i",
        "DELETE FROM t WHERE id % 3 = 0",
    )
    columns = [column("id", "int")]
    facts = pin(store, "t", columns)
    assert len(facts.splits) > 5
    assert sorted(row["id"] for row in read(facts, columns)) == [i for i in range(1, 1001) if i % 3]


def test_partitions_are_read_one_by_one(database: Database, store: PostgresStore) -> None:
    database.run(
        "CREATE TABLE t (id int, day date) PARTITION BY RANGE (day)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
        # A partition may have its columns in another order.
        "CREATE TABLE t2 (day date, id int)",
        "ALTER TABLE t ATTACH PARTITION t2 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')",
        "INSERT INTO t VALUES (1, '2026-01-05'), (2, '2026-02-05')",
    )
    columns = [column("id", "int"), column("day", "date")]
    facts = pin(store, "t", columns)
    assert [split.uri for split in facts.splits] == ['"public"."t1"', '"public"."t2"']
    assert sorted(row["id"] for row in read(facts, columns)) == [1, 2]


def test_children_of_a_table_are_read_with_it(database: Database, store: PostgresStore) -> None:
    database.run(
        "CREATE TABLE t (id int)",
        "CREATE TABLE child () INHERITS (t)",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO child VALUES (2)",
    )
    columns = [column("id", "int")]
    assert sorted(row["id"] for row in read(pin(store, "t", columns), columns)) == [1, 2]


def test_a_view_is_read_whole(database: Database, store: PostgresStore) -> None:
    database.run(
        "CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)", "CREATE VIEW v AS SELECT id FROM t"
    )
    columns = [column("id", "int")]
    assert read(pin(store, "v", columns), columns) == [{"id": 1}]


def test_all_relations_are_seen_at_one_moment(database: Database, store: PostgresStore) -> None:
    database.run("CREATE TABLE a (id int)", "CREATE TABLE b (id int)")
    columns = [column("id", "int")]
    first = pin(store, "a", columns)
    database.run("INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (1)")
    second = pin(store, "b", columns)
    assert first.snapshot == second.snapshot
    assert read(first, columns) == read(second, columns) == []


@pytest.mark.parametrize("command", ["TRUNCATE t", "DELETE FROM t; ALTER TABLE t ADD x int"])
def test_truncate_waits_and_new_readers_say_so(database: Database, command: str) -> None:
    database.run("CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)")
    columns = [column("id", "int")]
    store = store_of(database, lock_timeout="200ms")
    facts = pin(store, "t", columns)
    truncating = threading.Thread(target=database.run, args=(command,))
    truncating.start()
    time.sleep(0.3)
    assert truncating.is_alive()
    with pytest.raises(UnreadableSplit, match="waits to truncate, alter or drop"):
        read(facts, columns)
    assert store.snapshot.connection.execute("SELECT count(*) FROM public.t").fetchone() == (1,)
    store.close()
    truncating.join(10)
    assert database.rows("SELECT * FROM t") == []


def test_a_table_truncated_between_snapshot_and_lock_is_not_called_empty(
    database: Database, store: PostgresStore
) -> None:
    database.run("CREATE TABLE a (id int)", "CREATE TABLE b (id int)", "INSERT INTO b VALUES (1)")
    pin(store, "a", [column("id", "int")])
    database.run("TRUNCATE b")
    with pytest.raises(StoreUnavailable, match=r"public\.b was rewritten or truncated"):
        pin(store, "b", [column("id", "int")])


def test_whoever_holds_a_lock_is_named(database: Database) -> None:
    database.run("CREATE TABLE t (id int)")
    store = store_of(database, lock_timeout="100ms")
    with database.connect(application_name="migration") as other, other.transaction():
        other.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match=r"locked by process \d+ \(migration, user"):
            pin(store, "t", [column("id", "int")])
    store.close()


@pytest.fixture
def reader_role(database: Database) -> Iterator[Database]:
    """The database as a role sees it that may only connect."""
    with login_role(database) as (_, seen):
        yield seen


def test_select_is_all_that_a_role_needs(database: Database, reader_role: Database) -> None:
    database.run(
        "CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)", "GRANT SELECT ON t TO PUBLIC"
    )
    store = store_of(reader_role)
    assert ids_in(store, "t") == [1]
    store.close()


def ids_in(store: PostgresStore, relation: str) -> list[int]:
    columns = [column("id", "int")]
    return [row["id"] for row in read(pin(store, relation, columns), columns)]


def test_what_one_relation_refuses_does_not_end_the_snapshot(
    database: Database, reader_role: Database
) -> None:
    database.run(
        "CREATE TABLE mine (id int)",
        "CREATE TABLE secret (id int)",
        "INSERT INTO mine VALUES (1)",
        "GRANT SELECT ON mine TO PUBLIC",
    )
    store = store_of(reader_role)
    columns = [column("id", "int")]
    with pytest.raises(
        StoreUnavailable, match=r"no permission to read id of public\.secret|denied"
    ):
        pin(store, "secret", columns)
    with pytest.raises(StoreUnavailable, match=r"denied|permission"):
        pin(store, "secret", [])
    assert ids_in(store, "mine") == [1]
    store.close()


def test_a_lock_that_is_not_had_does_not_end_the_snapshot(database: Database) -> None:
    database.run("CREATE TABLE t (id int)", "CREATE TABLE free (id int)")
    store = store_of(database, lock_timeout="100ms")
    columns = [column("id", "int")]
    with database.connect() as other, other.transaction():
        other.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match="locked by process"):
            pin(store, "t", columns)
    assert read(pin(store, "free", columns), columns) == []
    store.close()


def test_a_revoked_column_is_named(database: Database, reader_role: Database) -> None:
    database.run("CREATE TABLE t (id int, email text)", "GRANT SELECT (id) ON t TO PUBLIC")
    store = store_of(reader_role)
    with pytest.raises(StoreUnavailable, match=r"no permission to read email of public\.t"):
        pin(store, "t", [column("id", "int"), column("email", "string")])
    assert ids_in(store, "t") == []
    store.close()


def test_a_partitioned_table_is_readable_without_rights_on_its_partitions(
    database: Database, reader_role: Database
) -> None:
    database.run(
        "CREATE TABLE t (id int) PARTITION BY LIST (id)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1)",
        "INSERT INTO t VALUES (1)",
        "GRANT SELECT ON t TO PUBLIC",
    )
    store = store_of(reader_role)
    assert ids_in(store, "t") == [1]
    store.close()


def test_no_password_is_ever_repeated(database: Database) -> None:
    url = conninfo.make_conninfo(database.url, password="hush-hush", user="nobody-of-that-name")
    store = PostgresStore(Store(name="shop", kind="postgres", url=url))
    with pytest.raises(StoreUnavailable) as caught:
        pin(store, "t", [])
    assert "hush-hush" not in str(caught.value)
    broken = Store(name="shop", kind="postgres", url="postgresql://u:hush-hush@h:port/d?x=1")
    with pytest.raises(UsageError) as mistake:
        PostgresStore(broken).snapshot  # noqa: B018 - connecting is what fails
    assert "hush-hush" not in str(mistake.value) + str(mistake.value.hint)
    assert "hush-hush" not in repr(broken)


def test_there_is_no_time_travel(database: Database, store: PostgresStore) -> None:
    database.run("CREATE TABLE t (id int)")
    with pytest.raises(UsageError, match="no --as-of"):
        store.pin("t", AsOf(version=1), no_session, [])


def test_a_connection_that_is_cut_off_is_tried_again(
    database: Database, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.run("CREATE TABLE t (id int)", "INSERT INTO t SELECT generate_series(1, 5)")
    columns = [column("id", "int")]
    facts = pin(store, "t", columns)
    statements = [[*read_at(store.snapshot.identifier), SUICIDE]]
    monkeypatch.setattr(
        "scrub.stores.postgres.reader.read_at",
        lambda snapshot: statements.pop() if statements else read_at(snapshot),
    )
    assert len(read(facts, columns)) == 5
    assert not statements


def test_rows_that_came_before_the_cut_come_once(database: Database, store: PostgresStore) -> None:
    database.run(
        "CREATE TABLE t (id int, filler text)",
        "INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 100000) i",
    )
    columns = [column("id", "int"), column("filler", "string")]
    (split,) = (facts := pin(store, "t", columns)).splits
    reader = PostgresSplitReader(split, columns, facts.storage_options)
    ids: list[int] = []
    for number, batch in enumerate(reader.batches()):
        ids += batch.column("id").to_pylist()
        if number == 0:
            assert database.rows(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'scrub' AND query LIKE 'COPY%'"
            ) == [(True,)]
    assert ids == list(range(1, 100001))


def test_a_lost_snapshot_makes_the_split_unreadable(
    database: Database, store: PostgresStore
) -> None:
    database.run("CREATE TABLE t (id int)")
    columns = [column("id", "int")]
    facts = pin(store, "t", columns)
    store.close()
    with pytest.raises(UnreadableSplit, match="snapshot is gone"):
        read(facts, columns)
