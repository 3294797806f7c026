# SPDX-License-Identifier: Apache-2.0
"""What a run tells of its progress, and what is suggested where a stream could help."""

from dataclasses import replace

from scrub.app.checking.not_built import not_built
from scrub.app.streaming.loop import rows_in_all
from scrub.app.streaming.verbs import run_stream
from scrub.errors import RelationMissing
from scrub.model.progress import Progress
from scrub.model.stream.vnodes import Vnode
from scrub.model.table import ChangeFeed
from tests.repair.streaming.made import a_state
from tests.scrub.app.streaming.shop import Shop
from tests.scrub.stores.postgres.streaming.ground import BY_V, table_of


def test_a_finished_slice_has_as_many_rows_as_were_read() -> None:
    """Estimates differ from slice to slice, and too high ones would stay for good."""
    state = a_state([(5,)])
    vnodes: list[Vnode] = [
        replace(state.vnodes[0], rows_read=60, rows_expected=100, is_finished=True),
        replace(state.vnodes[1], rows_read=30, rows_expected=20),
    ]
    assert rows_in_all(replace(state, vnodes=tuple(vnodes))) == 90


def test_a_stream_that_has_read_everything_tells_no_share(shop: Shop) -> None:
    told: list[Progress] = []
    run_stream(shop.request(until_caught_up=True), on_progress=told.append)
    run_stream(shop.request(until_caught_up=True), on_progress=told.append)
    current = [one for one in told if one.phase == "keeping the index current"]
    assert current
    assert all(not one.rows_done and one.rows_total is None for one in current)
    read = [one for one in told if one.phase == "reading history"]
    assert all(one.rows_total is not None and one.rows_done <= one.rows_total for one in read)


def test_an_index_in_another_database_may_be_built_by_a_stream() -> None:
    feed = ChangeFeed(kind="postgres", slot="s", publication="p")
    elsewhere = replace(BY_V, store="beside")
    table = replace(table_of(elsewhere), changes=feed)
    kinds = {"shop": "postgres", "beside": "postgres"}
    missing = RelationMissing("there is no relation t__by_v", hint="look again")
    told = not_built(table, elsewhere, missing, kinds, choose=False)
    assert told.hint == "build it with: scrub stream run t by_v --execute"
