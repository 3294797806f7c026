# SPDX-License-Identifier: Apache-2.0
"""While others write, one process compares and rests between, so that they get on with it."""

from scrub.model.build import Method, State
from scrub.stores.postgres.connections import conninfo_of
from scrub.stores.postgres.sessions import ask
from scrub.stores.postgres.shared_snapshot import SharedSnapshot
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import building, kv_table, persistently

_WORKERS = "SELECT current_setting('max_parallel_workers_per_gather')"
_GENTLER = f"{_WORKERS} || ' and rests'"


def _asked(database: Database, gentler: str | None = _GENTLER) -> str:
    conninfo = conninfo_of(database.url, {})
    snapshot = SharedSnapshot(conninfo)
    try:
        return str(ask(conninfo, snapshot, _WORKERS, gentler)[0])
    finally:
        snapshot.close()


def test_one_process_compares_and_rests_while_another_session_writes(database: Database) -> None:
    database.run("CREATE TABLE t (a int)")
    assert _asked(database) == "1"
    with database.connect() as writer, writer.transaction():
        writer.execute("INSERT INTO t VALUES (1)")
        assert _asked(database) == "0 and rests"
        assert _asked(database, gentler=None) == "1"
    assert _asked(database) == "1"


def test_chunks_see_whether_others_write(database: Database) -> None:
    create = "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)"
    rows = "INSERT INTO t SELECT n, n::text, NULL FROM generate_series(1, 9) AS n"
    with building(database, kv_table(unique=False), Method.INIT_PUT, create, rows) as ground:
        ground.advance_to(State.BACKFILLING)
        assert not persistently(lambda: ground.build.load_step(0, 2)).others_write
        with database.connect() as writer, writer.transaction():
            writer.execute("UPDATE t SET s = 'new' WHERE k = 9")
            assert persistently(lambda: ground.build.load_step(0, 2)).others_write
