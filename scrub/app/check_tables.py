# SPDX-License-Identifier: Apache-2.0
"""Checking tables against their indexes: from a request to a result."""

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.all_defects import all_defects_file
from scrub.app.check_native import (
    NativeResults,
    check_native_indexes,
    native_indexes,
    plan_native_indexes,
)
from scrub.app.computed_columns import with_computed_columns
from scrub.app.lazy_spark import LazySpark
from scrub.app.selection import select_tables
from scrub.app.state_directory import state_directory
from scrub.app.table_errors import demand_a_look, raise_mistakes, together
from scrub.app.table_results import table_results
from scrub.app.zone_groups import by_time_zone, joined_plans, joined_results
from scrub.catalog import Catalog, load_catalog
from scrub.errors import ScrubError, UsageError
from scrub.model.plan import CheckPlan, NotChecked, WalkedIndex
from scrub.model.progress import Progress, ProgressListener, ignore_progress
from scrub.model.request import CHECKS, CheckRequest, Engine, SparkOptions, Strategy
from scrub.model.result import RunResult
from scrub.model.table import UTC as DEFAULT_ZONE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from checks.findings import Findings
    from checks.parts import Pace
    from checks.plan import IndexSource
    from scrub.app.check_pairs import PairResults
    from scrub.model.table import Table
    from scrub.stores.base import ReadableStore


_FEW_ROWS = 100_000
SLEEP = time.sleep
"""How a run waits before it looks again."""


def check(
    *tables: str,
    catalog: Path | str = "scrub.yaml",
    spark: "SparkSession | None" = None,
    indexes: Sequence[str] = (),
    checks: Sequence[str] = (),
    strategy: Strategy | str = Strategy.AUTO,
    engine: Engine | str = Engine.AUTO,
    where: str | None = None,
    limit: int = 100,
) -> RunResult:
    """Check tables (all of the catalog, if none is named), as a notebook or a job would.

    A session given, or else the active one, is borrowed and left running.
    """
    request = CheckRequest(
        catalog=Path(catalog),
        tables=tables,
        indexes=tuple(indexes),
        checks=tuple(checks),
        strategy=Strategy(strategy),
        engine=Engine(engine),
        where=where,
        limit=limit,
    )
    return run_check(request, spark=spark)


def run_check(
    request: CheckRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
    pace: "Pace | None" = None,
) -> RunResult:
    """Carry out a request and say what was found; reads only.

    `pace` says how much one Spark job reads, and so how often finished work is kept.
    """
    results: list[RunResult] = []
    with _prepared(request, spark, spark_options, on_progress) as preparations:
        for preparation in preparations:
            preparation.leave_room(sum(len(result.defects) for result in results))
            results.append(preparation.run(pace))
        errors = [error for preparation in preparations for error in preparation.errors]
    result = joined_results(results)
    demand_a_look(result, errors)
    return result


def explain_check(
    request: CheckRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
) -> CheckPlan:
    """What a check would do; Spark is started only if a relation cannot be described without."""
    with _prepared(request, spark, spark_options, ignore_progress) as preparations:
        plan = joined_plans([preparation.explained() for preparation in preparations])
        has_pairs = any(table.kv is not None for one in preparations for table in one.tables)
    if not (plan.tables or plan.walked or has_pairs):
        raise_mistakes(plan.errors)
    return plan


@contextmanager
def _prepared(
    request: CheckRequest,
    spark: "SparkSession | None",
    spark_options: SparkOptions | None,
    on_progress: ProgressListener,
) -> "Iterator[list[_Preparation]]":
    """A preparation for each time zone: in one session there can be but one."""
    catalog = load_catalog(request.catalog, unset_allowed=True)
    tables = select_tables(catalog, request)  # mistakes are answered before Spark starts
    zones = by_time_zone(tables) or {DEFAULT_ZONE: ()}
    if len(zones) > 1 and request.all_defects is not None:
        raise UsageError(
            f"--all-defects is not available for tables of several time zones: {', '.join(zones)}",
            hint="leave it out, or choose tables of one time zone",
        )
    run_id, kept_in = uuid.uuid4().hex[:12], state_directory()
    with ExitStack() as stack:
        options = spark_options or SparkOptions()
        lazy = LazySpark(spark, options, on_progress, stack, may_be_few=len(zones) == 1)
        yield [
            _Preparation(
                request=request,
                catalog=catalog.in_time_zone(zone),
                tables=of_zone,
                time_zone=zone,
                spark=lazy,
                on_progress=on_progress,
                resources=stack,
                kept_in=kept_in,
                run_id=run_id,
            )
            for zone, of_zone in zones.items()
        ]


@dataclass(slots=True)
class _Preparation:
    """The tables of one time zone, with their stores opened; Spark starts when it is needed."""

    request: CheckRequest
    catalog: Catalog
    tables: "tuple[Table, ...]"
    time_zone: str
    spark: LazySpark
    on_progress: ProgressListener
    resources: ExitStack  # what is open while the check runs
    kept_in: Path | None  # where sums are kept, in case the check is interrupted
    run_id: str
    stores: "dict[str, ReadableStore]" = field(default_factory=dict)  # those of the last plan
    followed: "dict[tuple[str, str], IndexSource]" = field(default_factory=dict)  # as first pinned
    rows: int | None = None  # that the first plan says will be read
    errors: tuple[ScrubError, ...] = ()  # what kept tables from being looked at

    def session(self) -> "SparkSession":
        few = self.rows is not None and self.rows <= _FEW_ROWS
        return self.spark.session(self.time_zone, few)

    def leave_room(self, defects_so_far: int) -> None:
        """Show no more defects than were asked for, together with those of other tables."""
        self.request = replace(self.request, limit=max(self.request.limit - defects_so_far, 0))

    def plan(self, native_refusal: str | None = None) -> CheckPlan:
        from checks.plan import plan_check
        from scrub.app.pinning import Pins

        self.stores = self._open_stores()
        kinds = {store.name: store.kind for store in self.catalog.stores.values()}
        pins = Pins(self.stores, kinds, self.session, self.request, followed=self.followed)
        pins.pin_all([with_computed_columns(t) for t in self.tables if t.kv is None])
        return plan_check(
            self.request, pins.sources, pins.not_checked, native_refusal, pins.physical
        )

    def explained(self) -> CheckPlan:
        """The plan, with what is known of the database's own indexes before they are read."""
        plan = self.plan()
        native = plan_native_indexes(self.tables, self.request, self.stores)
        return replace(
            plan,
            not_checked=(*plan.not_checked, *(p for p in native if isinstance(p, NotChecked))),
            walked=tuple(part for part in native if isinstance(part, WalkedIndex)),
        )

    def _open_stores(self) -> "dict[str, ReadableStore]":
        """All stores anew: one of them may stand for a snapshot, which ends with the run."""
        from scrub.stores.open import open_store

        stores = {}
        for name, store in self.catalog.stores.items():
            stores[name] = open_store(store)
            self.resources.callback(stores[name].close)
        return stores

    def run(self, pace: "Pace | None" = None) -> RunResult:
        started_at, began = datetime.now(UTC), time.monotonic()
        was_started = self.spark.seconds_starting
        self._refuse_what_some_lack()
        plan, findings = self.plan(), None
        if not self._tables_of_pairs():
            self.rows = plan.rows
        if plan.tables:
            plan, findings = self._run(plan, pace)
        tables, errors = table_results(plan, findings), list(plan.errors)
        defects = tuple(findings.defects) if findings else ()
        if self._has_native_indexes():
            native = self._check_native(len(defects))
            tables = native.joined_to(tables)
            defects += tuple(native.defects)
            errors += native.errors
        if pairs := self._tables_of_pairs():
            of_pairs = self._check_pairs(pairs, len(defects))
            tables += tuple(of_pairs.tables)
            defects += tuple(of_pairs.defects)
            errors += of_pairs.errors
        order = [table.name for table in self.tables]
        tables = tuple(sorted(tables, key=lambda result: order.index(result.table)))
        starting = self.spark.seconds_starting - was_started
        self.errors = tuple(errors)
        return RunResult(
            run_id=self.run_id,
            started_at=started_at,
            seconds=time.monotonic() - began - starting,
            tables=tables,
            defects=defects,
            seconds_starting=starting,
        )

    def _tables_of_pairs(self) -> "list[Table]":
        return [t for t in self.tables if t.kv is not None]

    def _has_native_indexes(self) -> bool:
        return any(native_indexes(table, self.request) for table in self.tables)

    def _check_native(self, defects_so_far: int) -> NativeResults:
        request = replace(self.request, limit=max(self.request.limit - defects_so_far, 0))
        return check_native_indexes(self.tables, request, self.stores, self.on_progress)

    def _refuse_what_some_lack(self) -> None:
        """An option that would be passed over in silence is refused instead."""
        if self.request.all_defects is None:
            return
        for what, concerned in (
            ("tables in key-value layout", bool(self._tables_of_pairs())),
            ("indexes of the database itself", self._has_native_indexes()),
        ):
            if concerned:
                raise UsageError(
                    f"--all-defects is not available for {what}",
                    hint="leave it out, or choose other tables and indexes (--index)",
                )

    def _check_pairs(self, tables: "list[Table]", defects_so_far: int) -> "PairResults":
        from scrub.app.check_pairs import check_pairs
        from scrub.spark.watching import stoppable

        self.on_progress(Progress(phase="looking at pairs"))
        limit = max(self.request.limit - defects_so_far, 0)
        stores = self._open_stores()
        with stoppable(self.session(), self.run_id):
            request = replace(self.request, limit=limit, checks=self.request.checks or CHECKS)
            catalog = self.catalog.tables.values()
            return check_pairs(tables, request, stores, self.session, catalog, SLEEP)

    def _run(self, plan: CheckPlan, pace: "Pace | None") -> "tuple[CheckPlan, Findings | None]":
        """Carry out the plan, or the one without native scans if the canary says no."""
        from checks.parts import Pace
        from checks.run_settings import RunSettings
        from checks.runner import native_refusal, run_check, without_changed_meaning
        from scrub.spark.watching import stoppable

        spark = self.session()
        request = self.request
        with stoppable(spark, self.run_id), all_defects_file(request) as on_defect:
            refusal = native_refusal(plan, spark)
            if refusal is not None:
                plan = self.plan(refusal)
            plan = without_changed_meaning(plan, spark)
            if not plan.tables:
                return plan, None
            settings = RunSettings(
                run_id=self.run_id,
                limit=request.limit,
                redact=request.redact,
                engine=request.engine,
                pace=pace or Pace(),
                state_directory=self.kept_in,
                fresh=request.fresh,
                settle_seconds=request.settle_seconds,
                plan_again=partial(self._plan_again, plan, refusal),
                sleep=SLEEP,
                on_progress=self.on_progress,
                on_defect=on_defect,
            )
            return plan, run_check(plan, self.stores, spark, settings)

    def _plan_again(self, plan: CheckPlan, refusal: str | None) -> CheckPlan:
        """The plan at later snapshots, with its buckets: one must mean the same in both."""
        from checks.runner import without_changed_meaning

        later = without_changed_meaning(self.plan(refusal), self.session())
        if _indexes_of(later) != _indexes_of(plan):
            raise together(later.errors)  # slots would mean other indexes
        tables = [
            replace(table, bucket_bits=before.bucket_bits)
            for table, before in zip(later.tables, plan.tables, strict=True)
        ]
        return replace(plan, tables=tuple(tables))


def _indexes_of(plan: CheckPlan) -> list[tuple[str, list[str]]]:
    return [(of.table.name, [one.index.name for one in of.indexes]) for of in plan.tables]
