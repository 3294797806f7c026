# SPDX-License-Identifier: Apache-2.0
"""Rows that share the key of a unique index: table and index may agree on them, and both be wrong.

A NULL in the key never clashes, and two copies of one row are a duplicate primary key, not this.
"""

from typing import TYPE_CHECKING

from checks.columns.merge_join import without_entries
from scrub.model.defect import DefectKind
from scrub.model.table import Index, Table
from scrub.spark.comparable import comparable
from scrub.spark.expected_values import type_of
from scrub.spark.lazily import F
from scrub.spark.text import as_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def suspects(expected: "DataFrame", index: Index) -> "DataFrame":
    """The hashes that more than one entry's key has; usually there is none, and all is well."""
    hashed = _complete(expected, index).select(_key_hash(index).alias("key_hash"))
    return hashed.groupBy("key_hash").count().where("count > 1").select("key_hash")


def suspicious(expected: "DataFrame", suspected: "DataFrame", index: Index) -> "DataFrame":
    """The entries whose key's hash is suspected: few enough to compare keys themselves."""
    hashed = _complete(expected, index).withColumn("key_hash", _key_hash(index))
    return hashed.join(suspected, on="key_hash", how="left_semi").drop("key_hash")


def shared_keys(expected: "DataFrame", table: Table, index: Index) -> "DataFrame":
    """The index keys that more than one primary key has, given the expected entries."""
    keyed = _keyed(expected, table, index)
    keys = [f"key{number}" for number in range(len(index.key))]
    grouped = keyed.groupBy(*keys).agg(
        F.min("primary_key").alias("lowest"), F.max("primary_key").alias("highest")
    )
    return grouped.where(F.col("lowest") != F.col("highest")).select(*keys)


def rows_sharing(expected: "DataFrame", table: Table, index: Index, slot: int) -> "DataFrame":
    """One defect for each row whose key is shared, as checks.merge_join.DEFECT_SCHEMA."""
    shared = shared_keys(expected, table, index)
    keys = [f"key{number}" for number in range(len(index.key))]
    rows = _keyed(expected, table, index).join(shared, on=keys, how="left_semi")
    key_texts = [
        as_text(F.col(name).cast(str(type_of(column))), type_of(column))
        for name, column in zip(keys, index.key, strict=True)
    ]
    sharing = without_entries(
        rows,
        slot,
        DefectKind.UNIQUE_VIOLATION.value,
        copies=(F.lit(1), 1),
        primary_key=F.col("primary_key"),
        index_key=F.array(*key_texts),
    )
    return sharing.dropDuplicates(["primary_key", "index_key"])


def _complete(expected: "DataFrame", index: Index) -> "DataFrame":
    """Entries with no NULL in the key."""
    for number in range(len(index.key)):
        expected = expected.where(F.col(f"k{number}").isNotNull())
    return expected


def _key_hash(index: Index) -> "Column":
    return F.xxhash64(
        *(
            comparable(F.col(f"k{number}"), type_of(column))
            for number, column in enumerate(index.key)
        )
    )


def _keyed(expected: "DataFrame", table: Table, index: Index) -> "DataFrame":
    """Complete entries with comparable key columns, and the primary key as text."""
    identity = {column.name: number for number, column in enumerate(index.key + index.suffix)}
    columns: list[Column] = [
        comparable(F.col(f"k{number}"), type_of(column)).alias(f"key{number}")
        for number, column in enumerate(index.key)
    ]
    primary_key = [
        as_text(F.col(f"k{identity[name]}"), table.column(name).type) for name in table.primary_key
    ]
    return _complete(expected, index).select(*columns, F.array(*primary_key).alias("primary_key"))
