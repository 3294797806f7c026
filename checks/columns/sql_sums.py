# SPDX-License-Identifier: Apache-2.0
"""The sql engine's fingerprint: the same sums, computed by Spark SQL's built-in functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checks.scan_spec import ACTUAL, EXPECTED
from scrub.codec.digest import Salt
from scrub.spark.digest import TypedColumn, bucket_of, digest_pair
from scrub.spark.lazily import F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SUM_COLUMNS = ("expected", "actual", "first_high", "first_low", "second_high", "second_low")
"""Sums travel in halves: Spark's own sum() raises on overflow, and halves of 32 bits cannot."""

_LOW_HALF = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryColumns:
    """How a relation's rows become the entries of one index, in Spark's terms."""

    slot: int
    sign: int
    beside_primary_key: Sequence[TypedColumn]
    condition: "Column"


def fingerprint_frame(
    rows: "DataFrame",
    primary_key: Sequence[TypedColumn],
    entries: Sequence[EntryColumns],
    salt: Salt,
    bucket_bits: int,
) -> "DataFrame":
    """Sums per index and bucket over one scan of the rows: slot, bucket and SUM_COLUMNS."""
    digested = rows.select(
        bucket_of(primary_key, salt, bucket_bits).alias("bucket"),
        *(_digests(entry, primary_key, salt) for entry in entries),
    )
    sums = digested.groupBy("bucket").agg(*(total for entry in entries for total in _totals(entry)))
    per_index = F.explode(F.array(*(_as_struct(entry) for entry in entries))).alias("sums")
    return (
        sums.select("bucket", per_index)
        .where(F.col("sums.expected") + F.col("sums.actual") > 0)
        .select(
            F.col("sums.slot").alias("slot"),
            "bucket",
            *(F.col(f"sums.{name}").alias(name) for name in SUM_COLUMNS),
        )
    )


def _name(entry: EntryColumns, column: str) -> str:
    return f"{column}_{entry.slot}"


def _digests(entry: EntryColumns, primary_key: Sequence[TypedColumn], salt: Salt) -> "Column":
    """Both digests of a row that counts; NULL for one that does not, which no sum sees."""
    first, second = digest_pair([*primary_key, *entry.beside_primary_key], salt)
    pair = F.struct(first.alias("first"), second.alias("second"))
    return F.when(entry.condition, pair).alias(_name(entry, "digests"))


def _totals(entry: EntryColumns) -> list["Column"]:
    digests = F.col(_name(entry, "digests"))
    totals = [F.count(digests).alias(_name(entry, "count"))]
    for which in ("first", "second"):
        high = F.shiftrightunsigned(digests[which], 32)
        low = digests[which].bitwiseAND(F.lit(_LOW_HALF).cast("bigint"))
        totals.append(F.sum(high).alias(_name(entry, f"{which}_high")))
        totals.append(F.sum(low).alias(_name(entry, f"{which}_low")))
    return totals


def _as_struct(entry: EntryColumns) -> "Column":
    count, nothing = F.col(_name(entry, "count")), F.lit(0).cast("bigint")
    columns = {
        "expected": count if entry.sign == EXPECTED else nothing,
        "actual": count if entry.sign == ACTUAL else nothing,
    } | {
        half: F.coalesce(F.col(_name(entry, half)), nothing) * F.lit(entry.sign)
        for half in SUM_COLUMNS[2:]
    }
    return F.struct(F.lit(entry.slot).alias("slot"), *(columns[n].alias(n) for n in SUM_COLUMNS))
