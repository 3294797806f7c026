# SPDX-License-Identifier: Apache-2.0
"""Spark expressions for the index entry that a row of a table should have."""

from typing import TYPE_CHECKING

from scrub.model.table import EntryColumn, Index, Nulls
from scrub.model.types import ColumnType
from scrub.spark.lazily import F
from scrub.spark.names import named

if TYPE_CHECKING:
    from pyspark.sql import Column


def type_of(column: EntryColumn) -> ColumnType:
    """The type of an entry's column; those of expressions must have been resolved."""
    assert column.type is not None, f"the type of {column.name} was left open"
    return column.type


def expected_value(column: EntryColumn) -> "Column":
    """The value of this column in the entry that a row should have."""
    value = F.expr(column.source) if column.is_expression else named(column.source)
    return value.cast(str(type_of(column))) if column.is_expression else value


def is_covered(index: Index, where: str | None) -> "Column":
    """Whether a row of the table has an entry: predicates count only when they are true."""
    conditions = [F.expr(text) for text in (where, index.where) if text]
    if index.nulls is Nulls.SKIP:
        conditions += [expected_value(column).isNotNull() for column in index.key]
    covered = F.lit(True)
    for condition in conditions:
        covered = covered & condition
    return F.coalesce(covered, F.lit(False))
