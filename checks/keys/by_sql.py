# SPDX-License-Identifier: Apache-2.0
"""Keys that rows share, and keys that refer to no row, in Spark SQL.

For relations that only Spark reads, and for the few rows that the native way suspects: the two have
one meaning because values are compared here. A NULL in a key never clashes and refers to nothing,
NaN equals NaN, -0.0 equals 0.0, and integers are equal whatever their width.

Frames are *keyed*: they have the columns k0, k1, ... of the key and p0, p1, ... of the primary key.
What is found is NAMED_SCHEMA.
"""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from checks.keys.split_rows import Key
from scrub.model.table import Column as TableColumn
from scrub.spark.comparable import comparable
from scrub.spark.lazily import F
from scrub.spark.names import named
from scrub.spark.text import as_told_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def keyed(rows: "DataFrame", key: Key, primary_key: Key, where: str | None = None) -> "DataFrame":
    """Rows of a relation, those for which the condition is true, with the columns of both keys."""
    chosen = rows if where is None else rows.where(F.expr(where))
    return chosen.select(
        *(named(column.name).alias(f"k{number}") for number, column in enumerate(key)),
        *(named(column.name).alias(f"p{number}") for number, column in enumerate(primary_key)),
    )


def suspects(rows: "DataFrame", key: Key) -> "DataFrame":
    """The hashes that more than one row's key has; usually there is none, and all is well."""
    hashed = _complete(rows, key).select(_hash(key).alias("key_hash"))
    return hashed.groupBy("key_hash").count().where("count > 1").select("key_hash")


def suspicious(rows: "DataFrame", suspected: "DataFrame", key: Key) -> "DataFrame":
    """The rows whose key's hash is suspected: few enough to compare keys themselves."""
    hashed = _complete(rows, key).withColumn("key_hash", _hash(key))
    return hashed.join(suspected, on="key_hash", how="left_semi").drop("key_hash")


def sharing(rows: "DataFrame", key: Key, primary_key: Key) -> "DataFrame":
    """The rows that share a unique key with other rows, each primary key once.

    Copies of one row are a repeated primary key, not this. A NULL in the primary key makes two
    rows two, for it equals nothing.
    """
    keys, rest = _names("v", key), _names("q", primary_key)
    comparing = _complete(rows, key).select(
        *_comparable("k", key, "v"), *_comparable("p", primary_key, "q")
    )
    copies = (
        comparing.repartition(*keys).groupBy(*keys, *rest).agg(F.count(F.lit(1)).alias("copies"))
    )
    without_key = reduce(or_, (F.col(name).isNull() for name in rest))
    rows_of = F.when(without_key, F.col("copies")).otherwise(F.lit(1))
    from pyspark.sql import Window

    of_key = F.sum(rows_of).over(Window.partitionBy(*keys))
    shared = copies.withColumn("rows_of_key", of_key).where("rows_of_key > 1")
    return shared.select(
        _texts("q", primary_key).alias("primary_key"), _texts("v", key).alias("key"), "copies"
    )


def repeated(rows: "DataFrame", key: Key) -> "DataFrame":
    """The primary keys that more than one row has, each once, with the number of rows."""
    keys = _names("v", key)
    comparing = _complete(rows, key).select(*_comparable("k", key, "v"))
    grouped = comparing.groupBy(*keys).agg(F.count(F.lit(1)).alias("copies")).where("copies > 1")
    return grouped.select(
        _texts("v", key).alias("primary_key"), _texts("v", key).alias("key"), "copies"
    )


def unmatched(
    child: "DataFrame", key: Key, primary_key: Key, parent: "DataFrame", of: Key
) -> "DataFrame":
    """The rows of a keyed frame whose key is no key of `parent`, a keyed frame of the columns `of`.

    Each row of the child is one, also if it has copies.
    """
    parents = (
        _complete(parent, of)
        .select(*_comparable("k", of, "v"))
        .withColumnsRenamed({f"v{number}": f"parent{number}" for number in range(len(of))})
    )
    children = _complete(child, key).select("*", *_comparable("k", key, "v"))
    same = [F.col(f"v{number}") == F.col(f"parent{number}") for number in range(len(key))]
    return described(children.join(parents, reduce(and_, same), "left_anti"), key, primary_key)


def described(rows: "DataFrame", key: Key, primary_key: Key) -> "DataFrame":
    """Rows of a keyed frame as violations, one each."""
    return rows.select(
        _texts("p", primary_key).alias("primary_key"),
        _texts("k", key).alias("key"),
        F.lit(1).cast("bigint").alias("copies"),
    )


def _complete(rows: "DataFrame", key: Key) -> "DataFrame":
    """Rows with no NULL in the key."""
    return rows.where(reduce(and_, (F.col(name).isNotNull() for name in _names("k", key))))


def _hash(key: Key) -> "Column":
    return F.xxhash64(*(_wide(F.col(f"k{n}"), column) for n, column in enumerate(key)))


def _comparable(prefix: str, key: Key, alias: str) -> list["Column"]:
    return [
        _wide(F.col(f"{prefix}{number}"), column).alias(f"{alias}{number}")
        for number, column in enumerate(key)
    ]


def _wide(value: "Column", column: TableColumn) -> "Column":
    """The value such that equal values are equal to every operator, whichever side they are of."""
    return value.cast("bigint") if column.type.is_integer else comparable(value, column.type)


def _texts(prefix: str, key: Key) -> "Column":
    return F.array(
        *(
            as_told_text(F.col(f"{prefix}{number}").cast(str(column.type)), column.type)
            for number, column in enumerate(key)
        )
    )


def _names(prefix: str, key: Sequence[object]) -> list[str]:
    return [f"{prefix}{number}" for number in range(len(key))]
