# SPDX-License-Identifier: Apache-2.0
"""A plan with numbers: every index a slot, every relation one scan that serves some slots."""

from dataclasses import dataclass, replace

from checks.entries import beside_primary_key
from checks.scan_spec import ACTUAL, EXPECTED, EntrySpec, PhysicalSpec, ScanSpec
from scrub.catalog.expressions import columns_used
from scrub.catalog.native_terms import native_condition, native_conditions, native_value
from scrub.codec.digest import Salt
from scrub.model.plan import CheckPlan, IndexPlan, Side, TablePlan
from scrub.model.predicate import ColumnTerm, Node
from scrub.model.request import Engine
from scrub.model.table import Column, Index, Table
from scrub.spark.expected_values import type_of


@dataclass(frozen=True, slots=True)
class Slot:
    """One index in a run."""

    number: int
    table: TablePlan
    plan: IndexPlan

    @property
    def index(self) -> Index:
        return self.plan.index

    @property
    def label(self) -> str:
        return f"{self.table.table.name}.{self.index.name}"


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation to scan, for the slots that need it."""

    number: int
    side: Side
    table: TablePlan
    slots: tuple[Slot, ...]
    is_table: bool

    @property
    def columns(self) -> tuple[Column, ...]:
        """What to read, in the catalog's types."""
        if self.is_table:
            return tuple(self.table.table.column(name) for name in self.side.columns)
        entry = {column.name: type_of(column) for column in self.slots[0].index.entry}
        return tuple(Column(name=name, type=entry[name]) for name in self.side.columns)

    @property
    def is_native(self) -> bool:
        return self.side.engine is Engine.NATIVE


def number_plan(plan: CheckPlan) -> tuple[tuple[Slot, ...], tuple[Relation, ...]]:
    """Number all indexes and relations of a plan, in its order."""
    slots: list[Slot] = []
    relations: list[Relation] = []
    for table in plan.tables:
        first = len(slots)
        of_table = tuple(Slot(first + i, table, index) for i, index in enumerate(table.indexes))
        slots += of_table
        relations.append(Relation(len(relations), table.side, table, of_table, is_table=True))
        for slot in of_table:
            relations.append(
                Relation(len(relations), slot.plan.side, table, (slot,), is_table=False)
            )
    return tuple(slots), tuple(relations)


def scan_spec(relation: Relation, slots: frozenset[int], salt: Salt) -> ScanSpec:
    """What a native task does with this relation, for those of its slots still wanted."""
    table = relation.table.table
    make = _expected_entry if relation.is_table else _actual_entry
    return ScanSpec(
        columns=relation.columns,
        primary_key=table.primary_key,
        bucket_bits=relation.table.bucket_bits,
        salt=salt,
        entries=tuple(make(slot) for slot in relation.slots if slot.number in slots),
        physical=physical_spec(relation),
        storage_options=relation.side.facts.storage_options,
    )


def physical_spec(relation: Relation) -> PhysicalSpec | None:
    """What to look at beside entries, if the relation is a table to be checked physically."""
    plan, table = relation.table, relation.table.table
    if plan.physical is None or not relation.is_table:
        return None
    conditions: tuple[Node, ...] = ()
    if plan.where and (condition := native_condition(plan.where, table)) is not None:
        conditions = (condition,)
    return PhysicalSpec(
        columns=tuple(never_null_in_key(table, name) for name in plan.physical.columns),
        conditions=conditions,
        condition_columns=tuple(table.column(name) for name in columns_of_where(plan)),
    )


def never_null_in_key(table: Table, name: str) -> Column:
    """A column; one of the primary key is never NULL, whatever the catalog says of it."""
    column = table.column(name)
    return replace(column, nullable=False) if name in table.primary_key else column


def columns_of_where(plan: TablePlan) -> tuple[str, ...]:
    """What the condition that limits a check speaks of."""
    names = [column.name for column in plan.table.columns]
    return tuple(columns_used(plan.where, names)) if plan.where else ()


def _expected_entry(slot: Slot) -> EntrySpec:
    table, index = slot.table.table, slot.index
    values = [native_value(column, table) for column in beside_primary_key(slot.table, index)]
    conditions = native_conditions(index, table, slot.table.where)
    assert conditions is not None, "the plan gave the native engine what it cannot evaluate"
    return EntrySpec(
        slot=slot.number,
        sign=EXPECTED,
        beside_primary_key=tuple(value for value in values if value is not None),
        conditions=conditions,
    )


def _actual_entry(slot: Slot) -> EntrySpec:
    columns = beside_primary_key(slot.table, slot.index)
    values = tuple(ColumnTerm(column.name, type_of(column)) for column in columns)
    where = slot.table.where
    conditions: tuple[Node, ...] = ()
    if where and (condition := native_condition(where, slot.table.table)) is not None:
        conditions = (condition,)
    return EntrySpec(
        slot=slot.number, sign=ACTUAL, beside_primary_key=values, conditions=conditions
    )
