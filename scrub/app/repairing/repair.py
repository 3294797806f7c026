# SPDX-License-Identifier: Apache-2.0
"""Repairing indexes: plan, execute, and check again."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypedDict, Unpack

from repair.executing import Executor
from repair.hindered import without_hindered
from repair.recovering import recovering, settle_recoveries
from scrub.app.checking.tables import run_check
from scrub.app.lazy_spark import lazy_session
from scrub.app.repairing.earlier_result import EarlierResult, read_result
from scrub.app.repairing.journal import new_run
from scrub.app.repairing.limits import over_limit, too_many_defects
from scrub.app.repairing.planned import Planning, indexes_looked_at
from scrub.app.repairing.row_presence import RowPresence
from scrub.app.repairing.stores import OnlyRead, open_repairs_or_rows, seen_by_repair
from scrub.app.stored_types import with_stored_types
from scrub.catalog import Catalog, load_catalog
from scrub.catalog.spelling import did_you_mean
from scrub.errors import ScrubError, UsageError
from scrub.model.defect import Defect
from scrub.model.progress import Progress, ProgressListener, ignore_progress
from scrub.model.repair import (
    Action,
    ActionKind,
    ActionOutcome,
    DoneAction,
    RepairPlan,
    RepairReport,
    RepairRequest,
)
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.result import RunResult
from scrub.model.table import Table
from scrub.stores.base import SessionProvider
from scrub.stores.repairing import ReindexingStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class RunOptions(TypedDict, total=False):
    """A session to borrow, or how to start one if a check needs it; and who hears of progress."""

    spark: "SparkSession | None"
    spark_options: SparkOptions | None
    on_progress: ProgressListener


def preview_repair(request: RepairRequest, **options: Unpack[RunOptions]) -> RepairReport:
    """What a repair would do and what it refuses; nothing is written."""
    with opened_repair(request, **options) as repair:
        return repair.previewed()


def execute_repair(request: RepairRequest, **options: Unpack[RunOptions]) -> RepairReport:
    """Repair, and look at what was touched; over a limit, nothing is written."""
    with opened_repair(request, **options) as repair:
        repair.demand_writable()
        report = repair.previewed()
        return report if report.over_limit else repair.executed(report)


class Repair:
    """A request with its catalog read; Spark starts if a check needs it."""

    def __init__(
        self, request: RepairRequest, session: SessionProvider, options: RunOptions
    ) -> None:
        self.request = request
        self.catalog = load_catalog(request.catalog)
        asked_for = _table_asked_for(self.catalog, request)
        self.table = with_stored_types(self.catalog, asked_for, session)
        self.store = open_repairs_or_rows(self.catalog, self.table, session)
        if request.recover_rows:
            recovering(self.store, self.table)
        self._options = options
        self._on_progress = options.get("on_progress", ignore_progress)
        self._is_in_place = True

    def demand_writable(self) -> None:
        if isinstance(self.store, RowPresence):
            raise OnlyRead(self.store.why)

    def previewed(self, in_place: bool = True) -> RepairReport:
        """The plan; what is not made `in_place` is made by hand, whatever hinders an undo."""
        self._is_in_place = in_place and not isinstance(self.store, RowPresence)
        file = self.request.from_file
        if file is not None:
            return self._from_file(read_result(file))
        before = self._check(self.request.max_changes, self.request.indexes, self.request.where)
        report = self._report(
            before.defects, _sizes(before), indexes_looked_at(before, self.request)
        )
        over = too_many_defects(before, self.request) or report.over_limit
        return replace(
            report,
            before=before,
            found=before.defects_total,
            over_limit=over,
            unnamed=_unnamed((o.index, o.unnamed, o.reason) for o in before.outcomes),
        )

    def _from_file(self, result: EarlierResult) -> RepairReport:
        report = self._report(result.defects, result.sizes_of(self.table.name))
        request = self.request
        counted = result.counted(self.table.name, request.indexes, request.kinds)
        return replace(
            report,
            source=request.from_file,
            not_in_file=max(0, counted - report.chosen),
            not_looked_at=result.not_looked_at(self.table.name, request.indexes),
            unnamed=_unnamed(result.unnamed(self.table.name, request.indexes)),
        )

    def _report(
        self,
        defects: Sequence[Defect],
        sizes: Mapping[str | None, int],
        looked_at: Collection[str] = (),
    ) -> RepairReport:
        chosen = [defect for defect in defects if _is_asked_for(defect, self.request)]
        planning = Planning(
            self.request,
            self.table,
            self.store,
            lambda: self._check(self.request.max_changes),
            self._on_progress,
        )
        plan = planning.plan(chosen, defects, looked_at)
        if self.request.recover_rows:
            plan = settle_recoveries(plan, self.table, self.store, chosen)
        if self._is_in_place:
            assert not isinstance(self.store, RowPresence), "it only reads"
            plan = without_hindered(plan, seen_by_repair(self.table), self.store)
        return RepairReport(
            table=self.table.name,
            plan=self._with_statements(plan),
            before=None,
            found=len(defects),
            chosen=len(chosen),
            over_limit=over_limit(plan, sizes, self.request),
            only_read=self.store.why if isinstance(self.store, RowPresence) else None,
        )

    def executed(self, report: RepairReport) -> RepairReport:
        assert not isinstance(self.store, RowPresence), "it was required to be writable"
        run = new_run()
        executor = Executor(
            self.store,
            seen_by_repair(self.table),
            run,
            self.request.wait_limit,
            self.request.rows_per_second,
        )
        executor.tell = lambda n: self._on_progress(Progress(phase="repairing", rows_done=n))
        entries = [a for a in report.plan.actions if a.kind is not ActionKind.REINDEX]
        # Without anything to do, there may still be what a run left that was cut off.
        done = executor.repair(entries) if entries or executor.cut_off else []
        for action in report.plan.actions:
            if action.kind is ActionKind.REINDEX:
                done.append(self._reindexed(action, is_first=not done))
        if self.catalog.journal_days is not None:
            self.store.forget(datetime.now(UTC) - timedelta(days=self.catalog.journal_days))
        report = replace(report, run=run if entries else None, done=tuple(done), is_executed=True)
        return self._verified(report) if self.request.verify else report

    def _verified(self, report: RepairReport) -> RepairReport:
        """What was repaired is checked, all its rows; whatever stops that, what was done is told.

        An index that nobody asked for, and that may not even be built, is none of its business.
        """
        try:
            return replace(report, after=self._check(limit=100, indexes=self._repaired()))
        except ScrubError as error:
            return replace(report, no_after=error.with_hint)

    def _repaired(self) -> tuple[str, ...]:
        """The indexes that were asked for; empty: all."""
        file = self.request.from_file
        if self.request.indexes or file is None:
            return self.request.indexes
        known = [index.name for index in self.table.indexes]
        return tuple(i for i in read_result(file).looked_at(self.table.name) if i in known)

    def _reindexed(self, action: Action, is_first: bool) -> DoneAction:
        assert action.statement is not None, "the plan has the statement"
        assert isinstance(self.store, ReindexingStore), "only such stores have own indexes"
        self._on_progress(Progress(phase=f"rebuilding {action.index}"))
        try:
            self.store.reindex(action.statement)
        except ScrubError as error:
            if is_first:
                raise
            return DoneAction(action, ActionOutcome.REFUSED, False, error.with_hint)
        return DoneAction(action, ActionOutcome.DONE)

    def _with_statements(self, plan: RepairPlan) -> RepairPlan:
        store = self.catalog.stores[self.table.store]

        def stated(action: Action) -> Action:
            if action.kind is not ActionKind.REINDEX:
                return action
            from scrub.stores.postgres.reindexing import reindex_of

            return replace(action, statement=reindex_of(store, self.table.index(action.index)))

        return replace(plan, actions=tuple(map(stated, plan.actions)))

    def _check(
        self, limit: int, indexes: tuple[str, ...] = (), where: str | None = None
    ) -> RunResult:
        return run_check(
            CheckRequest(
                catalog=self.request.catalog,
                tables=(self.table.name,),
                indexes=indexes,
                where=where,
                limit=limit,
                fresh=True,
                constraints_unasked=False,
            ),
            **self._options,
        )


@contextmanager
def opened_repair(request: RepairRequest, **options: Unpack[RunOptions]) -> Iterator[Repair]:
    spark, spark_options = options.get("spark"), options.get("spark_options")
    on_progress = options.get("on_progress", ignore_progress)
    with lazy_session(spark, spark_options, on_progress) as session:
        repair = Repair(request, session, options)
        with closing(repair.store):
            yield repair


def _table_asked_for(catalog: Catalog, request: RepairRequest) -> Table:
    """The table of the request; options that contradict each other are refused."""
    table = catalog.table(request.table)
    if request.recover_rows and request.indexes:
        raise UsageError(
            "--recover-rows reads all indexes, so it cannot be combined with --index",
            hint="leave one of the two out",
        )
    if request.recover_rows and request.delete_last_copies:
        raise UsageError(
            "--recover-rows puts lost rows back, and --delete-last-copies deletes what is left of "
            "them",
            hint="choose one of the two",
        )
    known = [index.name for index in table.indexes]
    for name in request.indexes:
        if name not in known:
            raise UsageError(
                f"there is no index {name} of {table.name}",
                hint=did_you_mean(name, known, "indexes"),
            )
    return table


def _is_asked_for(defect: Defect, request: RepairRequest) -> bool:
    return (
        defect.table == request.table
        and (not request.indexes or defect.index in request.indexes)
        and (not request.kinds or defect.kind in request.kinds)
    )


def _sizes(result: RunResult) -> dict[str | None, int]:
    """How many entries indexes have, or rows if these are more; None stands for the table."""
    rows = max((o.rows for o in result.outcomes if o.rows is not None), default=None)
    found: dict[str | None, int] = {} if rows is None else {None: rows}
    for one in result.outcomes:
        if one.index is not None and rows is not None:
            found[one.index] = max(rows, one.entries or 0)
    return found


def _unnamed(checks: Iterable[tuple[str | None, int, str | None]]) -> str | None:
    """What checks know to differ and could not name: a repair needs the names."""
    told = [f"{index}: {reason or 'it differs'}" for index, number, reason in checks if number]
    return "; ".join(told) or None
