# SPDX-License-Identifier: Apache-2.0
"""A plan with numbers: every index is a slot, every relation is one scan that serves some slots."""

from collections.abc import Sequence
from dataclasses import dataclass

from checks.scan_spec import entry_type
from scrub.model.plan import CheckPlan, IndexPlan, Side, TablePlan
from scrub.model.request import Engine
from scrub.model.table import Column, Index


@dataclass(frozen=True, slots=True)
class Slot:
    """One index in a run."""

    number: int
    table: TablePlan
    plan: IndexPlan
    of_table: int  # the number of the relation that holds the rows
    of_index: int  # and of the one that holds the entries

    @property
    def index(self) -> Index:
        return self.plan.index

    @property
    def label(self) -> str:
        return f"{self.table.table.name}.{self.index.name}"

    @property
    def where_of_entries(self) -> str | None:
        """The condition on entries themselves; None where all of them, or those of rows, count."""
        return None if self.plan.by_rows else self.table.where


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
        if self.table.pairs is not None:
            stored = ((name, self.side.facts.columns[name]) for name in self.side.columns)
            return tuple(Column(name=name, type=of) for name, of in stored if of is not None)
        if self.is_table:
            return tuple(self.table.table.column(name) for name in self.side.columns)
        entry = {column.name: entry_type(column) for column in self.slots[0].index.entry}
        return tuple(Column(name=name, type=entry[name]) for name in self.side.columns)

    @property
    def is_native(self) -> bool:
        return self.side.engine is Engine.NATIVE


def number_plan(plan: CheckPlan) -> tuple[tuple[Slot, ...], tuple[Relation, ...]]:
    """Number all indexes and relations of a plan, in its order."""
    slots: list[Slot] = []
    relations: list[Relation] = []
    for table in plan.tables:
        sides = _sides(table)
        first, rows = len(slots), len(relations)
        of_table = tuple(
            Slot(first + n, table, index, rows, rows + _position(index.side, sides))
            for n, index in enumerate(table.indexes)
        )
        for number, side in enumerate(sides, start=rows):
            served = tuple(s for s in of_table if number in (s.of_table, s.of_index))
            relations.append(Relation(number, side, table, served, is_table=number == rows))
        slots += of_table
    return tuple(slots), tuple(relations)


def _sides(table: TablePlan) -> list[Side]:
    """The relations of a table, its own first; pairs of several indexes may be in one relation."""
    if table.pairs is not None:
        return [relation.side for relation in table.pairs.relations]
    return [table.side, *(index.side for index in table.indexes)]


def _position(side: Side, sides: Sequence[Side]) -> int:
    return next(number for number, other in enumerate(sides) if other is side)


def relations_of(slot: Slot, relations: Sequence[Relation]) -> tuple[Relation, Relation]:
    """The table's relation and the index's."""
    return relations[slot.of_table], relations[slot.of_index]
