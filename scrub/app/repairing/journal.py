# SPDX-License-Identifier: Apache-2.0
"""What repairs left in the journals of their stores: shown, taken back, and forgotten."""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from repair.executing import Executor
from repair.fitting import demand_fitting
from scrub.app.lazy_spark import lazy_session
from scrub.app.repairing.stores import open_repairs, seen_by_repair
from scrub.app.stored_types import with_stored_types
from scrub.catalog import Catalog, load_catalog
from scrub.catalog.spelling import did_you_mean
from scrub.errors import NotRepairable, UsageError
from scrub.model.command_line import command_line
from scrub.model.journal import JournalRecord, RememberedRun, RunRecord, UndoneChange, UndoReport
from scrub.model.progress import Progress, ProgressListener, ignore_progress
from scrub.model.table import Table
from scrub.stores.base import SessionProvider
from scrub.stores.repairing import RepairingStore


def new_run() -> str:
    return uuid.uuid4().hex[:12]


def preview_undo(catalog: Path, run: str) -> UndoReport:
    """What undoing a run would take back."""
    with _found_run(catalog, run) as found:
        return found.to_undo()


def execute_undo(
    catalog: Path, run: str, *, on_progress: ProgressListener = ignore_progress
) -> UndoReport:
    """Take back what a run did, where its result is still there; no run for nothing."""
    with _found_run(catalog, run) as found:
        asked = found.to_undo()
        if not asked.changes:
            return asked
        own = new_run()
        executor = Executor(found.store, seen_by_repair(found.table), own)
        executor.tell = lambda n: on_progress(Progress(phase="undoing", rows_done=n))
        done = executor.undo(run)
    return replace(
        asked,
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


def list_runs(catalog: Path) -> list[RememberedRun]:
    """The repairs and undos that all stores remember, the latest first."""
    with ExitStack() as stack:
        # Several tables may share a store, which remembers the runs of all of them.
        found = {
            record.run: (record, store)
            for _, store in _stores_of(catalog, stack)
            for record in store.runs()
        }
        runs = [_remembered(record, store) for record, store in found.values()]
    return sorted(runs, key=lambda run: run.record.started, reverse=True)


def show_run(catalog: Path, run: str) -> tuple[RunRecord, list[JournalRecord]]:
    """One run and what it did."""
    with _found_run(catalog, run) as found:
        return found.record, list(found.store.journal(run))


def runs_to_forget(catalog: Path, days: float) -> list[RememberedRun]:
    """What `forget_runs` would remove."""
    before = _before(days)
    return [
        run
        for run in list_runs(catalog)
        if run.record.finished is not None and run.record.finished < before
    ]


def forget_runs(catalog: Path, days: float) -> int:
    """Remove from the journals what ended longer ago; undone it cannot be any more."""
    before = _before(days)
    with ExitStack() as stack:
        return sum(store.forget(before) for _, store in _stores_of(catalog, stack))


def _before(days: float) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


@dataclass(frozen=True, slots=True)
class _Found:
    """A run, and the store that remembers it."""

    table: Table
    store: RepairingStore
    record: RunRecord

    def to_undo(self) -> UndoReport:
        if self.record.undoes is not None:
            raise UsageError(
                f"run {self.record.run} is itself an undo, of run {self.record.undoes}",
                hint="to have it repaired again: "
                + command_line("repair table", self.record.table, catalog=self.table.catalog),
            )
        records = self.store.journal(self.record.run)
        left = [record for record in records if record.undone_by is None]
        demand_fitting(seen_by_repair(self.table), left)
        return UndoReport(
            of=self.record.run,
            table=self.record.table,
            started=self.record.started,
            changes=tuple(left),
            undone_by=_undone_by(records),
        )


def _remembered(record: RunRecord, store: RepairingStore) -> RememberedRun:
    # An undo marks what it takes back in the journal of the run that it undoes.
    records = store.journal(record.undoes or record.run)
    if record.undoes is not None:
        taken = sum(one.undone_by == record.run for one in records)
        return RememberedRun(record, changes=taken, undone=0, undone_by=())
    undone = sum(one.undone_by is not None for one in records)
    return RememberedRun(record, len(records), undone, _undone_by(records))


def _undone_by(records: Sequence[JournalRecord]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(r.undone_by for r in records if r.undone_by is not None))


@contextmanager
def _found_run(path: Path, run: str) -> Iterator[_Found]:
    with ExitStack() as stack:
        known: list[str] = []
        catalog = load_catalog(path)
        session = stack.enter_context(lazy_session(None, None, ignore_progress))
        for table, store in _all_stores(catalog, session, stack):
            runs = {record.run: record for record in store.runs() if record.table == table.name}
            known += runs
            if run in runs:
                yield _Found(with_stored_types(catalog, table, session), store, runs[run])
                return
    raise UsageError(
        f"no journal of the catalog's stores holds a run {run}",
        hint=did_you_mean(run, known, "runs") if known else "the journal holds no repair",
    )


def _stores_of(path: Path, stack: ExitStack) -> Iterator[tuple[Table, RepairingStore]]:
    session = stack.enter_context(lazy_session(None, None, ignore_progress))
    return _all_stores(load_catalog(path), session, stack)


def _all_stores(
    catalog: Catalog, session: SessionProvider, stack: ExitStack
) -> Iterator[tuple[Table, RepairingStore]]:
    """A writable store for each table that is in one; the same store may come more than once."""
    for table in catalog.tables.values():
        try:
            store = open_repairs(catalog, table, session)
        except NotRepairable:
            continue
        stack.enter_context(closing(store))
        yield table, store
