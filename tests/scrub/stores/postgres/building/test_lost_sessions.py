# SPDX-License-Identifier: Apache-2.0
"""Sessions that end in the middle of a build, and workers that outlive the process they had."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from repair.working_off import Worker, WorkSettings
from scrub.model.build import Method, State
from scrub.stores.building import LOAD, Disconnected, GaveWay, Superseded
from scrub.stores.postgres.building.build import PostgresBuild
from scrub.stores.postgres.building.builds import Builds, Range
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import (
    Background,
    Ground,
    building,
    kv_table,
    until,
)

ROWS = 400
TABLE = (
    "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)",
    f"INSERT INTO t SELECT i, 'v' || i, 's' FROM generate_series(1, {ROWS}) AS i",
    "ANALYZE t",
)

END_SESSIONS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'scrub'
"""


@contextmanager
def loading(
    database: Database, method: Method, ranges: int, rows_per_second: int, unique: bool = True
) -> Iterator[Ground]:
    """A build that loads rows, no faster than that."""
    with building(database, kv_table(unique=unique), method, *TABLE) as ground:
        ground.advance()
        ground.build.plan_load(ranges)
        ground.advance()
        set_pace(ground, rows_per_second)
        yield ground


def set_pace(ground: Ground, rows_per_second: int | None) -> None:
    with ground.database.connect() as connection:
        build = ground.build.place.build
        Builds(ground.schema).change(connection, build, rows_per_second=rows_per_second)


def rows_loaded(ground: Ground) -> int:
    return int(ground.database.rows("SELECT sum(rows) FROM scrub_build_ranges")[0][0])


def worker(build: PostgresBuild) -> Worker:
    return Worker(build, WorkSettings(1))


def at_work(ground: Ground) -> tuple[PostgresBuild, Background]:
    """A worker in a session of its own."""
    build = ground.another()
    return build, Background(lambda: worker(build).work_off(LOAD))


@pytest.mark.parametrize("method", Method)
def test_a_worker_whose_session_is_ended_again_and_again_comes_to_its_end(
    database: Database, method: Method
) -> None:
    with loading(database, method, ranges=3, rows_per_second=400) as ground:
        build, work = at_work(ground)
        own = ground.build.connection.info.backend_pid
        ended = 0
        while not work.is_done:
            before = rows_loaded(ground)
            until(lambda before=before: work.is_done or rows_loaded(ground) > before)  # type: ignore[misc]
            ended += len(database.rows(f"{END_SESSIONS} AND pid <> {own}"))
        assert work.result() == ()
        assert ended > 1
        build.close()
        set_pace(ground, None)
        ground.publish()
        ground.assert_right()


def test_a_server_that_goes_away_while_a_chunk_gives_way_is_waited_for(database: Database) -> None:
    with building(database, kv_table(unique=False), Method.INIT_PUT, *TABLE) as ground:
        build = ground.build
        pid = build.connection.info.backend_pid

        def count() -> None:
            build.builds.gave_way(build.connection, build.place.build, LOAD, 0)

        def give_way() -> None:
            with build.session.watched(count):
                database.run(f"SELECT pg_terminate_backend({pid})")
                raise GaveWay("a lock")

        with pytest.raises(Disconnected):
            give_way()


def test_a_session_that_is_lost_between_two_statements_of_a_chunk_is_told_as_lost(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever asks the server in between: how patient to be, whether somebody can look out."""
    with loading(database, Method.INIT_PUT, ranges=1, rows_per_second=400) as ground:
        build = ground.another()
        found = build.loading.range

        def lose_it(number: int) -> Range:
            of = found(number)
            database.rows(f"{END_SESSIONS} AND pid = {build.connection.info.backend_pid}")
            return of

        build.session.others_write = False
        monkeypatch.setattr(type(build.loading), "range", lambda _, number: lose_it(number))
        with pytest.raises(Disconnected):
            build.load_step(0, 10)
        build.close()


@pytest.mark.parametrize("method", Method)
def test_workers_that_were_left_behind_stop_and_the_next_go_on(
    database: Database, method: Method
) -> None:
    with loading(database, method, ranges=2, rows_per_second=100) as ground:
        left = [at_work(ground) for _ in range(2)]
        until(lambda: rows_loaded(ground) > 0)
        with database.connect() as connection:
            place = replace(ground.build.place, runner="the next one")
            Builds(ground.schema).change(connection, place.build, runner=place.runner)
        ground.build.close()
        ground.build = PostgresBuild(place)
        set_pace(ground, None)
        assert worker(ground.build).work_off(LOAD) == ()
        for build, orphan in left:
            with pytest.raises(Superseded):
                orphan.result()
            build.close()
        ground.publish()
        ground.assert_right()


def test_a_worker_that_rests_notices_that_it_was_left_behind(database: Database) -> None:
    with loading(database, Method.INIT_PUT, 1, 100, unique=False) as ground:
        place = ground.build.place
        builds = Builds(ground.schema)
        with database.connect() as connection:
            builds.change(connection, place.build, paused=True)
            orphan = ground.another()
            resting = threading.Event()
            work = Worker(orphan, WorkSettings(1), lambda _: resting.set())
            left = Background(lambda: work.work_off(LOAD))
            assert resting.wait(20)
            builds.change(connection, place.build, runner="the next one")
        with pytest.raises(Superseded):
            left.result()
        orphan.close()
        assert ground.build.state is State.BACKFILLING


@pytest.mark.parametrize("method", Method)
def test_workers_of_a_build_being_taken_back_stop(database: Database, method: Method) -> None:
    with loading(database, method, ranges=1, rows_per_second=100) as ground:
        build, left = at_work(ground)
        until(lambda: rows_loaded(ground) > 0)
        ground.build.advance(State.REVERSING, "rows clash, said another worker")
        with pytest.raises(Superseded):
            left.result()
        build.close()
        assert 0 < rows_loaded(ground) < ROWS
