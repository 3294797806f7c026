# SPDX-License-Identifier: Apache-2.0
"""The lines about constraints: what they add to an index check, and what others take for them."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial

from benchmarks import constraint_peers as peers
from benchmarks.answers import demand
from benchmarks.checking import check_constraints
from benchmarks.constrained_lake import (
    CONSTRAINTS,
    HITS,
    OF_ROWS,
    PLANTED,
    TABLE,
    TO_CUSTOMERS,
    TO_PRODUCTS,
    UNIQUE,
    ConstrainedLake,
)
from benchmarks.fresh_process import check_in_fresh_process
from benchmarks.line import Line, Target, mebibytes, proportion
from benchmarks.measurements import Measurements
from benchmarks.timing import Effort

GX_ROWS_MAX = 2_000_000
COMMAND_ROWS = 20_000


def beside_the_index(m: Measurements) -> Iterator[Line]:
    """The index check alone, with constraints of rows, and with a foreign key, in turn."""
    lake = _lake(m, m.rows)
    _see_planted(m)
    work = partial(check_constraints, m.spark, lake, with_index=True)
    alone, with_rows, with_key = m.in_turn(
        ("index check", partial(work, [])),
        ("index check, 3 NOT NULL and 2 CHECKs", partial(work, OF_ROWS)),
        (f"index check, foreign key into {lake.customers:,}", partial(work, [TO_CUSTOMERS])),
    )
    note = f"index check alone {alone.median:.2f} s"
    name = "index check with 3 NOT NULL and 2 CHECKs / alone"
    yield proportion(name, with_rows, alone, Target("<=", 1.25), note)
    name = f"index check with a foreign key into {lake.customers:,} rows / alone"
    yield proportion(name, with_key, alone, Target("<=", 1.5), note)


def large_parent(m: Measurements) -> Iterator[Line]:
    """A foreign key whose parent is too large to travel to tasks."""
    lake = _lake(m, m.rows)
    _see_planted(m)
    demand("Spark's anti join", peers.spark_anti_join(m.spark, _damaged(m)), HITS)
    ours, theirs = m.in_turn(
        ("foreign key", partial(check_constraints, m.spark, lake, [TO_PRODUCTS])),
        ("Spark left anti join", _clean("Spark's anti join", peers.spark_anti_join, m, lake)),
    )
    name = f"foreign key into {lake.products:,} rows / Spark's left anti join"
    note = f"join {theirs.median:.2f} s"
    yield proportion(name, ours, theirs, Target("<=", 0.5), note)


def unique(m: Measurements) -> Iterator[Line]:
    """A unique key of one column."""
    lake = _lake(m, m.rows)
    _see_planted(m)
    demand("Spark's group-by", peers.spark_group_by(m.spark, _damaged(m)), HITS)
    ours, theirs = m.in_turn(
        ("unique key", partial(check_constraints, m.spark, lake, [UNIQUE])),
        ("Spark group-by", _clean("Spark's group-by", peers.spark_group_by, m, lake)),
    )
    note = f"group-by {theirs.median:.2f} s"
    yield proportion("unique key / Spark's group-by", ours, theirs, Target("<=", 0.5), note)


def great_expectations(m: Measurements) -> Iterator[Line]:
    """All constraints, and the suite that says the same."""
    lake = _lake(m, min(m.rows, GX_ROWS_MAX))
    _see_planted(m)
    found = peers.exported_suite(m.spark, _damaged(m))
    demand("the exported suite", found, SEEN_BY_THE_SUITE)

    def theirs_on_clean() -> None:
        demand("the exported suite", peers.exported_suite(m.spark, lake), dict.fromkeys(found, 0))

    ours, theirs = m.in_turn(
        ("all constraints", partial(check_constraints, m.spark, lake, CONSTRAINTS)),
        ("exported suite", theirs_on_clean),
    )
    name = f"all constraints / exported suite in Great Expectations, {lake.rows:,} rows"
    note = f"suite {theirs.median:.2f} s, {len(found)} expectations"
    yield proportion(name, ours, theirs, Target("<=", 0.2), note)


def growth(m: Measurements) -> Iterator[Line]:
    """All constraints in fresh processes, of a quarter of the rows and of all of them."""
    small, large = (
        check_in_fresh_process(m.directory, rows, m.effort, constraints=True)
        for rows in (m.small_rows, m.rows)
    )
    sizes = f"{m.small_rows:,} to {m.rows:,} rows"
    for whose, few, many, bound in (
        ("of the driver", small.driver_bytes, large.driver_bytes, 1.1),
        ("of driver, JVM and workers", small.memory_bytes, large.memory_bytes, 1.3),
    ):
        yield Line(
            measurement=f"all constraints, peak memory {whose}, {sizes}",
            timing=large.timing,
            beside=small.timing,
            ratio=many / few,
            target=Target("<=", bound),
            note=f"{mebibytes(few)} to {mebibytes(many)}",
        )


def commands(m: Measurements) -> Iterator[Line]:
    """`scrub check table` as a command, of a small lake, which mostly waits for Spark to start."""
    lake = _lake(m, COMMAND_ROWS)
    command = [sys.executable, "-m", "scrub", "check", "table", TABLE, "--fresh"]
    command += ["--catalog", str(lake.catalog)]

    def run(*more: str) -> None:
        done = subprocess.run([*command, *more], capture_output=True, check=False)
        demand("exit code of the command", done.returncode, 0)

    once = Effort(warm=min(m.effort.warm, 1), repeat=m.effort.repeat)
    without, with_all = Measurements(m.spark, m.directory, m.rows, once).in_turn(
        ("scrub check, index alone", partial(run, "--checks", "index")),
        ("scrub check, index and constraints", run),
    )
    name = f"scrub check of {lake.rows:,} rows as a command, with constraints / without"
    note = f"{len(CONSTRAINTS)} constraints, without them {without.median:.2f} s"
    yield proportion(name, with_all, without, None, note)


SEEN_BY_THE_SUITE: Mapping[str, int] = {
    "not null id": 0,
    "not null customer_id": HITS,
    "not null status": 0,
    "check positive_amount": HITS,
    "check known_status": HITS,
    "primary key primary_key": 2 * HITS,  # it counts the rows, scrub the keys
    f"unique {UNIQUE}": PLANTED[UNIQUE],
    f"foreign key {TO_CUSTOMERS}": HITS,
    f"foreign key {TO_PRODUCTS}": HITS,
}


def _lake(m: Measurements, rows: int) -> ConstrainedLake:
    lake = ConstrainedLake.under(m.directory, rows)
    lake.generate()
    return lake


def _damaged(m: Measurements) -> ConstrainedLake:
    lake = ConstrainedLake.damaged_under(m.directory)
    lake.generate()
    return lake


@cache
def _see_planted(m: Measurements) -> None:
    """The check finds what is planted; seen once, it need not be seen again for the next line."""
    check_constraints(m.spark, _damaged(m), CONSTRAINTS)


def _clean(
    what: str, count: Callable[..., int], m: Measurements, lake: ConstrainedLake
) -> Callable[[], None]:
    return lambda: demand(what, count(m.spark, lake), 0)


LINES: Mapping[str, Callable[[Measurements], Iterator[Line]]] = {
    "row-constraints": beside_the_index,
    "foreign-key": large_parent,
    "unique-key": unique,
    "great-expectations": great_expectations,
    "constraint-memory": growth,
    "command": commands,
}
