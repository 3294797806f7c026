# SPDX-License-Identifier: Apache-2.0
"""From a plan and what was found to outcomes: the only place that makes a CheckOutcome."""

from collections.abc import Iterator, Sequence

from checks.constraints.rows import riding_name
from checks.findings import Findings, SlotFindings
from checks.numbering import Slot, number_plan
from checks.registry import CONSTRAINT, INDEX
from scrub.model.defect import DefectKind
from scrub.model.plan import CheckPlan, ConstraintPlan, NotChecked, TablePlan, Way
from scrub.model.request import Engine
from scrub.model.result import CheckOutcome, Status


def outcome(
    check: str,
    index: str | None,
    found: SlotFindings,
    *,
    snapshot: str | None,
    engine: str,
    notes: Sequence[str] = (),
    ignored: tuple[str, ...] = (),
    not_looked_for: tuple[DefectKind, ...] = (),
    constraint: str | None = None,
) -> CheckOutcome:
    """How the check of an index, of a constraint or of a whole table ended."""
    return CheckOutcome(
        check=check,
        index=index,
        constraint=constraint,
        status=found.status,
        reason=found.not_applicable or found.incomplete,
        rows=found.rows,
        entries=found.entries,
        transient=found.transient,
        undecided=found.undecided,
        unnamed=found.unnamed,
        counts={kind: found.counts[kind] for kind in DefectKind if found.counts.get(kind)},
        snapshot=snapshot,
        engine=engine,
        strategy=found.strategy,
        notes=(*notes, *found.notes),
        remedies=tuple(found.remedies),
        ignored=ignored,
        not_looked_for=not_looked_for,
    )


def outcome_of_skipped(skipped: NotChecked) -> CheckOutcome:
    """The outcome of a check that did not run."""
    return CheckOutcome(
        check=skipped.check,
        index=skipped.index,
        constraint=skipped.constraint,
        status=Status.INCOMPLETE if skipped.incomplete else Status.NOT_APPLICABLE,
        reason=skipped.reason,
        error=skipped.error is not None,
    )


def outcomes_of(
    plan: CheckPlan, findings: Findings
) -> Iterator[tuple[TablePlan, list[CheckOutcome]]]:
    """The outcomes of one entry source, table by table; those of whole tables come first."""
    slots = number_plan(plan)[0]
    for table in plan.tables:
        outcomes = [
            outcome(
                one.check,
                None,
                findings.whole[one.check][table.table.name],
                snapshot=table.snapshot,
                engine=table.side.engine.value,
                notes=(*table.notes, *one.notes),
            )
            for one in table.whole
        ]
        outcomes += [_of_constraint(table, one, findings) for one in table.constraints]
        outcomes += [_of_slot(s, findings.slots[s.number]) for s in slots if s.table is table]
        yield table, outcomes


def _of_constraint(table: TablePlan, one: ConstraintPlan, findings: Findings) -> CheckOutcome:
    name, constraint = table.table.name, one.constraint
    found = findings.constraints.get((name, constraint.name))
    if found is None:
        found = findings.whole[riding_name(table.table, constraint)][name]
    return outcome(
        CONSTRAINT.name,
        None,
        found,
        snapshot=table.snapshot,
        engine=_engine_of(table, one).value,
        notes=(*table.notes, *one.notes),
        constraint=constraint.name,
    )


def _engine_of(table: TablePlan, one: ConstraintPlan) -> Engine:
    """Who reads the rows; those of pairs are decoded by tasks that open files, or by Spark's."""
    if table.pairs is not None:
        return table.side.engine
    return Engine.SQL if one.way is Way.SQL else Engine.NATIVE


def _of_slot(slot: Slot, found: SlotFindings) -> CheckOutcome:
    of_index = slot.plan.side.facts.snapshot.label
    return outcome(
        INDEX.name,
        slot.index.name,
        found,
        snapshot=of_index if slot.table.pairs is None else slot.table.snapshot,
        engine=engines_of(slot),
        notes=(*slot.table.notes, *slot.plan.notes),
        ignored=slot.plan.ignored,
        not_looked_for=slot.plan.not_looked_for,
    )


def engines_of(slot: Slot) -> str:
    """Who reads the two sides; a database that compares them reads both itself."""
    if slot.plan.in_store:
        return Engine.NATIVE.value
    of_table, of_index = slot.table.side.engine.value, slot.plan.side.engine.value
    return of_table if of_table == of_index else f"{of_table}, {of_index}"
