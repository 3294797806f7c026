# SPDX-License-Identifier: Apache-2.0
"""Streams and their plans as people and programs read them."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reports.streams import (
    dropped_as_text,
    stream_as_json,
    stream_as_text,
    stream_plan_as_json,
    stream_plan_as_text,
    stream_result_as_json,
    vnode_bar,
)
from scrub.model.stream.requests import (
    Phase,
    StreamPlan,
    StreamResult,
    StreamStatus,
    VnodeProgress,
)


def vnode(rows: int, expected: int = 100, *, finished: bool = False) -> VnodeProgress:
    return VnodeProgress(rows_read=rows, rows_expected=expected, is_finished=finished)


RUNNING = StreamStatus(
    table="orders",
    indexes=("by_customer", "by_email"),
    phase=Phase.BUILDING,
    epochs=12,
    progress=4_150,
    rows=155,
    rows_expected=400,
    rows_a_second=49.0,
    changes_applied=45,
    changes_covered=2,
    changes_dropped=30,
    entries_written=500,
    entries_a_second=110.0,
    lag_bytes=3_000_000,
    lag_seconds=2.4,
    log_kept=4_500,
    slot="scrub_orders",
    rows_per_second=50,
    runner="session 41 of anna, since 2026-11-19 12:00:00+00",
    started=datetime(2026, 11, 19, 12, tzinfo=UTC),
    vnodes=(vnode(100, finished=True), vnode(55), vnode(0), vnode(0)),
)
PLAN = StreamPlan(table="orders", indexes=("by_customer",), rows=1_000, steps=("read", "check"))


def test_a_stream_that_runs_says_how_far_how_current_and_who() -> None:
    assert stream_as_text(RUNNING).splitlines() == [
        "by_customer, by_email of orders: being built",
        "  history: [#=..] 41.5 %",
        "  read: 155 of about 400 rows, 49 rows/s, 5 s left",
        "  changes: 45 applied, 2 shown by the history already, 30 left to the history, "
        "0 heard twice",
        "  entries written: 500, 110/s, 1.25 for each row",
        "  epochs: 12",
        "  allowed: 50 rows/s",
        "  behind: 2 s, 3 MB of the log",
        "  kept by the slot scrub_orders: 4 kB of the log",
        "  run by session 41 of anna, since 2026-11-19 12:00:00+00",
    ]


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_has_words(phase: Phase) -> None:
    assert "orders: " in stream_as_text(replace(RUNNING, phase=phase))


def test_a_public_stream_has_no_bar_and_no_estimate() -> None:
    done = replace(
        RUNNING, phase=Phase.PUBLIC, progress=10_000, vnodes=(vnode(155, 400, finished=True),)
    )
    text = stream_as_text(done)
    assert "history" not in text.replace("the history", "")
    assert "read: 155 of about 155 rows" in text


def test_what_is_waited_for_and_what_to_type_is_said() -> None:
    paused = replace(RUNNING, paused=True, waiting=3, failure="1 defect:\nhere")
    text = stream_as_text(paused)
    assert "  why it is not public: 1 defect:\n    here\n" in text
    assert "paused; changes are still applied: scrub stream resume orders" in text
    assert "waiting for a newer snapshot: 3 slices" in text
    everything = stream_as_text(replace(RUNNING, paused=True, paused_all=True))
    assert "paused, changes too: the slot keeps all of the log" in everything


@pytest.mark.parametrize("everything", [False, True])
def test_a_paused_stream_that_nobody_runs_applies_nothing(everything: bool) -> None:
    stopped = replace(RUNNING, runner=None, paused=True, paused_all=everything)
    lines = stream_as_text(stopped, catalog=Path("other.yaml")).splitlines()
    assert lines[-2:] == [
        "  paused",
        "  not running, so nothing is applied: scrub stream resume orders --catalog other.yaml",
    ]


def test_a_slot_that_was_given_up_is_no_lag() -> None:
    text = stream_as_text(replace(RUNNING, runner=None, slot_lost="wal_removed"))
    assert "the server has given up the slot scrub_orders: wal_removed" in text
    assert "scrub stream drop orders --execute" in text
    assert "resume" not in text


def test_a_drop_that_was_interrupted_says_how_to_finish_it() -> None:
    text = stream_as_text(replace(RUNNING, phase=Phase.DROPPING))
    assert text.splitlines()[1:] == ["  to finish that: scrub stream drop orders --execute"]


@pytest.mark.parametrize(
    ("vnodes", "bar"),
    [
        ([vnode(0)] * 3, "..."),
        ([vnode(100, finished=True)] * 3, "###"),
        ([vnode(1), vnode(50), vnode(99), vnode(500)], ":=**"),
        ([vnode(100, finished=True)] * 255 + [vnode(99)], "#" * 63 + "*"),
    ],
)
def test_the_bar_is_full_only_where_everything_was_read(
    vnodes: list[VnodeProgress], bar: str
) -> None:
    assert vnode_bar(vnodes) == bar


def test_programs_get_every_field() -> None:
    stream = json.loads(stream_as_json(RUNNING))["stream"]
    assert stream["phase"] == "building"
    assert stream["percent"] == 41.5
    assert stream["seconds_left"] == pytest.approx(5.0)
    assert stream["vnodes"][1] == {"rows_read": 55, "rows_expected": 100, "is_finished": False}
    assert stream["started"] == "2026-11-19T12:00:00+00:00"
    assert json.loads(stream_as_json(RUNNING, executed=False))["executed"] is False


@pytest.mark.parametrize(
    ("given", "code"), [({}, 0), ({"refused": "defects"}, 1), ({"unchecked": "no server"}, 3)]
)
def test_a_result_says_why_it_is_not_public(given: dict[str, str], code: int) -> None:
    result = StreamResult(status=RUNNING, **given)
    assert result.exit_code == code
    record = json.loads(stream_result_as_json(result))
    assert {record["refused"], record["unchecked"]} == {None, *given.values()}


def test_a_plan_is_a_list_of_steps() -> None:
    assert stream_plan_as_text(PLAN).splitlines() == [
        "To stream by_customer of orders (about 1,000 rows):",
        "  - read",
        "  - check",
    ]
    assert json.loads(stream_plan_as_json(PLAN))["plan"]["steps"] == ["read", "check"]


def test_no_name_escapes_its_place() -> None:
    hostile = replace(RUNNING, table="or\x1bders\nby", indexes=("a\tb",))
    for text in (stream_as_text(hostile), dropped_as_text(hostile)):
        assert "\x1b" not in text
        assert "\t" not in text
