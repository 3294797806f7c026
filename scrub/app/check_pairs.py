# SPDX-License-Identifier: Apache-2.0
"""The part of a check that concerns tables in key-value layout."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrub.app.selection import select_indexes
from scrub.errors import RelationMismatch, StoreUnavailable
from scrub.model.defect import PHYSICAL_KINDS, Defect, DefectKind
from scrub.model.kv import DatumKind
from scrub.model.request import AsOf, CheckRequest
from scrub.model.result import CheckOutcome, Status, TableResult
from scrub.model.table import Column, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.base import ReadableStore, SessionProvider

if TYPE_CHECKING:
    from checks.findings import SlotFindings
    from checks.kv_runner import KvFindings, KvPlan

_PAIR = tuple(Column(name=name, type=ColumnType(TypeName.BINARY)) for name in ("key", "value"))


@dataclass(slots=True)
class PairResults:
    """Outcomes and defects of all tables in key-value layout."""

    tables: list[TableResult] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)


def check_pairs(
    tables: Iterable[Table],
    request: CheckRequest,
    stores: Mapping[str, ReadableStore],
    session: SessionProvider,
) -> PairResults:
    """Check the pairs of some tables, one table after the other."""
    from checks.kv_runner import run_kv_check

    results = PairResults()
    for table in tables:
        if request.where is not None:
            reason = "--where speaks of columns, and pairs are bytes"
            results.tables.append(_not_checked(table, reason, Status.NOT_APPLICABLE))
            continue
        try:
            plan = _plan(table, request, stores, session)
        except StoreUnavailable as error:
            results.tables.append(_not_checked(table, str(error), Status.INCOMPLETE))
            continue
        limit = max(request.limit - len(results.defects), 0)
        found = run_kv_check(plan, stores, session(), limit, request.redact)
        results.tables.append(_table_result(plan, found, request))
        physical = "physical" in request.checks
        results.defects += [d for d in found.defects if physical or d.kind not in PHYSICAL_KINDS]
    return results


def _plan(
    table: Table,
    request: CheckRequest,
    stores: Mapping[str, ReadableStore],
    session: SessionProvider,
) -> "KvPlan":
    from checks.kv_runner import KvPlan
    from checks.plan import bucket_bits

    indexes = select_indexes(table, request) if "index" in request.checks else ()
    relations = {(table.store, table.relation): table.name}
    relations |= {(index.store, index.relation): index.name for index in reversed(indexes)}
    relations[table.store, table.relation] = table.name
    facts = [
        stores[store].pin(relation, _as_of(request, name, name == table.name), session, _PAIR)
        for (store, relation), name in relations.items()
    ]
    for of in facts:
        missing = [column.name for column in _PAIR if column.name not in of.columns]
        if missing:
            raise RelationMismatch(
                f"table {table.name}: relation {of.relation} has no column {' and '.join(missing)}",
                hint="pairs are in columns `key` and `value`, both binary",
            )
    rows = [of.rows for of in facts]
    known = sum(number or 0 for number in rows) if all(n is not None for n in rows) else None
    return KvPlan(
        table=table,
        relations=tuple(facts),
        indexes=tuple(index.name for index in indexes if not _is_collated(table, index.name)),
        bucket_bits=bucket_bits(known),
    )


def _is_collated(table: Table, name: str) -> bool:
    """Whether an index has a collation key that is in no pair of the row, nor can be computed."""
    assert table.kv is not None
    (index,) = (of for of in table.kv.indexes if of.name == name)
    in_row = {part.column for part in table.kv.primary_key}
    return any(
        table.kv.by_id[part.column].type.kind is DatumKind.COLLATED and part.column not in in_row
        for part in index.parts
    )


def _as_of(request: CheckRequest, name: str, is_table: bool) -> AsOf | None:
    for as_of in request.as_of:
        if as_of.relation == name or as_of.time is not None:
            return as_of
        if as_of.relation is None and is_table:
            return as_of
    return None


def _table_result(plan: "KvPlan", found: "KvFindings", request: CheckRequest) -> TableResult:
    outcomes: list[CheckOutcome] = []
    if "physical" in request.checks:
        outcomes.append(_outcome("physical", None, found.physical, plan))
    if "index" in request.checks:
        outcomes += [_outcome("index", name, of, plan) for name, of in found.indexes.items()]
        outcomes += [
            CheckOutcome(
                check="index",
                index=index.name,
                status=Status.NOT_APPLICABLE,
                reason="its collation keys are not in the rows, and cannot be computed here",
            )
            for index in select_indexes(plan.table, request)
            if index.name not in found.indexes
        ]
    return TableResult(table=plan.table.name, snapshot=plan.snapshot, checks=tuple(outcomes))


def _outcome(check: str, index: str | None, found: "SlotFindings", plan: "KvPlan") -> CheckOutcome:
    return CheckOutcome(
        check=check,
        index=index,
        status=found.status,
        reason=found.incomplete,
        rows=found.rows,
        entries=found.entries,
        undecided=found.undecided,
        counts={kind: found.counts[kind] for kind in DefectKind if found.counts.get(kind)},
        snapshot=plan.snapshot,
        engine="native",
    )


def _not_checked(table: Table, reason: str, status: Status) -> TableResult:
    checks: Sequence[tuple[str, str | None]] = [
        ("physical", None),
        *(("index", index.name) for index in table.indexes),
    ]
    return TableResult(
        table=table.name,
        snapshot="not read",
        checks=tuple(
            CheckOutcome(check=check, index=index, status=status, reason=reason)
            for check, index in checks
        ),
    )
