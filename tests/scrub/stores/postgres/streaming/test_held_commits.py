# SPDX-License-Identifier: Apache-2.0
"""Four writers, kills around the commit, and commits held between the log and visibility.

SCRUB_STREAM_RUNS asks for another number of runs, different ones each time.
"""

import os
import random

import pytest

from tests.scrub.stores.postgres.streaming.held_run import HeldRun, two_databases

pytestmark = pytest.mark.slow

_ASKED = os.environ.get("SCRUB_STREAM_RUNS")
RUNS = int(_ASKED or 20)
FIRST = random.randrange(1 << 40) if _ASKED else 0


def test_no_run_loses_a_change() -> None:
    kills = looks = 0
    for seed in range(FIRST, FIRST + RUNS):
        with two_databases() as (upstream, sink):
            run = HeldRun(upstream, sink, seed, by_lsn=False)
            assert run.differences() == [], f"seed {seed}"
            kills, looks = kills + run.kills, looks + run.looks
    assert kills >= RUNS / 2
    assert looks >= RUNS, "the index was compared with snapshots in between"


def test_comparing_places_in_the_log_would_lose_changes() -> None:
    """The same runs, with what a snapshot covers taken from the log's position."""
    for seed in range(FIRST, FIRST + 20):
        with two_databases() as (upstream, sink):
            if HeldRun(upstream, sink, seed, by_lsn=True).differences():
                return
    pytest.fail("in 20 runs, nothing was lost")
