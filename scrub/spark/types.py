# SPDX-License-Identifier: Apache-2.0
"""Column types in Spark's terms, and back; pyspark is imported when the first one is asked for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName, parse_type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def to_spark(column_type: ColumnType) -> "DataType":
    """The Spark type that holds exactly the values of a column type."""
    from pyspark.sql import types

    if column_type.name is TypeName.DECIMAL:
        return types.DecimalType(column_type.precision, column_type.scale)
    return {
        TypeName.BOOLEAN: types.BooleanType,
        TypeName.TINYINT: types.ByteType,
        TypeName.SMALLINT: types.ShortType,
        TypeName.INT: types.IntegerType,
        TypeName.BIGINT: types.LongType,
        TypeName.FLOAT: types.FloatType,
        TypeName.DOUBLE: types.DoubleType,
        TypeName.STRING: types.StringType,
        TypeName.BINARY: types.BinaryType,
        TypeName.DATE: types.DateType,
        TypeName.TIMESTAMP: types.TimestampType,
        TypeName.TIMESTAMP_NTZ: types.TimestampNTZType,
    }[column_type.name]()


def from_spark(data_type: "DataType") -> ColumnType | None:
    """The column type of a Spark type; None for what scrub does not compare."""
    text = data_type.simpleString()
    # A collated string has another equality than its bytes', and prints as "string collate ...".
    if text.startswith(("char(", "varchar(")):
        return ColumnType(TypeName.STRING) if text.startswith("varchar") else None
    try:
        return parse_type(text)
    except ValueError:
        return None


def to_struct(columns: Sequence[Column]) -> "StructType":
    """A read schema; every column is nullable, whatever the catalog hopes for."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(column.name, to_spark(column.type)) for column in columns])
