# SPDX-License-Identifier: Apache-2.0
"""Repairs and undos in a lake that are killed, as processes, at random moments."""

import os
import random
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from scrub.stores.delta.repairs import DeltaRepairs
from tests.forked import Forked
from tests.repair.repair_ground import Lake
from tests.scrub.stores.delta.test_repair_trials import PLANS, attempt, contents, done_to

KILLS = int(os.environ.get("SCRUB_KILLS", "5"))  # of each; make torture asks for more


def attempt_in(ready: Connection, root: Path, run: str, undone: str | None) -> None:
    """Repair a lake, or undo a run, with small batches."""
    lake = Lake.reopened(root, PLANS)
    ready.send("ready")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeltaRepairs, "batch_actions_max", 5)
        attempt(lake, run, undone)


def start(lake: Lake, run: str, undone: str | None = None) -> Forked:
    process = Forked(attempt_in, lake.root, run, undone)
    process.wait_for_word()
    return process


@pytest.mark.slow
def test_killed_at_random_moments_it_completes_and_journal_and_data_agree(tmp_path: Path) -> None:
    chance = random.Random(20)
    rows = [(n, n % 7, ("open", "paid", None)[n % 3]) for n in range(60)]
    lake = Lake(tmp_path, rows, PLANS)
    lake.write(
        "by_customer",
        [(n % 7, n, "x") for n in range(20)]  # wrong values
        + [(n % 7, n, rows[n][2]) for n in range(25, 60)] * 2  # 5 missing, the rest twice
        + [(90, 90 + n, "gone") for n in range(20)],
    )
    lake.write("open_orders", [(n % 7, n) for n in range(0, 60, 2)])
    original = contents(lake)
    runs: list[str] = []
    killed = 0
    for number in range(KILLS):
        runs.append(f"run {number}")
        process = start(lake, runs[-1])
        time.sleep(chance.uniform(0, 0.6))
        killed += process.kill()
        records = [record for run in runs for record in lake.repairs().journal(run)]
        assert contents(lake) == done_to(original, records)
        if number == KILLS // 2:  # so that there is something left to be killed
            for run in reversed(runs):
                assert start(lake, f"undo {run}", run).wait() == 0
            assert contents(lake) == original
            runs.clear()
    assert start(lake, "last").wait() == 0
    runs.append("last")
    assert not lake.all_defects()
    for number in range(KILLS):
        left = [r for r in runs if any(not j.undone_by for j in lake.repairs().journal(r))]
        process = start(lake, f"back {number}", (left or runs)[-1])
        time.sleep(chance.uniform(0, 0.3))
        killed += process.kill()
        records = [record for run in runs for record in lake.repairs().journal(run)]
        assert contents(lake) == done_to(original, records)
    for run in reversed(runs):
        assert start(lake, f"finally {run}", run).wait() == 0
    assert contents(lake) == original
    assert killed > KILLS // 2
