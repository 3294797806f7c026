# SPDX-License-Identifier: Apache-2.0
"""Values as canonical text, from Arrow: the text that `scrub.spark.text` makes of them in Spark."""

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from scrub.model.types import ColumnType, TypeName

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_EPOCH_DAY = date(1970, 1, 1)


def text_of(scalar: pa.Scalar, column_type: ColumnType) -> str | None:
    """A value of the column's Arrow type as text that tells it exactly; NULL is None.

    Also for values that cannot be: bytes that are not UTF-8 are spelled out, and a time outside
    the years 1 to 9999 is the number that is stored.
    """
    if not scalar.is_valid:
        return None
    match column_type.name:
        case TypeName.STRING:
            return bytes_of_scalar(scalar).decode("utf-8", "backslashreplace")
        case TypeName.BINARY:
            return bytes_of_scalar(scalar).hex()
        case TypeName.DATE:
            return _date(scalar.value)
        case TypeName.TIMESTAMP:
            return str(scalar.value)
        case TypeName.TIMESTAMP_NTZ:
            return _wall_clock(scalar.value)
        case TypeName.FLOAT | TypeName.DOUBLE:
            return _number(scalar.as_py(), column_type)
        case TypeName.BOOLEAN:
            return "true" if scalar.as_py() else "false"
        case _:
            return str(scalar.as_py())


def bytes_of_scalar(scalar: pa.Scalar) -> bytes:
    """The bytes of a string or binary, whatever they are."""
    if isinstance(scalar, pa.DictionaryScalar):
        scalar = scalar.value
    buffer: Any = scalar.as_buffer()
    return bytes(buffer)


def _date(days: int) -> str:
    try:
        return (_EPOCH_DAY + timedelta(days=days)).isoformat()
    except OverflowError:
        return f"{days} days"


def _wall_clock(micros: int) -> str:
    try:
        text = (_EPOCH + timedelta(microseconds=micros)).isoformat(sep=" ")
    except OverflowError:
        return f"{micros} us"
    return text.rstrip("0") if "." in text else text


def _number(value: float, column_type: ColumnType) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(np.float32(value)) if column_type.name is TypeName.FLOAT else repr(value)
