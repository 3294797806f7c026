# SPDX-License-Identifier: Apache-2.0
"""Races between writers and a build in PostgreSQL, each with real transactions.

Where a rule prevents the race, the same scenario is run a second time without the rule, and must
then end in a wrong index or in a writer that fails.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

import psycopg
import pytest
from psycopg import errors

from scrub.model.build import INIT_PUT_DUTIES, Duties, Duty, Method, State
from scrub.stores.building import LOAD, Step
from scrub.stores.postgres.building import chunks, functions, keeper, merging
from scrub.stores.postgres.building.builds import Range
from scrub.stores.postgres.building.loading import Loading
from scrub.stores.postgres.entry_sql import Arbiter, EntrySql
from tests.postgres_server import Database, new_database, start_server_with
from tests.scrub.stores.postgres.building.ground import (
    PLENTY,
    ROWS,
    STATES,
    TABLE,
    Background,
    Clashed,
    Ground,
    building,
    kv_table,
    persistently,
    until,
    with_and_without_the_rule,
)

pytestmark = pytest.mark.slow

NULLABLE = "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text)"
PARTITIONED = (
    "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text) PARTITION BY RANGE (k)",
    "CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (MINVALUE) TO (100)",
    "CREATE TABLE t_high PARTITION OF t FOR VALUES FROM (100) TO (MAXVALUE)",
)
SWAP = "UPDATE t SET v = CASE k WHEN 1 THEN 'b' ELSE 'a' END WHERE k IN (1, 2)"

both_methods = pytest.mark.parametrize("method", list(Method))
every_state = pytest.mark.parametrize(("method", "state"), STATES)


@pytest.fixture
def preparing() -> Iterator[Database]:
    """A database of a server that knows prepared transactions."""
    with new_database(start_server_with("max_prepared_transactions", "4")) as made:
        yield made


# A writer that is older than the state.


def _aged_writer(ground: Ground) -> psycopg.Connection[psycopg.rows.TupleRow]:
    """A transaction at REPEATABLE READ whose snapshot is taken, and that has locked nothing."""
    writer = ground.writer()
    writer.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    writer.execute("SELECT 1 FROM pg_class LIMIT 1")
    return writer


@every_state
def test_repeatable_read_writer_with_an_older_snapshot_follows_the_new_state(
    database: Database, method: Method, state: State
) -> None:
    with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
        before = STATES[max(STATES.index((method, state)) - 1, 0)]
        ground.arrive_at(before[1] if before[0] is method else state)
        with _aged_writer(ground) as writer:
            ground.arrive_at(state)
            assert not ground.build.blockers()
            writer.execute("INSERT INTO t VALUES (20, 'new')")
        ground.publish()
        ground.assert_right()


@with_and_without_the_rule
def test_state_is_compiled_in_because_one_read_from_a_table_fools_an_older_snapshot(
    database: Database, rule: bool
) -> None:
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE) as ground:
        if not rule:
            database.run("""
                CREATE OR REPLACE FUNCTION t__by_v__keep() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF (SELECT state FROM scrub_builds) <> 'delete_only' THEN
                        INSERT INTO t__by_v VALUES (NEW.v, NEW.k);
                    END IF;
                    RETURN NULL;
                END $$""")
        with _aged_writer(ground) as writer:
            if rule:
                ground.advance()
            else:
                database.run("UPDATE scrub_builds SET state = 'write_and_delete'")
            writer.execute("INSERT INTO t VALUES (1, 'a')")
        assert ground.entries() == ([("a", 1)] if rule else [])


@both_methods
@pytest.mark.parametrize("unique", [True, False], ids=["unique", "not_unique"])
@pytest.mark.parametrize("state", [State.VALIDATING, State.PUBLIC])
@pytest.mark.parametrize("write", ["DELETE FROM t WHERE k = 1", "UPDATE t SET v = 'z' WHERE k = 1"])
def test_entry_that_an_older_snapshot_cannot_see_is_never_left_behind(
    database: Database, method: Method, unique: bool, state: State, write: str
) -> None:
    """It cannot be deleted by a transaction that does not see it; such a one has to begin again."""
    with building(database, kv_table(unique), method, TABLE, ROWS) as ground:
        with _aged_writer(ground) as writer:
            ground.arrive_at(state)
            with pytest.raises(errors.SerializationFailure):
                writer.execute(write)
            writer.rollback()
            writer.execute(write)
        ground.publish()
        ground.assert_right()


@pytest.mark.parametrize("unique", [True, False], ids=["unique", "not_unique"])
def test_repeatable_read_writer_deletes_entries_that_it_sees_or_made(
    database: Database, unique: bool
) -> None:
    with building(database, kv_table(unique), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.publish()
        with _aged_writer(ground) as writer:
            writer.execute("DELETE FROM t WHERE k = 1")
            writer.execute("INSERT INTO t VALUES (1, 'a'), (30, 'y')")
            writer.execute("DELETE FROM t WHERE k IN (1, 30)")
            writer.execute(
                "UPDATE t SET v = CASE v WHEN 'c' THEN 'd' ELSE 'c' END WHERE k IN (3, 4)"
            )
        ground.assert_right()


@both_methods
def test_transaction_that_wrote_before_a_change_of_state_is_named_and_waited_for(
    database: Database, method: Method
) -> None:
    with building(database, kv_table(unique=True), method, TABLE) as ground:
        with ground.writer(application_name="till 7") as writer:
            writer.execute("INSERT INTO t VALUES (1, 'a')")
            ground.build.advance(State.WRITE_AND_DELETE)
            (blocker,) = ground.build.blockers()
            pid = writer.info.backend_pid
            assert blocker.description.startswith(f"session {pid} of postgres (till 7), idle in")
            writer.commit()
            assert not ground.build.blockers()
            writer.execute("INSERT INTO t VALUES (2, 'b')")
            (another,) = ground.build.blockers()
            assert another.identity != blocker.identity
            writer.commit()
        ground.publish()
        ground.assert_right()


@with_and_without_the_rule
def test_writer_of_an_earlier_state_is_waited_for_before_rows_are_read(
    database: Database, rule: bool
) -> None:
    """Its row is in no snapshot before it ends, and it puts no entry."""
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE) as ground:
        with ground.writer() as writer:
            writer.execute("INSERT INTO t VALUES (1, 'a')")
            ground.build.advance(State.WRITE_AND_DELETE)
            ground.build.plan_load(1)
            ground.build.advance(State.BACKFILLING)
            assert ground.build.blockers()
            if rule:
                writer.commit()
                assert not ground.build.blockers()
            persistently(lambda: ground.build.load_step(0, PLENTY))
        ground.publish()
        assert ground.is_right is rule


@pytest.mark.parametrize("write", ["SELECT FROM t", "SELECT FROM t FOR UPDATE"])
def test_readers_are_not_waited_for(database: Database, write: str) -> None:
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        with ground.writer() as reader:
            reader.execute(write)
            ground.advance()
            reader.execute("INSERT INTO t VALUES (20, 'new')")
        ground.publish()
        ground.assert_right()


def test_writers_of_a_partition_are_waited_for(database: Database) -> None:
    with building(database, kv_table(unique=True), Method.INIT_PUT, *PARTITIONED) as ground:
        with ground.writer() as writer:
            writer.execute("INSERT INTO t_high VALUES (100, 'a')")
            ground.build.advance(State.WRITE_AND_DELETE)
            assert len(ground.build.blockers()) == 1
        ground.publish()
        ground.assert_right()


def test_prepared_transactions_are_named_and_waited_for(preparing: Database) -> None:
    with building(preparing, kv_table(unique=True), Method.INIT_PUT, TABLE) as ground:
        with ground.writer() as writer:
            writer.execute("INSERT INTO t VALUES (1, 'a')")
            writer.execute("PREPARE TRANSACTION 'till 7'")
        ground.build.advance(State.WRITE_AND_DELETE)
        (blocker,) = ground.build.blockers()
        assert blocker.description.startswith("prepared transaction 'till 7', prepared ")
        preparing.run("COMMIT PREPARED 'till 7'")
        assert not ground.build.blockers()
        ground.publish()
        ground.assert_right()


# Chunks.


@with_and_without_the_rule
def test_delete_between_look_and_put_leaves_a_tombstone_that_the_put_meets(
    database: Database, monkeypatch: pytest.MonkeyPatch, rule: bool
) -> None:
    """The row is seen, the entry is not there, and the deletion commits before the put."""
    if not rule:
        monkeypatch.setattr(chunks, "same", chunks.same_or_tombstone)
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.advance_to(State.BACKFILLING)
        ground.build.loading.puts_plainly = False
        with ground.writer() as writer:
            writer.execute("DELETE FROM t WHERE k = 5")
            step = Background(lambda: ground.build.load_step(0, PLENTY))
            until(ground.is_waiting)
            writer.commit()
            assert step.result().slow is rule
        ground.publish()
        assert ground.is_right is rule


@both_methods
@pytest.mark.parametrize("unique", [True, False], ids=["unique", "not_unique"])
def test_rows_that_move_between_finished_and_unfinished_chunks_are_neither_lost_nor_doubled(
    database: Database, method: Method, unique: bool
) -> None:
    with building(database, kv_table(unique), method, TABLE, ROWS) as ground:
        ground.advance()
        ground.build.plan_load(2)
        ground.advance()
        assert ground.build.unfinished(LOAD) == [0, 1]
        persistently(lambda: ground.build.load_step(0, PLENTY))
        assert ground.build.unfinished(LOAD) == [1]
        database.run("UPDATE t SET k = 30 WHERE k = 1", "UPDATE t SET k = 0 WHERE k = 9")
        persistently(lambda: ground.build.load_step(1, 2))
        database.run("UPDATE t SET k = 31 WHERE k = 2", "UPDATE t SET k = -1 WHERE k = 8")
        ground.publish()
        ground.assert_right()


@with_and_without_the_rule
def test_row_that_moves_into_a_finished_chunk_is_put_by_its_writer(
    database: Database, monkeypatch: pytest.MonkeyPatch, rule: bool
) -> None:
    if not rule:
        monkeypatch.setitem(INIT_PUT_DUTIES, State.BACKFILLING, Duties(Duty.TOMBSTONE))
    with building(database, kv_table(unique=False), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.advance_to(State.BACKFILLING)
        persistently(lambda: ground.build.load_step(0, 5))
        database.run("UPDATE t SET k = 0 WHERE k = 9")
        ground.publish()
        assert ground.is_right is rule


def test_row_that_moves_ahead_while_the_slow_path_waits_takes_no_other_row_along(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next chunk begins after the rows that were read, wherever one of them is by now."""
    slow_step = Loading.slow_step
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        database.run("UPDATE t SET s = 'leaves a tombstone' WHERE k = 1")
        ground.advance_to(State.BACKFILLING)
        with ground.writer() as writer:

            def after_the_writer(loading: Loading, of: Range, rows: int) -> Step:
                writer.execute("UPDATE t SET k = 100 WHERE k = 2")
                return slow_step(loading, of, rows)

            monkeypatch.setattr(Loading, "slow_step", after_the_writer)
            step = Background(lambda: ground.build.load_step(0, 3))
            until(ground.is_waiting)
            writer.commit()
            assert step.result().slow
            monkeypatch.undo()
        ground.publish()
        ground.assert_right()


@with_and_without_the_rule
def test_merge_batch_with_an_older_value_waits_for_the_newer_one(
    database: Database, monkeypatch: pytest.MonkeyPatch, rule: bool
) -> None:
    """Records are locked before they are copied, so none is copied that is being replaced."""
    if not rule:
        locking = merging.locking
        monkeypatch.setattr(
            merging, "locking", lambda *of: locking(*of).removesuffix(" FOR UPDATE")
        )
    table = kv_table(unique=True, stored=True)
    with building(database, table, Method.MERGE, TABLE) as ground:
        ground.begin_merge("INSERT INTO t VALUES (1, 'a', 'older')")
        with ground.writer() as writer:
            writer.execute("UPDATE t SET s = 'newer'")
            step = Background(lambda: persistently(lambda: ground.build.merge_step("by_v", 0, 9)))
            until(ground.is_waiting)
            writer.commit()
            assert step.result().rows == 1
        ground.publish()
        assert ground.is_right is rule


# Unique values.


@every_state
def test_one_statement_swaps_two_unique_values(
    database: Database, method: Method, state: State
) -> None:
    with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
        ground.arrive_at(state)
        database.run(SWAP)
        ground.publish()
        ground.assert_right()
        assert ground.entries()[:2] == [("a", 2), ("b", 1)]


@both_methods
@with_and_without_the_rule
def test_deletes_are_conditional_on_the_owner_since_a_swap_brings_the_new_one_first(
    database: Database, monkeypatch: pytest.MonkeyPatch, method: Method, rule: bool
) -> None:
    if not rule:
        monkeypatch.setattr(EntrySql, "same_owner", lambda *_: "true")
    with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
        ground.arrive_at(State.BACKFILLING)
        database.run(SWAP)
        ground.publish()
        assert ground.is_right is rule


@every_state
def test_two_nulls_are_no_duplicates_in_a_unique_index(
    database: Database, method: Method, state: State
) -> None:
    rows = "INSERT INTO t VALUES (1, NULL), (2, NULL), (3, NULL), (4, 'd')"
    table = kv_table(unique=True, nullable=True)
    with building(database, table, method, NULLABLE, rows) as ground:
        ground.arrive_at(state)
        database.run(
            "INSERT INTO t VALUES (5, NULL), (6, NULL)",
            "DELETE FROM t WHERE k = 1",
            "UPDATE t SET v = 'b' WHERE k = 2",
            "UPDATE t SET v = NULL WHERE k = 4",
        )
        ground.publish()
        ground.assert_right()
        assert ground.entries() == [("b", 2), (None, 3), (None, 4), (None, 5), (None, 6)]


def _build_states(method: Method) -> list[State]:
    puts = {State.WRITE_AND_DELETE, State.BACKFILLING, State.VALIDATING, State.MERGING}
    return [state for of, state in STATES if of is method and state in puts]


@pytest.mark.parametrize(
    ("method", "state"), [(method, state) for method in Method for state in _build_states(method)]
)
def test_displaced_owner_fails_the_build_and_never_the_writer(
    database: Database, method: Method, state: State
) -> None:
    with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
        ground.arrive_at(state)
        database.run("INSERT INTO t VALUES (20, 'new')", "INSERT INTO t VALUES (21, 'new')")
        assert ground.suspects() == [(20,)]
        with pytest.raises(Clashed) as caught:
            ground.publish()
        (clash,) = caught.value.clashes
        assert clash.key == {"v": "new"}
        assert {clash.row["k"], clash.owner["k"]} == {"20", "21"}
        ground.reverse(str(caught.value))
        assert ground.build.state is State.REVERSED
        assert ground.build.record.failure == str(clash)
        database.run("INSERT INTO t VALUES (22, 'new')")


@pytest.mark.parametrize(
    ("method", "state"), [(method, state) for method in Method for state in _build_states(method)]
)
@pytest.mark.parametrize(
    "leaving", ["DELETE FROM t WHERE k = 21", "UPDATE t SET v = 'x' || v WHERE k = 21"]
)
def test_displaced_owner_whose_place_is_free_again_gets_it_back(
    database: Database, method: Method, state: State, leaving: str
) -> None:
    with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
        ground.arrive_at(state)
        database.run("INSERT INTO t VALUES (20, 'new')", "INSERT INTO t VALUES (21, 'new')")
        database.run(leaving)
        assert ground.suspects() == [(20,)]
        ground.publish()
        ground.assert_right()
        assert ("new", 20) in ground.entries()


@with_and_without_the_rule
def test_displaced_owner_is_recorded_or_its_entry_would_be_missing(
    database: Database, monkeypatch: pytest.MonkeyPatch, rule: bool
) -> None:
    if not rule:
        monkeypatch.setattr(keeper._Keeper, "_suspect", lambda *_: "NULL;")
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.arrive_at(State.BACKFILLING)
        database.run("INSERT INTO t VALUES (20, 'new'), (21, 'new')", "DELETE FROM t WHERE k = 21")
        # The load has come to the end, so nobody else brings it.
        database.run("UPDATE scrub_build_ranges SET done = true, position = '{99}'")
        database.run("DELETE FROM t WHERE k BETWEEN 2 AND 9")
        ground.publish()
        assert ground.is_right is rule


def test_row_displaced_just_before_publication_is_found(database: Database) -> None:
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.advance_to(State.VALIDATING)
        ground.settle()
        database.run("INSERT INTO t VALUES (20, 'a')")
        (clash,) = ground.build.publish()
        assert str(clash) == "unique index by_v: rows k=20 and k=1 both have v=a"
        assert ground.build.state is State.VALIDATING
        database.run("DELETE FROM t WHERE k = 20")
        ground.publish()
        ground.assert_right()


@both_methods
def test_public_unique_index_refuses_duplicates_and_allows_a_swap(
    database: Database, method: Method
) -> None:
    with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
        ground.publish()
        with pytest.raises(errors.UniqueViolation) as caught:
            database.run("INSERT INTO t VALUES (20, 'a')")
        assert caught.value.diag.constraint_name == "t__by_v"
        assert caught.value.diag.message_primary == "unique index by_v: another row has this key"
        assert caught.value.diag.message_detail == "a"
        with pytest.raises(errors.UniqueViolation):
            database.run("UPDATE t SET v = 'b' WHERE k = 1")
        with pytest.raises(errors.UniqueViolation):
            database.run("INSERT INTO t VALUES (20, 'x'), (21, 'x')")
        database.run(SWAP)
        ground.assert_right()


def test_two_writers_of_one_value_in_a_public_unique_index_wait_for_each_other(
    database: Database,
) -> None:
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.publish()
        for end, refused in (("commit", True), ("rollback", False)):
            with ground.writer() as first:
                first.execute(f"INSERT INTO t VALUES (20, '{end}')")
                insert = f"INSERT INTO t VALUES (21, '{end}')"
                second = Background(partial(database.run, insert))
                until(ground.is_waiting)
                getattr(first, end)()
                if refused:
                    with pytest.raises(errors.UniqueViolation):
                        second.result()
                    database.run("DELETE FROM t WHERE k = 20")
                else:
                    second.result()
        ground.assert_right()


# Deadlocks.


@with_and_without_the_rule
@pytest.mark.parametrize("phase", ["load", "merge"])
def test_foreground_is_never_chosen_as_deadlock_victim(
    database: Database, phase: str, rule: bool
) -> None:
    """The builder goes from a to i, the writer from i to a; they meet, and the builder gives way.

    Whoever has waited for `deadlock_timeout` looks for a deadlock and fails if there is one; a
    builder that waits longer than that leaves it to the writer to find it.
    """
    database.run(f"ALTER DATABASE {database.name} SET deadlock_timeout = '300ms'")
    method = Method.INIT_PUT if phase == "load" else Method.MERGE
    with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
        if phase == "load":
            ground.advance_to(State.BACKFILLING)
            step: Callable[[], Step] = partial(ground.build.load_step, 0, PLENTY)
        else:
            ground.begin_merge("UPDATE t SET s = 'recorded'")
            step = partial(ground.build.merge_step, "by_v", 0, PLENTY)
        if not rule:
            ground.build.session.patience = 10.0
        with ground.writer() as writer:
            writer.execute("UPDATE t SET s = 'held' WHERE v = 'i'")
            builder = Background(lambda: persistently(step))
            until(ground.is_waiting)
            time.sleep(0.35)  # so that the builder's own look for deadlocks is over
            until(ground.is_waiting)
            if rule:
                writer.execute("UPDATE t SET s = 'held' WHERE v = 'a'")
                writer.commit()
            else:
                with pytest.raises(errors.DeadlockDetected):
                    writer.execute("UPDATE t SET s = 'held' WHERE v = 'a'")
                writer.rollback()
            builder.result()
        ground.publish()
        ground.assert_right()


# TRUNCATE, replication, COPY, partitions.


@every_state
@pytest.mark.parametrize("unique", [True, False], ids=["unique", "not_unique"])
def test_truncate_during_a_build(
    database: Database, method: Method, state: State, unique: bool
) -> None:
    with building(database, kv_table(unique), method, TABLE, ROWS) as ground:
        ground.arrive_at(state)
        database.run("UPDATE t SET s = 'touched' WHERE k < 4", "TRUNCATE t")
        database.run("INSERT INTO t VALUES (1, 'b'), (20, 'new')")
        ground.publish()
        ground.assert_right()
        assert ground.entries() == [("b", 1), ("new", 20)]


@every_state
@pytest.mark.parametrize("unique", [True, False], ids=["unique", "not_unique"])
@pytest.mark.parametrize("what", ["t_low", "t"])
def test_truncate_of_partitions_during_a_build(
    database: Database, method: Method, state: State, unique: bool, what: str
) -> None:
    rows = "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (100, 'd'), (101, 'e')"
    with building(database, kv_table(unique), method, *PARTITIONED, rows) as ground:
        ground.arrive_at(state)
        database.run("UPDATE t SET s = 'touched' WHERE k IN (1, 100)", f"TRUNCATE {what}")
        database.run("INSERT INTO t VALUES (1, 'b'), (200, 'new')")
        ground.publish()
        ground.assert_right()
        kept = [("d", 100), ("e", 101)] if what == "t_low" else []
        assert ground.entries() == [("b", 1), *kept, ("new", 200)]


@pytest.mark.parametrize(
    ("method", "state"), [(method, state) for method in Method for state in _build_states(method)]
)
def test_truncate_of_a_partition_removes_the_entry_whichever_of_two_rows_had_it(
    database: Database, method: Method, state: State
) -> None:
    with building(database, kv_table(unique=True), method, *PARTITIONED) as ground:
        ground.arrive_at(state)
        for first, second in ((1, 2), (4, 3)):
            database.run(f"INSERT INTO t VALUES ({first}, 'same{second}')")
            database.run(f"INSERT INTO t VALUES ({second}, 'same{second}')")
        database.run("TRUNCATE t_low", "INSERT INTO t VALUES (100, 'kept')")
        ground.publish()
        ground.assert_right()


@with_and_without_the_rule
def test_truncate_empties_the_index_or_its_entries_would_be_left(
    database: Database, monkeypatch: pytest.MonkeyPatch, rule: bool
) -> None:
    if not rule:
        monkeypatch.setattr(
            functions,
            "emptying",
            lambda entry, *_: (
                f"CREATE OR REPLACE FUNCTION {entry.emptier}() RETURNS trigger "
                "LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
            ),
        )
    with building(database, kv_table(unique=False), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.arrive_at(State.BACKFILLING)
        database.run("TRUNCATE t")
        ground.publish()
        assert ground.is_right is rule


def test_truncate_that_is_rolled_back_changes_nothing(database: Database) -> None:
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        ground.arrive_at(State.BACKFILLING)
        with ground.writer() as writer:
            writer.execute("TRUNCATE t")
            writer.execute("INSERT INTO t VALUES (1, 'x')")
            writer.rollback()
        ground.publish()
        ground.assert_right()
        assert len(ground.entries()) == 9


@every_state
def test_writes_of_a_replication_role_are_seen(
    database: Database, method: Method, state: State
) -> None:
    with building(database, kv_table(unique=True), method, *PARTITIONED, ROWS) as ground:
        ground.arrive_at(state)
        with ground.writer() as writer:
            writer.execute("SET session_replication_role = replica")
            writer.execute("INSERT INTO t VALUES (20, 'new'), (200, 'new too')")
            writer.execute("UPDATE t SET v = 'z' WHERE k = 1")
            writer.execute("UPDATE t SET k = 300 WHERE k = 2")
            writer.execute("DELETE FROM t WHERE k = 3")
        with ground.writer() as writer:
            writer.execute("SET session_replication_role = replica")
            writer.execute("TRUNCATE t_high")
        ground.publish()
        ground.assert_right()


@with_and_without_the_rule
def test_triggers_fire_always_or_a_replication_role_would_pass_them_by(
    database: Database, rule: bool
) -> None:
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
        if not rule:
            database.run("ALTER TABLE t ENABLE TRIGGER t__by_v__keep")
        ground.arrive_at(State.VALIDATING)
        with ground.writer() as writer:
            writer.execute("SET session_replication_role = replica")
            writer.execute("DELETE FROM t WHERE k = 3")
        ground.publish()
        assert ground.is_right is rule


@every_state
def test_rows_copied_in_during_a_build(database: Database, method: Method, state: State) -> None:
    with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
        ground.arrive_at(state)
        with ground.writer() as writer, writer.cursor().copy("COPY t (k, v) FROM STDIN") as copy:
            for number in range(20, 60):
                copy.write_row((number, f"copied {number}"))
        ground.publish()
        ground.assert_right()
        assert len(ground.entries()) == 49


@every_state
@pytest.mark.parametrize("unique", [True, False], ids=["unique", "not_unique"])
def test_rows_that_move_between_partitions(
    database: Database, method: Method, state: State, unique: bool
) -> None:
    rows = "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (100, 'd'), (101, 'e')"
    with building(database, kv_table(unique), method, *PARTITIONED, rows) as ground:
        ground.arrive_at(state)
        database.run(
            "UPDATE t SET k = 300 WHERE k = 1",
            "UPDATE t SET k = 4, v = 'z' WHERE k = 101",
            "UPDATE t SET k = k + 200 WHERE k IN (2, 3)",
        )
        ground.publish()
        ground.assert_right()
        assert ground.entries() == [("a", 300), ("b", 202), ("c", 203), ("d", 100), ("z", 4)]


# Other people's rights and publications.


@every_state
def test_writer_without_any_right_to_the_index_can_write(
    database: Database, method: Method, state: State
) -> None:
    role = f"{database.name}_clerk"
    database.run(f"CREATE ROLE {role}")
    try:
        with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
            database.run(f"GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON t TO {role}")
            ground.arrive_at(state)
            with ground.writer() as clerk:
                clerk.execute(f"SET ROLE {role}")
                clerk.execute("UPDATE t SET v = 'z' WHERE k = 1")
                clerk.execute("DELETE FROM t WHERE k = 2")
                clerk.execute("INSERT INTO t VALUES (20, 'new')")
            ground.publish()
            ground.assert_right()
            with ground.writer() as clerk:
                clerk.execute(f"SET ROLE {role}")
                with pytest.raises(errors.InsufficientPrivilege):
                    clerk.execute("SELECT FROM t__by_v")
                clerk.rollback()
                clerk.execute(f"SET ROLE {role}")
                clerk.execute("TRUNCATE t")
            ground.assert_right()
    finally:
        database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@every_state
@pytest.mark.parametrize("nullable", [False, True], ids=["not_null", "nullable"])
def test_publication_of_all_tables_lets_writers_and_the_build_go_on(
    database: Database, method: Method, state: State, nullable: bool
) -> None:
    """Updates and deletes of a published table need to know how its rows are told apart."""
    table = kv_table(unique=True, nullable=nullable)
    create = NULLABLE if nullable else TABLE
    published = "CREATE PUBLICATION everything FOR ALL TABLES"
    with building(database, table, method, create, ROWS, published) as ground:
        ground.arrive_at(state)
        database.run(
            "UPDATE t SET v = 'z' WHERE k = 1",
            "DELETE FROM t WHERE k = 2",
            "UPDATE t SET v = CASE v WHEN 'c' THEN 'd' ELSE 'c' END WHERE k IN (3, 4)",
        )
        if state is not State.PUBLIC:
            database.run("INSERT INTO t VALUES (20, 'i')", "DELETE FROM t WHERE k = 20")
        ground.publish()
        ground.assert_right()


@with_and_without_the_rule
def test_functions_run_with_their_owners_rights_or_other_writers_would_fail(
    database: Database, rule: bool
) -> None:
    role = f"{database.name}_clerk"
    database.run(f"CREATE ROLE {role}")
    try:
        with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, ROWS) as ground:
            database.run(f"GRANT INSERT ON t TO {role}")
            ground.arrive_at(State.BACKFILLING)
            if not rule:
                database.run("ALTER FUNCTION t__by_v__keep() SECURITY INVOKER")
            with ground.writer() as clerk:
                clerk.execute(f"SET ROLE {role}")
                if rule:
                    clerk.execute("INSERT INTO t VALUES (20, 'new')")
                else:
                    with pytest.raises(errors.InsufficientPrivilege):
                        clerk.execute("INSERT INTO t VALUES (20, 'new')")
                    clerk.rollback()
    finally:
        database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@with_and_without_the_rule
def test_published_index_says_how_its_rows_are_told_apart_or_writers_would_fail(
    database: Database, rule: bool
) -> None:
    published = "CREATE PUBLICATION everything FOR ALL TABLES"
    table = kv_table(unique=True)
    with building(database, table, Method.INIT_PUT, TABLE, ROWS, published) as ground:
        ground.arrive_at(State.VALIDATING)
        if rule:
            database.run("DELETE FROM t WHERE k = 1")
            return
        database.run("ALTER TABLE t__by_v REPLICA IDENTITY NOTHING")
        with pytest.raises(errors.ObjectNotInPrerequisiteState):
            database.run("DELETE FROM t WHERE k = 1")


@both_methods
@with_and_without_the_rule
def test_entries_with_null_are_told_apart_by_their_row_or_two_would_clash(
    database: Database, monkeypatch: pytest.MonkeyPatch, method: Method, rule: bool
) -> None:
    if not rule:
        by_value = property(lambda entry: (Arbiter(entry.indexed, None, True),))
        monkeypatch.setattr(EntrySql, "arbiters", by_value)
    rows = "INSERT INTO t VALUES (1, NULL), (2, NULL)"
    table = kv_table(unique=True, nullable=True)
    with building(database, table, method, NULLABLE, rows) as ground:
        if rule:
            ground.publish()
            ground.assert_right()
            return
        # Two entries of one key do not fit, so one of them never comes.
        ground.advance_to(State.BACKFILLING)
        ground.build.load_step(0, PLENTY)
        assert len(ground.entries()) < 2
