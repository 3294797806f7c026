# SPDX-License-Identifier: Apache-2.0
"""The tables of one time zone on their way from a request to a result."""

import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.checking.all_defects import DefectListener
from scrub.app.checking.computed_columns import with_computed_columns
from scrub.app.checking.given_frames import GivenFrames
from scrub.app.checking.kept_pace import kept_pace
from scrub.app.checking.own_indexes import (
    OwnIndexResults,
    check_own_indexes,
    own_indexes,
    plan_own_indexes,
)
from scrub.app.checking.table_errors import together
from scrub.app.checking.table_results import table_results, with_unanswered
from scrub.app.lazy_spark import LazySpark
from scrub.catalog import Catalog
from scrub.errors import ScrubError
from scrub.model.defect import Defect
from scrub.model.place import IN_PROCESS_BYTES_DEFAULT, Place
from scrub.model.plan import CheckPlan, NotChecked, OwnIndexPlan, TablePlan
from scrub.model.progress import Progress, ProgressListener
from scrub.model.request import CheckRequest
from scrub.model.result import RunResult
from scrub.model.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from checks.findings import Findings
    from checks.parts import JobSize
    from checks.plan import PinnedIndex
    from scrub.stores.base import ReadableStore

_FEW_ROWS = 100_000


@dataclass(slots=True)
class Preparation:
    """The tables of one time zone, with their stores opened; Spark starts when it is needed."""

    request: CheckRequest
    catalog: Catalog
    tables: tuple[Table, ...]
    time_zone: str
    spark: LazySpark
    on_progress: ProgressListener
    resources: ExitStack  # what is open while the check runs
    kept_in: Path | None  # where sums are kept, in case the check is interrupted
    run_id: str
    sleep: Callable[[float], None]  # how a run waits before it looks again
    given: GivenFrames
    stores: "dict[str, ReadableStore]" = field(default_factory=dict)  # those of the last plan
    followed: "dict[tuple[str, str], PinnedIndex]" = field(default_factory=dict)  # as first pinned
    rows: int | None = None  # that the first plan says will be read
    on_defect: DefectListener | None = None  # gets every defect, whatever the limit
    seconds_waiting: float = 0.0
    errors: tuple[ScrubError, ...] = ()  # what kept tables from being looked at
    place: Place | None = None  # where the tasks of the last plan run
    seconds_before: float = 0.0  # that Spark took to start until the place was decided
    only_spark: dict[str, str] = field(default_factory=dict)  # tables that tasks cannot evaluate

    def session(self) -> "SparkSession":
        few = self.rows is not None and self.rows <= _FEW_ROWS
        return self.spark.session(self.time_zone, few)

    def leave_room(self, defects_so_far: int) -> None:
        """Show no more defects than were asked for, together with those of other tables."""
        self.request = replace(self.request, limit=max(self.request.limit - defects_so_far, 0))

    # Planning

    def plan(
        self, native_refusal: str | None = None, only: Collection[str] | None = None
    ) -> CheckPlan:
        """What to do with the tables, or with some of them by name, at their latest snapshots."""
        from checks.plan import plan_check
        from scrub.app.checking.pinning import Pins

        self.stores = self._open_stores()
        kinds = {store.name: store.kind for store in self.catalog.stores.values()}
        catalog = tuple(self.catalog.tables.values())
        pins = Pins(self.stores, kinds, self.session, self.request, catalog, followed=self.followed)
        tables = [table for table in self.tables if only is None or table.name in only]
        names = {table.name for table in tables}
        pins.not_checked += [one for one in self.given.not_checked if one.table in names]
        pins.pin_all([with_computed_columns(table) for table in tables])
        return plan_check(
            self.request,
            pins.sources,
            pins.not_checked,
            native_refusal,
            pins.whole,
            pins.pairs,
            pins.constraints,
            self.only_spark,
        )

    def explained(self) -> CheckPlan:
        """The plan, with what is known of the database's own indexes before they are read."""
        plan = self.plan()
        own = plan_own_indexes(self.tables, self.request, self.stores)
        return replace(
            plan,
            place=self.place_for(plan) if plan.tables else None,
            pace=str(self.request.limits) or None,
            not_checked=(*plan.not_checked, *(p for p in own if isinstance(p, NotChecked))),
            own_indexes=tuple(part for part in own if isinstance(part, OwnIndexPlan)),
        )

    def _open_stores(self) -> "dict[str, ReadableStore]":
        """All stores again: one of them may stand for a snapshot, which ends with the run."""
        stores = {}
        for name, store in self.catalog.stores.items():
            stores[name] = self.given.open_store(store)
            self.resources.callback(stores[name].close)
        return stores

    def _plan_again(self, plan: CheckPlan, refusal: str | None) -> CheckPlan:
        """The plan at later snapshots, with its buckets: one must mean the same in both."""
        from checks.columns.meaning import without_changed_meaning

        later = self.plan(refusal, only=[table.table.name for table in plan.tables])
        if self.place is None or not self.place.in_process:
            later = without_changed_meaning(later, self.session())
        if _indexes_of(later) != _indexes_of(plan):
            raise together(later.errors)  # slots would mean other indexes
        tables = map(_comparable, later.tables, plan.tables)
        return replace(plan, tables=tuple(tables))

    # Running

    def run(self, job_size: "JobSize | None" = None) -> RunResult:
        started_at, began = datetime.now(UTC), time.monotonic()
        was_started = self.spark.seconds_starting
        plan = self.plan()
        if all(table.pairs is None for table in plan.tables):
            self.rows = plan.rows
        with kept_pace(self.request.limits, self.on_progress) as kept:
            self.on_progress = kept.on_progress
            found = self._run(plan, job_size)
        results = found.own.joined_to(table_results(found.checked, found.plan.not_checked))
        tables = with_unanswered(results, self.tables, self.request)
        starting = self.spark.seconds_starting - was_started
        self.errors = (*found.plan.errors, *found.own.errors)
        return RunResult(
            run_id=self.run_id,
            started_at=started_at,
            seconds=time.monotonic() - began - starting,
            tables=tuple(tables),
            defects=tuple(found.defects),
            seconds_starting=starting,
            ran=self._ran,
            seconds_waiting=self.seconds_waiting + kept.seconds_paused,
            pace=kept.told,
        )

    @property
    def _ran(self) -> str | None:
        """Where it ran; what only Spark does may have started it after all."""
        if self.place is None:
            return None
        later = self.place.in_process and self.spark.seconds_starting > self.seconds_before
        return f"{self.place}; Spark was started for what differs" if later else str(self.place)

    def _wait(self, seconds: float) -> None:
        began = time.monotonic()
        self.sleep(seconds)
        self.seconds_waiting += time.monotonic() - began

    def _has_own_indexes(self) -> bool:
        return any(own_indexes(table, self.request) for table in self.tables)

    def _run(self, plan: CheckPlan, job_size: "JobSize | None") -> "_Found":
        """Carry out the plan, or one without native scans of what tasks turn out not to read."""
        from checks.only_spark import OnlySpark

        while True:
            found = _Found(plan)
            try:
                with ExitStack() as running:
                    run_part = None
                    if plan.tables:
                        run_part = self._start(found, job_size, running)
                    self._run_parts(found, run_part)
                return found
            except OnlySpark as error:
                self.only_spark[error.table] = error.reason
                plan = self.plan()

    def _start(
        self, found: "_Found", job_size: "JobSize | None", running: ExitStack
    ) -> "Callable[[CheckPlan], Findings]":
        """Say how a part of the plan is run; if it runs on Spark, the plan may change by that."""
        from checks.in_process import InProcess
        from checks.jobs import Jobs
        from checks.parts import JobSize
        from checks.run import run_stages
        from checks.run_settings import RunSettings

        request, refusal = self.request, None
        self.place, self.seconds_before = self.place_for(found.plan), self.spark.seconds_starting
        if self.place.in_process:
            jobs = Jobs(self.session, InProcess())
        else:
            refusal = self._start_spark(found, running)
            jobs = Jobs(self.session)
        stores = self.stores  # a later look opens others

        def run_part(part: CheckPlan) -> "Findings":
            settings = RunSettings(
                run_id=self.run_id,
                limit=found.room(request.limit),
                redact=request.redact,
                engine=request.engine,
                job_size=job_size or JobSize(),
                state_directory=self.kept_in,
                fresh=request.fresh,
                settle_seconds=request.settle_seconds,
                plan_again=partial(self._plan_again, part, refusal),
                sleep=self._wait,
                on_progress=self.on_progress,
                on_defect=self.on_defect,
            )
            return run_stages(part, stores, jobs, settings)

        return run_part

    def _start_spark(self, found: "_Found", running: ExitStack) -> str | None:
        """Start Spark, and leave out of the plan what this Spark cannot do; says what that is."""
        from checks.canary import native_refusal
        from checks.columns.meaning import without_changed_meaning
        from scrub.spark.watching import stoppable

        spark = self.session()
        running.enter_context(stoppable(spark, self.run_id))
        refusal = native_refusal(found.plan, spark)
        if refusal is not None:
            found.plan = self.plan(refusal)
        found.plan = without_changed_meaning(found.plan, spark)
        return refusal

    def place_for(self, plan: CheckPlan) -> Place:
        """Where to run a plan."""
        from checks.place import place_of
        from scrub.stores.needed_bytes import needed_bytes

        asked_for = self.spark.bytes_asked_for
        asked_for = self.catalog.in_process_bytes if asked_for is None else asked_for
        bytes_max = IN_PROCESS_BYTES_DEFAULT if asked_for is None else asked_for
        return place_of(
            plan,
            spark_named=self.spark.named,
            bytes_max=bytes_max,
            needed_bytes=needed_bytes,
        )

    def _run_parts(
        self, found: "_Found", run_part: "Callable[[CheckPlan], Findings] | None"
    ) -> None:
        """Columns, then the database's own indexes, then pairs: so defects are ordered."""
        parts: list[CheckPlan] = []
        if run_part is not None:
            from checks.run import plans_by_source

            parts = list(plans_by_source(found.plan))
        of_columns = [part for part in parts if part.tables[0].pairs is None]
        for part in of_columns:
            assert run_part is not None
            found.add(part, run_part(part))
        if self._has_own_indexes():
            request = replace(self.request, limit=found.room(self.request.limit))
            found.own = check_own_indexes(
                self.tables, request, self.stores, self.on_progress, self.on_defect
            )
            found.defects += found.own.defects
        for part in parts[len(of_columns) :]:
            assert run_part is not None
            self.on_progress(Progress(phase="looking at pairs"))
            found.add(part, run_part(part))


@dataclass(slots=True)
class _Found:
    """What was found so far, by entry source; the plan that was carried out at last."""

    plan: CheckPlan
    checked: "list[tuple[CheckPlan, Findings]]" = field(default_factory=list)
    own: OwnIndexResults = field(default_factory=OwnIndexResults)
    defects: list[Defect] = field(default_factory=list)

    def add(self, part: CheckPlan, findings: "Findings") -> None:
        self.checked.append((part, findings))
        self.defects += findings.defects

    def room(self, limit: int) -> int:
        """How many more defects are to be shown."""
        return max(limit - len(self.defects), 0)


def _indexes_of(plan: CheckPlan) -> list[tuple[str, list[str]]]:
    return [(of.table.name, [one.index.name for one in of.indexes]) for of in plan.tables]


def _comparable(later: TablePlan, before: TablePlan) -> TablePlan:
    """The later plan of a table, with the buckets and the pairs of the earlier one."""
    later = replace(later, bucket_bits=before.bucket_bits)
    if later.pairs is None or before.pairs is None:
        return later
    relations = [
        replace(of, keys=earlier.keys)
        for of, earlier in zip(later.pairs.relations, before.pairs.relations, strict=True)
    ]
    return replace(later, pairs=replace(later.pairs, relations=tuple(relations)))
