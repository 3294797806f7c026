# SPDX-License-Identifier: Apache-2.0
"""Proving on copies of a user's table that known faults are found, and nothing else."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.checking.tables import explain_check, run_check
from scrub.app.selection import select_tables
from scrub.app.selftest_and_demo.copy_files import write_copies
from scrub.app.selftest_and_demo.faults import FaultyCopy, NotPlanted, plant_all
from scrub.app.selftest_and_demo.key_values import DefectKey
from scrub.app.selftest_and_demo.scratch import scratch_directory
from scrub.app.selftest_and_demo.table_copy import TableCopy
from scrub.app.selftest_and_demo.verdicts import EngineReport, Trial, trials, unexpected
from scrub.catalog import Catalog, load_catalog
from scrub.model.command_line import DEFAULT_CATALOG
from scrub.model.place import IN_PROCESS_BYTES
from scrub.model.progress import Progress, ProgressListener, ignore_progress
from scrub.model.request import CheckRequest, Engine, SparkOptions, Strategy
from scrub.model.result import RunResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from scrub.app.selftest_and_demo.sampling import Sample


@dataclass(frozen=True, slots=True)
class Way:
    """One of the ways in which a check can be made, which must all find the same."""

    in_process: bool = False
    engine: Engine = Engine.AUTO
    strategy: Strategy = Strategy.FINGERPRINT


ON_SPARK = Way()
WAYS = (
    Way(in_process=True),
    ON_SPARK,
    Way(engine=Engine.SQL),
    Way(strategy=Strategy.MERGE),
)
_HERE = SparkOptions(conf=((IN_PROCESS_BYTES, "1 TiB"),))  # a copy is small
_SEED = 20_003
_UNEXPECTED_MAX = 1000  # how many defects that nobody planted are collected


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTestResult:
    """What was planted, what was found, and what could not be tried."""

    table: str
    rows: int  # in the copy
    rows_total: int
    engines: tuple[str, ...]  # the ways in which the copies were checked
    trials: tuple[Trial, ...]
    not_applicable: tuple[NotPlanted, ...]
    not_tried: tuple[NotPlanted, ...]
    unexpected: Mapping[str, tuple[DefectKey, ...]]  # by engine: wrongly reported, or gone
    also_found: int  # defects that the data had before anything was planted
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        if any(self.unexpected.values()) or not all(trial.passed for trial in self.trials):
            return 1
        return 3 if self.not_tried or not self.trials else 0


def run_selftest(
    table: str,
    *,
    catalog: Path = DEFAULT_CATALOG,
    rows: int,
    keep: Path | None = None,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> SelfTestResult:
    """Copy a table and its indexes, plant every fault, and check; only the copies are written."""
    request = CheckRequest(catalog=catalog, tables=(table,))
    loaded = load_catalog(catalog)
    select_tables(loaded, request)  # a mistake is answered before Spark starts
    began = time.monotonic()
    with scratch_directory(keep) as directory:
        from scrub.spark.session import spark_session
        from scrub.spark.time_zone import in_time_zone

        on_progress(Progress(phase="starting Spark"))
        options, zone = spark_options or SparkOptions(), loaded.tables[table].time_zone
        with spark_session(spark, options, time_zone=zone) as session:
            # The copies' own checks see to expressions; text is read by the table's clocks here.
            with in_time_zone(session, zone, needed=False) as zoned:
                catalog_there = loaded.in_time_zone(zone)
                samples, skipped = _samples(request, catalog_there, zoned, rows, on_progress)
            checking = _Checking(directory.resolve(), session, on_progress)
            result = _test(samples, checking)
    return replace(
        result,
        table=table,
        not_tried=(*skipped, *result.not_tried),
        seconds=time.monotonic() - began,
    )


def _samples(
    request: CheckRequest,
    catalog: Catalog,
    spark: "SparkSession",
    rows: int,
    on_progress: ProgressListener,
) -> "tuple[list[Sample], list[NotPlanted]]":
    """A copy for each version of the table that indexes reflect, which is mostly one."""
    from scrub.app.selftest_and_demo.sampling import sample_table
    from scrub.stores.open import open_store

    plan = explain_check(request, spark=spark)
    stores = {name: open_store(store) for name, store in catalog.stores.items()}
    samples: list[Sample] = []
    for number, table in enumerate(plan.tables):
        on_progress(Progress(phase=f"copying {table.table.name}"))
        sample = sample_table(table, stores, spark, rows)
        if number:
            named = replace(sample.copy.table, name=f"{table.table.name}_at_{number}")
            sample = replace(sample, copy=replace(sample.copy, table=named))
        samples.append(sample)
    return samples, [_untried(each.index, each.reason) for each in plan.not_checked]


@dataclass(frozen=True, slots=True)
class _Checking:
    """Writes copies and checks them as a user would."""

    directory: Path
    spark: "SparkSession"
    on_progress: ProgressListener

    def untouched(self, copies: Sequence[TableCopy]) -> EngineReport:
        catalog = self._write(copies, "untouched")
        # Each row and each entry takes part in at most two defects of an index.
        most = 2 * sum(
            copy.rows.num_rows * len(copy.entries)
            + sum(entries.num_rows for entries in copy.entries.values())
            for copy in copies
        )
        result = self._check(catalog, ON_SPARK, most)
        return EngineReport.of(result, [copy.table for copy in copies])

    def faulty(self, copies: Sequence[FaultyCopy], defects: int) -> dict[str, EngineReport]:
        """What is reported in each way; what only Spark can read is read in fewer of them."""
        catalog = self._write([each.copy for each in copies], "planted")
        reports: dict[str, EngineReport] = {}
        for way in WAYS:
            if not self._differs(way, catalog, reports):
                continue
            result = self._check(catalog, way, defects + _UNEXPECTED_MAX)
            report = EngineReport.of(result, [each.copy.table for each in copies])
            reports[way_of(result)] = report
        return reports

    def _differs(self, way: Way, catalog: Path, reports: Mapping[str, EngineReport]) -> bool:
        """Whether a way is another than those that were tried."""
        if way.in_process:
            place = explain_check(self._request(catalog, way), spark_options=_HERE).place
            return place is not None and place.in_process
        return way.engine is not Engine.SQL or Engine.SQL.value not in reports

    def _write(self, copies: Sequence[TableCopy], name: str) -> Path:
        self.on_progress(Progress(phase="writing copies"))
        directory = self.directory / name
        directory.mkdir()
        return write_copies(copies, directory)

    def _check(self, catalog: Path, way: Way, limit: int) -> RunResult:
        request = replace(self._request(catalog, way), limit=limit)
        if way.in_process:
            return run_check(request, spark_options=_HERE, on_progress=self.on_progress)
        return run_check(request, spark=self.spark, on_progress=self.on_progress)

    def _request(self, catalog: Path, way: Way) -> CheckRequest:
        return CheckRequest(
            catalog=catalog,
            engine=way.engine,
            strategy=way.strategy,
            fresh=True,
            constraints_unasked=False,
        )


def _test(samples: "Sequence[Sample]", checking: _Checking) -> SelfTestResult:
    copies = [sample.copy for sample in samples]
    untouched = checking.untouched(copies) if copies else EngineReport()
    faulty, left_out = _plant(copies, untouched)
    planted = sum(len(fault.expected) for each in faulty for fault in each.faults)
    before = len(faulty) * sum(untouched.defects.values())
    reports = checking.faulty(faulty, planted + before) if faulty else {}
    return SelfTestResult(
        table="",
        rows=sum(copy.rows.num_rows for copy in copies),
        rows_total=sum(sample.rows_total for sample in samples),
        engines=tuple(reports),
        trials=tuple(trials(faulty, reports)),
        not_applicable=tuple(left for left in left_out if not left.applicable),
        not_tried=(
            *_incomplete(untouched, reports.values()),
            *(left for left in left_out if left.applicable),
        ),
        unexpected={
            engine: unexpected(faulty, report, untouched) for engine, report in reports.items()
        },
        also_found=sum(untouched.defects.values()),
    )


def _plant(
    copies: Sequence[TableCopy], untouched: EngineReport
) -> tuple[list[FaultyCopy], list[NotPlanted]]:
    """Every fault in every index that can be read, away from rows that have a defect already."""
    faulty: list[FaultyCopy] = []
    left_out: list[NotPlanted] = []
    for copy in copies:
        name = copy.table.name
        usable = [i for i in copy.table.indexes if (name, i.name) not in untouched.incomplete]
        planted, left = plant_all(copy, usable, seed=_SEED, avoid=untouched.primary_keys(name))
        faulty += planted
        left_out += left
    return faulty, left_out


def _incomplete(untouched: EngineReport, reports: Iterable[EngineReport]) -> list[NotPlanted]:
    """The indexes of which a check did not see everything."""
    reasons = {index: reason for (_, index), reason in untouched.incomplete.items()}
    for report in reports:
        for (_, index), reason in report.incomplete.items():
            reasons.setdefault(index, reason)
    return [_untried(index, reason) for index, reason in reasons.items()]


def _untried(index: str | None, reason: str) -> NotPlanted:
    return NotPlanted(fault="every fault", index=index or "-", reason=reason, applicable=True)


def way_of(result: RunResult) -> str:
    """How a check was made: in the process, by joining everything, or by one of the engines."""
    if str(result.ran).startswith("in process"):
        return "in process"
    if {outcome.strategy for outcome in result.outcomes if outcome.engine} == {Strategy.MERGE}:
        return Strategy.MERGE.value
    engines = {outcome.engine for outcome in result.outcomes if outcome.engine}
    return engines.pop() if len(engines) == 1 else Engine.AUTO.value
