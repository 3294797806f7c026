# SPDX-License-Identifier: Apache-2.0
"""Infinite dates and times: a database has them, and Spark takes them for very late or early ones.

They compare as they should. Whatever else Spark computes of them, such as a year, says nothing, so
a condition is decided for such rows only if it is in the list of those that scrub evaluates itself.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from scrub.catalog.native_terms import native_condition
from scrub.model.constraint import Constraint
from scrub.model.table import Column, Table
from scrub.model.types import TypeName
from scrub.spark.lazily import F
from scrub.spark.names import named

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

_DAYS = (-(2**31), 2**31 - 1)
_MICROS = (-(2**63), 2**63 - 1)
_DAYS_OF_MICROS = tuple(micros // 86_400_000_000 for micros in _MICROS)
_OF_TIME = (TypeName.DATE, TypeName.TIMESTAMP, TypeName.TIMESTAMP_NTZ)


def computed_times(
    table: Table, constraint: Constraint, names: Sequence[str]
) -> tuple[Column, ...]:
    """The dates and times of a CHECK that only Spark evaluates."""
    if constraint.condition is None or native_condition(constraint.condition, table) is not None:
        return ()
    return tuple(c for c in map(table.column, names) if c.type.name in _OF_TIME)


def is_endless(columns: Sequence[Column]) -> "SparkColumn":
    """Whether a row holds an infinite date or time in any of the columns."""
    return F.coalesce(reduce(or_, map(_is_infinite, columns)), F.lit(False))


def _is_infinite(column: Column) -> "SparkColumn":
    value = named(column.name)
    match column.type.name:
        case TypeName.DATE:
            found = F.unix_date(value).isin(*_DAYS)
        case TypeName.TIMESTAMP:
            found = F.unix_micros(value).isin(*_MICROS)
        case _:
            found = F.unix_date(value.cast("date")).isin(*_DAYS_OF_MICROS)
    return F.coalesce(found, F.lit(False))


def endless_rows(rows: int, columns: Sequence[Column]) -> str:
    """Why a constraint is not decided for some rows."""
    noun = "row holds" if rows == 1 else "rows hold"
    names = " or ".join(column.name for column in columns)
    return f"{rows:,} {noun} infinity in {names}, for which Spark cannot evaluate the condition"
