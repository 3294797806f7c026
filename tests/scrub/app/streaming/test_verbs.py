# SPDX-License-Identifier: Apache-2.0
"""Every verb of a stream: what it does, what it refuses, and what it leaves as it was."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from scrub.app.streaming import verbs
from scrub.app.streaming.verbs import (
    adjust_stream,
    drop_preview,
    drop_stream,
    plan_stream,
    resume_stream,
    run_stream,
    stream_status,
    verify_stream,
)
from scrub.errors import ScrubError, StoreUnavailable, UsageError
from scrub.model.stream.requests import Phase, StreamRequest
from scrub.model.stream.state import AnotherStream
from scrub.stores.postgres.changes.readiness import NotStreamable
from scrub.stores.postgres.changes.slots import SlotLost
from tests.scrub.app.streaming.shop import Shop, until
from tests.scrub.stores.postgres.changes.ground import held_commits, in_the_background

pytestmark = pytest.mark.slow

RELATIONS = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
PUBLICATIONS = "SELECT pubname FROM pg_publication"


def build(shop: Shop, **given: Any) -> None:
    result = run_stream(shop.request(until_caught_up=True, **given))
    assert result.exit_code == 0, result


@contextmanager
def kept_running(shop: Shop, **given: Any) -> Iterator[list[BaseException]]:
    """A run in a thread, which ends when the stream is dropped or another one takes over."""
    ended: list[BaseException] = []

    def run() -> None:
        try:
            run_stream(shop.request(**given))
        except ScrubError as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield ended
    finally:
        until(lambda: _has_ended(shop, thread))


def _has_ended(shop: Shop, thread: threading.Thread) -> bool:
    """A run that reaches for its servers again signs the stream again."""
    if thread.is_alive():
        shop.sink.run("UPDATE public.scrub_streams SET runner = 'nobody'")
        thread.join(0.5)
    return not thread.is_alive()


def test_a_preview_changes_nothing(shop: Shop) -> None:
    before = shop.database.rows(RELATIONS)
    plan = plan_stream(shop.request())
    assert plan.rows == 2_000
    assert any("create the replication slot" in step for step in plan.steps)
    assert shop.database.rows(RELATIONS) == before
    assert not shop.slot()
    assert not shop.database.rows(PUBLICATIONS)


def test_built_checked_and_published(shop: Shop) -> None:
    build(shop)
    assert not shop.differences()
    status = stream_status(shop.request())
    assert (status.phase, status.percent, status.rows) == (Phase.PUBLIC, 100.0, 2_000)
    assert status.runner is None
    assert status.slot_lost is None
    assert [vnode.is_finished for vnode in status.vnodes] == [True] * 16


def test_into_another_database(two_databases: Shop) -> None:
    build(two_databases)
    assert not two_databases.differences()
    assert two_databases.database.rows(RELATIONS) == [("orders",), ("orders_pkey",)]
    assert verify_stream(two_databases.request()).verdict.exit_code == 0


def test_the_same_command_goes_on(shop: Shop) -> None:
    build(shop)
    shop.database.run(
        "UPDATE public.orders SET status = 'open' WHERE id <= 20",
        "UPDATE public.orders SET id = -id WHERE id > 1990",
        "DELETE FROM public.orders WHERE id BETWEEN 100 AND 120",
    )
    assert shop.differences()
    build(shop)
    assert not shop.differences()
    assert "go on behind epoch" in plan_stream(shop.request()).steps[0]


def test_a_defective_index_is_never_published(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody has deleted entries while the index was built."""
    snapshots = verbs.StreamLoop._checked

    def deleted_before(loop: Any, session: Any, record: Any) -> Any:
        shop.database.run("DELETE FROM public.orders__by_customer WHERE id <= 2")
        return snapshots(loop, session, record)

    monkeypatch.setattr(verbs.StreamLoop, "_checked", deleted_before)
    result = run_stream(shop.request(until_caught_up=True))
    assert result.exit_code == 1
    assert result.refused is not None
    assert "2 defects" in result.refused
    status = stream_status(shop.request())
    assert status.phase is Phase.BUILDING
    assert status.failure == result.refused


def test_verify_finds_what_is_wrong(shop: Shop) -> None:
    build(shop)
    shop.database.run("UPDATE public.orders__by_customer SET status = 'lost' WHERE id = 5")
    judged = verify_stream(shop.request())
    assert judged.verdict.exit_code == 1
    assert [dict(defect.primary_key) for defect in judged.result.defects] == [{"id": 5}]


def test_verify_while_it_runs_under_writers(shop: Shop) -> None:
    build(shop)
    with shop.written_to(), kept_running(shop):
        until(lambda: stream_status(shop.request()).runner is not None)
        for _ in range(3):
            judged = verify_stream(shop.request())
            assert judged.verdict.exit_code == 0, judged.result.defects
    assert not shop.failures


def test_verify_needs_a_history_that_was_read(shop: Shop) -> None:
    with kept_running(shop, rows_per_second=1):
        until(lambda: bool(shop.slot()))
        until(lambda: stream_status(shop.request()).epochs > 1)
        with pytest.raises(UsageError, match="has not been read yet"):
            verify_stream(shop.request())


def test_a_second_process_is_refused(shop: Shop) -> None:
    build(shop)
    with kept_running(shop):
        until(lambda: stream_status(shop.request()).runner is not None)
        with pytest.raises(StoreUnavailable, match="another process runs the stream of orders"):
            run_stream(shop.request())


def test_a_pause_stops_the_history_and_not_the_changes(shop: Shop) -> None:
    with kept_running(shop, rows_per_second=400):
        until(lambda: bool(shop.slot()))
        until(lambda: stream_status(shop.request()).rows > 0)
        assert adjust_stream(shop.request(), paused=True).paused
        time.sleep(0.5)
        rows = stream_status(shop.request()).rows
        passed = min(k for (k,) in shop.database.rows("SELECT id FROM public.orders__by_customer"))
        shop.database.run(f"UPDATE public.orders SET status = 'new' WHERE id = {passed}")
        query = f"SELECT status FROM public.orders__by_customer WHERE id = {passed}"
        until(lambda: shop.database.rows(query) == [("new",)])
        assert stream_status(shop.request()).rows == rows < 2_000
        adjust_stream(shop.request(), rows_per_second=None)
        assert resume_stream(shop.request()).status.paused is False
        until(lambda: stream_status(shop.request()).phase is Phase.PUBLIC)
    assert not shop.differences()


def test_a_pause_of_everything_stops_the_changes_too(shop: Shop) -> None:
    build(shop)
    with kept_running(shop):
        until(lambda: stream_status(shop.request()).runner is not None)
        adjust_stream(shop.request(), paused=True, paused_all=True)
        time.sleep(0.5)
        shop.database.run("UPDATE public.orders SET status = 'new' WHERE id = 7")
        time.sleep(0.5)
        assert shop.differences()
        resume_stream(shop.request())
        until(lambda: not shop.differences())


def test_resume_goes_on_where_nobody_runs_it(shop: Shop) -> None:
    build(shop)
    adjust_stream(shop.request(), paused=True)
    shop.database.run("DELETE FROM public.orders WHERE id = 3")
    request = StreamRequest(
        table="orders", catalog=shop.catalog, until_caught_up=True, wait_limit=20.0
    )
    assert resume_stream(request).exit_code == 0
    assert not shop.differences()


def test_drop_removes_what_the_stream_made_and_nothing_else(shop: Shop) -> None:
    shop.database.run("CREATE TABLE public.of_others (k int)")
    before = shop.database.rows(RELATIONS)
    build(shop)
    assert drop_preview(shop.request()).phase is Phase.PUBLIC
    drop_stream(shop.request())
    left = {name for (name,) in shop.database.rows(RELATIONS)} - {name for (name,) in before}
    assert {name for name in left if not name.startswith("scrub_stream")} == set()
    assert not shop.slot()
    assert not shop.database.rows(PUBLICATIONS)
    assert not shop.database.rows("SELECT FROM public.scrub_streams")
    with pytest.raises(UsageError, match="table orders has no stream"):
        stream_status(shop.request())
    build(shop)
    assert not shop.differences()


def test_a_publication_of_somebody_else_is_used_and_stays(shop: Shop) -> None:
    shop.database.run("CREATE PUBLICATION scrub_orders FOR TABLE public.orders")
    build(shop)
    drop_stream(shop.request())
    assert shop.database.rows(PUBLICATIONS) == [("scrub_orders",)]


@pytest.mark.parametrize(
    ("publication", "message"),
    [
        ("CREATE PUBLICATION scrub_orders", "does not publish all rows of public.orders"),
        (
            "CREATE PUBLICATION scrub_orders FOR TABLE public.orders WITH (publish = 'insert')",
            "does not publish every kind of change",
        ),
    ],
)
def test_a_publication_that_leaves_out_changes_is_refused(
    shop: Shop, publication: str, message: str
) -> None:
    shop.database.run(publication)
    with pytest.raises(UsageError, match=message):
        plan_stream(shop.request())


def test_drop_ends_a_process_that_runs_it(shop: Shop) -> None:
    build(shop)
    with kept_running(shop) as ended:
        until(lambda: stream_status(shop.request()).runner is not None)
        drop_stream(shop.request())
        until(lambda: bool(ended))
    assert "taken over" in str(ended[0])
    assert not shop.slot()


def test_an_interrupted_drop_is_finished_by_the_next_one(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(shop)
    with monkeypatch.context() as patched:

        def crash(*_: Any) -> None:
            raise KeyboardInterrupt

        patched.setattr("scrub.stores.postgres.streaming.removing.drop_publication", crash)
        with pytest.raises(KeyboardInterrupt):
            drop_stream(shop.request())
    assert stream_status(shop.request()).phase is Phase.DROPPING
    with pytest.raises(UsageError, match="is being dropped"):
        run_stream(shop.request())
    drop_stream(shop.request())
    assert not shop.database.rows("SELECT FROM public.scrub_streams")
    assert not shop.database.rows(PUBLICATIONS)


def test_a_start_that_was_interrupted_begins_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the slot was made and before the first state: its changes are nobody's."""
    with monkeypatch.context() as patched:

        def crash(*_: Any) -> None:
            raise KeyboardInterrupt

        patched.setattr("scrub.app.streaming.session.bounds", crash)
        with pytest.raises(KeyboardInterrupt):
            run_stream(shop.request())
    assert shop.slot()
    shop.database.run("UPDATE public.orders SET status = 'open' WHERE id < 50")
    build(shop)
    assert not shop.differences()


# What is refused


def test_a_slot_that_is_gone_is_told_from_a_lag(shop: Shop) -> None:
    build(shop)
    shop.drop_slot()
    assert stream_status(shop.request()).slot_lost == "it is gone"
    with pytest.raises(SlotLost, match="is gone"):
        run_stream(shop.request())


def test_a_table_made_anew_is_refused(shop: Shop) -> None:
    build(shop)
    shop.database.run(
        "ALTER TABLE public.orders RENAME TO old_orders",
        "CREATE TABLE public.orders (LIKE public.old_orders INCLUDING ALL)",
    )
    with pytest.raises(AnotherStream, match="the table is not the one"):
        run_stream(shop.request())


def test_an_index_table_made_anew_is_refused(shop: Shop) -> None:
    build(shop)
    shop.database.run(
        "DROP TABLE public.orders__by_customer",
        "CREATE TABLE public.orders__by_customer (customer int, id bigint, status text, note text)",
    )
    with pytest.raises(AnotherStream, match="the index is not the one"):
        run_stream(shop.request())


def test_an_index_table_of_somebody_else_is_refused_and_stays(shop: Shop) -> None:
    shop.database.run("CREATE TABLE public.orders__by_customer (k int)")
    with pytest.raises(UsageError, match="which no stream of this table has made"):
        plan_stream(shop.request())


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ALTER TABLE public.orders DROP CONSTRAINT orders_pkey", "primary key"),
        ("ALTER TABLE public.orders REPLICA IDENTITY NOTHING", "REPLICA IDENTITY NOTHING"),
        ("ALTER TABLE public.orders SET UNLOGGED", "unlogged"),
    ],
)
def test_a_table_that_cannot_be_streamed_is_refused(
    shop: Shop, statement: str, message: str
) -> None:
    shop.database.run(statement)
    with pytest.raises(NotStreamable, match=message) as refused:
        plan_stream(shop.request())
    assert refused.value.exit_code == 2
    assert refused.value.hint


def test_a_slot_of_somebody_else_is_refused_and_stays(shop: Shop) -> None:
    name = f"slot_{shop.database.name}"
    shop.database.run(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")
    with pytest.raises(UsageError, match="there is a replication slot"):
        run_stream(shop.request())
    assert shop.slot()


def test_a_table_has_one_stream(shop: Shop) -> None:
    build(shop)
    with pytest.raises(UsageError, match="belongs to a stream of by_customer, open_orders"):
        plan_stream(shop.request("by_customer"))
    with pytest.raises(UsageError, match="has a stream of by_customer, open_orders"):
        plan_stream(shop.request("unlike"))


def test_a_role_without_rights_is_told_what_it_needs(shop: Shop) -> None:
    role = f"plain_{shop.database.name}"
    shop.database.run(f"CREATE ROLE {role} LOGIN", f"GRANT SELECT ON public.orders TO {role}")
    text = shop.catalog.read_text()
    assert "user=postgres" in text
    shop.catalog.write_text(text.replace("user=postgres", f"user={role}"))
    try:
        with pytest.raises(UsageError, match="may not replicate"):
            plan_stream(shop.request())
    finally:
        shop.database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_value_that_has_no_place_stops_the_stream_and_loses_nothing(shop: Shop) -> None:
    shop.database.run("ALTER TABLE public.orders ALTER customer SET NOT NULL")
    build(shop)
    shop.database.run(
        "ALTER TABLE public.orders ALTER customer DROP NOT NULL",
        "UPDATE public.orders SET customer = NULL WHERE id = 9",
    )
    with pytest.raises(ScrubError, match="an entry cannot be written") as stopped:
        run_stream(shop.request(until_caught_up=True))
    assert stopped.value.exit_code == 3
    shop.database.run("ALTER TABLE public.orders__by_customer ALTER customer DROP NOT NULL")
    build(shop)
    assert not shop.differences()


def test_servers_that_come_back_are_reached_again(shop: Shop) -> None:
    build(shop)
    others = (
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )
    with kept_running(shop) as ended:
        until(lambda: stream_status(shop.request()).runner is not None)
        for number in range(3):
            shop.database.rows(others)
            shop.database.run(f"UPDATE public.orders SET status = 'open' WHERE id = {number + 1}")
            until(lambda: not shop.differences())
        assert not ended


def test_truncate_and_an_added_column_in_between(shop: Shop) -> None:
    build(shop)
    shop.database.run(
        "TRUNCATE public.orders",
        "INSERT INTO public.orders VALUES (1, 1, 'open', 'one')",
        "ALTER TABLE public.orders ADD COLUMN more text DEFAULT 'more'",
        "INSERT INTO public.orders VALUES (2, 2, 'open', 'two', 'other')",
    )
    build(shop)
    assert not shop.differences()
    assert verify_stream(shop.request()).verdict.exit_code == 0


def test_a_long_value_that_an_update_omits_is_kept(shop: Shop) -> None:
    build(shop)
    shop.database.run("UPDATE public.orders SET note = repeat('x', 100000) WHERE id <= 5")
    build(shop)
    shop.database.run(
        "UPDATE public.orders SET status = 'new' WHERE id <= 5",
        "UPDATE public.orders SET id = -id WHERE id <= 2",
        "DELETE FROM public.orders WHERE id = 3",
    )
    build(shop)
    assert not shop.differences()
    assert (
        len(shop.sink.rows("SELECT FROM public.orders__by_customer WHERE length(note) = 100000"))
        == 4
    )


def test_an_idle_stream_lets_the_slot_move_on(shop: Shop) -> None:
    """Of a table that nobody writes to, while others are."""
    build(shop)
    shop.database.run("CREATE TABLE public.noise (k int)")
    confirmed = (
        "SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots "
        f"WHERE slot_name = 'slot_{shop.database.name}'"
    )
    with kept_running(shop):
        until(lambda: stream_status(shop.request()).runner is not None)
        (before,) = shop.database.rows(confirmed)[0]
        shop.database.run("INSERT INTO public.noise SELECT generate_series(1, 100000)")
        until(lambda: shop.database.rows(confirmed)[0][0] > before + 1_000_000, 30)


def test_the_lock_ends_with_the_session(shop: Shop) -> None:
    """A process that died holds nobody up."""
    build(shop)
    with psycopg.connect(shop.database.url) as connection:
        connection.execute(
            "SELECT pg_advisory_lock(hashtextextended('scrub streams public orders', 0))"
        )
        with pytest.raises(StoreUnavailable, match="another process runs"):
            run_stream(shop.request())
    build(shop)


def test_an_index_is_never_ahead_of_its_table(two_databases: Shop) -> None:
    """A commit that waits for a standby is in the log, and nobody else sees it yet."""
    shop = two_databases
    build(shop)
    shop.sink.run(f'ALTER DATABASE "{shop.sink.name}" SET synchronous_commit = local')
    entry = "SELECT status FROM public.orders__by_customer WHERE id = 1"
    (before,) = shop.sink.rows(entry)
    with kept_running(shop):
        until(lambda: stream_status(shop.request()).runner is not None)
        with held_commits(shop.database):
            held = "UPDATE public.orders SET status = 'held' WHERE id = 1"
            writer = in_the_background(shop.database, held)
            time.sleep(1.0)
            assert writer.is_alive()
            assert shop.sink.rows(entry) == [before]
            assert verify_stream(shop.request()).verdict.exit_code == 0
        writer.join()
        until(lambda: shop.sink.rows(entry) == [("held",)])
    assert not shop.differences()
