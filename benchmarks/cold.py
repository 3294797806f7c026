# SPDX-License-Identifier: Apache-2.0
"""Whole commands in fresh processes, beside peers in fresh processes: what people wait for.

`python -m benchmarks.cold_peers PEER HOME ROWS` is a peer's process.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from benchmarks.answers import demand
from benchmarks.cold_peers import BOTH
from benchmarks.data import DEFECTS, Lake
from benchmarks.line import Line, Target, mebibytes, proportion
from benchmarks.measurements import HUGE_ROWS, Measurements
from benchmarks.memory import watched_memory
from benchmarks.postgres import shop
from benchmarks.shapes import BY_CUSTOMER, BY_CUSTOMER_DAMAGED, TABLE, IndexShape
from scrub.app.selftest_and_demo.demo import make_demo
from scrub.model.place import IN_PROCESS_BYTES

_SMALL_ROWS = 1_000
_DEMO_ROWS_MAX = 1_000_000
_HERE = ("--conf", f"{IN_PROCESS_BYTES}=1TiB")
_ON_SPARK = ("--conf", f"{IN_PROCESS_BYTES}=0")


def clean(m: Measurements) -> Iterator[Line]:
    """Beside a script in which DuckDB joins the two sides."""
    yield _beside_duckdb(m, BY_CUSTOMER, 0, Target("<=", 1.0))


def damaged(m: Measurements) -> Iterator[Line]:
    """The same with defects to be named, beside the script that only counts them."""
    yield _beside_duckdb(m, BY_CUSTOMER_DAMAGED, DEFECTS, None)


def demo(m: Measurements) -> Iterator[Line]:
    """The lake of `scrub demo`, whose four indexes have a defect of every kind."""
    rows = min(m.rows // 20, _DEMO_ROWS_MAX)
    home = m.directory / f"demo-{rows}"
    shutil.rmtree(home, ignore_errors=True)  # an earlier run may have ended amid writing it
    home.mkdir(parents=True)
    lake = make_demo(home, rows)
    name = f"cold command, demo's {rows:,} rows / Spark with one Python task"
    work = partial(_check, lake.catalog, None, lake.planted.total())
    yield _beside_bare_spark(m, name, work, Target("<=", 0.5))


def small(m: Measurements) -> Iterator[Line]:
    """A small table, beside a process that starts Spark for one Python task."""
    lake = _lake(m, _SMALL_ROWS, [BY_CUSTOMER])
    name = f"cold command, {lake.rows:,} rows / Spark with one Python task"
    work = partial(_check, lake.catalog, BY_CUSTOMER, 0)
    yield _beside_bare_spark(m, name, work, Target("<=", 0.25))


def in_postgres(m: Measurements) -> Iterator[Line]:
    """An index table that the server compares, beside its own join through psql."""
    peak: list[int] = []
    with shop(m.shop_rows) as found:
        ours, join = m.in_turn(
            ("scrub check in PostgreSQL, cold", partial(_check, found.catalog, None, 0, peak)),
            ("PostgreSQL full outer join, cold", found.join),
        )
    name = "cold command in PostgreSQL / the server's full outer join"
    note = f"{m.shop_rows:,} rows, join {join.median:.2f} s with psql; {mebibytes(max(peak))}"
    yield proportion(name, ours, join, Target("<=", 1.3), note)


def on_spark(m: Measurements) -> Iterator[Line]:
    """The same check where it is forced onto Spark, beside what that cannot do without."""
    lake = _lake(m, m.rows)
    peak: list[int] = []
    forced, bare = m.in_turn(
        (
            "scrub check on Spark, cold",
            partial(_check, lake.catalog, BY_CUSTOMER, 0, peak, *_ON_SPARK),
        ),
        ("Spark with one Python task, cold", partial(_peer, "spark")),
    )
    floor = bare.median + m.clean.median
    yield Line(
        measurement="cold command on Spark / bare process and warm check",
        timing=forced,
        beside=bare,
        rows=m.rows,
        ratio=forced.median / floor,
        target=Target("<=", 1.35),
        note=f"{bare.median:.2f} s and {m.clean.median:.2f} s; {mebibytes(max(peak))}",
    )


def growth(m: Measurements) -> Iterator[Line]:
    """A quarter of the rows and all of them in the process: time a row, and memory."""
    peaks: dict[int, list[int]] = {m.small_rows: [], m.rows: []}
    small, large = m.in_turn(
        *(
            (
                f"scrub check of {rows:,} rows in the process",
                partial(_check, _lake(m, rows).catalog, BY_CUSTOMER, 0, peak, *_HERE),
            )
            for rows, peak in peaks.items()
        )
    )
    few, many = (max(peak) for peak in peaks.values())
    sizes = f"{m.small_rows:,} to {m.rows:,} rows"
    yield Line(
        measurement=f"cold command in the process, peak memory, {sizes}",
        timing=large,
        beside=small,
        rows=m.rows,
        ratio=many / few,
        target=Target("<=", 1.3),
        note=f"{mebibytes(few)} to {mebibytes(many)}; {small.median:.2f} s for a quarter",
    )


def either_way(m: Measurements) -> Iterator[Line]:
    """As many rows as are beyond the bound: the way that it chooses, beside the other one."""
    lake = _lake(m, HUGE_ROWS, [BY_CUSTOMER])
    here, there = [], []
    in_process, on_spark = m.in_turn(
        ("in the process", partial(_check, lake.catalog, BY_CUSTOMER, 0, here, *_HERE)),
        ("on Spark", partial(_check, lake.catalog, BY_CUSTOMER, 0, there, *_ON_SPARK)),
    )
    stays = _ran_in_process(lake)
    chosen, other = (in_process, on_spark) if stays else (on_spark, in_process)
    yield proportion(
        f"cold command, {HUGE_ROWS:,} rows, {'in the process' if stays else 'on Spark'} as chosen"
        f" / {'on Spark' if stays else 'in the process'}",
        chosen,
        other,
        Target("<=", 1.0),
        f"{other.median:.2f} s; {mebibytes(max(here))} in the process, "
        f"{mebibytes(max(there))} on Spark",
    )


def _beside_duckdb(m: Measurements, index: IndexShape, defects: int, target: Target | None) -> Line:
    lake = _lake(m, m.rows)
    ours_peak: list[int] = []
    peak: list[int] = []
    what = f"{defects:,} defects" if defects else "clean"
    ours, join = m.in_turn(
        (f"scrub check, {what}, cold", partial(_check, lake.catalog, index, defects, ours_peak)),
        (f"DuckDB's join, {what}, cold", partial(_peer, f"duckdb-{index.name}", lake, peak)),
    )
    name = f"cold command, {what} / DuckDB full outer join as a script"
    note = f"DuckDB {join.median:.2f} s; {mebibytes(max(ours_peak))} beside {mebibytes(max(peak))}"
    return proportion(name, ours, join, target, note)


def _beside_bare_spark(
    m: Measurements, name: str, work: Callable[[list[int]], None], target: Target
) -> Line:
    peak: list[int] = []
    ours, bare = m.in_turn(
        (name.partition(" / ")[0], partial(work, peak)),
        ("Spark with one Python task, cold", partial(_peer, "spark")),
    )
    note = f"Spark {bare.median:.2f} s; {mebibytes(max(peak))}"
    return proportion(name, ours, bare, target, note)


def _lake(
    m: Measurements, rows: int, indexes: tuple[IndexShape, ...] | list[IndexShape] = BOTH
) -> Lake:
    lake = Lake.under(m.directory, rows)
    lake.generate(indexes)
    return lake


def _check(
    catalog: Path, index: IndexShape | None, defects: int, peak: list[int], *more: str
) -> None:
    """`scrub check table` as somebody types it, whose answer must be right."""
    output = _run([*_command(catalog, index), *more], peak, {0, 1})
    demand("defects of the command", json.loads(output)["defects_total"], defects)


def _command(catalog: Path, index: IndexShape | None) -> list[str]:
    command = [sys.executable, "-m", "scrub", "check", "table", TABLE, "--fresh"]
    command += ["--catalog", str(catalog), "--format", "json"]
    return command + (["--index", index.name] if index else [])


def _ran_in_process(lake: Lake) -> bool:
    """Which way the bound chooses, asked of the plan."""
    plan = json.loads(_run([*_command(lake.catalog, BY_CUSTOMER), "--explain"], [], {0}))
    return str(plan["runs"]).startswith("in process")


def _peer(name: str, lake: Lake | None = None, peak: list[int] | None = None) -> None:
    what = [str(lake.home.parent), str(lake.rows)] if lake else []
    command = [sys.executable, "-m", "benchmarks.cold_peers", name, *what]
    _run(command, [] if peak is None else peak, {0})


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


LINES: Mapping[str, Callable[[Measurements], Iterator[Line]]] = {
    "cold-clean": clean,
    "cold-defects": damaged,
    "cold-demo": demo,
    "cold-small": small,
    "cold-postgres": in_postgres,
    "cold-spark": on_spark,
    "cold-growth": growth,
    "cold-huge": either_way,
}
