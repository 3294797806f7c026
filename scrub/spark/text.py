# SPDX-License-Identifier: Apache-2.0
"""Values as canonical text in Spark, and from that text to what a report shows.

One text for each value, so that entries of indexes of any shape travel in one frame.
"""

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F

from scrub.model.defect import Value
from scrub.model.types import ColumnType, TypeName

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def as_text(column: Column, column_type: ColumnType) -> Column:
    """A value as text that tells it exactly; NULL stays NULL."""
    match column_type.name:
        case TypeName.BINARY:
            return F.lower(F.hex(column))
        case TypeName.TIMESTAMP:
            # Microseconds since the epoch: the session's time zone has no say in it.
            return F.unix_micros(column).cast("string")
        case _:
            return column.cast("string")


def from_text(text: str | None, column_type: ColumnType) -> Value:
    """What a report shows for a canonical text: a JSON value that loses nothing."""
    if text is None:
        return None
    match column_type.name:
        case TypeName.BOOLEAN:
            return text == "true"
        case TypeName.FLOAT | TypeName.DOUBLE:
            number = float(text)
            return number if math.isfinite(number) else text
        case TypeName.DECIMAL:
            # Spark writes 1E-10 or, in ANSI mode, 0.0000000001; a defect must have one text.
            return format(Decimal(text), "f")
        case TypeName.TIMESTAMP:
            return _instant(int(text))
        case TypeName.TIMESTAMP_NTZ:
            return text.replace(" ", "T")
        case _ if column_type.is_integer:
            return int(text)
        case _:
            return text


def _instant(micros: int) -> str:
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return f"{micros} us"
    return moment.isoformat().replace("+00:00", "Z")
