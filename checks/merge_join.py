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

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checks.entries import type_of
from scrub.model.defect import DefectKind
from scrub.model.table import EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName
from scrub.spark.digest import one_zero_one_nan
from scrub.spark.text import as_text

DEFECT_SCHEMA = (
    "slot int, kind string, expected_copies bigint, actual_copies bigint, "
    "primary_key array<string>, index_key array<string>, "
    "expected array<string>, actual array<string>"
)
"""Defects of any index: values are canonical texts, `expected` and `actual` the stored columns."""

_STAND_INS = {
    TypeName.BOOLEAN: "false",
    TypeName.STRING: "''",
    TypeName.BINARY: "X''",
    TypeName.DATE: "DATE'1970-01-01'",
    TypeName.TIMESTAMP: "TIMESTAMP'1970-01-01 00:00:00Z'",
    TypeName.TIMESTAMP_NTZ: "TIMESTAMP_NTZ'1970-01-01 00:00:00'",
}


def defects_among(pairs: DataFrame, table: Table, index: Index, slot: int) -> DataFrame:
    """Every disagreement among paired groups of one index, as DEFECT_SCHEMA."""
    return _describe(pairs.where(_differs()), table, index, slot)


def pair_up(expected: DataFrame, actual: DataFrame, index: Index) -> DataFrame:
    """Groups of equal identity side by side; a side that has none has NULL copies."""
    join_columns = _join_columns(_identity(index))
    left = _group(expected, index, "expected")
    right = _group(actual, index, "actual").hint("merge")
    return left.join(right, on=join_columns, how="full_outer")


def _identity(index: Index) -> tuple[EntryColumn, ...]:
    return index.key + index.suffix


def _join_columns(identity: Sequence[EntryColumn]) -> list[str]:
    return [f"{part}{number}" for number in range(len(identity)) for part in ("null", "value")]


def _group(entries: DataFrame, index: Index, side: str) -> DataFrame:
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


def comparable(column: Column, column_type: ColumnType) -> Column:
    """The value such that equal values are equal to every operator of Spark."""
    if column_type.name in (TypeName.FLOAT, TypeName.DOUBLE):
        return one_zero_one_nan(column.cast("double"))
    return column


def _stand_in(column_type: ColumnType) -> Column:
    literal = F.expr(_STAND_INS.get(column_type.name, "0"))
    if column_type.name in (TypeName.FLOAT, TypeName.DOUBLE):
        return literal.cast("double")
    return literal.cast(str(column_type))


def _differs() -> Column:
    return ~F.col("expected_stored").eqNullSafe(F.col("actual_stored"))


def _values(side: str) -> Column:
    """The distinct stored values of a side, without how often each occurs."""
    return F.transform(F.col(f"{side}_stored"), lambda variant: variant["stored"])


def _kinds() -> Column:
    expected = F.coalesce(F.col("expected_copies"), F.lit(0))
    actual = F.coalesce(F.col("actual_copies"), F.lit(0))
    both = (expected > 0) & (actual > 0)
    same_values = _values("expected").eqNullSafe(_values("actual"))
    return F.array_compact(
        F.array(
            F.when(actual == 0, F.lit(DefectKind.MISSING.value)),
            F.when(expected == 0, F.lit(DefectKind.DANGLING.value)),
            F.when(
                both & (~same_values | (expected == actual)),
                F.lit(DefectKind.WRONG_STORED_VALUE.value),
            ),
            F.when((actual > expected) & (actual > 1), F.lit(DefectKind.DUPLICATE_ENTRY.value)),
            F.when((expected > actual) & (expected > 1), F.lit(DefectKind.DUPLICATE_KEY.value)),
        )
    )


def _describe(pairs: DataFrame, table: Table, index: Index, slot: int) -> DataFrame:
    identity = _identity(index)
    texts = {
        column.name: F.when(
            ~F.col(f"null{number}"),
            as_text(F.col(f"value{number}").cast(str(type_of(column))), type_of(column)),
        )
        for number, column in enumerate(identity)
    }
    return pairs.select(
        F.lit(slot).alias("slot"),
        F.explode(_kinds()).alias("kind"),
        F.coalesce("expected_copies", F.lit(0)).cast("bigint").alias("expected_copies"),
        F.coalesce("actual_copies", F.lit(0)).cast("bigint").alias("actual_copies"),
        F.array(*(texts[name] for name in table.primary_key)).alias("primary_key"),
        F.array(*(texts[column.name] for column in index.key)).alias("index_key"),
        _stored_texts("expected", "actual", index).alias("expected"),
        _stored_texts("actual", "expected", index).alias("actual"),
    )


def _stored_texts(side: str, other: str, index: Index) -> Column:
    """The stored values to show: the first that the other side lacks, else the first."""
    lacking = F.array_except(_values(side), _values(other))
    shown = F.coalesce(F.get(lacking, F.lit(0)), F.get(_values(side), F.lit(0)))
    texts = [
        as_text(shown[f"s{number}"].cast(str(type_of(column))), type_of(column))
        for number, column in enumerate(index.stored)
    ]
    present = F.col(f"{side}_copies").isNotNull()
    return F.when(present, F.array(*texts) if texts else F.expr("cast(array() as array<string>)"))
