# SPDX-License-Identifier: Apache-2.0
"""The digest of rows written in Spark SQL's built-in functions; `scrub.codec.digest` defines it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrub.codec.digest import DECIMAL_DIGITS_IN_WORD, Salt
from scrub.model.types import ColumnType, TypeName
from scrub.spark.lazily import F

if TYPE_CHECKING:
    from pyspark.sql import Column

TypedColumn = tuple["Column", ColumnType]


def digest_pair(columns: Sequence[TypedColumn], salt: Salt) -> tuple["Column", "Column"]:
    """Both digests of a row, as signed 64-bit numbers."""
    first_tag, second_tag = salt.null_tags
    return _chain(columns, salt.first, first_tag), _chain(columns, salt.second, second_tag)


def bucket_of(primary_key: Sequence[TypedColumn], salt: Salt, bits: int) -> "Column":
    """The bucket a row falls into: the leading bits of its primary key's first digest."""
    digest = _chain(primary_key, salt.first, salt.null_tags[0])
    return F.shiftrightunsigned(digest, 64 - bits).cast("int")


def _chain(columns: Sequence[TypedColumn], start: int, null_tag: int) -> "Column":
    arguments = [F.lit(start).cast("bigint")]
    for column, column_type in columns:
        arguments.append(_word(column, column_type, start))
        # xxhash64 passes over NULL arguments, so exactly one of the two is folded.
        arguments.append(F.when(column.isNull(), F.lit(null_tag).cast("bigint")))
    return F.xxhash64(*arguments)


def _word(column: "Column", column_type: ColumnType, start: int) -> "Column":
    match column_type.name:
        case TypeName.STRING | TypeName.BINARY:
            return _salted(column, start)
        case TypeName.DECIMAL if column_type.precision > DECIMAL_DIGITS_IN_WORD:
            return _salted(column, start)
        case TypeName.FLOAT | TypeName.DOUBLE:
            return one_zero_one_nan(column.cast("double"))
        case TypeName.DATE:
            return F.unix_date(column).cast("bigint")
        case TypeName.DECIMAL | TypeName.TIMESTAMP | TypeName.TIMESTAMP_NTZ:
            return column  # Spark hashes these by their 64-bit value
        case _:
            return column.cast("bigint")


def _salted(column: "Column", start: int) -> "Column":
    digest = F.xxhash64(F.lit(start).cast("bigint"), column)
    return F.when(column.isNotNull(), digest)


def one_zero_one_nan(column: "Column") -> "Column":
    """A float column in which equal values have equal bits: -0.0 is 0.0, and NaN is one NaN."""
    return F.when(F.isnan(column), F.lit(float("nan"))).otherwise(column + F.lit(0.0))
