# SPDX-License-Identifier: Apache-2.0
"""Formats that store types, Parquet and ORC, through Spark."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrub.errors import RelationMismatch
from scrub.model.relation import RelationFacts, Split
from scrub.model.table import Column
from scrub.model.types import ColumnType, widens
from scrub.spark.types import from_spark, to_spark, to_struct
from scrub.stores.files.partitioned_frame import Files, Load
from scrub.stores.files.spark_files import inferred_schema, load_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def parquet_loader(spark: "SparkSession") -> Load:
    """Parquet, in the catalog's types; a file that stores others raises."""

    def load(files: Files) -> "DataFrame":
        schema = to_struct([*files.stored, *files.in_paths])
        return load_files(
            spark.read.schema(schema).options(**files.layout), "parquet", files.splits
        )

    return load


def orc_columns(spark: "SparkSession", files: Sequence[Split]) -> dict[str, ColumnType | None]:
    """The columns of all files whose schema can be read."""
    schema = inferred_schema(spark.read.option("mergeSchema", "true"), "orc", files)
    return {field.name: from_spark(field.dataType) for field in schema.fields}


def orc_loader(spark: "SparkSession", facts: RelationFacts) -> Load:
    """ORC, read in the stored types and then widened: its own conversions would lose values.

    The ORC library itself misreads times in the last second before 1970.
    """
    from scrub.spark.names import named

    def load(files: Files) -> "DataFrame":
        own = [Column(name=c.name, type=_stored_type(facts, c)) for c in files.stored]
        reader = spark.read.schema(to_struct([*own, *files.in_paths])).options(**files.layout)
        widened = [named(c.name).cast(to_spark(c.type)).alias(c.name) for c in files.stored]
        frame = load_files(reader, "orc", files.splits)
        return frame.select(*widened, *[named(text.name) for text in files.in_paths])

    return load


def _stored_type(facts: RelationFacts, column: Column) -> ColumnType:
    stored = facts.columns.get(column.name, column.type)  # absent everywhere: NULL of any type
    if stored is None or not widens(stored, column.type):
        raise RelationMismatch(
            f"{facts.relation}: column {column.name} is stored as "
            f"{stored or 'a type that cannot be compared'}, not {column.type}"
        )
    return stored
