# SPDX-License-Identifier: Apache-2.0
"""Single epochs: TRUNCATE, values left out, floors that end, demands that end."""

from dataclasses import replace

import pytest

from repair.streaming.epoch import end_epoch
from repair.streaming.hearing import UnorderedTruncate
from scrub.model.stream.changes import UNCHANGED, Changes
from scrub.model.stream.coverage import NOTHING, HistorySnapshot
from scrub.model.stream.epochs import Put, Verdict
from scrub.model.stream.heard import OutOfOrder
from scrub.model.stream.keys import Slice, Stretch
from scrub.model.stream.prefix_coverage import PrefixCoverage
from scrub.model.stream.state import StreamState
from scrub.model.stream.visibility_coverage import VisibilityCoverage
from tests.repair.streaming.made import (
    a_state,
    delete,
    heard,
    part,
    put,
    shows,
    truncate,
)

COVERAGE = PrefixCoverage()


def read(state: StreamState, *keys: int, at: int, is_end: bool = False) -> StreamState:
    rows = [((key,), ()) for key in keys]
    parts = [part(*rows, after=state.vnodes[0].passed_to, is_end=is_end)]
    return end_epoch(state, heard(), COVERAGE, snapshot=shows(at), parts=parts).state


def test_a_truncate_empties_what_was_passed_and_no_snapshot_shows_yet() -> None:
    state = read(read(read(a_state(), 1, at=3), 2, at=5), 4, at=3)
    ended = end_epoch(state, heard(put(2, 1, "x"), truncate(4), put(6, 2, "new")), COVERAGE)
    stretches = [cleared.stretch for cleared in ended.writes.cleared]
    assert stretches == [Stretch(None, (1,)), Stretch((2,), (4,))]
    assert {cleared.slice for cleared in ended.writes.cleared} == {Slice()}
    assert ended.writes.changes == {(2,): Put(("new",), (2,))}
    assert ended.state.vnodes[0].must_cover.positions == {"": (4,)}


def test_a_truncate_forgets_earlier_changes_of_its_epoch() -> None:
    state = read(a_state(), 1, at=0, is_end=True)
    ended = end_epoch(state, heard(put(1, 1, "x"), truncate(2)), COVERAGE)
    assert [cleared.stretch for cleared in ended.writes.cleared] == [Stretch()]
    assert ended.writes.changes == {}


def test_a_truncate_that_the_history_shows_does_nothing() -> None:
    state = read(a_state(), 1, at=5, is_end=True)
    ended = end_epoch(state, heard(truncate(4)), COVERAGE)
    assert ended.writes.cleared == ()
    assert ended.counts == {Verdict.COVERED: 1}


def test_a_truncate_without_order_stops_the_stream() -> None:
    with pytest.raises(UnorderedTruncate, match="has no order"):
        end_epoch(a_state(heard=OutOfOrder(3)), heard(truncate(4)), COVERAGE)


def test_a_value_that_was_left_out_comes_from_an_earlier_change_of_the_epoch() -> None:
    state = read(a_state(), 1, at=0, is_end=True)
    changes = heard(put(1, 1, "a", "long"), put(2, 1, "b", UNCHANGED))
    assert end_epoch(state, changes, COVERAGE).writes.changes == {
        (1,): Put(("b", "long"), (1,)),
    }


def test_a_value_that_was_left_out_of_a_key_change_comes_from_the_old_place() -> None:
    state = read(a_state(), 1, at=0, is_end=True)
    changes = heard(put(1, 2, "a", UNCHANGED, removed=1), put(2, 3, "b", UNCHANGED, removed=2))
    assert end_epoch(state, changes, COVERAGE).writes.changes == {
        (1,): None,
        (2,): None,
        (3,): Put(("b", UNCHANGED), (1,)),
    }


def test_a_floor_ends_when_the_stream_is_past_all_that_its_snapshot_shows() -> None:
    state = read(a_state(), 1, at=5)
    assert len(state.vnodes[0].floors) == 1
    state = end_epoch(state, heard(put(4, 1, "x")), COVERAGE).state
    assert len(state.vnodes[0].floors) == 1
    state = end_epoch(state, Changes(heard_to={"": (5,)}), COVERAGE).state
    assert state.vnodes[0].floors == ()


def test_no_position_is_shown_before_the_history_is_read_and_no_floor_is_above_it() -> None:
    state = read(a_state(), 1, at=5)
    assert state.shown is None
    state = read(state, at=6, is_end=True)
    assert state.shown is None
    state = end_epoch(state, Changes(heard_to={"": (6,)}), COVERAGE).state
    assert state.shown == {"": (6,)}


def test_what_must_be_covered_is_forgotten_when_a_vnode_is_finished() -> None:
    state = end_epoch(a_state(), heard(delete(3, 9)), COVERAGE).state
    assert state.vnodes[0].must_cover.positions == {"": (3,)}
    assert read(state, at=3, is_end=True).vnodes[0].must_cover == NOTHING


def test_a_snapshot_settles_the_demands_of_every_vnode() -> None:
    """Of a PostgreSQL primary. Otherwise a vnode that is read last would list every transaction."""
    coverage = VisibilityCoverage()
    state = a_state([(5,)])
    changes = heard(replace(delete(1, 2), transaction=7), replace(delete(2, 7), transaction=9))
    state = end_epoch(state, changes, coverage).state
    assert [vnode.must_cover.transactions for vnode in state.vnodes] == [{7}, {9}]
    newer = HistorySnapshot("9:12:9,10")
    state = end_epoch(state, heard(), coverage, snapshot=newer).state
    assert [vnode.must_cover.transactions for vnode in state.vnodes] == [set(), {9}]


def test_duplicates_within_an_epoch_are_counted_once_each() -> None:
    state = read(a_state(), 1, at=0, is_end=True)
    changes = heard(put(1, 1, "a"), put(1, 1, "a"), put(2, 1, "b"), put(1, 1, "a"))
    ended = end_epoch(state, changes, COVERAGE)
    assert ended.counts == {Verdict.APPLIED: 2, Verdict.DUPLICATE: 2}
    assert ended.writes.changes == {(1,): Put(("b",), (1,))}
