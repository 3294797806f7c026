# SPDX-License-Identifier: Apache-2.0
"""Everything that is timed; each is timed when first asked for, and once."""

import subprocess
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks import backfill, data, duckdb_peers, pairs, peers, postgres, repairs
from benchmarks.answers import demand
from benchmarks.checking import bytes_read, check
from benchmarks.data import DEFECTS, Lake
from benchmarks.fresh_process import FreshCheck, check_in_fresh_process
from benchmarks.shapes import (
    BY_CUSTOMER,
    BY_CUSTOMER_DAMAGED,
    BY_EMAIL,
    BY_EMAIL_LOWER,
    FOUR_INDEXES,
    OPEN_BY_CUSTOMER,
    IndexShape,
)
from benchmarks.timing import Effort, Timing, joined, timed
from scrub.codec.kv.layouts import layout_of
from scrub.model.build import Method
from scrub.model.request import Engine, Strategy

DATACOMPY_ROWS_MAX = 2_000_000
TRAFFIC_SECONDS = 20
SMALL_ROWS_MAX = 100_000  # below it only answers mean something, and nobody waits for figures
HUGE_ROWS = 100_000_000
BOTH = (BY_CUSTOMER, BY_CUSTOMER_DAMAGED)

Comparison = Callable[[Lake, IndexShape], int]


@dataclass(frozen=True, slots=True)
class ShopTimings:
    """What was measured on a PostgreSQL server; rates are transactions a second."""

    check: Timing
    join: Timing
    rate_alone: float
    rate_during_checks: float
    checks: int


@dataclass(frozen=True, slots=True)
class BuildTimings:
    """Seconds of copies and builds, milliseconds of transactions."""

    copy: Timing
    builds: dict[Method, Timing]
    p99_alone: float
    p99_during: dict[Method, float]


class Measurements:
    """Timings of the check and of its peers in one warm session."""

    def __init__(self, spark: SparkSession, directory: Path, rows: int, effort: Effort) -> None:
        self.spark, self.directory, self.rows, self.effort = spark, directory, rows, effort

    # The check

    @cached_property
    def clean(self) -> Timing:
        return self._check("check, clean", self._lake(self.rows, BOTH), [BY_CUSTOMER])

    @cached_property
    def damaged(self) -> Timing:
        title = f"check, {DEFECTS:,} defects"
        return self._check(title, self._lake(self.rows, BOTH), [BY_CUSTOMER_DAMAGED])

    @cached_property
    def beside_expression(self) -> list[Timing]:
        """The index of an expression and that of its column, in turn."""
        return self._in_turn_on_one_lake(BY_EMAIL_LOWER, BY_EMAIL)

    @cached_property
    def beside_partial(self) -> list[Timing]:
        """A partial index and the whole one, in turn."""
        return self._in_turn_on_one_lake(OPEN_BY_CUSTOMER, BY_CUSTOMER)

    def _in_turn_on_one_lake(self, *indexes: IndexShape) -> list[Timing]:
        lake = self._lake(self.rows, indexes)
        return self.in_turn(
            *((f"check of {i.name}", partial(check, self.spark, lake, [i])) for i in indexes)
        )

    @cached_property
    def sql_engine(self) -> Timing:
        lake = self._lake(self.rows, BOTH)
        return self._check("check, sql engine", lake, [BY_CUSTOMER], engine=Engine.SQL)

    @cached_property
    def merge_strategy(self) -> Timing:
        lake = self._lake(self.rows, BOTH)
        return self._check("check, merge strategy", lake, [BY_CUSTOMER], strategy=Strategy.MERGE)

    @cached_property
    def together(self) -> Timing:
        lake = self._lake(self.rows, FOUR_INDEXES)
        return self._check("four indexes in one check", lake, FOUR_INDEXES)

    @cached_property
    def separate(self) -> Timing:
        lake = self._lake(self.rows, FOUR_INDEXES)

        def work() -> None:
            for index in FOUR_INDEXES:
                check(self.spark, lake, [index])

        return self._timed("four indexes in four checks", work)

    # Its peers

    @cached_property
    def spark_join(self) -> Timing:
        return self._compare(
            "Spark full outer join", self.rows, lambda *of: peers.spark_join(self.spark, *of)
        )

    @cached_property
    def duckdb_join(self) -> Timing:
        return self._compare("DuckDB full outer join", self.rows, duckdb_peers.duckdb_join)

    @cached_property
    def duckdb_scan(self) -> Timing:
        return self._scan("DuckDB bare scan", duckdb_peers.duckdb_scan)

    @cached_property
    def spark_scan(self) -> Timing:
        return self._scan("Spark bare scan", lambda *of: peers.spark_scan(self.spark, *of))

    @property
    def datacompy_rows(self) -> int:
        return min(self.rows, DATACOMPY_ROWS_MAX)

    @cached_property
    def datacompy(self) -> Timing:
        return self._compare(
            f"datacompy, {self.datacompy_rows:,} rows",
            self.datacompy_rows,
            lambda *of: peers.datacompy_compare(self.spark, *of),
        )

    @cached_property
    def clean_beside_datacompy(self) -> Timing:
        title = f"check, {self.datacompy_rows:,} rows"
        return self._check(title, self._lake(self.datacompy_rows, BOTH), [BY_CUSTOMER])

    # Bytes of the table

    @cached_property
    def bytes_needed(self) -> int:
        columns = {column for index in FOUR_INDEXES for column in index.columns}
        return data.column_bytes(self._lake(self.rows, ()).table, columns)

    @cached_property
    def bytes_together(self) -> int:
        lake = self._lake(self.rows, FOUR_INDEXES)
        return bytes_read(check(self.spark, lake, FOUR_INDEXES))

    @cached_property
    def bytes_separate(self) -> int:
        lake = self._lake(self.rows, FOUR_INDEXES)
        return sum(bytes_read(check(self.spark, lake, [index])) for index in FOUR_INDEXES)

    # PostgreSQL

    @property
    def shop_rows(self) -> int:
        return self.rows // 4

    @cached_property
    def shop(self) -> ShopTimings:
        """A check of an index table beside the server's own join, and what traffic notices."""
        with postgres.shop(self.shop_rows) as shop:
            check, join = self.in_turn(
                ("check in PostgreSQL", partial(shop.check, self.spark)),
                ("PostgreSQL full outer join", shop.join),
            )
            # Traffic leaves the tables larger than it found them: so look before and after.
            seconds = TRAFFIC_SECONDS if self.rows > SMALL_ROWS_MAX else 1
            before = shop.transactions_per_second(seconds)
            during, checks = shop.transactions_during_checks(self.spark, seconds)
            after = shop.transactions_per_second(seconds)
        return ShopTimings(check, join, (before + after) / 2, during, checks)

    @cached_property
    def building(self) -> BuildTimings:
        """Builds beside the server's own sorted copy, and what traffic notices of one."""
        with backfill.site(self.shop_rows) as site:
            if self.effort.warm:
                site.build(self.spark, Method.INIT_PUT)
            copies: list[Timing] = []
            builds: dict[Method, list[Timing]] = {method: [] for method in Method}
            for _ in range(self.effort.repeat):
                copies.append(self._once("INSERT ... SELECT ... ORDER BY", site.clear, site.copy))
                for method, found in builds.items():
                    work = partial(site.build, self.spark, method)
                    found.append(self._once(f"build, {method}", site.clear, work))
            site.clear()
            seconds = TRAFFIC_SECONDS if self.rows > SMALL_ROWS_MAX else 1
            alone, during = [site.p99(seconds)], {}
            for method in Method:
                during[method] = site.p99_during_a_build(self.spark, method, seconds)
                site.clear()
                alone.append(site.p99(seconds))
        return BuildTimings(
            copy=joined(copies),
            builds={method: joined(found) for method, found in builds.items()},
            p99_alone=sum(alone) / len(alone),
            p99_during=during,
        )

    def in_turn(self, *works: tuple[str, Callable[[], object]]) -> list[Timing]:
        """One after the other, again and again: what slows the machine down slows both down."""
        for _ in range(self.effort.warm):
            for _, work in works:
                work()
        once = replace(self.effort, repeat=1)
        rounds = [
            [timed(what, [], work, once) for what, work in works] for _ in range(self.effort.repeat)
        ]
        return [joined(timings) for timings in zip(*rounds, strict=True)]

    def _once(self, what: str, prepare: Callable[[], object], work: Callable[[], object]) -> Timing:
        return timed(what, [prepare], work, replace(self.effort, repeat=1))

    @property
    def few_rows(self) -> int:
        """A hundredth, or as few as defects need."""
        return max(self.rows // 100, data.ROWS_MIN)

    @cached_property
    def repairs_in_delta(self) -> tuple[Timing, Timing]:
        """Of the small table and of the large one."""
        small, large = (
            repairs.damaged_lake(self.spark, self._lake(rows, BOTH))
            for rows in (self.few_rows, self.rows)
        )
        return self._repairs("Delta", small, large)

    @cached_property
    def repairs_in_postgres(self) -> tuple[Timing, Timing]:
        """Of a small table and of a large one, each a quarter of those in Delta."""
        few, many = max(self.shop_rows // 100, data.ROWS_MIN), max(self.shop_rows, data.ROWS_MIN)
        small, large = (repairs.damaged_shop(self.spark, rows) for rows in (few, many))
        return self._repairs("PostgreSQL", small, large)

    def _repairs(
        self,
        where: str,
        small: AbstractContextManager[repairs.Damaged],
        large: AbstractContextManager[repairs.Damaged],
    ) -> tuple[Timing, Timing]:
        """Small and large in turn: what slows the machine down slows both down."""
        with small as few, large as many:
            found: tuple[list[Timing], list[Timing]] = ([], [])
            for damaged in (few, many) if self.effort.warm else ():
                damaged.repair()
            for _ in range(self.effort.repeat):
                for damaged, timings in zip((few, many), found, strict=True):
                    title = f"repair in {where}"
                    timings.append(self._once(title, damaged.restore, damaged.repair))
        return joined(found[0]), joined(found[1])

    # Pairs

    @property
    def pairs(self) -> int:
        return self.rows // 4

    @cached_property
    def judged(self) -> dict[str, tuple[Timing, float]]:
        """For each shape of pairs: the physical check on one core, and the reference's seconds."""
        found = {}
        for shape in pairs.SHAPES:
            made, layout = pairs.batches(shape, self.pairs), layout_of([shape.table])
            timing = self._timed(
                f"{self.pairs:,} pairs, {shape.name}", partial(pairs.judge_all, layout, made)
            )
            found[shape.name] = (timing, pairs.reference_seconds_per_pair(shape, made))
        return found

    @cached_property
    def pair_checks(self) -> dict[str, Timing]:
        """The checks of a table of pairs in Spark: each alone, and both."""
        shape = pairs.SHAPES[0]
        directory = self.directory / f"pairs-{self.pairs}"
        catalog = pairs.write_lake(directory, shape, pairs.batches(shape, self.pairs))
        return {
            "+".join(checks): self._timed(
                f"pairs, {' and '.join(checks)} check",
                partial(pairs.check_lake, self.spark, catalog, checks),
            )
            for checks in (("physical",), ("index",), ("physical", "index"))
        }

    # Growth

    @property
    def small_rows(self) -> int:
        return max(self.rows // 4, data.ROWS_MIN)

    @cached_property
    def small(self) -> FreshCheck:
        return check_in_fresh_process(self.directory, self.small_rows, self.effort)

    @cached_property
    def large(self) -> FreshCheck:
        return check_in_fresh_process(self.directory, self.rows, self.effort)

    @cached_property
    def huge(self) -> FreshCheck | None:
        """None when it did not come to its end, which the process itself has explained."""
        try:
            return check_in_fresh_process(self.directory, HUGE_ROWS, Effort(warm=0, repeat=1))
        except subprocess.CalledProcessError:
            return None

    def _lake(self, rows: int, indexes: Sequence[IndexShape]) -> Lake:
        lake = Lake.under(self.directory, rows)
        lake.generate(indexes)
        data.read_ahead([lake.table, *(lake.index(index) for index in indexes)])
        return lake

    def _check(
        self,
        title: str,
        lake: Lake,
        indexes: Sequence[IndexShape],
        **how: Any,
    ) -> Timing:
        def work() -> None:
            check(self.spark, lake, indexes, **how)

        return self._timed(title, work)

    def _compare(self, title: str, rows: int, compare: Comparison) -> Timing:
        """Time a peer on the clean index, after it has shown that it sees what is planted."""
        lake = self._lake(rows, BOTH)

        def see_planted() -> None:
            demand(title, compare(lake, BY_CUSTOMER_DAMAGED), DEFECTS)

        def work() -> None:
            demand(title, compare(lake, BY_CUSTOMER), 0)

        return timed(title, [see_planted, *[work] * (self.effort.warm - 1)], work, self.effort)

    def _scan(self, title: str, scan: Comparison) -> Timing:
        lake = self._lake(self.rows, BOTH)

        def work() -> None:
            demand(title, scan(lake, BY_CUSTOMER), 2 * self.rows)

        return self._timed(title, work)

    def _timed(self, title: str, work: Callable[[], None]) -> Timing:
        return timed(title, [work] * self.effort.warm, work, self.effort)
