# SPDX-License-Identifier: Apache-2.0
"""The part of a check that concerns tables in key-value layout."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from posixpath import normpath
from typing import TYPE_CHECKING

from scrub.app.selection import select_indexes
from scrub.errors import RelationMismatch, ScrubError, StoreUnavailable
from scrub.model.defect import PHYSICAL_KINDS, Defect, DefectKind
from scrub.model.kv import DatumKind, KvTable
from scrub.model.relation import RelationFacts
from scrub.model.request import AsOf, CheckRequest
from scrub.model.result import CheckOutcome, Status, TableResult
from scrub.model.table import Index, Table
from scrub.stores.base import ReadableStore, SessionProvider

if TYPE_CHECKING:
    from checks.findings import SlotFindings
    from checks.kv_findings import KvFindings, Settle
    from checks.kv_plan import KvPlan

Place = tuple[str, str]  # a store and a relation in it


@dataclass(slots=True)
class PairResults:
    """Outcomes and defects of all tables in key-value layout."""

    tables: list[TableResult] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    errors: list[ScrubError] = field(default_factory=list)  # what kept tables from being read


def check_pairs(
    tables: Iterable[Table],
    request: CheckRequest,
    stores: Mapping[str, ReadableStore],
    session: SessionProvider,
    catalog: Iterable[Table],
    sleep: Callable[[float], None],
) -> PairResults:
    """Check the pairs of some tables of a catalog, one table after the other."""
    from checks.kv_findings import KvSettings
    from checks.kv_runner import run_kv_check

    results = PairResults()
    planning = _Planning(request, stores, session, tuple(catalog))
    for table in tables:
        if request.where is not None:
            reason = "--where speaks of columns, and pairs are bytes"
            results.tables.append(_not_checked(table, request, reason, Status.NOT_APPLICABLE))
            continue
        try:
            plan, refusal = planning.plan(table)
        except (StoreUnavailable, RelationMismatch) as error:
            failed = _not_checked(table, request, error.in_one_line, Status.INCOMPLETE)
            results.tables.append(failed)
            results.errors.append(error)
            continue
        settings = KvSettings(
            limit=max(request.limit - len(results.defects), 0),
            redact=request.redact,
            physical="physical" in request.checks,
            settle=planning.settle(plan, refusal, sleep),
        )
        found = run_kv_check(plan, stores, session(), settings)
        results.tables.append(_table_result(plan, found, request))
        physical = "physical" in request.checks
        results.defects += [d for d in found.defects if physical or d.kind not in PHYSICAL_KINDS]
    return results


@dataclass(slots=True)
class _Planning:
    """Decides what is read of each table; knows which relations several of them share."""

    request: CheckRequest
    stores: Mapping[str, ReadableStore]
    session: SessionProvider
    catalog: tuple[Table, ...]
    strangers_sought: set[Place] = field(default_factory=set)

    def plan(self, table: Table) -> "tuple[KvPlan, str | None]":
        """The plan of a table, and why tasks cannot open files, if a canary says so."""
        from checks.kv_runner import pairs_refusal

        plan = self._plan(table, None)
        if refusal := pairs_refusal(plan, self.session()):
            plan = self._plan(table, refusal)
        if "physical" in self.request.checks:
            self.strangers_sought |= {_place(*of) for of in self._relations(table)}
        return plan, refusal

    def settle(
        self, plan: "KvPlan", refusal: str | None, sleep: Callable[[float], None]
    ) -> "Settle | None":
        """A second look, if one was asked for, at the same pairs in later snapshots."""
        from checks.kv_findings import Settle

        def plan_again() -> "KvPlan":
            later = self._plan(plan.table, refusal)
            keys = [of.keys for of in plan.relations]
            relations = [
                replace(of, keys=chosen) for of, chosen in zip(later.relations, keys, strict=True)
            ]
            return replace(later, relations=tuple(relations), bucket_bits=plan.bucket_bits)

        seconds = self.request.settle_seconds
        if seconds is None:
            return None
        return Settle(seconds=seconds, sleep=sleep, plan_again=plan_again)

    def _plan(self, table: Table, refusal: str | None) -> "KvPlan":
        from checks.kv_keys import choose_keys
        from checks.kv_plan import STAMP, KvRelation, plan_pairs

        assert table.kv is not None
        relations = []
        for place, name in self._relations(table).items():
            is_new = _place(*place) not in self.strangers_sought
            facts, others = self._pin(table, place, name), self._others(table, place)
            keys = choose_keys(
                table.kv, others, strangers=is_new, has_versions=STAMP in facts.columns
            )
            relations.append(KvRelation(facts=facts, keys=keys))
        indexes = select_indexes(table, self.request) if "index" in self.request.checks else ()
        compared = [index for index in indexes if not _is_collated(table, index.name)]
        return plan_pairs(table, relations, compared, self.request, refusal)

    def _relations(self, table: Table) -> dict[Place, str]:
        """Where the pairs are that the request means, and what each place is named after."""
        relations = {(table.store, table.relation): table.name}
        for index in select_indexes(table, self.request):
            relations.setdefault((index.store, index.relation), index.name)
        return relations

    def _others(self, table: Table, place: Place) -> list[KvTable]:
        return [
            other.kv
            for other in self.catalog
            if other.kv is not None
            and other.name != table.name
            and _place(*place) in {_place(of.store, of.relation) for of in _holders(other)}
        ]

    def _pin(self, table: Table, place: Place, name: str) -> RelationFacts:
        from checks.kv_plan import PAIR

        (store, relation), as_of = place, _as_of(self.request, name, name == table.name)
        facts = self.stores[store].pin(relation, as_of, self.session, PAIR)
        missing = [column.name for column in PAIR if column.name not in facts.columns]
        if missing:
            raise RelationMismatch(
                f"table {table.name}: relation {relation} has no column {' and '.join(missing)}",
                hint="pairs are in columns `key` and `value`, both binary",
            )
        return facts


def _holders(table: Table) -> tuple[Table | Index, ...]:
    return (table, *table.indexes)


def _place(store: str, relation: str) -> Place:
    """Two spellings of one path are one relation."""
    return store, normpath(relation)


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
    return TableResult(
        table=plan.table.name,
        snapshot=plan.snapshot,
        checks=tuple(outcomes),
        bytes_read=found.bytes_read if plan.is_native else None,
    )


def _outcome(check: str, index: str | None, found: "SlotFindings", plan: "KvPlan") -> CheckOutcome:
    notes = [*plan.notes, *found.notes]
    if check == "physical" and plan.kv.sorted and not plan.looks_at_order:
        notes.append("the order of keys was not looked at: Spark read the files")
    return CheckOutcome(
        check=check,
        index=index,
        status=found.status,
        reason=found.incomplete,
        rows=found.rows,
        entries=found.entries,
        transient=found.transient,
        undecided=found.undecided,
        unnamed=found.unnamed,
        counts={kind: found.counts[kind] for kind in DefectKind if found.counts.get(kind)},
        snapshot=plan.snapshot,
        engine=plan.engine.value,
        notes=tuple(notes),
    )


def _not_checked(table: Table, request: CheckRequest, reason: str, status: Status) -> TableResult:
    checks: list[tuple[str, str | None]] = []
    if "physical" in request.checks:
        checks.append(("physical", None))
    if "index" in request.checks:
        checks += [("index", index.name) for index in select_indexes(table, request)]
    return TableResult(
        table=table.name,
        snapshot="not read",
        checks=tuple(
            CheckOutcome(
                check=check,
                index=index,
                status=status,
                reason=reason,
                error=status is Status.INCOMPLETE,
            )
            for check, index in checks
        ),
    )
