# SPDX-License-Identifier: Apache-2.0
"""Index definitions as terms that the native engine evaluates without Spark, where possible."""

from scrub.catalog.expressions import translate
from scrub.model.predicate import ColumnTerm, IsNull, Node, Not, node_type
from scrub.model.table import EntryColumn, Index, Nulls, Table


def native_value(column: EntryColumn, table: Table) -> Node | None:
    """The term that computes a column of the entry from a row; None if only Spark can."""
    if not column.is_expression:
        return ColumnTerm(column.source, table.column(column.source).type)
    node = translate(column.source, table.types)
    return node if node is not None and node_type(node) == column.type else None


def native_condition(text: str, table: Table) -> Node | None:
    """A condition on rows as a predicate; None if only Spark can evaluate it."""
    return translate(text, table.types)


def native_conditions(index: Index, table: Table, where: str | None) -> tuple[Node, ...] | None:
    """The conditions under which a row has an entry; None if only Spark can evaluate them."""
    conditions = [native_condition(text, table) for text in (where, index.where) if text]
    if index.nulls is Nulls.SKIP:
        for column in index.key:
            value = native_value(column, table)
            conditions.append(Not(IsNull(value)) if isinstance(value, ColumnTerm) else None)
    found = tuple(condition for condition in conditions if condition is not None)
    return found if len(found) == len(conditions) else None


def is_native_index(table: Table, index: Index) -> bool:
    """Whether the native engine can make this index's entries from rows."""
    values = [native_value(column, table) for column in index.entry]
    return None not in values and native_conditions(index, table, None) is not None
