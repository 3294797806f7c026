# SPDX-License-Identifier: Apache-2.0
"""Values that a column cannot hold, as Spark tells them: what `scrub.codec.rejected` says of Arrow.

A server's values are what they are declared to be, except that the catalog may know more of NULL:
of those, only NULL is asked about. Files may hold anything.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from scrub.model.table import Column
from scrub.model.types import TypeName
from scrub.spark.lazily import F
from scrub.spark.names import named

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

_FIRST_MICROS, _LAST_MICROS = -62_135_596_800_000_000, 253_402_300_799_999_999
_DECIMAL_DIGITS_MAX = 38


def is_rejected(columns: Sequence[Column], *, of_files: bool) -> "SparkColumn":
    """Whether a row has a value in one of the columns that the column cannot hold."""
    conditions = [named(column.name).isNull() for column in columns if not column.nullable]
    if of_files:
        misfits = [does_not_fit(column) for column in columns]
        conditions += [misfit for misfit in misfits if misfit is not None]
    return F.coalesce(reduce(or_, conditions, F.lit(False)), F.lit(False))


def does_not_fit(column: Column) -> "SparkColumn | None":
    """Whether a value is none of its type; NULL for NULL, and None where every value is one."""
    value, of_type = named(column.name), column.type
    match of_type.name:
        case TypeName.STRING:
            return ~F.is_valid_utf8(value)
        case TypeName.DATE:
            return ~value.between(F.expr("DATE'0001-01-01'"), F.expr("DATE'9999-12-31'"))
        case TypeName.TIMESTAMP:
            # In microseconds, because literals depend on the session's time zone.
            return ~F.unix_micros(value).between(F.lit(_FIRST_MICROS), F.lit(_LAST_MICROS))
        case TypeName.TIMESTAMP_NTZ:
            first = F.expr("TIMESTAMP_NTZ'0001-01-01 00:00:00'")
            last = F.expr("TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'")
            return ~value.between(first, last)
        case TypeName.DECIMAL if of_type.precision < _DECIMAL_DIGITS_MAX:
            whole = of_type.precision - of_type.scale
            wide = f"decimal({_DECIMAL_DIGITS_MAX},{of_type.scale})"
            # Of one scale: what two scales have in common may have no digits after the point.
            return F.abs(value.cast(wide)) >= F.lit(f"1E{whole}").cast(wide)
    return None
