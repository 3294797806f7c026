# SPDX-License-Identifier: Apache-2.0
"""Other ways to compare an index with its table, each giving the number of differences it sees.

All read the same columns of the same files and compare null-safely. A difference is a key that only
one side has, or a key whose stored values differ. DuckDB's are in `benchmarks.duckdb_peers`.
"""

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks import data
from benchmarks.data import Lake
from benchmarks.shapes import COLUMNS, IndexShape


def spark_join(spark: SparkSession, lake: Lake, index: IndexShape) -> int:
    """What a person writes in Spark: a full outer sort-merge join of both sides."""
    expected = _frame(spark, lake.table, index).withColumn("present", F.lit(True)).alias("expected")
    actual = _frame(spark, lake.index(index), index).withColumn("present", F.lit(True))
    actual = actual.hint("merge").alias("actual")
    same_key = [_same(column) for column in index.key]
    differs = F.col("expected.present").isNull() | F.col("actual.present").isNull()
    for column in index.stored:
        differs = differs | ~_same(column)
    return expected.join(actual, same_key, "full_outer").where(differs).count()


def datacompy_compare(spark: SparkSession, lake: Lake, index: IndexShape) -> int:
    """datacompy's comparison of two Spark frames, with the counts its report begins with."""
    from datacompy import SparkSQLCompare

    compared = SparkSQLCompare(
        spark,
        _frame(spark, lake.table, index),
        _frame(spark, lake.index(index), index),
        join_columns=list(index.key),
    )
    both = compared.intersect_rows.count() - compared.count_matching_rows()
    differences = compared.df1_unq_rows.count() + compared.df2_unq_rows.count() + both
    compared.intersect_rows.unpersist()
    return int(differences)


def spark_scan(spark: SparkSession, lake: Lake, index: IndexShape) -> int:
    """Spark reading the columns of both sides and nothing more; gives the rows it saw."""
    looks = [
        F.sum(F.length(column)) if COLUMNS[column] == "string" else F.bit_xor(column)
        for column in index.columns
    ]
    return sum(
        _frame(spark, relation, index).agg(F.count(F.lit(1)), *looks).collect()[0][0]
        for relation in (lake.table, lake.index(index))
    )


def _frame(spark: SparkSession, relation: Path, index: IndexShape) -> DataFrame:
    return spark.read.parquet(*data.files(relation)).select(*index.columns)


def _same(column: str) -> Column:
    return F.col(f"expected.{column}").eqNullSafe(F.col(f"actual.{column}"))
