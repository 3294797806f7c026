# SPDX-License-Identifier: Apache-2.0
"""The changes of a real server."""

import time

import pytest

from scrub.errors import StoreUnavailable
from scrub.model.stream.changes import UNCHANGED
from scrub.model.stream.coverage import HistorySnapshot
from scrub.model.stream.heard import InOrder
from scrub.stores.postgres.changes.lsn import lsn_number
from scrub.stores.postgres.changes.replication import ReplicationConnection, SlotInUse
from scrub.stores.postgres.changes.slots import SlotLost
from tests.postgres_server import Database
from tests.scrub.stores.postgres.changes.ground import (
    Ground,
    held_commits,
    in_the_background,
)


def test_every_kind_of_change_arrives(ground: Ground) -> None:
    ground.start()
    ground.database.run(
        "INSERT INTO public.t VALUES (1, 'a', 'x'), (2, NULL, 'ä')",
        "UPDATE public.t SET v = 'b' WHERE id = 1",
        "UPDATE public.t SET id = 3 WHERE id = 1",
        "DELETE FROM public.t WHERE id = 2",
        "TRUNCATE public.t",
    )
    changes = ground.hear(6)
    assert [(c.removed, c.put, c.values, c.is_truncate) for c in changes] == [
        (None, (1,), ("1", "a", "x"), False),
        (None, (2,), ("2", None, "ä"), False),
        (None, (1,), ("1", "b", "x"), False),
        ((1,), (3,), ("3", "b", "x"), False),
        ((2,), None, (), False),
        (None, None, (), True),
    ]
    assert [c.position[1] for c in changes] == [1, 2, 1, 1, 1, 1]
    assert [c.position for c in changes] == sorted(c.position for c in changes)


def test_positions_follow_the_order_of_commits_not_of_writes(ground: Ground) -> None:
    ground.start()
    with ground.database.connect() as first:
        first.execute("BEGIN")
        first.execute("INSERT INTO public.t VALUES (1, 'written first')")
        ground.database.run("INSERT INTO public.t VALUES (2, 'committed first')")
        first.execute("INSERT INTO public.t VALUES (3, 'written last')")
        first.execute("COMMIT")
    changes = ground.hear(3)
    assert [change.put for change in changes] == [(2,), (1,), (3,)]
    assert [change.position for change in changes] == sorted(c.position for c in changes)
    assert changes[0].transaction > changes[1].transaction


def test_what_was_rolled_back_does_not_arrive(ground: Ground) -> None:
    ground.start()
    ground.database.run(
        "BEGIN; INSERT INTO public.t VALUES (1); SAVEPOINT s; INSERT INTO public.t VALUES (2); "
        "ROLLBACK TO s; INSERT INTO public.t VALUES (3); COMMIT",
        "BEGIN; INSERT INTO public.t VALUES (4); ROLLBACK",
    )
    changes = ground.hear(2)
    assert [change.put for change in changes] == [(1,), (3,)]
    snapshot = ground.snapshot()
    assert ground.source is not None
    assert all(ground.source.coverage.covers(snapshot, change) for change in changes)


def test_a_transaction_is_never_cut(ground: Ground) -> None:
    ground.start()
    ground.database.run("INSERT INTO public.t SELECT n FROM generate_series(1, 5000) n")
    ground.database.run("DELETE FROM public.t WHERE id <= 10")
    assert ground.source is not None
    sizes = [len(ground.source.changes(1).changes) for _ in range(30)]
    assert [size for size in sizes if size] == [5000, 10]


def test_a_long_value_that_did_not_change_is_left_out(ground: Ground) -> None:
    ground.start()
    ground.database.run(
        "ALTER TABLE public.t ALTER w SET STORAGE EXTERNAL",
        "INSERT INTO public.t VALUES (1, 'a', repeat('x', 9000))",
        "UPDATE public.t SET v = 'b'",
        "ALTER TABLE public.t REPLICA IDENTITY FULL",
        "UPDATE public.t SET v = 'c'",
    )
    changes = ground.hear(3)
    long = "x" * 9000
    assert [change.values for change in changes] == [
        ("1", "a", long),
        ("1", "b", UNCHANGED),
        ("1", "c", long),  # the whole old row came with it
    ]


def test_an_added_column_is_null_in_older_rows(ground: Ground) -> None:
    start = ground.start()
    ground.database.run(
        "INSERT INTO public.t VALUES (1, 'a')",
        "ALTER TABLE public.t ADD COLUMN added int",
        "INSERT INTO public.t VALUES (2, 'b', 'x', 7)",
        "ALTER TABLE public.t DROP COLUMN w",
        "INSERT INTO public.t VALUES (3, 'c', 8)",
    )
    assert ground.source is not None
    ground.source.close()
    ground.open(start.resume, "added", "v")
    assert [change.values for change in ground.hear(3)] == [
        ("1", None, "a"),
        ("2", "7", "b"),
        ("3", "8", "c"),
    ]


def test_changes_of_partitions_are_those_of_the_table(logical_database: Database) -> None:
    ground = Ground(
        logical_database,
        "CREATE TABLE public.t (id int PRIMARY KEY, v text, w text) PARTITION BY RANGE (id)",
    )
    logical_database.run(
        "CREATE TABLE public.low (v text, w text, id int NOT NULL)",  # in another order
        "ALTER TABLE public.t ATTACH PARTITION public.low FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE public.high PARTITION OF public.t FOR VALUES FROM (10) TO (20)",
    )
    ground.start()
    logical_database.run(
        "INSERT INTO public.low VALUES ('a', 'x', 1)", "UPDATE public.t SET id = 11"
    )
    changes = ground.hear(3)
    ground.close()
    assert [(c.removed, c.put, c.values) for c in changes] == [
        (None, (1,), ("1", "a", "x")),
        ((1,), None, ()),
        (None, (11,), ("11", "a", "x")),
    ]


def test_values_are_spelled_alike_in_history_and_changes(ground: Ground) -> None:
    ground.database.run(
        "ALTER TABLE public.t ADD b bool, ADD c char(4), ADD d timestamptz, ADD f float8, "
        "ADD n numeric(10, 3), ADD y bytea, ADD j jsonb, ADD i interval, ADD a text[]"
    )
    names = ("v", "b", "c", "d", "f", "n", "y", "j", "i", "a")
    ground.start(*names)
    ground.database.run(
        "SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'; SET bytea_output = 'escape'; "
        "INSERT INTO public.t (id, v, b, c, d, f, n, y, j, i, a) VALUES (1, 'v', true, 'x', "
        "'2024-05-06 07:08:09+02', 0.1, 1.5, '\\x00ff', '{\"k\": [1]}', '1 day 2 hours', "
        "'{\"a b\", null}')"
    )
    from scrub.model.stream.epochs import WantedPart
    from scrub.model.stream.keys import Slice
    from scrub.stores.postgres.changes.history import PostgresHistory

    (change,) = ground.hear(1)
    history = PostgresHistory(ground.conninfo, ground.table(*names))
    with history.snapshot() as held:
        wanted = WantedPart(vnode=0, slice=Slice(), after=None, rows_max=5)
        (part,) = held.read([wanted])
    history.close()
    assert part.data == [(change.put, change.values)]
    assert change.values[3] == "x   "


def test_it_continues_behind_what_was_kept(ground: Ground) -> None:
    ground.start()
    ground.database.run("INSERT INTO public.t VALUES (1)", "INSERT INTO public.t VALUES (2)")
    assert ground.source is not None
    first = ground.source.changes(1)
    while not first.changes:
        first = ground.source.changes(1)
    ground.source.acknowledge(first.resume)
    seen = [change.put for change in first.changes]
    ground.close_source()
    ground.open(first.resume)
    rest = ground.hear(2 - len(seen))
    assert seen + [change.put for change in rest] == [(1,), (2,)]


def test_what_was_not_acknowledged_is_said_again(ground: Ground) -> None:
    start = ground.start()
    ground.database.run("INSERT INTO public.t VALUES (1)")
    before = ground.hear(1)
    ground.close_source()
    ground.open(start.resume)
    assert ground.hear(1) == before


def test_a_place_that_the_slot_has_forgotten_is_refused(ground: Ground) -> None:
    start = ground.start()
    ground.database.run("INSERT INTO public.t VALUES (1)")
    (end,) = ground.database.rows("SELECT pg_current_wal_insert_lsn()::text")[0]
    heard = ground.hear_of(lsn_number(end))
    assert ground.source is not None
    ground.source.acknowledge(heard.resume)
    ground.source.changes(1)
    ground.close_source()
    with pytest.raises(SlotLost, match="has forgotten changes from"):
        ground.open(start.resume)


def test_a_slot_made_anew_under_the_same_name_is_refused(ground: Ground) -> None:
    start = ground.start()
    ground.close_source()
    ground.database.run(
        f"SELECT pg_drop_replication_slot('{ground.slot}')",
        "INSERT INTO public.t VALUES (1)",
        f"SELECT pg_create_logical_replication_slot('{ground.slot}', 'pgoutput')",
    )
    with pytest.raises(SlotLost, match="it was made anew or read by somebody else"):
        ground.open(start.resume)


def test_a_slot_that_is_gone_is_refused(ground: Ground) -> None:
    start = ground.start()
    ground.close_source()
    ground.database.run(f"SELECT pg_drop_replication_slot('{ground.slot}')")
    with pytest.raises(SlotLost, match="is gone"):
        ground.open(start.resume)


def test_a_slot_that_the_server_has_invalidated_is_told_from_a_lag(ground: Ground) -> None:
    start = ground.start()
    ground.close_source()
    write = ("INSERT INTO public.t SELECT max(id) + 1 FROM public.t", "SELECT pg_switch_wal()")
    ground.database.run("INSERT INTO public.t VALUES (1)", *write, *write)
    lagging = ground.found_slot()
    assert lagging.wal_status == "reserved"
    assert lagging.wal_kept > 1 << 24
    limit = "ALTER SYSTEM SET max_slot_wal_keep_size = {}"
    reload = "SELECT pg_reload_conf()"
    ground.database.run(limit.format("'1MB'"), reload)
    try:
        while ground.found_slot().wal_status != "lost":
            ground.database.run("CHECKPOINT", *write)
    finally:
        ground.database.run(limit.format("DEFAULT"), reload)
    with pytest.raises(SlotLost, match=r"has invalidated the slot .* changes are gone") as lost:
        ground.open(start.resume)
    assert "max_slot_wal_keep_size" in str(lost.value.hint)


def test_a_slot_that_somebody_reads_is_refused(ground: Ground) -> None:
    start = ground.start()
    reader = ground.source
    with pytest.raises(SlotInUse, match="is read by process"):
        ground.open(start.resume)
    assert reader is not None
    reader.close()


def test_a_slot_that_somebody_takes_in_the_last_moment_is_told_as_well(ground: Ground) -> None:
    """A process that was killed may have asked for it just before."""
    ground.start()
    connection = ReplicationConnection(ground.conninfo)
    start = f"START_REPLICATION SLOT {ground.slot} LOGICAL 0/0"
    options = "(proto_version '1', publication_names 'p')"
    with pytest.raises(SlotInUse, match="is active for PID"):
        connection.start(f"{start} {options}")
    connection.close()


def test_the_server_forgets_also_while_the_table_is_idle(ground: Ground) -> None:
    """An idle slot would keep the log of every other table."""
    ground.start()
    ground.database.run("CREATE TABLE public.other (n int)")
    for _ in range(3):
        ground.database.run("INSERT INTO public.other SELECT generate_series(1, 1000)")
        (end,) = ground.database.rows("SELECT pg_current_wal_insert_lsn()::text")[0]
        heard = ground.hear_of(lsn_number(end))
        assert heard.changes == ()
        assert ground.source is not None
        ground.source.acknowledge(heard.resume)
        ground.source.changes(1)
        slot = ground.found_slot()
        assert lsn_number(slot.confirmed) >= lsn_number(end)


def test_the_end_of_a_quiet_log_is_reached_soon(ground: Ground) -> None:
    """A rollback leaves records that the server has no hurry to write out."""
    ground.start()
    for _ in range(3):
        ground.database.run("BEGIN; INSERT INTO public.t VALUES (1, repeat('x', 2000)); ROLLBACK")
        ceiling = ground.snapshot().ceiling[""][0]
        began = time.monotonic()
        assert ground.hear_of(ceiling).changes == ()
        assert time.monotonic() - began < 5


def test_a_quiet_server_is_not_written_to(ground: Ground) -> None:
    ground.start()
    ground.hear_of(ground.snapshot().ceiling[""][0])
    assert ground.source is not None
    until = time.monotonic() + 1.5
    places = set()
    while time.monotonic() < until:
        ground.source.changes(1)
        places.add(ground.database.rows("SELECT pg_current_wal_insert_lsn()::text")[0])
    assert len(places) <= 2  # the server itself may say something


def test_after_a_lost_connection_nothing_is_missing(ground: Ground) -> None:
    start = ground.start()
    ground.database.run("INSERT INTO public.t VALUES (1)")
    process = ground.found_slot().reader
    ground.database.run(f"SELECT pg_terminate_backend({process}, 10000)")
    assert ground.source is not None
    with pytest.raises(StoreUnavailable, match="terminating connection"):
        ground.hear(2)
    with pytest.raises(StoreUnavailable, match="is closed"):
        ground.source.changes(1)
    ground.open(start.resume)
    assert [change.put for change in ground.hear(1)] == [(1,)]


def test_the_start_demands_what_the_slot_will_not_report(ground: Ground) -> None:
    ground.database.run("INSERT INTO public.t VALUES (1)")
    start = ground.start()
    assert isinstance(start.heard, InOrder)
    assert start.heard.marks == {"": (lsn_number(start.resume), 0)}
    assert ground.source is not None
    assert ground.source.coverage.meets(ground.snapshot(), start.before)
    older = HistorySnapshot("3:3:")
    assert not ground.source.coverage.meets(older, start.before)


def test_a_commit_arrives_before_snapshots_show_it(ground: Ground) -> None:
    """It waits for a standby. By the log's position, the snapshot would hold it; it does not."""
    ground.start()
    with held_commits(ground.database):
        writer = in_the_background(ground.database, "INSERT INTO public.t VALUES (1)")
        (change,) = ground.hear(1)
        snapshot = ground.snapshot()
        assert change.position < snapshot.ceiling[""], "the snapshot was taken after the commit"
        assert ground.source is not None
        assert not ground.source.coverage.covers(snapshot, change)
        must = ground.source.coverage.with_changes(ground.start_demand(), [change])
        assert not ground.source.coverage.meets(snapshot, must)
    writer.join()
    snapshot = ground.snapshot()
    assert ground.source.coverage.covers(snapshot, change)
    assert ground.source.coverage.meets(snapshot, must)


def test_a_commit_that_is_held_when_the_slot_is_made_is_not_lost(ground: Ground) -> None:
    with held_commits(ground.database):
        writer = in_the_background(ground.database, "INSERT INTO public.t VALUES (1)")
        while not ground.database.rows("SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'"):
            pass
        starting = ground.start_in_the_background()
        starting.join(0.5)
    writer.join()
    starting.join()
    heard = [change.put for change in ground.hear_all()]
    snapshot = ground.snapshot()
    assert ground.source is not None
    is_covered = ground.source.coverage.meets(snapshot, ground.start_demand())
    assert is_covered
    assert heard == [], "the slot began behind the commit"


def test_the_identity_names_server_time_line_database_and_slot(ground: Ground) -> None:
    ground.start()
    assert ground.source is not None
    system, timeline, name, slot = ground.source.identity().split("/")
    assert int(system) > 0
    assert (timeline, name, slot) == ("1", ground.database.name, ground.slot)


def test_what_the_server_refuses_is_said(ground: Ground) -> None:
    connection = ReplicationConnection(ground.conninfo)
    with pytest.raises(StoreUnavailable, match='replication slot "no_such" does not exist'):
        connection.start("START_REPLICATION SLOT no_such LOGICAL 0/0")
    connection.close()
    with pytest.raises(StoreUnavailable, match="no replication connection"):
        ReplicationConnection(f"{ground.conninfo} dbname=no_such_database")
