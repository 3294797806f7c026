# SPDX-License-Identifier: Apache-2.0
"""The lines of the printed table: what is set in proportion to what, and the targets."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from benchmarks.backfill import THROTTLE
from benchmarks.checking import CORES, DRIVER_MEMORY
from benchmarks.data import DEFECTS
from benchmarks.measurements import HUGE_ROWS, Measurements
from benchmarks.timing import Timing


@dataclass(frozen=True, slots=True)
class Target:
    """A bound for a ratio."""

    sign: Literal["<=", ">=", "="]
    bound: float

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}"

    def is_met(self, ratio: float) -> bool:
        match self.sign:
            case "<=":
                return ratio <= self.bound
            case ">=":
                return ratio >= self.bound
            case "=":
                return ratio == self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measurement; one without a target is information."""

    measurement: str
    timing: Timing | None = None
    beside: Timing | None = None  # what it is set in proportion to
    rows: int | None = None  # of the table, to tell the rate
    ratio: float | None = None
    target: Target | None = None
    completes: bool | None = None  # for one whose target is to come to its end
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.completes is not None:
            return self.completes
        if self.target is None or self.ratio is None:
            return None
        return self.target.is_met(self.ratio)

    @property
    def disturbance(self) -> float:
        return max((t.disturbance for t in (self.timing, self.beside) if t), default=0.0)

    @property
    def rows_per_second_and_core(self) -> float | None:
        if self.timing is None or self.rows is None:
            return None
        return self.rows / self.timing.median / CORES


def healthy(m: Measurements) -> Iterator[Line]:
    yield Line(measurement="check, clean", timing=m.clean, rows=m.rows)


def spark_join(m: Measurements) -> Iterator[Line]:
    yield Line(
        measurement="Spark full outer sort-merge join / check",
        timing=m.spark_join,
        beside=m.clean,
        rows=m.rows,
        ratio=m.spark_join.median / m.clean.median,
        target=Target(">=", 12),
    )


def duckdb_join(m: Measurements) -> Iterator[Line]:
    yield Line(
        measurement="check / DuckDB full outer join",
        timing=m.duckdb_join,
        beside=m.clean,
        rows=m.rows,
        ratio=m.clean.median / m.duckdb_join.median,
        target=Target("<=", 0.65),
    )


def duckdb_scan(m: Measurements) -> Iterator[Line]:
    yield Line(
        measurement="check / DuckDB bare scan",
        timing=m.duckdb_scan,
        beside=m.clean,
        rows=m.rows,
        ratio=m.clean.median / m.duckdb_scan.median,
        target=Target("<=", 5),
    )


def spark_scan(m: Measurements) -> Iterator[Line]:
    yield Line(
        measurement="check / Spark bare scan",
        timing=m.spark_scan,
        beside=m.clean,
        rows=m.rows,
        ratio=m.clean.median / m.spark_scan.median,
    )


def datacompy(m: Measurements) -> Iterator[Line]:
    yield Line(
        measurement=f"datacompy SparkSQLCompare / check, {m.datacompy_rows:,} rows",
        timing=m.datacompy,
        beside=m.clean_beside_datacompy,
        rows=m.datacompy_rows,
        ratio=m.datacompy.median / m.clean_beside_datacompy.median,
    )


def defects(m: Measurements) -> Iterator[Line]:
    yield Line(
        measurement=f"check, {DEFECTS:,} scattered defects / clean",
        timing=m.damaged,
        beside=m.clean,
        rows=m.rows,
        ratio=m.damaged.median / m.clean.median,
        target=Target("<=", 2.2),
        note=f"exactly {DEFECTS:,} reported",
    )


def indexes(m: Measurements) -> Iterator[Line]:
    yield Line(
        measurement="four indexes in one check: table bytes read / column bytes",
        ratio=m.bytes_together / m.bytes_needed,
        target=Target("=", 1),
        note=f"{m.bytes_together:,} bytes; {m.bytes_separate:,} in four checks",
    )
    yield Line(
        measurement="four indexes in one check / in four",
        timing=m.together,
        beside=m.separate,
        rows=m.rows,
        ratio=m.together.median / m.separate.median,
        target=Target("<=", 0.75),
        note=f"{m.separate.median:.2f} s in four",
    )


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
        note=f"{_mebibytes(small.memory_bytes)} to {_mebibytes(large.memory_bytes)}",
    )


def sql_engine(m: Measurements) -> Iterator[Line]:
    yield Line(
        measurement="check with engine sql / clean",
        timing=m.sql_engine,
        beside=m.clean,
        rows=m.rows,
        ratio=m.sql_engine.median / m.clean.median,
    )


def merge_strategy(m: Measurements) -> Iterator[Line]:
    yield Line(
        measurement="check with strategy merge / clean",
        timing=m.merge_strategy,
        beside=m.clean,
        rows=m.rows,
        ratio=m.merge_strategy.median / m.clean.median,
    )


def huge(m: Measurements) -> Iterator[Line]:
    found = m.huge
    peak = f"peak {_mebibytes(found.memory_bytes)} with JVM and workers" if found else ""
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
    yield Line(
        measurement="pairs, both checks / the slower one alone",
        timing=both,
        beside=slower,
        ratio=both.median / slower.median,
        target=Target("<=", 1.3),
        note=f"{m.pairs:,} pairs, physical {physical.median:.2f} s, index {index.median:.2f} s",
    )


def postgres(m: Measurements) -> Iterator[Line]:
    found = m.shop
    yield Line(
        measurement="check in PostgreSQL / the server's full outer join",
        timing=found.check,
        beside=found.join,
        rows=m.shop_rows,
        ratio=found.check.median / found.join.median,
        target=Target("<=", 1.2),
        note=f"{m.shop_rows:,} rows, join {found.join.median:.2f} s with psql",
    )
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
        yield Line(
            measurement=f"repair in {where}, large table / small table",
            timing=large,
            beside=small,
            ratio=large.median / small.median,
            target=Target("<=", bound),
            note=f"{DEFECTS:,} defects of a given result, a hundred times as many rows, "
            f"small table {small.median:.2f} s",
        )


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"


LINES: Mapping[str, Callable[[Measurements], Iterator[Line]]] = {
    "clean": healthy,
    "spark-join": spark_join,
    "duckdb-join": duckdb_join,
    "duckdb-scan": duckdb_scan,
    "spark-scan": spark_scan,
    "datacompy": datacompy,
    "defects": defects,
    "indexes": indexes,
    "growth": growth,
    "sql-engine": sql_engine,
    "merge-strategy": merge_strategy,
    "pairs": pairs,
    "pair-checks": pair_checks,
    "postgres": postgres,
    "backfill": building,
    "repair": repairs,
    "huge": huge,
}
