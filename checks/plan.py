# SPDX-License-Identifier: Apache-2.0
"""Planning a check: pure decisions from the catalog, the request and facts about relations.

Nothing here reads a row, starts Spark or looks at a clock.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from checks.buckets import bucket_bits
from checks.check import Check, TableCheck
from checks.constraints.plan import PinnedConstraints, with_constraints
from checks.fitting_columns import missing_or_other
from checks.pairs.plan import PinnedPairs, plan_pairs
from checks.registry import INDEX
from checks.row_choice import not_looked_for, pruned_entries, pruned_rows, told
from checks.who_evaluates import in_one_server, only_spark_evaluates
from scrub.catalog.dependence import depends_on_zone, zoned_expressions
from scrub.catalog.expressions import columns_used
from scrub.catalog.native_terms import native_condition
from scrub.errors import RelationMismatch, UsageError
from scrub.model.plan import CheckPlan, IndexPlan, NotChecked, Side, TablePlan, WholePlan
from scrub.model.relation import RelationFacts, SplitKind, Splits
from scrub.model.request import CheckRequest, Engine
from scrub.model.table import EntryColumn, Index, Table

TableAt = tuple[str, str]  # a table and a snapshot of it: what one scan reads


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedIndex:
    """An index, its table, and what their relations look like at the snapshots to compare."""

    table: Table
    index: Index
    table_facts: RelationFacts
    index_facts: RelationFacts
    notes: tuple[str, ...] = ()

    @property
    def at(self) -> TableAt:
        return self.table.name, self.table_facts.snapshot.label


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedTable:
    """A table that a check looks at as a whole, at one snapshot."""

    table: Table
    facts: RelationFacts
    check: TableCheck

    @property
    def at(self) -> "TableAt":
        return self.table.name, self.facts.snapshot.label


def plan_check(
    request: CheckRequest,
    sources: Sequence[PinnedIndex],
    not_checked: Sequence[NotChecked] = (),
    native_refusal: str | None = None,
    whole: Sequence[PinnedTable] = (),
    pairs: Sequence[PinnedPairs] = (),
    constraints: Sequence[PinnedConstraints] = (),
    only_spark: Mapping[str, str] = MappingProxyType({}),
) -> CheckPlan:
    """Decide what to read and how; what does not fit the catalog is not checked, by name.

    `native_refusal` says why tasks cannot open splits themselves on this cluster, `only_spark` why
    they cannot make entries of the rows of some tables.
    """
    skipped = [*not_checked, *_unfit_sources(sources, request.where), *_unfit_tables(whole)]
    indexes: dict[TableAt, list[PinnedIndex]] = {}
    checks: dict[TableAt, list[TableCheck]] = {}
    scanned: dict[TableAt, tuple[Table, RelationFacts]] = {}
    for source in sources:
        if any(_mismatches(source, request.where)):
            continue
        scanned[source.at] = (source.table, source.table_facts)
        indexes.setdefault(source.at, []).append(source)
    for of_table in whole:
        if not any(_unfit_columns(of_table)):
            scanned.setdefault(of_table.at, (of_table.table, of_table.facts))
            checks.setdefault(of_table.at, []).append(of_table.check)
    for of_rows in constraints:
        if of_rows.table.kv is None:
            scanned.setdefault(of_rows.at, (of_rows.table, of_rows.facts))
    tables = [
        _plan_table(
            request,
            table,
            facts,
            indexes.get(at, []),
            checks.get(at, []),
            native_refusal,
            only_spark.get(table.name),
        )
        for at, (table, facts) in scanned.items()
    ]
    tables += [plan_pairs(request, pinned, native_refusal) for pinned in pairs]
    planned, unfit = with_constraints(tables, constraints, request, native_refusal)
    return CheckPlan(
        strategy=request.strategy, tables=tuple(planned), not_checked=(*skipped, *unfit)
    )


def _unfit_sources(sources: Sequence[PinnedIndex], where: str | None) -> Iterator[NotChecked]:
    for source in sources:
        if mismatches := list(_mismatches(source, where)):
            yield _unfit(source.table, source.index, mismatches)


def _unfit_tables(whole: Sequence[PinnedTable]) -> Iterator[NotChecked]:
    for source in whole:
        if mismatches := list(_unfit_columns(source)):
            yield _unfit(source.table, None, mismatches, source.check)


def _unfit(
    table: Table, index: Index | None, mismatches: Sequence[str], check: Check = INDEX
) -> NotChecked:
    error = RelationMismatch("\n".join(mismatches), hint="correct the catalog, or the relation")
    name = index.name if index else None
    return NotChecked.because_of(error, table=table.name, check=check.name, index=name)


def _mismatches(source: PinnedIndex, where: str | None) -> Iterator[str]:
    """What the catalog says of the two relations and they do not have."""
    needed = INDEX.columns(source.table, [source.index], where)
    table = {name: source.table.column(name).type for name in needed}
    yield from missing_or_other(source.table_facts, table, f"table {source.table.name}")
    of_entry = {column.name: column.type for column in source.index.entry}
    yield from missing_or_other(
        source.index_facts, of_entry, f"index {source.table.name}.{source.index.name}"
    )


def _unfit_columns(source: PinnedTable) -> Iterator[str]:
    """Columns that are not there, or not as the check needs them."""
    table, stored = source.table, source.facts.columns
    wanted = {
        name: table.column(name).type
        for name in source.check.columns(table)
        if name not in stored or not source.check.judges_types
    }
    yield from missing_or_other(source.facts, wanted, f"table {table.name}")


def _plan_table(
    request: CheckRequest,
    table: Table,
    facts: RelationFacts,
    group: Sequence[PinnedIndex],
    checks: Sequence[TableCheck],
    native_refusal: str | None,
    only_spark: str | None,
) -> TablePlan:
    indexes = [_resolve_types(source) for source in group]
    facts, left_out = pruned_rows(facts, request.where, table)
    rows = [f.rows for f in (facts, *(source.index_facts for source in group))]
    obstacles = (check.needs_spark(facts) for check in checks)
    side = _side(
        request,
        facts,
        INDEX.columns(table, indexes, request.where),
        native_refusal
        or only_spark_evaluates(table, indexes, request.where)
        or only_spark
        or next((obstacle for obstacle in obstacles if obstacle), None),
    )
    plans = tuple(
        _plan_index(request, source, index, native_refusal)
        for source, index in zip(group, indexes, strict=True)
    )
    plan = TablePlan(
        table=table,
        side=replace(side, left_out=left_out),
        indexes=plans,
        bucket_bits=bucket_bits(None if None in rows else max(r for r in rows if r is not None)),
        where=request.where,
        notes=(
            *_notes(facts, request.where, left_out),
            *_engine_note(request, native_refusal),
        ),
    )
    return replace(plan, whole=tuple(_plan_whole(check, plan) for check in checks))


def _plan_whole(check: TableCheck, plan: TablePlan) -> WholePlan:
    of_where = columns_used(plan.where, plan.table.types) if plan.where else ()
    needed = {*check.columns(plan.table), *plan.table.primary_key, *of_where}
    columns = (column.name for column in plan.table.columns if column.name in needed)
    return WholePlan(check=check.name, columns=tuple(columns), notes=check.notes(plan))


def _engine_note(request: CheckRequest, native_refusal: str | None) -> Iterator[str]:
    if native_refusal and request.engine is Engine.AUTO:
        yield f"Spark read everything: {native_refusal}"


def _resolve_types(source: PinnedIndex) -> Index:
    """The index with the type of every expression: declared, else what its relation stores."""

    def resolve(columns: tuple[EntryColumn, ...]) -> tuple[EntryColumn, ...]:
        return tuple(
            column if column.type else replace(column, type=source.index_facts.columns[column.name])
            for column in columns
        )

    index = source.index
    return replace(
        index, key=resolve(index.key), suffix=resolve(index.suffix), stored=resolve(index.stored)
    )


def _plan_index(
    request: CheckRequest, source: PinnedIndex, index: Index, native_refusal: str | None
) -> IndexPlan:
    table, where = source.table, request.where
    facts, left_out = pruned_entries(source.index_facts, where, table, index)
    names = tuple(column.name for column in index.entry)
    unsought = not_looked_for(where, table, index)
    not_native = native_refusal
    if where and native_condition(where, table) is None:
        not_native = not_native or "--where needs Spark"
    if unsought and not source.table_facts.native:
        not_native = not_native or f"--where chooses rows of {source.table_facts.relation} in Spark"
    ignored = [name for name in facts.columns if name not in names]
    notes = [f"ignored columns: {', '.join(ignored)}"] if ignored else []
    in_store = not_native is None and in_one_server(
        request, source.table, source.index, (source.table_facts, facts)
    )
    if in_store:
        notes.append("compared inside the database")
    return IndexPlan(
        index=index,
        side=replace(_side(request, facts, names, not_native), left_out=left_out),
        notes=(
            *told(where, table, index),
            *notes,
            *source.notes,
            *_zone_note(request, source),
            *_notes(facts, None, left_out),
        ),
        ignored=tuple(ignored),
        in_store=in_store,
        not_looked_for=unsought,
    )


def _zone_note(request: CheckRequest, source: PinnedIndex) -> Iterator[str]:
    """The time zone, where the result depends on it."""
    table, where = source.table, request.where
    of_where = bool(where) and depends_on_zone(where or "", table.types)
    if of_where or zoned_expressions(table, source.index):
        yield f"expressions evaluated in time zone {table.time_zone}"


def _side(
    request: CheckRequest, facts: RelationFacts, columns: tuple[str, ...], not_native: str | None
) -> Side:
    obstacle = facts.native_reason if not facts.native else not_native
    if request.engine is Engine.NATIVE and obstacle:
        raise UsageError(
            f"--engine native cannot read {facts.relation}: {obstacle}", hint="use --engine auto"
        )
    if request.engine is Engine.SQL:
        return Side(facts=facts, engine=Engine.SQL, reason="asked for", columns=columns)
    if obstacle:
        return Side(facts=facts, engine=Engine.SQL, reason=obstacle, columns=columns)
    is_server = any(split.kind is SplitKind.POSTGRES for split in facts.splits)
    reason = "the server is asked directly" if is_server else "tasks open the files"
    return Side(facts=facts, engine=Engine.NATIVE, reason=reason, columns=columns)


def _notes(facts: RelationFacts, where: str | None, left_out: Splits) -> tuple[str, ...]:
    notes = [f"only rows where {where}"] if where else []
    if left_out:
        every = len(facts.splits) + len(left_out)
        notes.append(
            f"{len(left_out)} of {every} parts of {facts.relation} left out: "
            "their partitions hold nothing that --where chooses"
        )
    if not facts.snapshot.pinned:
        notes.append(f"{facts.relation} offers no snapshot: two readings of it may differ")
    return tuple(notes)
