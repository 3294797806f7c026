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

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from checks.columns.difference_kinds import OF_NO_CHOSEN_ROW, kinds_of, kinds_of_chosen
from checks.columns.entries import CHOSEN
from scrub.model.defect import DefectKind
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
    if f"{CHOSEN}_copies" not in pairs.columns:
        return _describe(pairs.where(_DIFFERS), _kinds(), table, index, slot)
    differing = pairs.where(_DIFFERS_FROM_CHOSEN)
    return _describe(differing, _kinds_of_chosen(), table, index, slot, _OF_CHOSEN)


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
    names, by_rows = _join_columns(identity), CHOSEN in entries.columns
    prepared = entries.select(*keys, *stored, *([CHOSEN] if by_rows else []))
    prepared = prepared.repartition(*names)
    stored_names = [f"s{number}" for number in range(len(index.stored))]
    chosen = F.sum(F.col(CHOSEN).cast("bigint")).alias(CHOSEN)
    variants = prepared.groupBy(*names, *stored_names).agg(
        F.count(F.lit(1)).alias("copies"), *([chosen] if by_rows else [])
    )
    stored_values = F.struct(*stored_names) if stored_names else F.struct(F.lit(0).alias("s"))
    counted = {side: "copies"} | ({CHOSEN: CHOSEN} if by_rows else {})
    return variants.groupBy(*names).agg(
        *(
            made
            for of, copies in counted.items()
            for made in (
                F.sum(copies).alias(f"{of}_copies"),
                F.sort_array(F.collect_list(_variant(stored_values, copies))).alias(f"{of}_stored"),
            )
        )
    )


def _variant(stored_values: "Column", copies: str) -> "Column":
    """Stored values and how often they occur; NULL, which lists leave out, if they do not."""
    counted = F.struct(stored_values.alias("stored"), F.col(copies).alias("copies"))
    return F.when(F.col(copies) > 0, counted) if copies == CHOSEN else counted


def _stand_in(column_type: ColumnType) -> "Column":
    literal = F.expr(_STAND_INS.get(column_type.name, "0"))
    if column_type.name in (TypeName.FLOAT, TypeName.DOUBLE):
        return literal.cast("double")
    return literal.cast(str(column_type))


_DIFFERS = "NOT (expected_stored <=> actual_stored)"
_DIFFERS_FROM_CHOSEN = f"""
    NOT ({CHOSEN}_stored <=> actual_stored) AND ({CHOSEN}_copies > 0 OR actual_copies > 0)
"""
_OF_CHOSEN = (
    f"coalesce({CHOSEN}_copies, 0L) AS {CHOSEN}_copies",
    "expected_stored <=> actual_stored AS agrees",
)

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


def _describe(
    pairs: "DataFrame",
    kinds: "Column",
    table: Table,
    index: Index,
    slot: int,
    of_chosen: Sequence[str] = (),
) -> "DataFrame":
    """The pairs once for each of their kinds, which follow from _SIDES and `of_chosen`."""
    identity = _identity(index)
    described = pairs.selectExpr(*_join_columns(identity), *of_chosen, *_SIDES)
    described = described.withColumn("kind", F.explode(kinds)).selectExpr(
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
    """The kinds that a pair of groups is of."""
    return _that_hold(kinds_of(F.col("expected_copies"), F.col("actual_copies"), _other_values()))


def _kinds_of_chosen() -> "Column":
    """The same where only chosen rows are looked at."""
    chosen, expected = F.col(f"{CHOSEN}_copies"), F.col("expected_copies")
    found = _that_hold(kinds_of_chosen(chosen, expected, F.col("actual_copies"), _other_values()))
    aside = (chosen == 0) | F.col("agrees") | (F.size(found) == 0)
    return F.when(aside, F.array(F.lit(OF_NO_CHOSEN_ROW.value))).otherwise(found)


def _that_hold(found: Mapping[DefectKind, "Column"]) -> "Column":
    return F.array_compact(F.array(*(F.when(of, F.lit(kind.value)) for kind, of in found.items())))


def _other_values() -> "Column":
    return ~F.col("expected_values").eqNullSafe(F.col("actual_values"))


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
