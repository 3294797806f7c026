# SPDX-License-Identifier: Apache-2.0
"""Builds and plans as people and programs read them."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from reports.builds import builds_as_json, builds_as_text, plan_as_json, plan_as_text
from scrub.model.backfill import (
    CANCELLED,
    DROPPED,
    BackfillPlan,
    BackfillStatus,
    one_a_line,
)
from scrub.model.build import Method, State

RUNNING = BackfillStatus(
    table="orders",
    indexes=("by_customer", "by_email"),
    state=State.BACKFILLING,
    method=Method.INIT_PUT,
    rows=250_000,
    rows_expected=1_000_000,
    entries=500_000,
    rows_a_second=25_000.0,
    fast_chunks=80,
    slow_chunks=7,
    gave_way=3,
    conflicts=0,
    rows_per_second=30_000,
    runner="session 41 of anna, since 2026-11-16 12:00:00+00",
    started=datetime(2026, 11, 16, 12, tzinfo=UTC),
    waiting_for=("session 17 of till",),
)
PLAN = BackfillPlan(
    table="orders",
    indexes=("by_customer",),
    method=Method.MERGE,
    rows=1_000,
    steps=("load the rows", "publish"),
)


def test_a_build_that_runs_says_how_far_how_fast_and_who() -> None:
    assert builds_as_text([RUNNING]).splitlines() == [
        "by_customer, by_email of orders: being loaded (backfilling)",
        "  loaded: 250,000 of about 1,000,000 rows, 500,000 entries, 25,000 rows/s, 30 s left",
        "  chunks: 80 fast, 7 slow, 3 rolled back for waiting writers, 0 entries in conflict",
        "  allowed: 30,000 rows/s",
        "  run by session 41 of anna, since 2026-11-16 12:00:00+00",
        "  writing now: session 17 of till",
    ]


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("method", [*Method, None])
def test_every_state_has_words(state: State, method: Method | None) -> None:
    build = replace(RUNNING, state=state, method=method, rows_expected=None, runner=None)
    text = builds_as_text([build])
    assert (f"({state})" in text) == (state is not State.PUBLIC), "public is public"
    over = state in (State.PUBLIC, State.REVERSED)
    assert ("scrub backfill resume orders" in text) == (not over)


def test_a_build_that_rests_says_so() -> None:
    assert "  paused" in builds_as_text([replace(RUNNING, paused=True)])


def test_a_build_that_failed_says_why_what_was_removed_and_how_to_go_on() -> None:
    failure = one_a_line("unique index by_email:", ["rows 1 and 2", "rows 3\n  and 4"], 7)
    text = builds_as_text([replace(RUNNING, state=State.REVERSED, failure=failure)])
    assert text.splitlines() == [
        "by_customer, by_email of orders: not there (reversed)",
        "  why: unique index by_email:",
        "    rows 1 and 2",
        "    rows 3\\n  and 4",
        "    and 7 more",
        "  everything it had made was removed; correct that, and run again:",
        "  scrub backfill run orders by_customer by_email --execute",
    ]


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (CANCELLED, "  cancelled: everything it had made was removed"),
        (DROPPED, "  dropped, with everything that kept it"),
    ],
)
def test_an_index_that_was_meant_to_go_is_not_told_as_a_failure(failure: str, told: str) -> None:
    text = builds_as_text([replace(RUNNING, state=State.REVERSED, failure=failure)])
    assert text.splitlines()[1:] == [told]


def test_an_index_in_delta_that_was_not_published_says_how_to_go_on() -> None:
    found = BackfillStatus(
        table="orders", indexes=("by_email",), state=State.VALIDATING, failure="rows clash"
    )
    lines = builds_as_text([found]).splitlines()
    assert lines[:2] == [
        "by_email of orders: loaded, and not published (validating)",
        "  why: rows clash",
    ]
    assert lines[-2:] == [
        "  correct the rows, and go on: scrub backfill resume orders",
        "  or reverse it: scrub backfill cancel orders --execute",
    ]


def test_names_and_reasons_cannot_write_to_the_terminal() -> None:
    hostile = replace(RUNNING, indexes=("\x1b[2Jby\nme",), failure="v=\x1b]0;x\x07")
    text = builds_as_text([hostile]) + plan_as_text(replace(PLAN, steps=("create \x1b[2J",)))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_time_left_is_known_only_while_rows_are_read() -> None:
    assert RUNNING.seconds_left == 30
    assert replace(RUNNING, state=State.VALIDATING).seconds_left is None
    assert replace(RUNNING, rows_a_second=None).seconds_left is None
    assert replace(RUNNING, rows=2_000_000).seconds_left == 0


def test_programs_read_the_same() -> None:
    (build,) = json.loads(builds_as_json([RUNNING]))["builds"]
    assert build["state"] == "backfilling"
    assert build["method"] == "init_put"
    assert build["seconds_left"] == 30
    assert build["started"] == "2026-11-16T12:00:00+00:00"
    assert build["waiting_for"] == ["session 17 of till"]


def test_a_plan_for_people_and_programs() -> None:
    assert plan_as_text(PLAN).splitlines() == [
        "To build by_customer of orders (about 1,000 rows), method merge:",
        "  - load the rows",
        "  - publish",
    ]
    read = json.loads(plan_as_json(PLAN))
    assert read["executed"] is False
    assert read["plan"]["steps"] == ["load the rows", "publish"]
