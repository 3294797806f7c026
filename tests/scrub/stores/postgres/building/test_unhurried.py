# SPDX-License-Identifier: Apache-2.0
"""Transactions of the builder that may take their time, until somebody waits for them."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

from scrub.model.build import Method, State
from scrub.stores.building import Disconnected, GaveWay
from scrub.stores.postgres.briefly import Lookout
from scrub.stores.postgres.building import session
from scrub.stores.postgres.building.session import BuildSession
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import Background, Ground, building, kv_table

_CREATE = "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)"
_ROWS = "INSERT INTO t SELECT n, n % 7, NULL FROM generate_series(1, 20000) AS n"
_LOOKING_OUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE '%pg_blocking_pids%'
      AND pid <> pg_backend_pid()
"""


@contextmanager
def _looking_out(database: Database) -> Iterator[tuple["psycopg.Connection[object]", Lookout]]:
    with (
        database.connect() as connection,
        database.connect() as other,
        closing(Lookout(connection, other)) as lookout,
    ):
        yield connection, lookout


def test_whoever_waits_for_a_long_transaction_goes_first(database: Database) -> None:
    """As a TRUNCATE of the table, which empties the index: writers wait behind it."""
    database.run("CREATE TABLE t (k int)")
    waiting: list[Background[None]] = []

    def dawdle() -> None:
        with lookout.unhurriedly() as transaction:
            transaction.execute("LOCK TABLE t IN SHARE MODE")
            waiting.append(Background(lambda: database.run("TRUNCATE t")))
            transaction.execute("SELECT pg_sleep(60)")

    with _looking_out(database) as (connection, lookout):
        began = time.monotonic()
        with pytest.raises(GaveWay):
            dawdle()
        assert time.monotonic() - began < 30
        waiting[0].result()
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_a_transaction_that_nobody_looks_out_for_ends(database: Database) -> None:
    """Whoever waited for it would have to wait for as long as it takes."""

    def lose_the_session() -> None:
        while not any(found for (found,) in database.rows(_LOOKING_OUT)):
            time.sleep(0.05)

    def dawdle() -> None:
        with lookout.unhurriedly() as transaction:
            losing = Background(lose_the_session)
            try:
                transaction.execute("SELECT pg_sleep(60)")
            finally:
                losing.result()

    with _looking_out(database) as (connection, lookout):
        began = time.monotonic()
        with pytest.raises(GaveWay):
            dawdle()
        assert time.monotonic() - began < 30
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_long_transaction_waits_for_nobody(database: Database) -> None:
    """Else a writer that waits for it in turn could be the one whom a deadlock fails."""
    database.run("CREATE TABLE t (k int)")
    with _looking_out(database) as (_, lookout), database.connect() as writer:
        with writer.transaction():
            writer.execute("LOCK TABLE t")
            began = time.monotonic()
            with pytest.raises(GaveWay), lookout.unhurriedly() as transaction:
                transaction.execute("INSERT INTO t VALUES (1)")
            assert time.monotonic() - began < 30
        with lookout.unhurriedly() as transaction:
            transaction.execute("INSERT INTO t VALUES (1)")
    assert database.rows("SELECT k FROM t") == [(1,)]


@pytest.fixture
def impatient(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    """A build about to load, with less time for a brief transaction than a chunk takes."""
    monkeypatch.setattr(session, "UNHURRIED_PATIENCE_MIN", 0.0)
    with building(database, kv_table(unique=False), Method.INIT_PUT, _CREATE, _ROWS) as ground:
        ground.advance_to(State.BACKFILLING)
        ground.build.session.patience = 0.002
        yield ground


@pytest.fixture
def alone(impatient: Ground) -> Ground:
    """The same, where the last chunk saw nobody who writes."""
    impatient.build.session.others_write = False
    return impatient


def test_a_chunk_takes_its_time_while_nobody_writes(impatient: Ground) -> None:
    with pytest.raises(GaveWay):
        impatient.build.load_step(0, 20_000)
    impatient.build.session.others_write = False
    assert impatient.build.load_step(0, 20_000).rows == 20_000


def test_a_chunk_is_brief_where_deadlocks_are_looked_for_at_once(
    alone: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that waits would be the victim of one before anybody has seen it wait."""
    monkeypatch.undo()
    with pytest.raises(GaveWay):
        alone.build.load_step(0, 20_000)


def test_a_server_without_room_for_a_second_session_gets_brief_chunks(
    impatient: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = impatient.build
    build.session.patience = 10.0
    assert build.load_step(0, 10).rows == 10
    build.session.others_write = False

    def full(*_: object, **__: object) -> None:
        raise Disconnected("sorry, too many clients already")

    monkeypatch.setattr(BuildSession, "_connect", full)
    assert build.load_step(0, 10).rows == 10
    build.session.others_write, build.session.patience = False, 0.002
    with pytest.raises(GaveWay):
        build.load_step(0, 19_000)


def test_a_cancel_that_comes_late_is_no_failure(database: Database) -> None:
    with closing(BuildSession(database.url)) as late:
        pid = late.connection.info.backend_pid

        def cancel() -> None:
            while database.rows(f"SELECT state FROM pg_stat_activity WHERE pid = {pid}") != [
                ("active",)
            ]:
                time.sleep(0.01)
            database.run(f"SELECT pg_cancel_backend({pid})")

        cancelling = Background(cancel)
        with pytest.raises(GaveWay), late.watched():
            late.connection.execute("SELECT pg_sleep(60)")
        cancelling.result()


def test_a_chunk_that_gave_way_is_followed_by_brief_ones(alone: Ground) -> None:
    build = alone.build
    with alone.writer() as writer:
        writer.execute("BEGIN")
        writer.execute("LOCK TABLE t__by_v IN SHARE MODE")
        with pytest.raises(GaveWay):
            build.load_step(0, 20_000)
        writer.execute("COMMIT")
    with pytest.raises(GaveWay):
        build.load_step(0, 20_000)
    assert alone.entries() == []


def test_a_build_that_lost_its_session_looks_out_for_the_new_one(alone: Ground) -> None:
    build = alone.build
    assert build.load_step(0, 10).rows == 10
    build.connection.close()
    assert build.load_step(0, 10).rows == 10
    assert build.session._lookout is not None
    assert build.session._lookout.connection is build.connection


def test_somebody_who_writes_makes_chunks_brief(alone: Ground) -> None:
    build = alone.build
    with alone.writer() as writer:
        writer.execute("BEGIN")
        writer.execute("UPDATE t SET s = 'mine' WHERE k = 20000")
        assert build.load_step(0, 10).others_write
        with pytest.raises(GaveWay):
            build.load_step(0, 15_000)
        writer.execute("COMMIT")
    assert len(alone.entries()) == 11


@pytest.mark.parametrize(
    "order", ["paused = true", "runner = 'another'", "state = 'reversing'", "rows_per_second = 5"]
)
def test_a_long_transaction_ends_when_the_build_is_told_something(
    impatient: Ground, order: str
) -> None:
    """Else whoever pauses a build, or takes it back, would wait for a chunk that takes its time."""
    build = impatient.build
    build.session.patience = 10.0
    assert build.load_step(0, 10).rows == 10
    called_off = build.loading._called_off
    assert impatient.database.rows(f"SELECT {called_off}") == [(False,)]
    impatient.database.run(f"UPDATE scrub_builds SET {order}")
    began = time.monotonic()
    with pytest.raises(GaveWay), build.session.unhurriedly(unless=called_off) as brief:
        brief.execute("SELECT pg_sleep(60)")
    assert time.monotonic() - began < 30


def test_a_chunk_that_was_called_off_did_not_give_way_to_writers(impatient: Ground) -> None:
    build = impatient.build
    build.session.patience = 10.0
    assert build.load_step(0, 10).rows == 10
    of = build.loading.range(0)
    retried = "SELECT retried FROM scrub_build_ranges WHERE phase = 'load' AND number = 0"

    def give_way(is_slow: bool = False) -> None:
        build.session.others_write = False
        with (
            pytest.raises(GaveWay),
            build.loading._watched(of, is_slow),
            build.session.as_others_allow("false"),
        ):
            raise GaveWay("canceling statement due to user request")

    impatient.database.run("UPDATE scrub_builds SET paused = true")
    give_way()
    assert impatient.database.rows(retried) == [(0,)]
    give_way(is_slow=True)
    assert impatient.database.rows(retried) == [(1,)], "that one cannot be called off"
    impatient.database.run("UPDATE scrub_builds SET paused = false")
    give_way()
    assert impatient.database.rows(retried) == [(2,)]


def test_the_first_chunk_of_a_build_with_a_pace_is_counted_when_it_gives_way(
    impatient: Ground,
) -> None:
    """It does not know the pace yet, and has too little time to be called off."""
    impatient.database.run("UPDATE scrub_builds SET rows_per_second = 5000")
    build = impatient.build
    build.session.others_write = True
    of = build.loading.range(0)
    with (
        pytest.raises(GaveWay),
        build.loading._watched(of),
        build.session.as_others_allow("false"),
    ):
        raise GaveWay("canceling statement due to statement timeout")
    assert impatient.database.rows(
        "SELECT retried FROM scrub_build_ranges WHERE phase = 'load' AND number = 0"
    ) == [(1,)]


def test_a_chunk_of_a_build_with_a_pace_is_not_called_off_for_that(impatient: Ground) -> None:
    build = impatient.build
    build.session.patience = 10.0
    impatient.database.run("UPDATE scrub_builds SET rows_per_second = 5000")
    assert build.load_step(0, 10).rows_per_second == 5000
    assert impatient.database.rows(f"SELECT {build.loading._called_off}") == [(False,)]
