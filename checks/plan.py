# SPDX-License-Identifier: Apache-2.0
"""Planning a check: pure decisions from the catalog, the request and facts about relations.

Nothing here reads a row, starts Spark or looks at a clock.
"""

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scrub.catalog.dependence import depends_on_zone, zoned_expressions
from scrub.catalog.expressions import columns_used
from scrub.catalog.native_terms import column_types, is_native_index, native_condition
from scrub.errors import RelationMismatch, UsageError
from scrub.model.plan import CheckPlan, IndexPlan, NotChecked, PhysicalPlan, Side, TablePlan
from scrub.model.relation import RelationFacts, SplitKind
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.table import EntryColumn, Index, Table
from scrub.model.types import ColumnType, widens

ROWS_PER_BUCKET = 300
BUCKET_BITS_MIN, BUCKET_BITS_MAX = 4, 18  # the driver holds 32 bytes for each bucket and index
BUCKET_BITS_UNKNOWN = 16  # for a source that does not tell its size


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSource:
    """An index, its table, and what their relations look like at the snapshots to compare."""

    table: Table
    index: Index
    table_facts: RelationFacts
    index_facts: RelationFacts
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource:
    """A table whose values are to be looked at, at one snapshot."""

    table: Table
    facts: RelationFacts


def plan_check(
    request: CheckRequest,
    sources: Sequence[IndexSource],
    not_checked: Sequence[NotChecked] = (),
    native_refusal: str | None = None,
    physical: Sequence[TableSource] = (),
) -> CheckPlan:
    """Decide what to read and how; what does not fit the catalog is not checked, by name.

    `native_refusal` says why tasks cannot open splits themselves on this cluster.
    """
    skipped = [*not_checked, *_unfit_sources(sources), *_unfit_tables(physical)]
    sources = [source for source in sources if not any(_mismatches(source))]
    physical = [of_table for of_table in physical if not any(_missing(of_table))]
    groups: dict[tuple[str, str], list[IndexSource]] = {}
    at_snapshot: dict[tuple[str, str], TableSource] = {}
    looked_at = {(of.table.name, of.facts.snapshot.label) for of in physical}
    for source in sources:
        if reason := _where_is_beyond(request.where, source):
            skipped.append(_skip(source, reason))
        else:
            at = (source.table.name, source.table_facts.snapshot.label)
            at_snapshot[at] = TableSource(table=source.table, facts=source.table_facts)
            groups.setdefault(at, []).append(source)
    for of_table in physical:
        at_snapshot.setdefault((of_table.table.name, of_table.facts.snapshot.label), of_table)
    tables = tuple(
        _plan_table(request, of_table, groups.get(at, []), native_refusal, at in looked_at)
        for at, of_table in at_snapshot.items()
    )
    return CheckPlan(strategy=request.strategy, tables=tables, not_checked=tuple(skipped))


def bucket_bits(rows: int | None) -> int:
    """How many buckets, as a power of two: a few hundred rows each, within bounds."""
    if rows is None:
        return BUCKET_BITS_UNKNOWN
    wanted = round(math.log2(max(rows / ROWS_PER_BUCKET, 1)))
    return min(max(wanted, BUCKET_BITS_MIN), BUCKET_BITS_MAX)


def _skip(source: IndexSource, reason: str) -> NotChecked:
    return NotChecked(
        table=source.table.name,
        check="index",
        index=source.index.name,
        reason=reason,
        snapshot=source.table_facts.snapshot.label,
    )


def _unfit_sources(sources: Sequence[IndexSource]) -> Iterator[NotChecked]:
    for source in sources:
        if mismatches := list(_mismatches(source)):
            yield _unfit(source.table, source.index, mismatches)


def _unfit_tables(physical: Sequence[TableSource]) -> Iterator[NotChecked]:
    for source in physical:
        if mismatches := list(_missing(source)):
            yield _unfit(source.table, None, mismatches)


def _unfit(table: Table, index: Index | None, mismatches: Sequence[str]) -> NotChecked:
    error = RelationMismatch("\n".join(mismatches), hint="correct the catalog, or the relation")
    return NotChecked(
        table=table.name,
        check="physical" if index is None else "index",
        index=index.name if index else None,
        reason=error.in_one_line,
        incomplete=True,
        error=error,
    )


def _mismatches(source: IndexSource) -> Iterator[str]:
    """What the catalog says of the two relations and they do not have."""
    table = {c: source.table.column(c).type for c in table_columns(source.table, source.index)}
    yield from _missing_or_other(source.table_facts, table, f"table {source.table.name}")
    of_entry = {column.name: column.type for column in source.index.entry}
    yield from _missing_or_other(
        source.index_facts, of_entry, f"index {source.table.name}.{source.index.name}"
    )


def _missing(source: TableSource) -> Iterator[str]:
    """Columns that are not there; another type is what the physical check itself will find."""
    wanted = {c.name: c.type for c in source.table.columns if c.name not in source.facts.columns}
    yield from _missing_or_other(source.facts, wanted, f"table {source.table.name}")


def _missing_or_other(
    facts: RelationFacts, wanted: Mapping[str, ColumnType | None], what: str
) -> Iterator[str]:
    for name, wanted_type in wanted.items():
        if name not in facts.columns:
            close = difflib.get_close_matches(name, facts.columns, n=1)
            has = f"did you mean {close[0]}?" if close else f"it has {', '.join(facts.columns)}"
            yield f"{what}: relation {facts.relation} has no column {name}; {has}"
            continue
        stored = facts.columns[name]
        if stored is None:
            yield f"{what}: column {name} of {facts.relation} has a type scrub cannot compare"
        elif wanted_type is not None and not widens(stored, wanted_type):
            yield (
                f"{what}: column {name} of {facts.relation} is stored as {stored}, "
                f"the catalog says {wanted_type}"
            )


def table_columns(table: Table, index: Index, where: str | None = None) -> tuple[str, ...]:
    """The table's columns that an index's entries are made from, in the table's order."""
    names = [column.name for column in table.columns]
    needed = set(table.primary_key)
    needed |= {column.source for column in index.entry if not column.is_expression}
    for text in (*index.expressions, *((where,) if where else ())):
        needed |= set(columns_used(text, names))
    return tuple(name for name in names if name in needed)


def _where_is_beyond(where: str | None, source: IndexSource) -> str | None:
    """Why a check of this index cannot be limited by `where`.

    Only columns that identify an entry will do: if a stored column chose the entries, one that
    holds a wrong value would be left out on one side only, and be called missing.
    """
    if where is None:
        return None
    used = columns_used(where, [column.name for column in source.table.columns])
    index = source.index
    held = {column.name for column in index.key + index.suffix if not column.is_expression}
    beyond = [name for name in used if name not in held]
    if not beyond:
        return None
    return f"--where uses {', '.join(beyond)}, which does not identify entries of this index"


def _plan_table(
    request: CheckRequest,
    source: TableSource,
    group: Sequence[IndexSource],
    native_refusal: str | None,
    physical: bool,
) -> TablePlan:
    table, facts = source.table, source.facts
    indexes = [_resolve_types(source) for source in group]
    of_table = {name for index in indexes for name in table_columns(table, index, request.where)}
    rows = [f.rows for f in (facts, *(source.index_facts for source in group))]
    side = _side(
        request,
        facts,
        tuple(column.name for column in table.columns if column.name in of_table),
        native_refusal
        or _untranslatable(table, indexes, request.where)
        or (_only_spark_looks(facts) if physical else None),
    )
    plans = tuple(
        _plan_index(request, source, index, native_refusal)
        for source, index in zip(group, indexes, strict=True)
    )
    return TablePlan(
        table=table,
        side=side,
        indexes=plans,
        bucket_bits=bucket_bits(None if None in rows else max(r for r in rows if r is not None)),
        physical=_plan_physical(table, side) if physical else None,
        where=request.where,
        notes=(*_notes(facts, request.where), *_engine_note(request, native_refusal)),
    )


def _plan_physical(table: Table, side: Side) -> PhysicalPlan:
    notes: tuple[str, ...] = ()
    if side.engine is Engine.SQL:
        notes = (
            f"Spark read the values ({side.reason}): only NULLs and the types of whole columns "
            "were looked at",
        )
    stored = tuple(column.name for column in table.columns if column.computed is None)
    return PhysicalPlan(columns=stored, notes=notes)


def _only_spark_looks(facts: RelationFacts) -> str | None:
    """Why tasks that open splits themselves cannot look at how values are stored."""
    if any(split.kind is SplitKind.POSTGRES for split in facts.splits):
        return "a server shows values, not how they are stored"
    return None


def _engine_note(request: CheckRequest, native_refusal: str | None) -> Iterator[str]:
    if native_refusal and request.engine is Engine.AUTO:
        yield f"Spark read everything: {native_refusal}"


def _resolve_types(source: IndexSource) -> Index:
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
    request: CheckRequest, source: IndexSource, index: Index, native_refusal: str | None
) -> IndexPlan:
    facts = source.index_facts
    names = tuple(column.name for column in index.entry)
    not_native = native_refusal
    if request.where and native_condition(request.where, source.table) is None:
        not_native = not_native or "--where needs Spark"
    ignored = [name for name in facts.columns if name not in names]
    notes = [f"ignored columns: {', '.join(ignored)}"] if ignored else []
    if native_refusal is None and _in_one_server(request, source, not_native):
        notes.append("compared inside the database")
    return IndexPlan(
        index=index,
        side=_side(request, facts, names, not_native),
        notes=(*notes, *source.notes, *_zone_note(request, source), *_notes(facts, None)),
        ignored=tuple(ignored),
    )


def _zone_note(request: CheckRequest, source: IndexSource) -> Iterator[str]:
    """The time zone, where the result depends on it."""
    table, where = source.table, request.where
    of_where = bool(where) and depends_on_zone(where or "", column_types(table))
    if of_where or zoned_expressions(table, source.index):
        yield f"expressions evaluated in time zone {table.time_zone}"


def _in_one_server(request: CheckRequest, source: IndexSource, not_native: str | None) -> bool:
    """Whether the server that holds both sides is asked to compare them."""
    sides = (source.table_facts, source.index_facts)
    in_server = all(s.kind is SplitKind.POSTGRES for of in sides for s in of.splits)
    as_asked = request.engine is not Engine.SQL and request.strategy is not Strategy.FINGERPRINT
    same_place = sides[0].store == sides[1].store and bool(sides[0].splits and sides[1].splits)
    translates = _untranslatable(source.table, [source.index], request.where) is None
    return in_server and as_asked and same_place and translates and not_native is None


def _untranslatable(table: Table, indexes: Sequence[Index], where: str | None) -> str | None:
    """Why the table's rows must go through Spark's own expressions."""
    if where and native_condition(where, table) is None:
        return "--where needs Spark"
    needing = [index.name for index in indexes if not is_native_index(table, index)]
    return f"expressions of {', '.join(needing)} need Spark" if needing else None


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


def _notes(facts: RelationFacts, where: str | None) -> tuple[str, ...]:
    notes = [f"only rows where {where}"] if where else []
    if not facts.snapshot.pinned:
        notes.append(f"{facts.relation} offers no snapshot: two readings of it may differ")
    return tuple(notes)


def uses_fingerprints(strategy: Strategy) -> bool:
    """Whether buckets are compared before entries are."""
    return strategy is not Strategy.MERGE
