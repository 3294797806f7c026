# SPDX-License-Identifier: Apache-2.0
"""A check in a process of its own, where nothing before it has taken memory.

`python -m benchmarks.fresh_process` is that process; its argument says what to check, as JSON.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.constrained_lake import CONSTRAINTS, ConstrainedLake
from benchmarks.data import Lake
from benchmarks.memory import watched_memory
from benchmarks.shapes import BY_CUSTOMER
from benchmarks.timing import Effort, Timing, timed


@dataclass(frozen=True, slots=True)
class FreshCheck:
    """What a check in a process of its own took."""

    timing: Timing
    memory_bytes: int  # of driver, JVM and workers
    driver_bytes: int  # of the driver's Python process


def check_in_fresh_process(
    data: Path, rows: int, effort: Effort, *, constraints: bool = False
) -> FreshCheck:
    """Start Spark, check to warm up and then to measure, and end again.

    The index of orders is checked, or every constraint of sales.
    """
    if constraints:
        ConstrainedLake.under(data, rows).generate()
    else:
        Lake.under(data, rows).generate([BY_CUSTOMER])
    asked = {"data": str(data), "rows": rows, "effort": asdict(effort), "constraints": constraints}
    options = json.dumps(asked)
    command = [sys.executable, "-m", "benchmarks.fresh_process", options]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        watched_memory(process.pid) as peak,
    ):
        output, _ = process.communicate()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    seconds, disturbance = json.loads(output)
    return FreshCheck(Timing(tuple(seconds), disturbance), peak.resident, peak.driver)


def main() -> None:
    """Measure in this process; the seconds go to standard output."""
    from benchmarks.checking import check, check_constraints, session

    options = json.loads(sys.argv[1])
    effort = Effort(**options["effort"])
    data, rows = Path(options["data"]), options["rows"]
    with session() as spark:

        def work() -> None:
            if options["constraints"]:
                check_constraints(spark, ConstrainedLake.under(data, rows), CONSTRAINTS)
            else:
                check(spark, Lake.under(data, rows), [BY_CUSTOMER])

        title = f"check of {rows:,} rows in a fresh process"
        timing = timed(title, [work] * effort.warm, work, effort)
    print(json.dumps([timing.seconds, timing.disturbance]))


if __name__ == "__main__":
    main()
