# SPDX-License-Identifier: Apache-2.0
"""Indexes and the state of their stream become true together, for one process at a time."""

from dataclasses import replace
from random import Random

import psycopg
import pytest

from repair.streaming.running import Pace
from scrub.errors import StoreUnavailable, UsageError
from scrub.stores.postgres.entry_sql import entry_sql
from scrub.stores.postgres.streaming import sink as sink_module
from scrub.stores.postgres.streaming.index_tables import drop_index_table, make_index_tables
from scrub.stores.postgres.streaming.sink import PostgresSink
from scrub.stores.streaming import TakenOver
from tests.postgres_server import Database
from tests.repair.streaming.model_upstream import Rows, Upstream
from tests.scrub.stores.postgres.streaming.ground import BY_V, SHORT, Ground, table_of

VALUES = ("a", "b", "x", "long", None, "it's", "tab\tand\nline\\", "ä")


def rows_of(keys: int) -> Rows:
    return {(key,): (VALUES[key % len(VALUES)], f"s{key}") for key in range(keys)}


def write_something(upstream: Upstream, random: Random) -> None:
    """One commit of a writer, which snapshots may see later than the stream."""
    writes: list[tuple[object, ...]] = []
    for _ in range(random.randint(1, 3)):
        key, other = random.randrange(20), random.randrange(20)
        kind = random.choice(["put", "put", "delete", "move"])
        writes.append((kind, key, random.choice(VALUES) if kind == "put" else other))
    if random.random() < 0.05:
        writes = [("truncate",)]
    upstream.commit(*writes, hold=random.random() < 0.2)
    if random.random() < 0.4:
        upstream.release()


def test_history_and_changes_become_entries(database: Database) -> None:
    ground = Ground(database, Upstream(rows_of(20), shows_transactions=True)).start()
    random = Random(1)
    for _ in range(30):
        write_something(ground.upstream, random)
        ground.run.epoch()
    ground.settle()
    ground.demand_entries_of_all_rows()


def test_the_state_comes_back_as_it_was(database: Database) -> None:
    ground = Ground(database, Upstream(rows_of(20), shows_transactions=True)).start()
    random = Random(2)
    for _ in range(12):
        write_something(ground.upstream, random)
        ground.run.epoch()
        if random.random() < 0.3:
            ground.run.split((random.randrange(20),))
        restored = ground.new_sink().restore()
        assert restored is not None
        assert restored.heard == ground.run.state.heard
        assert restored.epoch == ground.run.state.epoch
        ground.start()
        assert restored.vnodes == ground.run.state.vnodes
    ground.settle()
    ground.demand_entries_of_all_rows()


@pytest.mark.parametrize("seed", range(4))
def test_killed_between_any_two_statements(
    database: Database, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends the session before a random statement; a new process goes on each time."""
    random = Random(seed)
    left = [10**9]
    connect = sink_module.connect

    def watched(conninfo: str) -> object:
        connection = connect(conninfo)
        execute = connection.execute

        def execute_or_end(*given: object, **named: object) -> object:
            left[0] -= 1
            if left[0] == 0:
                pid = connection.info.backend_pid
                database.run(f"SELECT pg_terminate_backend({pid}, 5000)")
            return execute(*given, **named)

        monkeypatch.setattr(connection, "execute", execute_or_end)
        return connection

    monkeypatch.setattr(sink_module, "connect", watched)
    ground = Ground(database, Upstream(rows_of(20), shows_transactions=True)).start()
    kills = 0
    for _ in range(40):
        write_something(ground.upstream, random)
        left[0] = random.randint(1, 24)
        try:
            ground.run.epoch()
        except StoreUnavailable:
            kills += 1
            left[0] = 10**9
            ground.start()
    left[0] = 10**9
    assert kills > 5
    ground.settle()
    ground.demand_entries_of_all_rows()


def test_a_process_that_was_taken_over_writes_nothing_more(database: Database) -> None:
    ground = Ground(database, Upstream(rows_of(20))).start()
    first = ground.run
    first.epoch()
    ground.start()
    before = ground.by_v()
    with pytest.raises(TakenOver):
        first.epoch()
    assert ground.by_v() == before
    ground.run.epoch()
    ground.settle()
    ground.demand_entries_of_all_rows()


def test_of_two_processes_that_know_one_epoch_one_commits(database: Database) -> None:
    """Also where both have signed the stream with the same name, only one epoch follows another."""
    ground = Ground(database, Upstream(rows_of(20))).start()
    first = ground.run
    twin = PostgresSink(
        ground.sink._conninfo,
        "public",
        ground.stream,
        ground.sink.runner,
        ground.carried,
        ground.entries,
        ground.key,
    )
    twin.restore()
    ended = first.epoch()
    with pytest.raises(TakenOver):
        twin.commit(ended)
    assert len(ground.by_v()) == 4


def test_an_entry_that_stays_the_same_is_not_written_again(database: Database) -> None:
    ground = Ground(database, Upstream(rows_of(10))).start()
    ground.upstream.commit(("put", 3, "a"))
    ground.settle()
    places = "SELECT ctid::text, k FROM public.t__by_v ORDER BY k"
    before = database.rows(places)
    ground.upstream.commit(("put", 3, "a"), ("put", 4, "new"))
    ground.settle()
    after = database.rows(places)
    assert {k for place, k in set(after) - set(before)} == {4}
    ground.demand_entries_of_all_rows()


def test_truncate_empties_what_was_read(database: Database) -> None:
    upstream = Upstream(rows_of(20), shows_transactions=True)
    ground = Ground(database, upstream, pace=Pace(parallel=3, rows_max=9)).start()
    ground.run.epoch()
    assert ground.by_v()
    upstream.commit(("truncate",))
    upstream.commit(("put", 3, "new"))
    ground.run.epoch()
    assert {row[1] for row in ground.by_v()} <= {3}
    ground.settle()
    ground.demand_entries_of_all_rows()


def test_the_tables_are_as_builds_would_make_them(database: Database) -> None:
    """Types and collations are the table's, the unique index is on the primary key."""
    Ground(
        database,
        Upstream({}),
        create='CREATE TABLE public.t (k bigint PRIMARY KEY, v varchar(9) COLLATE "C" NOT NULL, '
        "s text)",
    )
    columns = database.rows(
        """SELECT a.attname, format_type(a.atttypid, a.atttypmod), l.collname, a.attnotnull
        FROM pg_attribute a LEFT JOIN pg_collation l ON l.oid = a.attcollation
        WHERE a.attrelid = 'public.t__by_v'::regclass AND a.attnum > 0 ORDER BY a.attnum"""
    )
    assert columns == [
        ("v", "character varying", "C", True),
        ("k", "bigint", None, True),
        ("s", "text", "default", False),
    ]
    indexes = database.rows(
        "SELECT pg_get_indexdef(indexrelid) FROM pg_index "
        "WHERE indrelid = 'public.t__by_v'::regclass ORDER BY indisunique DESC"
    )
    assert [row[0].split(" USING ")[1] for row in indexes] == ["btree (k)", "btree (v, k)"]


def test_a_name_that_is_taken_is_refused(database: Database) -> None:
    database.run("CREATE TABLE public.t__by_v (v text)")
    with pytest.raises(UsageError, match="already exists, which no stream of this table has made"):
        Ground(database, Upstream({}), indexes=(BY_V,))


def test_an_expression_that_depends_on_more_than_the_row_is_refused(database: Database) -> None:
    ground = Ground(database, Upstream({}), indexes=(BY_V,))
    moody = replace(SHORT, where="random() < 0.5")
    with database.connect() as connection:
        entry = entry_sql(connection, "public", table_of(moody), moody)
        with (
            pytest.raises(UsageError, match=r"the database cannot keep .*random"),
            connection.transaction(),
        ):
            make_index_tables(connection, ground.carried, [entry], None)


def test_only_the_table_that_was_made_is_dropped(database: Database) -> None:
    ground = Ground(database, Upstream({}), indexes=(BY_V,))
    with database.connect() as connection:
        (number,) = connection.execute("SELECT 'public.t__by_v'::regclass::oid::bigint").fetchone()
        connection.execute("ALTER TABLE public.t__by_v RENAME TO renamed")
        connection.execute("CREATE TABLE public.t__by_v (v text)")
        assert drop_index_table(connection, number)
        assert not drop_index_table(connection, number)
    assert database.rows("SELECT to_regclass('public.renamed')") == [(None,)]
    assert database.rows("SELECT to_regclass('public.t__by_v') IS NOT NULL") == [(True,)]
    assert ground.stream


def test_a_commit_lasts_also_where_the_role_asks_for_less(database: Database) -> None:
    """The source forgets what the sink has; a crash must not take it back."""
    database.run(f'ALTER DATABASE "{database.name}" SET synchronous_commit = off')
    ground = Ground(database, Upstream(rows_of(3))).start()
    seen: list[str] = []

    def look(sink: PostgresSink) -> None:
        write = sink._write

        def and_look(connection: psycopg.Connection, writes: object) -> int:
            seen.append(connection.execute("SHOW synchronous_commit").fetchone()[0])
            return write(connection, writes)

        sink._write = and_look

    ground.on_sink = look
    ground.start()
    ground.run.epoch()
    assert seen == ["on"]
