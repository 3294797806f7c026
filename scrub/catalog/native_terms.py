# SPDX-License-Identifier: Apache-2.0
"""Index definitions in terms that need no Spark to be evaluated, where they have such terms."""

from collections.abc import Mapping

from scrub.catalog.expressions import translate
from scrub.model.predicate import ColumnTerm, IsNull, Node, Not, type_of
from scrub.model.table import EntryColumn, Index, Nulls, Table
from scrub.model.types import ColumnType


def column_types(table: Table) -> Mapping[str, ColumnType]:
    """What an expression over the table's rows may refer to."""
    return {column.name: column.type for column in table.columns}


def native_value(column: EntryColumn, table: Table) -> Node | None:
    """How a row gives this column of its entry; None when only Spark can tell."""
    if not column.is_expression:
        return ColumnTerm(column.source, table.column(column.source).type)
    node = translate(column.source, column_types(table))
    return node if node is not None and type_of(node) == column.type else None


def native_condition(text: str, table: Table) -> Node | None:
    """A predicate over the table's rows; None when only Spark can tell."""
    return translate(text, column_types(table))


def native_conditions(index: Index, table: Table, where: str | None) -> tuple[Node, ...] | None:
    """What must be true of a row for it to have an entry; None when only Spark can tell."""
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
