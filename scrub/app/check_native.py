# SPDX-License-Identifier: Apache-2.0
"""The part of a check that concerns indexes of the database itself. It needs no Spark."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from scrub.app.discovery import no_session
from scrub.app.selection import select_indexes
from scrub.errors import RelationMismatch, ScrubError, StoreUnavailable, UsageError
from scrub.model.defect import Defect
from scrub.model.plan import NotChecked, WalkedIndex
from scrub.model.progress import Progress, ProgressListener
from scrub.model.request import CheckRequest
from scrub.model.result import CheckOutcome, Status, TableResult
from scrub.model.table import Index, Table
from scrub.stores.base import ReadableStore

_ONLY_THERE = "the catalog lets no other store have native indexes"
WHERE_DOES_NOT_APPLY = "--where: an index is walked through as a whole"


@dataclass(slots=True)
class NativeResults:
    """Outcomes by table, and defects of all of them."""

    outcomes: dict[str, list[CheckOutcome]] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)
    errors: list[ScrubError] = field(default_factory=list)  # what kept some from being read

    def joined_to(self, results: Iterable[TableResult]) -> tuple[TableResult, ...]:
        """The results of the other checks with these; a table may have these only."""
        rest = dict(self.outcomes)
        joined = [
            replace(result, checks=(*result.checks, *rest.pop(result.table, ())))
            for result in results
        ]
        joined += [
            TableResult(
                table=table,
                snapshot=next((c.snapshot for c in outcomes if c.snapshot), "not read"),
                checks=tuple(outcomes),
            )
            for table, outcomes in rest.items()
        ]
        return tuple(joined)


def native_indexes(table: Table, request: CheckRequest) -> list[Index]:
    """The database's own indexes that a request asks for."""
    if table.kv is not None or "index" not in request.checks_of(table):
        return []
    return [index for index in select_indexes(table, request) if index.native]


def check_native_indexes(
    tables: Iterable[Table],
    request: CheckRequest,
    stores: Mapping[str, ReadableStore],
    on_progress: ProgressListener,
) -> NativeResults:
    """Walk through each of them, one after the other."""
    results = NativeResults()
    for table in tables:
        for index in native_indexes(table, request):
            on_progress(Progress(phase=f"{table.name}.{index.name}: walking through the index"))
            limit = max(request.limit - len(results.defects), 0)
            try:
                outcome, defects = _check(table, index, request, stores[table.store], limit)
            except (StoreUnavailable, RelationMismatch) as error:
                outcome, defects = _failed(index, error), []
                results.errors.append(error)
            results.outcomes.setdefault(table.name, []).append(outcome)
            results.defects += defects
    return results


def plan_native_indexes(
    tables: Iterable[Table], request: CheckRequest, stores: Mapping[str, ReadableStore]
) -> list[WalkedIndex | NotChecked]:
    """What a check would do with each of them; the server's catalogs are asked, no row is read."""
    return [
        _plan(table, index, request, stores[table.store])
        for table in tables
        for index in native_indexes(table, request)
    ]


def _plan(
    table: Table, index: Index, request: CheckRequest, store: ReadableStore
) -> WalkedIndex | NotChecked:
    from checks.native_plan import plan_native_index
    from scrub.stores.postgres.store import PostgresStore

    _refuse_as_of(table, index, request)
    kept_by: ScrubError | None = None
    if request.where is None:
        try:
            rows = store.pin(table.relation, None, no_session, ()).rows
            assert isinstance(store, PostgresStore), _ONLY_THERE
            return plan_native_index(store, table, index, rows)
        except (StoreUnavailable, RelationMismatch) as error:
            kept_by = error
    return NotChecked(
        table=table.name,
        check="index",
        index=index.name,
        reason=kept_by.in_one_line if kept_by else WHERE_DOES_NOT_APPLY,
        incomplete=kept_by is not None,
        error=kept_by,
    )


def _refuse_as_of(table: Table, index: Index, request: CheckRequest) -> None:
    for as_of in request.as_of:
        if as_of.relation in (None, table.name, index.name):
            raise UsageError(
                f"store {table.store}: PostgreSQL has no versions, so there is no --as-of"
            )


def _check(
    table: Table, index: Index, request: CheckRequest, store: ReadableStore, limit: int
) -> tuple[CheckOutcome, list[Defect]]:
    from checks.native_index import check_native_index
    from scrub.stores.postgres.store import PostgresStore

    _refuse_as_of(table, index, request)
    if request.where is not None:
        status = Status.NOT_APPLICABLE
        outcome = CheckOutcome(
            check="index", index=index.name, status=status, reason=WHERE_DOES_NOT_APPLY
        )
        return outcome, []
    store.pin(table.relation, None, no_session, ())  # locked until the run is over
    assert isinstance(store, PostgresStore), _ONLY_THERE
    found = check_native_index(store, table, index, limit)
    if request.settle_seconds is not None:
        found.note("not settled: entries and rows are of one snapshot")
    return found.outcome(index), found.defects


def _failed(index: Index, error: ScrubError) -> CheckOutcome:
    return CheckOutcome(
        check="index",
        index=index.name,
        status=Status.INCOMPLETE,
        reason=error.in_one_line,
        error=True,
    )
