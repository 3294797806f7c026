# SPDX-License-Identifier: Apache-2.0
"""Index definitions as nodes that are evaluated without Spark, where possible.

What is *portable* means the same in every engine, so that a database can evaluate it as well. The
rest means what it means in Spark, and rows may turn up whose value only Spark can tell.
"""

from dataclasses import dataclass

from scrub.catalog.expressions import translate, translate_native
from scrub.model.predicate import (
    Call,
    ColumnTerm,
    Function,
    IsNull,
    Node,
    Not,
    is_portable,
    node_type,
)
from scrub.model.table import EntryColumn, Index, Nulls, Table
from scrub.model.types import ColumnType, widens


@dataclass(frozen=True, slots=True)
class NativeIndex:
    """How rows become entries: the value of each column, and the conditions to have an entry."""

    values: tuple[Node, ...]
    conditions: tuple[Node, ...]

    @property
    def is_portable(self) -> bool:
        """Whether every engine agrees on all of it."""
        return all(map(is_portable, (*self.values, *self.conditions)))


def native_value(column: EntryColumn, table: Table) -> Node | None:
    """The node that computes a column of the entry from a row; None if only Spark can."""
    if not column.is_expression:
        return ColumnTerm(column.source, table.column(column.source).type)
    node = translate_native(column.source, table.types, table.time_zone)
    return None if node is None or column.type is None else _as_stored(node, column.type)


def _as_stored(node: Node, wanted: ColumnType) -> Node | None:
    """The node in the type that the index stores, if that holds exactly the same values."""
    of_type = node_type(node)
    if of_type == wanted:
        return node
    if of_type.is_integer and wanted.is_integer and widens(of_type, wanted):
        return Call(Function.CAST, (node,), wanted)
    return None


def native_condition(text: str, table: Table) -> Node | None:
    """A condition on rows that means the same in every engine; None if it may not."""
    return translate(text, table.types)


def native_conditions(index: Index, table: Table, where: str | None) -> tuple[Node, ...] | None:
    """The conditions under which a row has an entry; None if only Spark can evaluate them."""
    conditions: list[Node | None] = []
    if where:
        conditions.append(native_condition(where, table))
    if index.where:
        conditions.append(translate_native(index.where, table.types, table.time_zone))
    if index.nulls is Nulls.SKIP:
        values = (native_value(column, table) for column in index.key)
        conditions += [None if value is None else Not(IsNull(value)) for value in values]
    found = tuple(condition for condition in conditions if condition is not None)
    return found if len(found) == len(conditions) else None


def native_index(table: Table, index: Index) -> NativeIndex | None:
    """How the native engine makes this index's entries from rows; None if only Spark can."""
    values = [native_value(column, table) for column in index.entry]
    conditions = native_conditions(index, table, None)
    if conditions is None or None in values:
        return None
    return NativeIndex(tuple(value for value in values if value is not None), conditions)


def portable_index(table: Table, index: Index) -> NativeIndex | None:
    """The same, if it means the same in every engine and is in doubt for no row."""
    found = native_index(table, index)
    return found if found is not None and found.is_portable else None
