# SPDX-License-Identifier: Apache-2.0
"""What a run found, in the words of the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Row

from checks.slots import Slot
from scrub.codec.json_values import from_text
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.plan import TablePlan
from scrub.model.result import CheckOutcome, Status
from scrub.model.table import EntryColumn
from scrub.model.types import ColumnType
from scrub.spark.expected_values import type_of


@dataclass(slots=True)
class SlotFindings:
    """One index: what was counted, and why not everything was."""

    rows: int | None = None
    entries: int | None = None
    counts: dict[DefectKind, int] = field(default_factory=dict)
    undecided: int = 0
    transient: int = 0
    unnamed: int = 0  # at least so many differences, known and without a name
    incomplete: str | None = None
    strategy: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def status(self) -> Status:
        if any(self.counts.values()) or self.unnamed:
            return Status.DEFECTIVE
        return Status.INCOMPLETE if self.incomplete else Status.CLEAN


@dataclass(slots=True)
class Findings:
    """A whole run; `defects` at most as many as were asked for."""

    slots: Mapping[int, SlotFindings]
    physical: Mapping[str, SlotFindings]  # by table
    defects: Sequence[Defect] = ()
    bytes_read: Mapping[str, int] = field(default_factory=dict)  # by table


def outcome_of(slot: Slot, found: SlotFindings) -> CheckOutcome:
    """The outcome of one index's check."""
    facts = slot.plan.side.facts
    return CheckOutcome(
        check="index",
        index=slot.index.name,
        status=found.status,
        reason=found.incomplete,
        rows=found.rows,
        entries=found.entries,
        transient=found.transient,
        undecided=found.undecided,
        unnamed=found.unnamed,
        counts=_in_order_of_kinds(found),
        snapshot=facts.snapshot.label,
        engine=_engines(slot),
        strategy=found.strategy,
        notes=(*slot.table.notes, *slot.plan.notes, *found.notes),
        ignored=slot.plan.ignored,
    )


def physical_outcome(plan: TablePlan, found: SlotFindings) -> CheckOutcome:
    """The outcome of the check of one table's values."""
    assert plan.physical is not None, "a physical check was planned"
    return CheckOutcome(
        check="physical",
        index=None,
        status=found.status,
        reason=found.incomplete,
        rows=found.rows,
        counts=_in_order_of_kinds(found),
        snapshot=plan.side.facts.snapshot.label,
        engine=plan.side.engine.value,
        notes=(*plan.notes, *plan.physical.notes, *found.notes),
    )


def _in_order_of_kinds(found: SlotFindings) -> dict[DefectKind, int]:
    return {kind: found.counts[kind] for kind in DefectKind if found.counts.get(kind)}


def _engines(slot: Slot) -> str:
    of_table, of_index = slot.table.side.engine.value, slot.plan.side.engine.value
    return of_table if of_table == of_index else f"{of_table}, {of_index}"


def to_defect(row: Row, slot: Slot) -> Defect:
    """A row of checks.merge_join.DEFECT_SCHEMA as the model's defect."""
    table, index = slot.table.table, slot.index
    types = [table.column(name).type for name in table.primary_key]
    primary_key = _decode(table.primary_key, types, row["primary_key"])
    index_key = _decode_columns(index.key, row["index_key"])
    identity = index_key | {n: v for n, v in primary_key.items() if n not in index_key}
    kind = DefectKind(row["kind"])
    return Defect(
        kind=kind,
        table=table.name,
        index=index.name,
        primary_key=primary_key,
        index_key=index_key,
        expected=_entry(identity, index.stored, row["expected"]),
        actual=_entry(identity, index.stored, row["actual"]),
        snapshot=f"{slot.table.side.facts.snapshot.label}; "
        f"{index.name}: {slot.plan.side.facts.snapshot.label}",
        detail=_detail(kind, row["expected_copies"], row["actual_copies"]),
    )


def _entry(
    identity: Mapping[str, Value], stored: Sequence[EntryColumn], texts: Sequence[str | None] | None
) -> dict[str, Value] | None:
    return None if texts is None else dict(identity) | _decode_columns(stored, texts)


def _decode_columns(
    columns: Sequence[EntryColumn], texts: Sequence[str | None]
) -> dict[str, Value]:
    return _decode([c.name for c in columns], [type_of(c) for c in columns], texts)


def _decode(
    names: Sequence[str], types: Sequence[ColumnType], texts: Sequence[str | None]
) -> dict[str, Value]:
    return {
        name: from_text(text, column_type)
        for name, column_type, text in zip(names, types, texts, strict=True)
    }


def _detail(kind: DefectKind, expected: int, actual: int) -> str:
    if kind is DefectKind.UNIQUE_VIOLATION:
        return "another row has the same index key"
    if expected <= 1 and actual <= 1:
        return ""
    rows = "1 row" if expected == 1 else f"{expected} rows"
    return f"{rows}, 1 entry" if actual == 1 else f"{rows}, {actual} entries"
