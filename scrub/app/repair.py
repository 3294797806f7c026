# SPDX-License-Identifier: Apache-2.0
"""Repairing indexes: plan, execute, and check again."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from repair.executing import Executor
from repair.hindered import without_hindered
from repair.last_copies import siblings_of, without_deletes
from repair.planning import plan_repair
from repair.recovering import recovering, settle_recoveries
from scrub.app.check_tables import run_check
from scrub.app.delta_selection import lazy_session
from scrub.app.earlier_result import EarlierResult, read_result
from scrub.app.pair_repairs import plan_for_pairs, seen_by_repair
from scrub.app.repair_journal import new_run
from scrub.app.repair_limits import over_limit, too_many_defects
from scrub.app.repair_stores import OnlyRead, open_repairs_or_rows
from scrub.app.row_presence import RowPresence
from scrub.app.selection import near
from scrub.catalog import Catalog, load_catalog
from scrub.errors import ScrubError, UsageError
from scrub.model.defect import Defect, DefectKind
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
from scrub.model.result import RunResult, Status
from scrub.model.table import Table
from scrub.stores.base import SessionProvider

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def preview_repair(
    request: RepairRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> RepairReport:
    """What a repair would do and what it refuses; nothing is written."""
    with opened_repair(request, spark, spark_options, on_progress) as repair:
        return repair.previewed()


def execute_repair(
    request: RepairRequest,
    *,
    spark: "SparkSession | None" = None,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> RepairReport:
    """Do it, and look at what was touched; over a limit, nothing is written."""
    with opened_repair(request, spark, spark_options, on_progress) as repair:
        repair.demand_writable()
        report = repair.previewed()
        return report if report.over_limit else repair.executed(report)


class Repair:
    """A request with its catalog read; Spark starts if a check needs it."""

    def __init__(
        self,
        request: RepairRequest,
        spark: "SparkSession | None",
        spark_options: SparkOptions | None,
        on_progress: ProgressListener,
        session: SessionProvider,
    ) -> None:
        self.request = request
        self.catalog = load_catalog(request.catalog)
        self.table = _table_of(self.catalog, request)
        self.store = open_repairs_or_rows(self.catalog, self.table, session)
        if request.recover_rows:
            recovering(self.store, self.table)
        self._spark, self._spark_options = spark, spark_options
        self._on_progress = on_progress
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
        report = self._report(before.defects, _sizes(before), self._looked_at(before))
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
        chosen = [defect for defect in defects if self._is_meant(defect)]
        plan = self._planned(chosen, defects, looked_at)
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

    def _planned(
        self, chosen: Sequence[Defect], found: Sequence[Defect], looked_at: Collection[str]
    ) -> RepairPlan:
        request = self.request
        if self.table.kv is not None:
            return self._planned_pairs(chosen, found, looked_at)
        return plan_repair(
            chosen,
            {self.table.name: self.table},
            recover_rows=request.recover_rows,
            others=found,
            siblings=siblings_of(chosen, self.table, self.store, looked_at, self._looking_at),
            delete_last_copies=request.delete_last_copies,
        )

    def _looking_at(self, index: str) -> None:
        self._on_progress(Progress(phase=f"looking for rows in {index}"))

    def _looked_at(self, before: RunResult) -> set[str]:
        """Indexes of which the check before has told every dangling entry."""
        if self.request.where is not None or before.defects_total > len(before.defects):
            return set()
        outcomes = [one for one in before.outcomes if one.index is not None]
        left = {o.index for o in outcomes if o.is_incomplete or o.status is Status.NOT_APPLICABLE}
        return {o.index for o in outcomes if o.index is not None} - {i for i in left if i}

    def _planned_pairs(
        self, chosen: Sequence[Defect], found: Sequence[Defect], looked_at: Collection[str]
    ) -> RepairPlan:
        """Nothing finds pairs by their row but a check, so the other indexes are checked."""
        is_meant = self.request.delete_last_copies
        names = {index.name for index in self.table.indexes}
        is_dangling = any(defect.kind is DefectKind.DANGLING for defect in chosen)
        unread: str | None = None
        if is_dangling and len(names) > 1 and names - set(looked_at):
            found, unread = self._all_pair_defects()
        ids = {(defect.id, defect.key_hex) for defect in chosen}
        siblings = [
            defect
            for defect in found
            if defect.kind is DefectKind.DANGLING
            and defect.table == self.table.name
            and (defect.id, defect.key_hex) not in ids
        ]
        plan = plan_for_pairs(chosen, self.table, self.store, siblings, is_meant)
        return plan if unread is None or is_meant else without_deletes(plan, unread)

    def _all_pair_defects(self) -> tuple[Sequence[Defect], str | None]:
        """What all indexes tell, and why that may not be everything."""
        try:
            result = self._check(self.request.max_changes)
        except ScrubError as error:
            return (), str(error)
        if result.defects_total > len(result.defects):
            return result.defects, (
                f"there are {result.defects_total:,} defects, more than --max-changes "
                f"{self.request.max_changes:,}"
            )
        reasons = [one.reason for one in result.outcomes if one.is_incomplete]
        return result.defects, reasons[0] or "a check was incomplete" if reasons else None

    def executed(self, report: RepairReport) -> RepairReport:
        assert not isinstance(self.store, RowPresence), "it was demanded to be writable"
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
        self._on_progress(Progress(phase=f"rebuilding {action.index}"))
        try:
            self.store.reindex(action.statement)  # type: ignore[union-attr]
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
            from scrub.stores.postgres.quoting import qualified

            name = qualified(store.schema or "public", self.table.index(action.index).relation)
            return replace(action, statement=f"REINDEX INDEX CONCURRENTLY {name}")

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
            ),
            spark=self._spark,
            spark_options=self._spark_options,
            on_progress=self._on_progress,
        )

    def _is_meant(self, defect: Defect) -> bool:
        request = self.request
        return (
            defect.table == self.table.name
            and (not request.indexes or defect.index in request.indexes)
            and (not request.kinds or defect.kind in request.kinds)
        )


@contextmanager
def opened_repair(
    request: RepairRequest,
    spark: "SparkSession | None",
    spark_options: SparkOptions | None,
    on_progress: ProgressListener,
) -> Iterator[Repair]:
    with lazy_session(spark, spark_options, on_progress) as session:
        repair = Repair(request, spark, spark_options, on_progress, session)
        with closing(repair.store):
            yield repair


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


def _table_of(catalog: Catalog, request: RepairRequest) -> Table:
    if request.table not in catalog.tables:
        raise UsageError(
            f"the catalog has no table {request.table}", hint=near(request.table, catalog.tables)
        )
    table = catalog.tables[request.table]
    if request.recover_rows and request.indexes:
        raise UsageError(
            "--recover-rows needs what all indexes tell of a row, and --index looks at some",
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
            raise UsageError(f"there is no index {name} of {table.name}", hint=near(name, known))
    return table
