# SPDX-License-Identifier: Apache-2.0
"""A plan's parts as printable lines and a grid."""

from collections.abc import Iterable, Iterator

from reports.escaping import column_name, printable
from reports.grids import Grid
from reports.quantities import count, counted, size
from scrub.model.plan import CheckPlan, ConstraintPlan, IndexPlan, Side, TablePlan, Way
from scrub.model.table import DATABASE_PATH


def headline(plan: TablePlan) -> str:
    served = [counted(len(plan.indexes), "index", "indexes")] if plan.indexes else []
    served += [f"the {one.check} check" for one in plan.whole]
    riding = sum(1 for one in plan.constraints if one.way is Way.SCAN)
    served += [counted(riding, "constraint")] if riding else []
    snapshot = printable(plan.side.facts.snapshot.label)
    name = printable(plan.table.name)
    if not served:
        return f"{name} at {snapshot}: {counted(len(plan.constraints), 'constraint')}"
    return f"{name} at {snapshot}: one scan for {' and '.join(served)}"


def scan_lines(plan: TablePlan) -> Iterator[str]:
    """How the table itself is read."""
    side = plan.side
    yield f"relation {_relation(side)}, {_extent(side)}"
    yield f"engine {side.engine}: {printable(side.reason)}"
    if side.columns:
        yield f"columns {_columns(side.columns)}"
    for column in plan.table.columns:
        if column.computed is not None:
            made = f"{printable(column.computed)}, of type {column.type}"
            yield f"the database computes {made}; it finds names in {DATABASE_PATH} only"
    for one in plan.whole:
        yield f"columns {_columns(one.columns)} for the {one.check} check"
    if plan.indexes:
        yield f"{1 << plan.bucket_bits:,} buckets"
    if plan.where:
        yield f"only rows where {printable(plan.where)}"
    if not side.facts.snapshot.pinned:
        yield "the source offers no snapshot: two readings may differ"


def indexes_grid(plan: TablePlan) -> Grid:
    """How each index is read."""
    return Grid(
        headers=("index", "relation", "snapshot", "size", "engine", "why", "columns"),
        rows=tuple(_index_row(index) for index in plan.indexes),
        first=("index", "engine", "why"),
    )


def constraints_grid(plan: TablePlan) -> Grid:
    """How each constraint is checked."""
    return Grid(
        headers=("constraint", "kind", "columns", "refers to", "way", "why"),
        rows=tuple(_constraint_row(one) for one in plan.constraints),
        heads=("constraint", "kind"),
    )


def notes(plan: TablePlan) -> Iterator[str]:
    of_checks = (note for one in plan.whole for note in one.notes)
    yield from map(printable, (*plan.notes, *of_checks))
    for index in plan.indexes:
        for note in index.notes:
            yield f"{printable(index.index.name)}: {printable(note)}"
    for one in plan.constraints:
        for note in one.notes:
            yield f"{printable(one.constraint.name)}: {printable(note)}"


def own_indexes(plan: CheckPlan) -> Iterator[str]:
    for part in plan.own_indexes:
        told = [part.reading, f"about {count(part.rows)} rows", *part.notes]
        yield printable(f"{part.table}.{part.index}: {'; '.join(told)}")


def not_checked(plan: CheckPlan) -> Iterator[str]:
    for part in plan.not_checked:
        name = ".".join(filter(None, (part.table, part.index or part.constraint)))
        status = "incomplete" if part.incomplete else "not applicable"
        yield f"{printable(name)} ({printable(part.check)}), {status}: {printable(part.reason)}"


def _index_row(plan: IndexPlan) -> tuple[str, ...]:
    side = plan.side
    return (
        printable(plan.index.name),
        _relation(side),
        printable(side.facts.snapshot.label),
        _extent(side),
        side.engine,
        printable(side.reason),
        _columns(side.columns),
    )


def _constraint_row(plan: ConstraintPlan) -> tuple[str, ...]:
    return (
        printable(plan.constraint.name),
        plan.constraint.kind,
        _columns(plan.columns),
        printable(plan.parent.label) if plan.parent else "",
        plan.way,
        printable(plan.reason),
    )


def _relation(side: Side) -> str:
    return printable(f"{side.facts.store}/{side.facts.relation}")


def _extent(side: Side) -> str:
    facts = side.facts
    about = "about " if facts.rows_estimated else ""
    parts = [f"{about}{count(facts.rows)} rows"]
    if facts.bytes is not None:
        parts.append(size(facts.bytes))
    if facts.splits:
        parts.append(counted(len(facts.splits), "split"))
    return ", ".join(parts)


def _columns(names: Iterable[str]) -> str:
    return ", ".join(map(column_name, names))
