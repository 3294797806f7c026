# SPDX-License-Identifier: Apache-2.0
"""After a failed job: which file, which relation or which row's expression made it fail."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checks.columns.entries import primary_key_of
from checks.failures import Failure, failures
from checks.numbering import Slot
from scrub.codec.digest import Salt
from scrub.codec.json_values import from_text
from scrub.model.defect import Value
from scrub.model.table import Table
from scrub.spark.collecting import translated
from scrub.spark.digest import bucket_of
from scrub.spark.expected_values import expected_value, is_covered
from scrub.spark.lazily import F
from scrub.spark.names import named
from scrub.spark.text import as_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SEARCH_BITS = 24

Collect = Callable[["DataFrame"], Sequence[Sequence[object]]]
"""Runs a frame; handed in, since only the runner triggers Spark."""


@dataclass(frozen=True, slots=True)
class Raised:
    """An expression that cannot be evaluated for a row."""

    row: dict[str, Value]
    reason: str

    @property
    def told(self) -> str:
        row = ", ".join(f"{name}={value}" for name, value in self.row.items())
        return f"raises {self.reason} for the row {row}"


def reading_fails(rows_of: Callable[[], "DataFrame"], collect: Collect) -> "Failure | None":
    """What reading every column of a relation fails with, if it does."""
    try:
        with translated():
            rows = rows_of()  # some places refuse before any row is read
        collect(rows.agg(*(F.count(named(name)) for name in rows.columns)))
    except failures() as error:
        return error
    return None


def expressions_of(slot: Slot) -> list["Column"]:
    """What has to be evaluated for every row of a table because of an index."""
    values: list[Column] = [is_covered(slot.index, slot.table.where)]
    return values + [expected_value(column) for column in slot.index.entry if column.is_expression]


def raising_row(
    rows: "DataFrame", table: Table, values: Sequence["Column"], salt: Salt, collect: Collect
) -> Raised | None:
    """The row of a table for which expressions raise, if there is one: found by halving."""
    bucket = bucket_of(primary_key_of(table), salt, _SEARCH_BITS)
    numbered = rows.withColumn("__bucket", bucket)
    low, high = 0, 1 << _SEARCH_BITS
    reason = _evaluation_fails(numbered, values, collect)
    if reason is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        within = (F.col("__bucket") >= low) & (F.col("__bucket") < middle)
        if _evaluation_fails(numbered.where(within), values, collect):
            high = middle
        else:
            low = middle
    return Raised(_key_of(numbered.where(F.col("__bucket") == low), table, collect), reason)


def _evaluation_fails(
    rows: "DataFrame", values: Sequence["Column"], collect: Collect
) -> str | None:
    from pyspark.errors import PySparkException

    from scrub.spark.failures import condition

    try:
        # Values that can never be NULL would not be computed to be counted.
        collect(rows.agg(*(F.max(F.hash(value)) for value in values)))
    except PySparkException as error:
        return condition(error)
    return None


def _key_of(rows: "DataFrame", table: Table, collect: Collect) -> dict[str, Value]:
    texts = [as_text(named(name), table.column(name).type) for name in table.primary_key]
    (found, *_) = collect(rows.select(*texts).limit(1))
    return {
        name: from_text(str(text) if text is not None else None, table.column(name).type)
        for name, text in zip(table.primary_key, found, strict=True)
    }
