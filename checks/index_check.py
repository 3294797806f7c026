# SPDX-License-Identifier: Apache-2.0
"""The check of indexes: sums of expected and actual entries, and a join where they differ."""

from collections.abc import Sequence

from checks.check import Check
from checks.numbering import Relation, Slot
from checks.scan_spec import ACTUAL, EXPECTED, EntrySpec, entry_type
from scrub.catalog.expressions import columns_used
from scrub.catalog.native_terms import native_condition, native_conditions, native_value
from scrub.model.defect import INDEX_KINDS, DefectKind
from scrub.model.plan import TablePlan
from scrub.model.predicate import ColumnTerm, Node
from scrub.model.table import EntryColumn, Index, Table
from scrub.stores.row_entries import columns_for_entries


class IndexCheck(Check):
    """Every row has exactly the entries that its indexes should hold, and no entry is left over."""

    name = "index"
    finds = (*INDEX_KINDS, DefectKind.KEY_ORDER)  # the order is that of the database's own indexes

    def is_default_for(self, table: Table) -> bool:  # noqa: ARG002
        return True

    def subjects(self, indexes: Sequence[Index]) -> tuple[str | None, ...]:
        return tuple(index.name for index in indexes)

    def columns(
        self, table: Table, indexes: Sequence[Index], where: str | None = None
    ) -> tuple[str, ...]:
        """What entries are made from, and what `where` speaks of."""
        needed = {of.name for index in indexes for of in columns_for_entries(table, index)}
        if indexes and where:
            needed |= set(columns_used(where, table.types))
        return tuple(name for name in table.types if name in needed)

    def adds_up(self, relation: Relation, slots: frozenset[int]) -> tuple[EntrySpec, ...]:
        """What tasks add up: the entries of each index that is still wanted."""
        make = _expected_entry if relation.is_table else _actual_entry
        return tuple(make(slot) for slot in relation.slots if slot.number in slots)


def beside_primary_key(plan: TablePlan, index: Index) -> list[EntryColumn]:
    """An entry's columns in the order of the digest, without the primary key that leads it."""
    own = set(plan.table.primary_key)
    return [column for column in index.entry if column.is_expression or column.name not in own]


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
    values = tuple(ColumnTerm(column.name, entry_type(column)) for column in columns)
    where = slot.where_of_entries
    conditions: tuple[Node, ...] = ()
    if where and (condition := native_condition(where, slot.table.table)) is not None:
        conditions = (condition,)
    return EntrySpec(
        slot=slot.number, sign=ACTUAL, beside_primary_key=values, conditions=conditions
    )
