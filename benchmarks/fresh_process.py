# SPDX-License-Identifier: Apache-2.0
"""A check in a process of its own, where nothing before it has taken memory."""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import Lake
from benchmarks.memory import watched_memory
from benchmarks.shapes import BY_CUSTOMER
from benchmarks.timing import Timing, timed


@dataclass(frozen=True, slots=True)
class FreshCheck:
    """What a check in a process of its own took."""

    timing: Timing
    memory_bytes: int


def check_in_fresh_process(data: Path, rows: int, warm: int, repeat: int) -> FreshCheck:
    """Start Spark, check to warm up and then to measure, and end again."""
    lake = Lake.under(data, rows)
    lake.generate([BY_CUSTOMER])
    options = ["--data", data, "--rows", rows, "--warm", warm, "--repeat", repeat]
    command = [sys.executable, "-m", "benchmarks.fresh_process", *map(str, options)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        watched_memory(process.pid) as peak,
    ):
        output, _ = process.communicate()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    seconds, disturbance = json.loads(output)
    return FreshCheck(Timing(tuple(seconds), disturbance), peak.resident)


def main() -> None:
    """Measure in this process; the seconds go to standard output."""
    from benchmarks.checking import check, session

    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--warm", type=int, required=True)
    parser.add_argument("--repeat", type=int, required=True)
    options = parser.parse_args()
    os.environ.setdefault("SCRUB_STATE_DIR", str(options.data / "state"))
    lake = Lake.under(options.data, options.rows)
    with session() as spark:

        def work() -> None:
            check(spark, lake, [BY_CUSTOMER])

        title = f"check of {options.rows:,} rows in a fresh process"
        timing = timed(title, [work] * options.warm, work, options.repeat)
    print(json.dumps([timing.seconds, timing.disturbance]))


if __name__ == "__main__":
    main()
