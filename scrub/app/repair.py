# SPDX-License-Identifier: Apache-2.0
"""Repairing indexes: plan, execute, undo, and look at the journal."""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from repair.executing import Executor
from repair.planning import plan_repair
from repair.recovering import recovering, settle_recoveries
from scrub.app.check_tables import run_check
from scrub.app.delta_selection import lazy_session
from scrub.app.earlier_result import read_result
from scrub.app.pair_repairs import plan_for_pairs, seen_by_repair
from scrub.app.repair_stores import OnlyRead, open_repairs, open_repairs_or_rows
from scrub.app.row_presence import RowPresence, keys_told_twice
from scrub.app.selection import near
from scrub.catalog import Catalog, load_catalog
from scrub.errors import UsageError
from scrub.model.defect import Defect
from scrub.model.progress import Progress, ProgressListener, ignore_progress
from scrub.model.repair import (
    Action,
    ActionKind,
    DoneAction,
    RepairPlan,
    RepairReport,
    RepairRequest,
    UndoneChange,
    UndoReport,
)
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.result import RunResult
from scrub.model.table import Table
from scrub.stores.base import SessionProvider
from scrub.stores.repairing import JournalRecord, RepairingStore, RunRecord

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


def preview_undo(catalog: Path, run: str) -> UndoReport:
    """What undoing a run would take back."""
    with _found_run(catalog, run) as (_, _, record, changes):
        return UndoReport(of=run, table=record.table, started=record.started, changes=len(changes))


def execute_undo(
    catalog: Path, run: str, *, on_progress: ProgressListener = ignore_progress
) -> UndoReport:
    """Take back what a run did, where its result is still there."""
    with _found_run(catalog, run) as (loaded, store, record, changes):
        own = _new_run()
        executor = Executor(store, seen_by_repair(loaded.tables[record.table]), own)
        executor.tell = lambda n: on_progress(Progress(phase="undoing", rows_done=n))
        done = executor.undo(run)
    return UndoReport(
        of=run,
        table=record.table,
        started=record.started,
        changes=len(changes),
        run=own,
        done=tuple(
            UndoneChange(
                index=change.index,
                kind=change.kind,
                primary_key=change.primary_key,
                outcome=applied.outcome,
                reason=applied.reason,
            )
            for change, applied in done
        ),
    )


def list_runs(catalog: Path) -> list[RunRecord]:
    """The repairs and undos that all stores remember, the latest first."""
    with ExitStack() as stack:
        stores = _all_stores(load_catalog(catalog), stack)
        # Several tables may share a store, which remembers the runs of all of them.
        found = {record.run: record for _, store in stores for record in store.runs()}
    return sorted(found.values(), key=lambda record: record.started, reverse=True)


def show_run(catalog: Path, run: str) -> tuple[RunRecord, list[JournalRecord]]:
    """One run and what it did."""
    with _found_run(catalog, run) as (_, store, record, _):
        return record, list(store.journal(run))


def forget_runs(catalog: Path, days: float) -> int:
    """Remove from the journals what ended longer ago; undone it cannot be any more."""
    before = datetime.now(UTC) - timedelta(days=days)
    with ExitStack() as stack:
        return sum(store.forget(before) for _, store in _all_stores(load_catalog(catalog), stack))


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

    def demand_writable(self) -> None:
        if isinstance(self.store, RowPresence):
            raise OnlyRead(self.store.why)

    def previewed(self) -> RepairReport:
        defects, rows, before, over = self._defects()
        chosen = [defect for defect in defects if self._is_meant(defect)]
        plan = self._planned(chosen)
        if self.request.recover_rows:
            plan = settle_recoveries(plan, self.table, self.store, chosen)
        return RepairReport(
            table=self.table.name,
            plan=self._with_statements(plan),
            before=before,
            over_limit=over or self._over_limit(plan, rows),
            only_read=self.store.why if isinstance(self.store, RowPresence) else None,
        )

    def _planned(self, chosen: Sequence[Defect]) -> RepairPlan:
        if self.table.kv is not None:
            return plan_for_pairs(chosen, self.table, self.store)
        keys = keys_told_twice(chosen)
        there = self.store.rows_there(self.table, keys) if keys else []
        present = [
            (self.table.name, key) for key, is_there in zip(keys, there, strict=True) if is_there
        ]
        tables = {self.table.name: self.table}
        return plan_repair(chosen, tables, present, self.request.recover_rows)

    def executed(self, report: RepairReport) -> RepairReport:
        assert not isinstance(self.store, RowPresence), "it was demanded to be writable"
        run = _new_run()
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
                done.append(self._reindexed(action))
        after = self._check(limit=100) if self.request.verify else None
        return replace(report, run=run if entries else None, done=tuple(done), after=after)

    def _reindexed(self, action: Action) -> DoneAction:
        from scrub.model.repair import ActionOutcome

        assert action.statement is not None, "the plan has the statement"
        self._on_progress(Progress(phase=f"rebuilding {action.index}"))
        self.store.reindex(action.statement)  # type: ignore[union-attr]
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

    def _defects(self) -> tuple[Sequence[Defect], int | None, RunResult | None, str | None]:
        """Defects, rows of the table if known, the check if one was made, and why too many."""
        if self.request.from_file is not None:
            result = read_result(self.request.from_file)
            rows = result.rows.get(self.table.name)
            return result.defects, rows, None, None
        before = self._check(limit=self.request.max_changes)
        rows = max((o.rows for o in before.outcomes if o.rows is not None), default=None)
        hidden = before.defects_total - len(before.defects)
        over = (
            f"there are {before.defects_total:,} defects, more than --max-changes "
            f"{self.request.max_changes:,}"
            if hidden > 0
            else None
        )
        return before.defects, rows, before, over

    def _check(self, limit: int) -> RunResult:
        return run_check(
            CheckRequest(
                catalog=self.request.catalog,
                tables=(self.table.name,),
                indexes=self.request.indexes,
                where=self.request.where,
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

    def _over_limit(self, plan: RepairPlan, rows: int | None) -> str | None:
        changes = plan.changes
        if changes > self.request.max_changes:
            return f"{changes:,} changes are more than --max-changes {self.request.max_changes:,}"
        if rows is None and changes > 1 and self.request.max_fraction < 1:
            source = self.request.from_file or "the check before"
            return (
                f"{source} does not say how many rows the table has, so nobody knows whether "
                f"{changes:,} changes are more than --max-fraction {self.request.max_fraction:g} "
                "of them; take a result of --format json, or say --max-fraction 1 to go by "
                "--max-changes alone"
            )
        if rows is not None and changes > max(1.0, rows * self.request.max_fraction):
            share = f"{changes / rows:.1%} of {rows:,} rows" if rows else "many for an empty table"
            return (
                f"{changes:,} changes are {share}, more than --max-fraction "
                f"{self.request.max_fraction:g}; so much damage often has a cause of its own"
            )
        return None


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


def _table_of(catalog: Catalog, request: RepairRequest) -> Table:
    if request.table not in catalog.tables:
        raise UsageError(
            f"the catalog has no table {request.table}", hint=near(request.table, catalog.tables)
        )
    table = catalog.tables[request.table]
    if request.recover_rows and request.indexes:
        raise UsageError(
            "--recover-rows needs what all indexes tell of a row, and --index looks at some",
            hint="leave one of the two out; with --index alone, entries of lost rows are deleted",
        )
    known = [index.name for index in table.indexes]
    for name in request.indexes:
        if name not in known:
            raise UsageError(f"there is no index {name} of {table.name}", hint=near(name, known))
    return table


@contextmanager
def _found_run(
    path: Path, run: str
) -> Iterator[tuple[Catalog, RepairingStore, RunRecord, list[JournalRecord]]]:
    catalog = load_catalog(path)
    with ExitStack() as stack:
        known: list[str] = []
        for table, store in _all_stores(catalog, stack):
            runs = {record.run: record for record in store.runs() if record.table == table.name}
            known += runs
            if run in runs:
                records = [r for r in store.journal(run) if r.undone_by is None]
                yield catalog, store, runs[run], records
                return
    raise UsageError(f"no store of the catalog remembers a run {run}", hint=near(run, known))


def _all_stores(
    catalog: Catalog, stack: ExitStack | None = None
) -> Iterator[tuple[Table, RepairingStore]]:
    """A writable store for each table that is in one; the same store may come more than once."""
    with ExitStack() as own:
        sessions = stack if stack is not None else own
        session = sessions.enter_context(lazy_session(None, None, ignore_progress))
        for table in catalog.tables.values():
            try:
                store = open_repairs(catalog, table, session)
            except UsageError:
                continue
            sessions.enter_context(closing(store))
            yield table, store


def _new_run() -> str:
    return uuid.uuid4().hex[:12]
