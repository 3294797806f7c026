# SPDX-License-Identifier: Apache-2.0
"""Whole commands in fresh processes, beside peers in fresh processes: what people wait for.

`python -m benchmarks.cold PEER HOME ROWS` is a peer's process.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from benchmarks.answers import demand
from benchmarks.data import DEFECTS, ROWS_MIN, Lake
from benchmarks.line import Line, Target, mebibytes, proportion
from benchmarks.measurements import Measurements
from benchmarks.memory import watched_memory
from benchmarks.shapes import BY_CUSTOMER, BY_CUSTOMER_DAMAGED, TABLE, IndexShape
from scrub.model.place import IN_PROCESS_BYTES

BOTH = (BY_CUSTOMER, BY_CUSTOMER_DAMAGED)


def clean(m: Measurements) -> Iterator[Line]:
    """Beside a script in which DuckDB joins the two sides."""
    yield _beside_duckdb(m, BY_CUSTOMER, 0, Target("<=", 1.0))


def damaged(m: Measurements) -> Iterator[Line]:
    """The same with defects to be named, beside the script that only counts them."""
    yield _beside_duckdb(m, BY_CUSTOMER_DAMAGED, DEFECTS, None)


def small(m: Measurements) -> Iterator[Line]:
    """A small table, beside a process that starts Spark for one Python task."""
    lake = _lake(m, ROWS_MIN)
    peak: list[int] = []
    ours, bare = m.in_turn(
        ("scrub check, small, cold", partial(_check, lake, BY_CUSTOMER, 0, peak)),
        ("Spark with one Python task, cold", partial(_peer, "spark", lake, [])),
    )
    name = f"cold command, {lake.rows:,} rows / Spark with one Python task"
    note = f"Spark {bare.median:.2f} s; {mebibytes(max(peak))}"
    yield proportion(name, ours, bare, Target("<=", 0.25), note)


def on_spark(m: Measurements) -> Iterator[Line]:
    """The same check where it is forced onto Spark, beside what that cannot do without."""
    lake = _lake(m, m.rows)
    peak: list[int] = []
    forced, bare = m.in_turn(
        (
            "scrub check on Spark, cold",
            partial(_check, lake, BY_CUSTOMER, 0, peak, "--conf", f"{IN_PROCESS_BYTES}=0"),
        ),
        ("Spark with one Python task, cold", partial(_peer, "spark", lake, [])),
    )
    floor = bare.median + m.clean.median
    line = proportion("cold command on Spark / bare process and warm check", forced, bare, None)
    yield Line(
        measurement=line.measurement,
        timing=forced,
        rows=m.rows,
        ratio=forced.median / floor,
        target=Target("<=", 1.35),
        note=f"{bare.median:.2f} s and {m.clean.median:.2f} s; {mebibytes(max(peak))}",
    )


def _beside_duckdb(m: Measurements, index: IndexShape, defects: int, target: Target | None) -> Line:
    lake = _lake(m, m.rows)
    ours_peak: list[int] = []
    peak: list[int] = []
    what = f"{defects:,} defects" if defects else "clean"
    ours, join = m.in_turn(
        (f"scrub check, {what}, cold", partial(_check, lake, index, defects, ours_peak)),
        (f"DuckDB's join, {what}, cold", partial(_peer, f"duckdb-{index.name}", lake, peak)),
    )
    name = f"cold command, {what} / DuckDB full outer join as a script"
    note = f"DuckDB {join.median:.2f} s; {mebibytes(max(ours_peak))} beside {mebibytes(max(peak))}"
    return proportion(name, ours, join, target, note)


def _lake(m: Measurements, rows: int) -> Lake:
    lake = Lake.under(m.directory, rows)
    lake.generate(BOTH)
    return lake


def _check(lake: Lake, index: IndexShape, defects: int, peak: list[int], *more: str) -> None:
    """`scrub check table` as somebody types it, whose answer must be right."""
    command = [sys.executable, "-m", "scrub", "check", "table", TABLE, "--fresh"]
    command += ["--catalog", str(lake.catalog), "--index", index.name, "--format", "json", *more]
    output = _run(command, peak, {0, 1})
    demand("defects of the command", json.loads(output)["defects_total"], defects)


def _peer(name: str, lake: Lake, peak: list[int]) -> None:
    home = str(lake.home.parent)
    _run([sys.executable, "-m", "benchmarks.cold", name, home, str(lake.rows)], peak, {0})


def _run(command: list[str], peak: list[int], codes: set[int]) -> str:
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process,
        watched_memory(process.pid) as memory,
    ):
        output, _ = process.communicate()
    if process.returncode not in codes:
        raise subprocess.CalledProcessError(process.returncode, command)
    peak.append(memory.resident)
    return output


def _join_as_a_script(index: IndexShape, lake: Lake) -> None:
    from benchmarks.peers import duckdb_join

    demand("differences", duckdb_join(lake, index), DEFECTS if index == BY_CUSTOMER_DAMAGED else 0)


def _bare_spark(_: Lake) -> None:
    from benchmarks.checking import session

    with session() as spark:
        frame = spark.range(0, 1, 1, 1).mapInArrow(lambda batches: batches, "id bigint")
        demand("rows of a task", len(frame.collect()), 1)


_PEERS: Mapping[str, Callable[[Lake], None]] = {
    "spark": _bare_spark,
    **{f"duckdb-{index.name}": partial(_join_as_a_script, index) for index in BOTH},
}

LINES: Mapping[str, Callable[[Measurements], Iterator[Line]]] = {
    "cold-clean": clean,
    "cold-defects": damaged,
    "cold-small": small,
    "cold-spark": on_spark,
}


if __name__ == "__main__":
    _PEERS[sys.argv[1]](Lake.under(Path(sys.argv[2]), int(sys.argv[3])))
