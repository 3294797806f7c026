# SPDX-License-Identifier: Apache-2.0
"""Naming defects: the full outer merge join of expected with actual entries.

Entries are grouped by what identifies them (indexed columns and primary key) on each side, so that
duplicates become a count and never multiply in the join. NULL equals NULL, NaN equals NaN and -0.0
equals 0.0: each identifying column joins as a pair of "is it NULL" and "its value, or a stand-in",
on which the ordinary equality of a sort-merge join is exact. The grouping needs the same
partitioning as the join, so each side is shuffled once.

A pair of groups is a defect when
    nothing was expected                                   dangling
    nothing is there                                       missing
    both are there, but not the same stored values         wrong stored value
    there are more entries than rows, and more than one    duplicate entry
    there are more rows than entries, and more than one    duplicate primary key
and more than one of these may hold. Equal numbers of copies on both sides are no disagreement.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from checks.columns.difference_kinds import kinds_of
from scrub.model.table import EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName
from scrub.spark.comparable import comparable
from scrub.spark.expected_values import type_of
from scrub.spark.lazily import F
from scrub.spark.text import as_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_STAND_INS = {
    TypeName.BOOLEAN: "false",
    TypeName.STRING: "''",
    TypeName.BINARY: "X''",
    TypeName.DATE: "DATE'1970-01-01'",
    TypeName.TIMESTAMP: "TIMESTAMP'1970-01-01 00:00:00Z'",
    TypeName.TIMESTAMP_NTZ: "TIMESTAMP_NTZ'1970-01-01 00:00:00'",
}


def defects_among(pairs: "DataFrame", table: Table, index: Index, slot: int) -> "DataFrame":
    """Every disagreement among paired groups of one index, as DEFECT_SCHEMA."""
    return _describe(pairs.where(_DIFFERS), table, index, slot)


def pair_up(expected: "DataFrame", actual: "DataFrame", index: Index) -> "DataFrame":
    """Groups of equal identity side by side; a side that has none has NULL copies."""
    join_columns = _join_columns(_identity(index))
    left = _group(expected, index, "expected")
    right = _group(actual, index, "actual").hint("merge")
    return left.join(right, on=join_columns, how="full_outer")


def _identity(index: Index) -> tuple[EntryColumn, ...]:
    return index.key + index.suffix


def _join_columns(identity: Sequence[EntryColumn]) -> list[str]:
    return [f"{part}{number}" for number in range(len(identity)) for part in ("null", "value")]


def _group(entries: "DataFrame", index: Index, side: str) -> "DataFrame":
    """One row for each identity: how many copies, and which stored values how often."""
    identity = _identity(index)
    keys: list[Column] = []
    for number, column in enumerate(identity):
        value = comparable(F.col(f"k{number}"), type_of(column))
        keys.append(value.isNull().alias(f"null{number}"))
        keys.append(F.coalesce(value, _stand_in(type_of(column))).alias(f"value{number}"))
    stored = [
        comparable(F.col(f"s{number}"), type_of(column)).alias(f"s{number}")
        for number, column in enumerate(index.stored)
    ]
    names = _join_columns(identity)
    prepared = entries.select(*keys, *stored).repartition(*names)
    stored_names = [f"s{number}" for number in range(len(index.stored))]
    variants = prepared.groupBy(*names, *stored_names).agg(F.count(F.lit(1)).alias("copies"))
    stored_values = F.struct(*stored_names) if stored_names else F.struct(F.lit(0).alias("s"))
    return variants.groupBy(*names).agg(
        F.sum("copies").alias(f"{side}_copies"),
        F.sort_array(F.collect_list(F.struct(stored_values.alias("stored"), "copies"))).alias(
            f"{side}_stored"
        ),
    )


def _stand_in(column_type: ColumnType) -> "Column":
    literal = F.expr(_STAND_INS.get(column_type.name, "0"))
    if column_type.name in (TypeName.FLOAT, TypeName.DOUBLE):
        return literal.cast("double")
    return literal.cast(str(column_type))


_DIFFERS = "NOT (expected_stored <=> actual_stored)"

# One text each instead of nested calls, every one of which is a round trip to the JVM.
_SIDES = tuple(
    text.format(side=side)
    for side in ("expected", "actual")
    for text in (
        "coalesce({side}_copies, 0L) AS {side}_copies",
        "transform({side}_stored, variant -> variant.stored) AS {side}_values",
    )
)
_SHOWN = """
    coalesce(get(array_except({side}_values, {other}_values), 0), get({side}_values, 0))
    AS {side}_shown
"""
"""The stored values to show: the first that the other side lacks, else the first."""


def _describe(pairs: "DataFrame", table: Table, index: Index, slot: int) -> "DataFrame":
    identity = _identity(index)
    described = pairs.selectExpr(*_join_columns(identity), *_SIDES).selectExpr(
        *_join_columns(identity),
        "expected_copies",
        "actual_copies",
        "expected_values",
        "actual_values",
    )
    described = described.withColumn("kind", _kinds()).selectExpr(
        *_join_columns(identity),
        "expected_copies",
        "actual_copies",
        "kind",
        _SHOWN.format(side="expected", other="actual"),
        _SHOWN.format(side="actual", other="expected"),
    )
    texts = {
        column.name: F.when(
            ~F.col(f"null{number}"),
            as_text(F.col(f"value{number}").cast(str(type_of(column))), type_of(column)),
        )
        for number, column in enumerate(identity)
    }
    return described.select(
        F.lit(slot).alias("slot"),
        "kind",
        "expected_copies",
        "actual_copies",
        F.array(*(texts[name] for name in table.primary_key)).alias("primary_key"),
        F.array(*(texts[column.name] for column in index.key)).alias("index_key"),
        _stored_texts("expected", index).alias("expected"),
        _stored_texts("actual", index).alias("actual"),
    )


def _kinds() -> "Column":
    """A row for each kind that a pair of groups is of."""
    other_values = ~F.col("expected_values").eqNullSafe(F.col("actual_values"))
    found = kinds_of(F.col("expected_copies"), F.col("actual_copies"), other_values)
    return F.explode(
        F.array_compact(F.array(*(F.when(of, F.lit(kind.value)) for kind, of in found.items())))
    )


def without_entries(
    rows: "DataFrame",
    slot: int,
    kind: str,
    *,
    copies: tuple["Column", int],  # expected and actual
    primary_key: "Column",
    index_key: "Column",
) -> "DataFrame":
    """Rows in which no entry is in question, as DEFECT_SCHEMA."""
    nothing = F.lit(None).cast("array<string>")
    return rows.select(
        F.lit(slot).alias("slot"),
        F.lit(kind).alias("kind"),
        copies[0].cast("bigint").alias("expected_copies"),
        F.lit(copies[1]).cast("bigint").alias("actual_copies"),
        primary_key.alias("primary_key"),
        index_key.alias("index_key"),
        nothing.alias("expected"),
        nothing.alias("actual"),
    )


def _stored_texts(side: str, index: Index) -> "Column":
    texts = [
        as_text(F.col(f"{side}_shown.s{number}").cast(str(type_of(column))), type_of(column))
        for number, column in enumerate(index.stored)
    ]
    present = F.col(f"{side}_copies") > 0
    return F.when(present, F.array(*texts) if texts else F.expr("cast(array() as array<string>)"))
