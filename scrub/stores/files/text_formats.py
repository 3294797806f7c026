# SPDX-License-Identifier: Apache-2.0
"""CSV and JSON, which store no types, through Spark: text that is no value of its type raises.

With the catalog's schema, Spark would silently read such text as NULL, and round decimals.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scrub.errors import RelationMismatch
from scrub.model.relation import RelationFacts, Splits
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName
from scrub.spark.strict_cast import strict_cast
from scrub.spark.types import to_struct
from scrub.stores.files.partitioned_frame import Files, Load
from scrub.stores.files.spark_files import inferred_schema, load_files

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

_STRING = ColumnType(TypeName.STRING)
# Spark reads "" and nothing at all alike, as NULL; a mark tells them apart.
_EMPTY_MARK = "\ue000empty\ue000"
_CSV_DEFAULTS = {
    "header": "true",
    "multiLine": "true",  # a quoted line break is part of a value
    "emptyValue": _EMPTY_MARK,
    "enforceSchema": "false",  # every file's header must say the same, not only be as long
}
# Also for columns that nobody asked for, else a row cut short would pass.
_CSV_FIXED = {"columnPruning": "false", "mode": "FAILFAST"}
# What the JSON reader itself would round, cut off or complete.
_JSON_AS_TEXT = (TypeName.DECIMAL, TypeName.DATE, TypeName.TIMESTAMP, TypeName.TIMESTAMP_NTZ)


def csv_columns(
    spark: "SparkSession", files: Splits, options: Mapping[str, str], expected: Sequence[Column]
) -> dict[str, ColumnType | None]:
    """The names in the first header, in the catalog's types; without headers, the catalog's."""
    if binary := next((c.name for c in expected if c.type.name is TypeName.BINARY), None):
        raise RelationMismatch(f"column {binary}: CSV has no way to hold binary values")
    types: dict[str, ColumnType | None] = {column.name: column.type for column in expected}
    settings = _CSV_DEFAULTS | dict(options)
    with_header = [file for file in files if file.bytes]
    if settings["header"].lower() != "true" or not with_header:
        return types
    schema = inferred_schema(spark.read.options(**settings), "csv", with_header[:1])
    return {name: types.get(name) for name in schema.names}


def csv_loader(spark: "SparkSession", facts: RelationFacts, options: Mapping[str, str]) -> Load:
    """CSV, every column as text first; files whose headers differ raise."""
    settings = _CSV_DEFAULTS | dict(options) | _CSV_FIXED

    def load(files: Files) -> "DataFrame":
        in_path = {name for file in facts.splits for name in file.partition}
        header = [Column(name=n, type=_STRING) for n in facts.columns if n not in in_path]
        schema = to_struct([*header, *files.in_paths])
        reader = spark.read.schema(schema).options(**settings, **files.layout)
        frame = load_files(reader, "csv", files.splits)
        marked = [c for c in files.stored if c.name in frame.columns]
        return _typed(frame.withColumns(_without_marks(marked)), files)

    return load


def _without_marks(columns: Sequence[Column]) -> "dict[str, SparkColumn]":
    """A quoted empty field is the empty string in a string column, and NULL in any other."""
    from pyspark.sql import functions as sf

    from scrub.spark.names import named

    return {
        column.name: sf.when(
            named(column.name) == _EMPTY_MARK,
            sf.lit("" if column.type.name is TypeName.STRING else None),
        ).otherwise(named(column.name))
        for column in columns
    }


def json_columns(
    spark: "SparkSession", files: Splits, options: Mapping[str, str], expected: Sequence[Column]
) -> dict[str, ColumnType | None]:
    """The names found, in the catalog's types; all files are read only if the first lacks some.

    JSON writers leave out NULLs, so a relation without any name is taken at the catalog's word.
    """
    types: dict[str, ColumnType | None] = {column.name: column.type for column in expected}
    settings = {**options, "primitivesAsString": "true", "mode": "DROPMALFORMED"}
    names: list[str] = []
    for some in (files[:1], files):
        if not types.keys() <= set(names):
            names = inferred_schema(spark.read.options(**settings), "json", some).names
    return {name: types.get(name) for name in names} if names else types


def json_loader(spark: "SparkSession", options: Mapping[str, str]) -> Load:
    """JSON, where a token of another kind than its column raises.

    What follows an object on the same line is not seen: Spark's reader stops there.
    """

    def load(files: Files) -> "DataFrame":
        schema = [
            Column(name=c.name, type=_STRING) if c.type.name in _JSON_AS_TEXT else c
            for c in files.stored
        ]
        settings = {**options, **files.layout, "mode": "FAILFAST"}
        reader = spark.read.schema(to_struct([*schema, *files.in_paths])).options(**settings)
        return _typed(load_files(reader, "json", files.splits), files)

    return load


def _typed(frame: "DataFrame", files: Files) -> "DataFrame":
    """The stored columns in the catalog's types, where the frame has text."""
    from pyspark.sql import functions as sf

    from scrub.spark.names import named
    from scrub.spark.types import to_spark

    read_as = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    selected = []
    for column in files.stored:
        value = named(column.name)
        if column.name not in read_as:
            value = sf.lit(None).cast(to_spark(column.type))
        elif read_as[column.name] == "string":
            value = strict_cast(value, column.type, column.name)
        selected.append(value.alias(column.name))
    return frame.select(*selected, *[named(text.name) for text in files.in_paths])
