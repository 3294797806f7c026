# SPDX-License-Identifier: Apache-2.0
"""Repairs while pgbench writes the same rows, and repairs and undos that are killed meanwhile.

Writers keep the index themselves, as applications do, and note in a ledger, in the transaction that
writes, what they wrote: at the end the table says what the ledger says, and the index the same.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from repair.executing import Executor
from repair.planning import plan_repair
from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import ActionOutcome
from tests.forked import Forked
from tests.postgres_server import Database, programs
from tests.scrub.stores.postgres.building.ground import until
from tests.scrub.stores.postgres.repairs.postgres_ground import Ground, defect_of, kv_table, new_run

pytestmark = pytest.mark.slow

ROWS = 3_400
DANGLING = 320
PLANTED = 1_000  # a tenth of the rows is missing, another has a wrong value
KILLS = int(os.environ.get("SCRUB_KILLS", "5"))  # of each; make torture asks for more
_WRITE = r"""
\set k random(1, {rows})
\set v random(0, 20)
BEGIN;
UPDATE t SET v = 'v' || :v, s = nextval('writes')::text WHERE k = :k;
DELETE FROM t__by_v WHERE k = :k AND v <> 'v' || :v;
INSERT INTO t__by_v SELECT v, k, s FROM t WHERE k = :k
ON CONFLICT (v, k) DO UPDATE SET s = excluded.s;
INSERT INTO ledger SELECT s::bigint, k, v FROM t WHERE k = :k;
END;
"""
_COME_AND_GO = r"""
\set k random({rows} + 1, {rows} + {more})
BEGIN;
INSERT INTO t VALUES (:k, 'v' || :k % 7, 's' || :k) ON CONFLICT DO NOTHING;
INSERT INTO t__by_v VALUES ('v' || :k % 7, :k, 's' || :k) ON CONFLICT DO NOTHING;
END;
"""
_LOST = """
    SELECT count(*) FROM (SELECT DISTINCT ON (k) k, number, v FROM ledger ORDER BY k, number DESC) l
    LEFT JOIN t USING (k) WHERE (t.v, t.s) IS DISTINCT FROM (l.v, l.number::text)
"""
_DIFFERENCES = """
    SELECT t.k, t.v, t.s, i.k, i.v, i.s FROM t FULL JOIN t__by_v i ON t.k = i.k AND t.v = i.v
    WHERE t.k IS NULL OR i.k IS NULL OR t.s IS DISTINCT FROM i.s
"""


@pytest.fixture
def ground(database: Database) -> Ground:
    """Rows, entries, and a thousand defects: about a third missing, wrong and dangling each."""
    database.run(
        f"ALTER DATABASE {database.name} SET synchronous_commit = off",
        "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)",
        "CREATE TABLE t__by_v (v text, k bigint, s text, PRIMARY KEY (v, k))",
        "CREATE TABLE ledger (number bigint PRIMARY KEY, k bigint, v text)",
        "CREATE SEQUENCE writes",
        f"INSERT INTO t SELECT i, 'v' || i % 21, 's' || i FROM generate_series(1, {ROWS}) AS i",
        "INSERT INTO t__by_v SELECT v, k, s FROM t",
        "DELETE FROM t__by_v WHERE k % 10 = 1",
        "UPDATE t__by_v SET s = 'bad' WHERE k % 10 = 2",
        f"INSERT INTO t__by_v SELECT 'v' || k % 7, k, 's' || k "
        f"FROM generate_series({ROWS + 1}, {ROWS + DANGLING}) AS k",
    )
    return Ground(database, kv_table())


@contextmanager
def traffic(ground: Ground, folder: Path) -> Iterator[None]:
    """Clients that write the rows that are repaired; none of their transactions may fail."""
    names = {"rows": ROWS, "more": DANGLING}
    scripts = []
    for name, text in (("write", _WRITE), ("come", _COME_AND_GO)):
        path = folder / f"{name}.sql"
        path.write_text(text.format(**names))
        scripts += ["-f", str(path)]
    command = [str(programs() / "pgbench"), "-n", "-c", "4", "-j", "1", "-T", "3600", "-R", "300"]
    with subprocess.Popen(
        [*command, *scripts, ground.database.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            until(lambda: bool(ground.database.rows("SELECT 1 FROM ledger LIMIT 1")))
            yield
        finally:
            process.send_signal(signal.SIGALRM)
            said = process.communicate()[0]
        assert process.returncode == 0, said
        assert "ERROR" not in said, said


def found(ground: Ground) -> list[Defect]:
    """Defects as the server finds them in one statement."""
    defects = []
    for k, v, s, entry_k, entry_v, entry_s in ground.database.rows(_DIFFERENCES):
        due = None if k is None else {"v": v, "k": k, "s": s}
        there = None if entry_k is None else {"v": entry_v, "k": entry_k, "s": entry_s}
        kind = DefectKind.WRONG_STORED_VALUE
        if there is None or due is None:
            kind = DefectKind.MISSING if there is None else DefectKind.DANGLING
        defects.append(defect_of(ground.table, "by_v", kind, expected=due, actual=there))
    return defects


def assert_nothing_is_lost(ground: Ground) -> None:
    assert ground.database.rows(_LOST) == [(0,)]
    assert ground.database.rows(_DIFFERENCES) == []


def test_a_repair_under_load_loses_no_write_and_leaves_no_difference(
    ground: Ground, tmp_path: Path
) -> None:
    defects = found(ground)
    assert len(defects) == PLANTED
    plan = plan_repair(defects, {"t": ground.table})
    assert not plan.refusals
    with traffic(ground, tmp_path), ground.repairs() as store:
        store.batch_actions_max = 20  # the more transactions, the more meet a writer
        done = Executor(store, ground.table, "first", rows_per_second=500).repair(plan.actions)
    outcomes = {one.outcome for one in done}
    assert ActionOutcome.DONE in outcomes
    assert outcomes & {ActionOutcome.ROW_CHANGED, ActionOutcome.ALREADY_RIGHT}
    assert ActionOutcome.CONFLICT not in outcomes
    assert_nothing_is_lost(ground)


def repair_or_undo(told: Connection, url: str, *undone: str) -> None:
    """Repair, or undo repairs, in small batches; a word after each."""
    ground = Ground(Database(url), kv_table())
    with ground.repairs() as store:
        store.batch_actions_max = 10
        if not undone:
            actions = plan_repair(found(ground), {"t": ground.table}).actions
            executor = Executor(store, ground.table, new_run(), rows_per_second=300, tell=told.send)
            executor.repair(actions)
        for run in undone:
            Executor(store, ground.table, new_run(), tell=told.send).undo(run)


def killed_once(ground: Ground, seconds: float, *undone: str) -> bool:
    """Start it, and kill it so long after its first batch; whether it was still at work."""
    process = Forked(repair_or_undo, ground.database.url, *undone)
    process.wait_for_word()
    time.sleep(seconds)
    return process.kill()


def repairs_of(ground: Ground) -> list[str]:
    """The repairs that changed something, the latest first."""
    query = "SELECT run FROM scrub_runs WHERE command = 'repair' ORDER BY started DESC"
    return [run for (run,) in ground.database.rows(query)]


def free(ground: Ground) -> None:
    """The server notices by itself that a session's process is gone."""
    query = (
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND database = "
        "(SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    until(lambda: not ground.database.rows(query))


def test_repairs_and_undos_that_are_killed_at_random_moments_are_completed_by_the_next(
    ground: Ground,
) -> None:
    """Several times each; at the end the index is right, and then it is again what it was."""
    chance = random.Random(5)
    before = ground.contents()
    kills = 0
    for _ in range(KILLS):
        kills += killed_once(ground, chance.uniform(0, 0.15))
        free(ground)
        changed = ground.database.rows("SELECT count(*) FROM scrub_journal")[0][0]
        assert len(found(ground)) == PLANTED - changed, "journal and data agree"
    last = new_run()
    assert all(one.in_order for one in ground.repair(found(ground), run=last))
    assert_nothing_is_lost(ground)
    assert kills > KILLS / 2

    kills = 0
    for _ in range(KILLS):
        kills += killed_once(ground, chance.uniform(0, 0.03), *repairs_of(ground))
        free(ground)
    for run in repairs_of(ground):
        ground.undo(run)
    assert kills > KILLS / 2
    assert ground.contents() == before
    assert ground.database.rows("SELECT 1 FROM scrub_journal WHERE undone_by IS NULL") == []
