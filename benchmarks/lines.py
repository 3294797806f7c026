# SPDX-License-Identifier: Apache-2.0
"""The lines of the printed table: what is set in proportion to what, and the targets."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

from benchmarks import cold, constraints
from benchmarks.backfill import THROTTLE
from benchmarks.checking import DRIVER_MEMORY
from benchmarks.compiling import compiling
from benchmarks.data import DEFECTS
from benchmarks.line import Line, Target, mebibytes, proportion
from benchmarks.measurements import HUGE_ROWS, Measurements
from benchmarks.timing import Timing


@dataclass(frozen=True, slots=True)
class BesideClean:
    """A timing in proportion to the clean check of the same table."""

    measurement: str
    timing_of: Callable[[Measurements], Timing]
    target: Target | None = None
    inverted: bool = False  # the seconds of the check divided by those of the timing
    note: str = ""

    def __call__(self, m: Measurements) -> Iterator[Line]:
        line = proportion(self.measurement, self.timing_of(m), m.clean, self.target, self.note)
        ratio = m.clean.median / line.timing.median if self.inverted else line.ratio
        yield replace(line, ratio=ratio, rows=m.rows)


def healthy(m: Measurements) -> Iterator[Line]:
    yield Line(measurement="check, clean", timing=m.clean, rows=m.rows)


def datacompy(m: Measurements) -> Iterator[Line]:
    name = f"datacompy SparkSQLCompare / check, {m.datacompy_rows:,} rows"
    line = proportion(name, m.datacompy, m.clean_beside_datacompy, None)
    yield replace(line, rows=m.datacompy_rows)


def indexes(m: Measurements) -> Iterator[Line]:
    yield Line(
        measurement="four indexes in one check: table bytes read / column bytes",
        ratio=m.bytes_together / m.bytes_needed,
        target=Target("=", 1),
        note=f"{m.bytes_together:,} bytes; {m.bytes_separate:,} in four checks",
    )
    name, note = "four indexes in one check / in four", f"{m.separate.median:.2f} s in four"
    line = proportion(name, m.together, m.separate, Target("<=", 0.75), note)
    yield replace(line, rows=m.rows)


def expression(m: Measurements) -> Iterator[Line]:
    ours, plain = m.beside_expression
    note = f"plain index {plain.median:.2f} s"
    line = proportion("index on lower(email) / on email", ours, plain, Target("<=", 1.3), note)
    yield replace(line, rows=m.rows)


def partial_index(m: Measurements) -> Iterator[Line]:
    ours, whole = m.beside_partial
    note = f"whole index {whole.median:.2f} s"
    line = proportion("partial index / whole index", ours, whole, Target("<=", 1.3), note)
    yield replace(line, rows=m.rows)


def growth(m: Measurements) -> Iterator[Line]:
    sizes = f"{m.small_rows:,} to {m.rows:,} rows"
    small, large = m.small, m.large
    yield Line(
        measurement=f"time a row, {sizes}",
        timing=large.timing,
        beside=small.timing,
        rows=m.rows,
        ratio=(large.timing.median / m.rows) / (small.timing.median / m.small_rows),
        target=Target("<=", 1.15),
        note=f"{small.timing.median:.2f} s for {m.small_rows:,}",
    )
    yield Line(
        measurement=f"peak memory, {sizes}",
        ratio=large.memory_bytes / small.memory_bytes,
        target=Target("<=", 1.3),
        note=f"{mebibytes(small.memory_bytes)} to {mebibytes(large.memory_bytes)}",
    )


def huge(m: Measurements) -> Iterator[Line]:
    found = m.huge
    peak = f"peak {mebibytes(found.memory_bytes)} with JVM and workers" if found else ""
    yield Line(
        measurement=f"{HUGE_ROWS:,} rows, spark.driver.memory={DRIVER_MEMORY}",
        timing=found.timing if found else None,
        rows=HUGE_ROWS,
        completes=found is not None,
        note=peak,
    )


def pairs(m: Measurements) -> Iterator[Line]:
    for name, (timing, reference) in m.judged.items():
        rate = m.pairs / timing.median
        yield Line(
            measurement=f"million pairs/s on one core, {name}",
            timing=timing,
            ratio=rate / 1e6,
            target=Target(">=", 2),
            note=f"{m.pairs:,} pairs",
        )
        yield Line(
            measurement=f"per-datum reference / physical check, {name}",
            ratio=reference * rate,
            target=Target(">=", 30),
        )


def pair_checks(m: Measurements) -> Iterator[Line]:
    physical, index, both = m.pair_checks.values()
    slower = max(physical, index, key=lambda timing: timing.median)
    note = f"{m.pairs:,} pairs, physical {physical.median:.2f} s, index {index.median:.2f} s"
    name = "pairs, both checks / the slower one alone"
    yield proportion(name, both, slower, Target("<=", 1.3), note)


def postgres(m: Measurements) -> Iterator[Line]:
    found = m.shop
    name = "check in PostgreSQL / the server's full outer join"
    note = f"{m.shop_rows:,} rows, join {found.join.median:.2f} s with psql"
    line = proportion(name, found.check, found.join, Target("<=", 1.2), note)
    yield replace(line, rows=m.shop_rows)
    yield Line(
        measurement="pgbench during checks / without",
        ratio=found.rate_during_checks / found.rate_alone,
        target=Target(">=", 0.6),
        note=f"8 clients, {found.rate_alone:,.0f} transactions/s alone, "
        f"{found.checks} checks meanwhile",
    )


def building(m: Measurements) -> Iterator[Line]:
    found = m.building
    for method, timing in found.builds.items():
        yield Line(
            measurement=f"INSERT ... SELECT ... ORDER BY / build with {method}",
            timing=timing,
            beside=found.copy,
            rows=m.shop_rows,
            ratio=found.copy.median / timing.median,
            target=Target(">=", 0.6),
            note=f"{m.shop_rows:,} rows, copy {found.copy.median:.2f} s; with the build's check",
        )
    for method, p99 in found.p99_during.items():
        yield Line(
            measurement=f"p99 of pgbench during a build with {method} / without",
            ratio=p99 / found.p99_alone,
            target=Target("<=", 2.5),
            note=f"8 clients, {found.p99_alone:.1f} ms alone, {p99:.1f} ms at {THROTTLE:,} rows/s",
        )


def repairs(m: Measurements) -> Iterator[Line]:
    for where, timings, bound in (
        ("Delta", m.repairs_in_delta, 5.0),
        ("PostgreSQL", m.repairs_in_postgres, 1.5),
    ):
        small, large = timings
        note = (
            f"{DEFECTS:,} defects of a given result, a hundred times as many rows, "
            f"small table {small.median:.2f} s"
        )
        name = f"repair in {where}, large table / small table"
        yield proportion(name, large, small, Target("<=", bound), note)


LINES: Mapping[str, Callable[[Measurements], Iterator[Line]]] = {
    "clean": healthy,
    "spark-join": BesideClean(
        "Spark full outer sort-merge join / check", attrgetter("spark_join"), Target(">=", 12)
    ),
    "duckdb-join": BesideClean(
        "check / DuckDB full outer join", attrgetter("duckdb_join"), Target("<=", 0.65), True
    ),
    "duckdb-scan": BesideClean(
        "check / DuckDB bare scan", attrgetter("duckdb_scan"), Target("<=", 5), True
    ),
    "spark-scan": BesideClean("check / Spark bare scan", attrgetter("spark_scan"), inverted=True),
    "datacompy": datacompy,
    "defects": BesideClean(
        f"check, {DEFECTS:,} scattered defects / clean",
        attrgetter("damaged"),
        Target("<=", 2.0),
        note=f"exactly {DEFECTS:,} reported",
    ),
    "indexes": indexes,
    "expression": expression,
    "partial-index": partial_index,
    "growth": growth,
    "sql-engine": BesideClean("check with engine sql / clean", attrgetter("sql_engine")),
    "merge-strategy": BesideClean(
        "check with strategy merge / clean", attrgetter("merge_strategy")
    ),
    "pairs": pairs,
    "pair-checks": pair_checks,
    "postgres": postgres,
    "backfill": building,
    "repair": repairs,
    **constraints.LINES,
    **cold.LINES,
    "compile": compiling,
    "huge": huge,
}
