# SPDX-License-Identifier: Apache-2.0
"""How many processes compare: one while others write, so that a check does not slow them down."""

from scrub.stores.postgres.connections import conninfo_of
from scrub.stores.postgres.sessions import ask
from scrub.stores.postgres.shared_snapshot import SharedSnapshot
from tests.postgres_server import Database

_WORKERS = "SELECT current_setting('max_parallel_workers_per_gather')"


def _workers(database: Database, gives_way: bool = True) -> str:
    conninfo = conninfo_of(database.url, {})
    snapshot = SharedSnapshot(conninfo)
    try:
        return str(ask(conninfo, snapshot, _WORKERS, gives_way)[0])
    finally:
        snapshot.close()


def test_one_process_compares_while_another_session_writes(database: Database) -> None:
    database.run("CREATE TABLE t (a int)")
    assert _workers(database) == "1"
    with database.connect() as writer, writer.transaction():
        writer.execute("INSERT INTO t VALUES (1)")
        assert _workers(database) == "0"
        assert _workers(database, gives_way=False) == "1"
    assert _workers(database) == "1"
