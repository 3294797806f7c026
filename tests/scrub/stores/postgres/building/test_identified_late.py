# SPDX-License-Identifier: Apache-2.0
"""Entries of a merge that are loaded before anything tells them apart, and what that must stand."""

import pytest

from scrub.model.build import Method, State
from scrub.stores.building import GaveWay
from scrub.stores.postgres.building.loading import Loading
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import (
    Background,
    Ground,
    building,
    kv_table,
    persistently,
    until,
)

_CREATE = "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)"
_ROWS = "INSERT INTO t SELECT n, n % 3, NULL FROM generate_series(1, 9) AS n"
_UNIQUE = "SELECT count(*) FROM pg_index WHERE indrelid = 't__by_v'::regclass AND indisunique"


def _loaded(ground: Ground) -> None:
    ground.advance_to(State.BACKFILLING)
    ground.load()


@pytest.mark.parametrize("unique", [False, True])
def test_only_indexes_whose_entries_name_their_row_are_identified_late(
    database: Database, unique: bool
) -> None:
    rows = "INSERT INTO t SELECT n, n, NULL FROM generate_series(1, 9) AS n"
    with building(database, kv_table(unique), Method.MERGE, _CREATE, rows) as ground:
        ground.advance_to(State.BACKFILLING)
        assert database.rows(_UNIQUE) == [(int(unique),)]
        ground.advance_to(State.MERGE_DELETE_ONLY)
        assert database.rows(_UNIQUE) == [(1,)]
        ground.publish()
        ground.assert_right()


def test_two_workers_at_one_range_put_its_rows_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them lost its session, and with it the claim, and does not know it."""
    with building(database, kv_table(unique=False), Method.MERGE, _CREATE, _ROWS) as ground:
        ground.advance_to(State.BACKFILLING)
        other = ground.another()
        stale = other.loading.range(0)
        persistently(lambda: ground.build.load_step(0, 4))
        monkeypatch.setattr(Loading, "range", lambda *_: stale)
        step = persistently(lambda: other.load_step(0, 4))
        monkeypatch.undo()
        other.close()
        assert (step.rows, step.finished) == (0, False)
        assert len(ground.entries()) == 4
        ground.publish()
        ground.assert_right()


def test_build_that_was_cut_off_after_identifying_goes_on(database: Database) -> None:
    with building(database, kv_table(unique=False), Method.MERGE, _CREATE, _ROWS) as ground:
        _loaded(ground)
        ground.build._identify_entries()
        ground.build.close()
        assert ground.build.state is State.BACKFILLING
        ground.publish()
        ground.assert_right()


def test_truncate_while_entries_are_identified_empties_the_index(database: Database) -> None:
    with building(database, kv_table(unique=False), Method.MERGE, _CREATE, _ROWS) as ground:
        _loaded(ground)
        with database.connect() as writer:
            writer.execute("BEGIN")
            writer.execute("TRUNCATE t")
            advancing = Background(lambda: persistently(ground.advance))
            until(lambda: bool(database.rows("SELECT 1 FROM pg_locks WHERE NOT granted")))
            writer.execute("INSERT INTO t VALUES (77, 'new', NULL)")
            writer.execute("COMMIT")
        advancing.result()
        ground.publish()
        ground.assert_right()


def test_entries_are_not_ordered_for_a_build_that_was_taken_over(database: Database) -> None:
    """Whoever cancels it would wait for that; a pause, though, cannot rest in the middle of it."""
    with building(database, kv_table(unique=False), Method.MERGE, _CREATE, _ROWS) as ground:
        build = ground.build
        taken = build.builds.is_taken_from(build.place.build, build.place.runner)
        for change, is_taken in (
            ("paused = true", False),
            ("rows_per_second = 5", False),
            ("runner = 'another'", True),
            ("runner = NULL, state = 'reversing'", True),
        ):
            database.run(f"UPDATE scrub_builds SET {change}")
            assert database.rows(f"SELECT {taken}") == [(is_taken,)]
        with pytest.raises(GaveWay), build.session.unhurriedly(unless=taken) as brief:
            brief.execute("SELECT pg_sleep(60)")
