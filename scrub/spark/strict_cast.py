# SPDX-License-Identifier: Apache-2.0
"""Text to typed values in Spark, where a text that does not stand for a value raises.

Spark's own casts give NULL (outside ANSI mode), today's date for a bare time of day, a rounded
decimal, a wall-clock time that drops its zone: in a comparison each of them would hide a
difference, or invent one.
"""

from typing import TYPE_CHECKING

from scrub.model.types import ColumnType, TypeName
from scrub.spark.types import to_spark

if TYPE_CHECKING:
    from pyspark.sql import Column

_DATE = r"[+-]?\d{4,6}-\d{1,2}-\d{1,2}"
_TIME = r"\d{1,2}:\d{1,2}(:\d{1,2}(\.\d{1,6}0*)?)?"
_ZONE = r"\s*(Z|UTC|GMT|[+-]\d{1,2}(:?\d{2}(:?\d{2})?)?|[A-Za-z]+/[A-Za-z_/+-]+\d*)"
_SHAPES = {
    TypeName.DATE: rf"^\s*{_DATE}\s*$",
    TypeName.TIMESTAMP: rf"^\s*{_DATE}([T ]{_TIME}({_ZONE})?)?\s*$",
    TypeName.TIMESTAMP_NTZ: rf"^\s*{_DATE}([T ]{_TIME})?\s*$",
}
_DECIMAL = r"^\s*[+-]?(\d*)\.?(\d*?)0*(?:[eE]([+-]?\d{1,3}))?\s*$"


def strict_cast(text: "Column", column_type: ColumnType, name: str) -> "Column":
    """The value that a text stands for; NULL for NULL only, and an error naming the column."""
    from pyspark.sql import functions as sf

    if column_type.name is TypeName.STRING:
        return text
    spark_type = to_spark(column_type)
    message = sf.concat(
        sf.lit(f"column {name}: '"), text, sf.lit(f"' is not a value of type {column_type}")
    )
    return sf.when(
        text.isNull() | stands_for_a_value(text, column_type), text.try_cast(spark_type)
    ).otherwise(sf.raise_error(message).cast(spark_type))


def stands_for_a_value(text: "Column", column_type: ColumnType) -> "Column":
    """Whether a text that is not NULL is a value of the type, without loss."""
    from pyspark.sql import functions as sf

    parses = text.try_cast(to_spark(column_type)).isNotNull()
    return sf.coalesce(parses & _keeps_all(text, column_type), sf.lit(False))


def utc_text(text: "Column") -> "Column":
    """The text of a time with its zone said: UTC if it names none."""
    from pyspark.sql import functions as sf

    bare = text.rlike(_SHAPES[TypeName.TIMESTAMP_NTZ])
    midnight = sf.concat(sf.trim(text), sf.lit("T00:00:00Z"))
    clock = sf.when(text.contains(":"), sf.concat(sf.trim(text), sf.lit("Z"))).otherwise(midnight)
    return sf.when(bare, clock).otherwise(text)


def _keeps_all(text: "Column", column_type: ColumnType) -> "Column":
    """Whether a cast of the text loses nothing."""
    from pyspark.sql import functions as sf

    if column_type.name is TypeName.DECIMAL:
        fraction = sf.length(sf.regexp_extract(text, _DECIMAL, 2))
        exponent = sf.coalesce(
            sf.nullif(sf.regexp_extract(text, _DECIMAL, 3), sf.lit("")), sf.lit("0")
        ).cast("int")
        is_zero = text.rlike(r"^\s*[+-]?[0.]+([eE].*)?$")
        return text.rlike(_DECIMAL) & (is_zero | (fraction - exponent <= column_type.scale))
    if shape := _SHAPES.get(column_type.name):
        return text.rlike(shape)
    return sf.lit(True)
