# SPDX-License-Identifier: Apache-2.0
"""Repairs and undos in a lake that are killed, as processes, at random moments."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.repair.repair_ground import Lake
from tests.repair.test_delta_repair_trials import PLANS, contents, done_to

KILLS = int(os.environ.get("SCRUB_KILLS", "5"))  # of each; make torture asks for more
WORKER = """
import sys
from pathlib import Path
from tests.repair.repair_ground import Lake
from tests.repair.test_delta_repair_trials import PLANS, attempt
from scrub.stores.delta_repairs import DeltaRepairs
DeltaRepairs.batch_actions_max = 5
lake = Lake.reopened(Path(sys.argv[1]), PLANS)
print("ready", flush=True)
attempt(lake, sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
"""


def start(lake: Lake, *given: str) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(lake.root), *given],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent.parent.parent,
        env={**os.environ, "PYTHONPATH": "."},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
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
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
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
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        records = [record for run in runs for record in lake.repairs().journal(run)]
        assert contents(lake) == done_to(original, records)
    for run in reversed(runs):
        assert start(lake, f"finally {run}", run).wait() == 0
    assert contents(lake) == original
    assert killed > KILLS // 2
