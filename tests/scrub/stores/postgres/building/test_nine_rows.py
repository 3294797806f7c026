# SPDX-License-Identifier: Apache-2.0
"""The nine rows of the note on why InitPut backfills are right, each with the path it takes.

Rows 1 and 2 take the fast path; 3, 4, 6 and 9 the slow one; 5 is the new key of 4; 7 and 8 clash,
and the build is reversed.
"""

from collections.abc import Iterator

import pytest

from scrub.model.build import Method, State
from scrub.stores.building import Step
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import (
    PLENTY,
    Background,
    Clashed,
    Ground,
    kv_table,
    persistently,
    until,
)


@pytest.fixture(params=[False, True], ids=["init_put", "plain first"])
def plainly(request: pytest.FixtureRequest) -> bool:
    """Whether a chunk is first put as if nothing were in its way.

    If something is, its rows are read again, later than the note has it: what the index holds at
    the end is the same, but a row that changed meanwhile no longer needs the slow path.
    """
    return bool(request.param)


@pytest.fixture
def ground(database: Database, plainly: bool) -> Iterator[Ground]:
    made = Ground(database, kv_table(unique=True), Method.INIT_PUT, puts_plainly=plainly)
    made.create()
    yield made
    made.build.close()


def _build(
    ground: Ground,
    before: str = "",
    in_delete_only: str = "",
    in_write_and_delete: str = "",
    after_scan: str = "",
) -> Step:
    """Write at the four times of the note, then take the chunk's step.

    What comes after the scan is written by a transaction that is open when the chunk is scanned:
    its changes are not seen, its index entries are in the way.
    """
    if before:
        ground.database.run(before)
    ground.begin()
    if in_delete_only:
        ground.database.run(in_delete_only)
    ground.advance()
    if in_write_and_delete:
        ground.database.run(in_write_and_delete)
    ground.build.plan_load(1)
    ground.advance()
    if not after_scan:
        return persistently(lambda: ground.build.load_step(0, PLENTY))
    return _while_scanning(ground, after_scan)


def _while_scanning(ground: Ground, statement: str) -> Step:
    """Commit the statement between the chunk's snapshot and its puts.

    The chunk reads at its own snapshot; a transaction that was open then, and holds the entry's
    place, makes it wait, and commits while it does.
    """
    with ground.writer() as writer:
        writer.execute(statement)
        step = Background(lambda: persistently(lambda: ground.build.load_step(0, PLENTY)))
        until(ground.is_waiting)
        writer.commit()
        done: Step = step.result()
    return done


def _publish(ground: Ground) -> list[tuple[str, int]]:
    ground.publish()
    assert ground.build.state is State.PUBLIC
    assert ground.entries() == ground.expected()
    return ground.entries()


def test_row_1_absent_entry_is_written_on_the_fast_path(ground: Ground) -> None:
    step = _build(ground, before="INSERT INTO t VALUES (1, 'a')")
    assert (step.slow, step.entries) == (False, 1)
    assert _publish(ground) == [("a", 1)]


def test_row_2_identical_entry_is_left_on_the_fast_path(ground: Ground) -> None:
    step = _build(ground, in_write_and_delete="INSERT INTO t VALUES (2, 'b')")
    assert ground.entries() == [("b", 2)]
    assert (step.slow, step.entries) == (False, 1)
    assert _publish(ground) == [("b", 2)]


def test_row_3_changed_value_meets_a_tombstone_and_takes_the_slow_path(ground: Ground) -> None:
    step = _build(ground, before="INSERT INTO t VALUES (3, 'c')", after_scan="UPDATE t SET v = 'd'")
    assert step.slow is not ground.puts_plainly
    assert ground.entries(mark=True) == [("c", 3, True), ("d", 3, False)]
    assert _publish(ground) == [("d", 3)]


def test_row_4_changed_key_meets_another_owner_and_takes_the_slow_path(ground: Ground) -> None:
    step = _build(ground, before="INSERT INTO t VALUES (4, 'e')", after_scan="UPDATE t SET k = 5")
    assert step.slow is not ground.puts_plainly
    assert _publish(ground) == [("e", 5)]


def test_row_5_new_key_of_row_4_is_the_writers(ground: Ground) -> None:
    _build(ground, before="INSERT INTO t VALUES (4, 'e')", after_scan="UPDATE t SET k = 5")
    assert ground.entries(mark=True) == [("e", 5, False)]


def test_row_6_deleted_row_meets_a_tombstone_and_takes_the_slow_path(ground: Ground) -> None:
    step = _build(ground, before="INSERT INTO t VALUES (6, 'f')", after_scan="DELETE FROM t")
    assert (step.slow, step.entries) == (not ground.puts_plainly, 0)
    assert ground.entries(mark=True) == [("f", 6, True)]
    assert _publish(ground) == []


def test_row_7_duplicate_value_is_a_violation_that_reverses_the_build(ground: Ground) -> None:
    step = _build(
        ground,
        before="INSERT INTO t VALUES (7, 'g')",
        after_scan="INSERT INTO t VALUES (8, 'g')",
    )
    assert step.slow
    (clash,) = step.clashes
    assert (clash.key, clash.row, clash.owner) == ({"v": "g"}, {"k": "7"}, {"k": "8"})
    ground.build.advance(State.REVERSING, str(clash))
    persistently(ground.build.reverse)
    assert ground.build.state is State.REVERSED
    assert ground.database.rows("SELECT to_regclass('t__by_v')") == [(None,)]
    ground.database.run("INSERT INTO t VALUES (10, 'g')")


def test_row_8_the_later_duplicate_was_never_refused(ground: Ground) -> None:
    _build(
        ground,
        before="INSERT INTO t VALUES (7, 'g')",
        after_scan="INSERT INTO t VALUES (8, 'g')",
    )
    assert ground.expected() == [("g", 7), ("g", 8)]


def test_row_9_reinserted_in_delete_only_is_written_over_its_tombstone(ground: Ground) -> None:
    step = _build(
        ground,
        before="INSERT INTO t VALUES (9, 'h')",
        in_delete_only="DELETE FROM t; INSERT INTO t VALUES (9, 'h')",
    )
    assert (step.slow, step.entries) == (True, 1)
    assert _publish(ground) == [("h", 9)]


def test_duplicates_that_were_always_there_are_named(ground: Ground) -> None:
    step = _build(ground, before="INSERT INTO t VALUES (1, 'a'), (2, 'a')")
    (clash,) = step.clashes
    assert str(clash) == "unique index by_v: rows k=1 and k=2 both have v=a"


def test_clashing_rows_end_the_load(ground: Ground) -> None:
    ground.database.run("INSERT INTO t VALUES (1, 'a'), (2, 'a')")
    ground.begin()
    with pytest.raises(Clashed, match="k=1 and k=2"):
        ground.publish()
