# SPDX-License-Identifier: Apache-2.0
"""Indexes whose table is in the same database: it compares them, and hands over what differs.

The database joins; what it could not pair is named here, by the same rules as always.
"""

from collections.abc import Sequence
from dataclasses import replace

from checks.index_check import beside_primary_key
from checks.numbering import Relation, Slot, relations_of
from checks.specs import rows_looked_at, scan_spec
from scrub.catalog.native_terms import native_conditions
from scrub.codec.digest import Salt
from scrub.model.predicate import ColumnTerm
from scrub.stores.base import ComparedSide

NAMED_MAX = 1_000_000
"""Entries that the driver takes over; if more differ, tasks read both sides instead."""

_NO_SALT = Salt(0, 0)


def sides_of(slot: Slot, relations: Sequence[Relation]) -> tuple[ComparedSide, ComparedSide]:
    """Both sides of an index, as a store must know them."""
    table, index = relations_of(slot, relations)
    expected = _side(slot, table)
    if slot.plan.by_rows:
        conditions = native_conditions(slot.index, slot.table.table, None)
        choice = rows_looked_at(slot.table).conditions
        assert conditions is not None, "a store compares what is evaluated natively"
        expected = replace(expected, conditions=conditions, choice=choice)
    return expected, _side(slot, index)


def _side(slot: Slot, relation: Relation) -> ComparedSide:
    spec = scan_spec(relation, frozenset((slot.number,)), _NO_SALT)
    (entry,) = spec.entries
    types = {column.name: column.type for column in spec.columns}
    return ComparedSide(
        facts=relation.side.facts,
        primary_key=tuple(ColumnTerm(name, types[name]) for name in spec.primary_key),
        beside=entry.beside_primary_key,
        conditions=entry.conditions,
    )


def key_columns(slot: Slot) -> list[str]:
    """What the indexed columns are called among a store's entries."""
    named = names_in_store(slot)
    return [named[number] for number in range(len(slot.index.key))]


def names_in_store(slot: Slot) -> list[str]:
    """Where each column of the index's entries is among p0, p1, ... and c0, c1, ..."""
    primary_key = slot.table.table.primary_key
    beside = [column.name for column in beside_primary_key(slot.table, slot.index)]
    return [
        f"p{primary_key.index(column.name)}"
        if column.name in primary_key and not column.is_expression
        else f"c{beside.index(column.name)}"
        for column in slot.index.entry
    ]
