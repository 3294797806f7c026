# SPDX-License-Identifier: Apache-2.0
"""The part of a check that concerns indexes of the database itself. It needs no Spark."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from scrub.app.checking.all_defects import DefectListener
from scrub.app.selection import select_indexes
from scrub.errors import RelationMismatch, ScrubError, StoreUnavailable, UsageError
from scrub.model.command_line import check_line
from scrub.model.defect import Defect
from scrub.model.plan import NotChecked, OwnIndexPlan
from scrub.model.progress import Progress, ProgressListener
from scrub.model.request import CheckRequest
from scrub.model.result import CheckOutcome, TableResult
from scrub.model.table import Index, Table
from scrub.stores.base import ReadableStore, no_session

if TYPE_CHECKING:
    from scrub.stores.postgres.store import PostgresStore

NAMED_MAX = 1_000_000
"""How many defects of one index are named for who asks for all of them; memory holds them."""

WHERE_DOES_NOT_APPLY = "--where: an index is walked through as a whole"


@dataclass(slots=True)
class OwnIndexResults:
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


def own_indexes(table: Table, request: CheckRequest) -> list[Index]:
    """The database's own indexes that a request asks for."""
    from checks.registry import INDEX, checks_of

    if table.kv is not None or INDEX not in checks_of(request, table):
        return []
    return [index for index in select_indexes(table, request) if index.is_own]


def check_own_indexes(
    tables: Iterable[Table],
    request: CheckRequest,
    stores: Mapping[str, ReadableStore],
    on_progress: ProgressListener,
    on_defect: DefectListener | None = None,
) -> OwnIndexResults:
    """Walk through each of them, one after the other; `on_defect` gets every defect."""
    from checks.outcomes import outcome_of_skipped

    results = OwnIndexResults()
    for table in tables:
        for index in own_indexes(table, request):
            on_progress(Progress(phase=f"{table.name}.{index.name}: walking through the index"))
            limit = max(request.limit - len(results.defects), 0)
            named_max = limit if on_defect is None else max(limit, NAMED_MAX)
            try:
                outcome, defects = _check(table, index, request, stores[table.store], named_max)
            except (StoreUnavailable, RelationMismatch) as error:
                outcome, defects = outcome_of_skipped(_skipped(table, index, error)), []
                results.errors.append(error)
            results.outcomes.setdefault(table.name, []).append(outcome)
            results.defects += defects[:limit]
            if on_defect is not None:
                _demand_all(request, table, index, outcome, len(defects))
                for defect in defects:
                    on_defect(defect)
    return results


def _demand_all(
    request: CheckRequest, table: Table, index: Index, outcome: CheckOutcome, named: int
) -> None:
    """A file of all defects has all of them; they are held in memory until they are written."""
    if request.all_defects is not None and outcome.defects > named:
        raise UsageError(
            f"{table.name}.{index.name} has {outcome.defects:,} defects, and --all-defects writes "
            f"at most {NAMED_MAX:,} of an index of the database itself",
            hint="build the index again; to see the statement, under What to do: "
            + check_line(table),
        )


def plan_own_indexes(
    tables: Iterable[Table], request: CheckRequest, stores: Mapping[str, ReadableStore]
) -> list[OwnIndexPlan | NotChecked]:
    """What a check would do with each of them; the server's catalogs are asked, no row is read."""
    return [
        _plan(table, index, request, stores[table.store])
        for table in tables
        for index in own_indexes(table, request)
    ]


def _plan(
    table: Table, index: Index, request: CheckRequest, store: ReadableStore
) -> OwnIndexPlan | NotChecked:
    from checks.own_indexes.plan import plan_own_index

    try:
        pinned = _pinned(table, index, request, store)
        if pinned is None:
            return _skipped(table, index)
        opened, rows = pinned
        return plan_own_index(opened, table, index, rows)
    except (StoreUnavailable, RelationMismatch) as error:
        return _skipped(table, index, error)


def _skipped(table: Table, index: Index, error: ScrubError | None = None) -> NotChecked:
    """An index that is not looked at: it could not be read, or `--where` does not apply to it."""
    from checks.registry import INDEX

    name = index.name
    if error is not None:
        return NotChecked.because_of(error, table=table.name, check=INDEX.name, index=name)
    reason = WHERE_DOES_NOT_APPLY
    return NotChecked(table=table.name, check=INDEX.name, index=name, reason=reason)


def _pinned(
    table: Table, index: Index, request: CheckRequest, store: ReadableStore
) -> "tuple[PostgresStore, int | None] | None":
    """The store with the table locked until the run is over, and its rows; None for `--where`."""
    from scrub.stores.postgres.store import PostgresStore

    for as_of in request.as_of:
        if as_of.relation in (None, table.name, index.name):
            raise UsageError(
                f"store {table.store}: PostgreSQL has no versions, so there is no --as-of"
            )
    if request.where is not None:
        return None
    rows = store.pin(table.relation, None, no_session, ()).rows
    assert isinstance(store, PostgresStore), "no other store may have indexes of its own"
    return store, rows


def _check(
    table: Table, index: Index, request: CheckRequest, store: ReadableStore, limit: int
) -> tuple[CheckOutcome, list[Defect]]:
    from checks.outcomes import outcome_of_skipped
    from checks.own_indexes.index import check_own_index

    pinned = _pinned(table, index, request, store)
    if pinned is None:
        return outcome_of_skipped(_skipped(table, index)), []
    found = check_own_index(pinned[0], table, index, limit)
    if request.settle_seconds is not None:
        found.note("not settled: entries and rows are of one snapshot")
    return found.outcome(index), found.defects
