# SPDX-License-Identifier: Apache-2.0
"""What went wrong in other systems that load an index and then merge what writers recorded.

Each trap is run with the rule that avoids it and, where that can be taken away, without.
"""

import pytest

from scrub.errors import StoreUnavailable
from scrub.model.build import MERGE_DUTIES, Duties, Duty, Method, State
from scrub.stores.building import LOAD
from scrub.stores.postgres.building import keeper, merging
from scrub.stores.postgres.entry_sql import Arbiter
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import (
    ROWS,
    STATES,
    TABLE,
    Background,
    Clashed,
    building,
    kv_table,
    persistently,
    until,
    with_and_without_the_rule,
)

pytestmark = pytest.mark.slow


@with_and_without_the_rule
def test_merging_puts_plainly_so_that_users_see_no_false_duplicates(
    database: Database, monkeypatch: pytest.MonkeyPatch, rule: bool
) -> None:
    """cockroach#75663: the index still holds what a record not yet merged has taken away."""
    if not rule:
        monkeypatch.setattr(keeper._Keeper, "_suspect", lambda *_: "RAISE unique_violation;")
    with building(database, kv_table(unique=True), Method.MERGE, TABLE, ROWS) as ground:
        ground.advance_to(State.BACKFILLING)
        ground.load()
        database.run("UPDATE t SET v = 'moved' WHERE k = 1")
        ground.advance_to(State.MERGING)
        assert ("a", 1) in ground.entries()
        if not rule:
            with pytest.raises(Exception, match="unique_violation"):
                database.run("INSERT INTO t VALUES (20, 'a')")
            return
        database.run("INSERT INTO t VALUES (20, 'a')")
        ground.publish()
        ground.assert_right()


@with_and_without_the_rule
def test_temporary_index_records_no_deletes_before_it_records_puts(
    database: Database, monkeypatch: pytest.MonkeyPatch, rule: bool
) -> None:
    """cockroach#75720: merged, such a deletion would delete what was put back since."""
    if not rule:
        monkeypatch.setitem(MERGE_DUTIES, State.DELETE_ONLY, Duties(Duty.NOTHING, Duty.TOMBSTONE))
    with building(database, kv_table(unique=True), Method.MERGE, TABLE, ROWS) as ground:
        database.run("DELETE FROM t WHERE k = 1", "INSERT INTO t VALUES (1, 'a')")
        assert ground.recorded() == ([] if rule else [("a", 1, True)])
        ground.publish()
        assert ground.is_right is rule


@pytest.mark.parametrize("state", [State.WRITE_AND_DELETE, State.BACKFILLING, State.MERGING])
@with_and_without_the_rule
def test_delete_and_put_of_the_same_entry_are_not_cancelled(
    database: Database, monkeypatch: pytest.MonkeyPatch, state: State, rule: bool
) -> None:
    """cockroach#76959: the deletion is recorded, so the put must follow, though it is the same."""
    if not rule:
        put = keeper._Keeper._put

        def cancelled(of: keeper._Keeper, arbiter: Arbiter) -> str:
            return f"IF NOT (had AND o *= n) THEN {put(of, arbiter)} END IF;"

        monkeypatch.setattr(keeper._Keeper, "_put", cancelled)
    with building(database, kv_table(unique=True), Method.MERGE, TABLE, ROWS) as ground:
        ground.arrive_at(state)
        database.run("UPDATE t SET s = 'only what is not indexed' WHERE k = 1")
        assert ground.recorded() == [("a", 1, not rule)]
        ground.publish()
        assert ground.is_right is rule


@with_and_without_the_rule
def test_only_records_present_at_the_start_are_merged_so_that_a_merge_ends(
    database: Database, monkeypatch: pytest.MonkeyPatch, rule: bool
) -> None:
    """cockroach#79148: with a new record for each that is merged, it would go on forever."""
    if not rule:
        listing = merging.listing
        monkeypatch.setattr(
            merging,
            "listing",
            lambda entry, after, _, records: listing(entry, after, 10**9, records),
        )
    with building(database, kv_table(unique=False), Method.MERGE, TABLE, ROWS) as ground:
        ground.begin_merge("UPDATE t SET s = 'recorded' WHERE k <= 3")
        for number in range(20, 30):
            if not ground.build.unfinished("by_v"):
                break
            database.run(f"INSERT INTO t VALUES ({number}, 'later {number}')")
            persistently(lambda: ground.build.merge_step("by_v", 0, 1))
        assert (ground.build.unfinished("by_v") == []) is rule
        ground.publish()
        ground.assert_right()


def test_resumed_merge_begins_where_it_was_and_ends_where_it_should(database: Database) -> None:
    with building(database, kv_table(unique=True), Method.MERGE, TABLE, ROWS) as ground:
        ground.begin_merge("UPDATE t SET v = 'x' || v WHERE k <= 4")
        persistently(lambda: ground.build.merge_step("by_v", 0, 2))
        ground.build.close()
        database.run("UPDATE t SET v = 'y' || v WHERE k <= 2", "INSERT INTO t VALUES (20, 'later')")
        another = ground.another()
        another.plan_merge()
        ranges = another.builds.ranges_of(another.connection, another.place.build, "by_v")
        assert [(of.position, of.upper_key) for of in ranges] == [(("2",), ("8",))]
        another.close()
        ground.publish()
        ground.assert_right()


def test_record_that_is_gone_when_it_is_read_back_is_an_error_by_name(database: Database) -> None:
    """A temporary index preserves deletions, so nothing of it may disappear."""
    with building(database, kv_table(unique=True), Method.MERGE, TABLE, ROWS) as ground:
        ground.begin_merge("UPDATE t SET s = 'recorded'")
        with ground.writer() as meddler:
            meddler.execute("DELETE FROM t__by_v__recorded WHERE k = 5")
            step = Background(lambda: ground.build.merge_step("by_v", 0, 99))
            until(ground.is_waiting)
            meddler.commit()
            with pytest.raises(
                StoreUnavailable, match="records of the temporary index are missing"
            ):
                step.result()
        assert ground.build.unfinished("by_v") == [0]


def test_failed_validation_names_the_rows_and_not_just_their_number(database: Database) -> None:
    """cockroach#175590."""
    twice = "INSERT INTO t SELECT n + 10, chr(96 + n::int) FROM generate_series(1, 3) AS n"
    with building(database, kv_table(unique=True), Method.MERGE, TABLE, ROWS) as ground:
        ground.advance_to(State.BACKFILLING)
        database.run(twice)
        with pytest.raises(Clashed) as caught:
            ground.publish()
        assert sorted(map(str, caught.value.clashes)) == [
            f"unique index by_v: rows k={11 + n} and k={1 + n} both have v={'abc'[n]}"
            for n in range(3)
        ]


@pytest.mark.parametrize(
    ("method", "state"), [(method, state) for method, state in STATES if state is not State.PUBLIC]
)
@pytest.mark.parametrize("order", ["earlier", "later"])
def test_unique_check_looks_at_earlier_and_at_later_writes(
    database: Database, method: Method, state: State, order: str
) -> None:
    """Yugabyte looks backward and forward in time; of the two rows either may be first by key."""
    other = 0 if order == "earlier" else 20
    with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
        ground.arrive_at(state)
        database.run(f"INSERT INTO t VALUES ({other}, 'e')")
        with pytest.raises(Clashed) as caught:
            ground.publish()
        (clash,) = caught.value.clashes
        assert clash.key == {"v": "e"}
        assert {clash.row["k"], clash.owner["k"]} == {"5", str(other)}


@pytest.mark.parametrize("method", list(Method))
def test_rows_read_are_counted_against_entries_put(database: Database, method: Method) -> None:
    """hudi#18028: an index was filled without anybody counting."""
    with building(database, kv_table(unique=True), method, TABLE, ROWS) as ground:
        ground.advance_to(State.BACKFILLING)
        ground.load(rows=4)
        (of,) = ground.build.builds.ranges_of(ground.build.connection, ground.build.place.build)
        assert (of.phase, of.rows, of.entries, of.conflicts, of.done) == (LOAD, 9, 9, 0, True)
        ground.publish()
        ground.assert_right()


@pytest.mark.parametrize("unique", [True, False], ids=["unique", "not_unique"])
def test_what_a_late_writer_puts_back_is_not_deleted_by_an_earlier_record(
    database: Database, unique: bool
) -> None:
    """One still in delete_only records no put; so it removes the deletion that others recorded.

    Its statement began before the change of state, and goes on with the function it knows.
    """
    with building(database, kv_table(unique), Method.MERGE, TABLE, ROWS) as ground:
        with ground.writer() as late, ground.writer() as gate:
            gate.execute("SELECT pg_advisory_lock(1)")
            late.execute("UPDATE t SET s = 'known' WHERE k = 9")
            statement = (
                "UPDATE t SET v = 'a' FROM (SELECT pg_advisory_lock(1)::text) AS gate (passed) "
                "WHERE k = 1 AND passed IS NOT NULL"
            )
            writing = Background(lambda: late.execute(statement))
            until(ground.is_waiting)
            ground.build.advance(State.WRITE_AND_DELETE)
            database.run("UPDATE t SET v = 'elsewhere' WHERE k = 1")
            assert ("a", 1, True) in ground.recorded()
            gate.execute("SELECT pg_advisory_unlock(1)")
            writing.result()
            late.commit()
            assert not ground.build.blockers()
        ground.publish()
        ground.assert_right()
