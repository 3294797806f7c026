# SPDX-License-Identifier: Apache-2.0
"""Converts values between Arrow and the JSON of reports and journals, without loss.

`from_table` and `to_table` keep every bit of a value, even of an invalid one: journals hold the
output of `from_table`, and an undo restores it. Only NaNs become one spelling.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from scrub.codec.arrow_text import bytes_of_scalar, text_of
from scrub.codec.arrow_types import to_arrow
from scrub.model.defect import Value
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_MICROS, _DAYS = " us", " days"  # after the number, where no calendar has a date for it

# Octets are kept as surrogates, which no valid text has, so that each string has its own bytes.
_NOT_UTF8 = "surrogateescape"


def to_table(entries: Iterable[Mapping[str, Value]], columns: Sequence[Column]) -> pa.Table:
    """Entries of a report as Arrow, in the columns' types. Raises ValueError."""
    rows = list(entries)
    arrays = [_array([row[column.name] for row in rows], column.type) for column in columns]
    return pa.table(arrays, names=[column.name for column in columns])


def from_table(table: pa.Table, columns: Sequence[Column]) -> list[dict[str, Value]]:
    """Rows of a table as journals tell them: as reports do, but bytes that are no text exactly."""
    told = {
        column.name: [_told(scalar, column.type) for scalar in table.column(column.name)]
        for column in columns
    }
    return [dict(zip(told, values, strict=True)) for values in zip(*told.values(), strict=True)]


def _told(scalar: pa.Scalar, of_type: ColumnType) -> Value:
    if of_type.name is TypeName.STRING:
        return bytes_of_scalar(scalar).decode("utf-8", _NOT_UTF8) if scalar.is_valid else None
    return from_text(text_of(scalar, of_type), of_type)


def _array(values: Sequence[Value], of_type: ColumnType) -> Any:
    arrow = to_arrow(of_type)
    read = [None if value is None else _read(value, of_type) for value in values]
    match of_type.name:
        # Arrow takes neither text that is not UTF-8 nor times that Python's calendar does not
        # reach; the bytes and numbers behind them it takes, and they need no conversion.
        case TypeName.STRING:
            octets = pa.array(read, pa.binary())
            return pa.Array.from_buffers(arrow, len(octets), octets.buffers())
        case TypeName.DATE:
            return pa.array(read, pa.int32()).view(arrow)
        case TypeName.TIMESTAMP | TypeName.TIMESTAMP_NTZ:
            return pa.array(read, pa.int64()).view(arrow)
    return pa.array(read, arrow)


def _read(value: Value, of_type: ColumnType) -> Any:
    match of_type.name:
        case TypeName.DECIMAL:
            # Arrow adds the zeros of the scale, and refuses what it would have to round. Python's
            # own arithmetic would round to 28 digits.
            return Decimal(str(value))
        case TypeName.STRING:
            if not isinstance(value, str):
                raise ValueError(f"{value!r} is no text")
            return value.encode("utf-8", _NOT_UTF8)
        case TypeName.BINARY:
            return bytes.fromhex(str(value))
        case TypeName.DATE:
            return _days(str(value))
        case TypeName.TIMESTAMP | TypeName.TIMESTAMP_NTZ:
            return _micros(str(value))
        case TypeName.FLOAT | TypeName.DOUBLE:
            return float(value) if value is not None else None
        case _ if of_type.is_integer and type(value) is not int:
            raise ValueError(f"{value!r} is no whole number")  # Arrow would cut 1.5 to 1
    return value


def _days(text: str) -> int:
    if text.endswith(_DAYS):
        return _outside(int(text.removesuffix(_DAYS)), _EPOCH_DAY, timedelta(days=1))
    return (date.fromisoformat(text) - _EPOCH_DAY).days


def _micros(text: str) -> int:
    if text.endswith(_MICROS):
        return _outside(int(text.removesuffix(_MICROS)), _EPOCH, _MICROSECOND)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


def _outside(number: int, epoch: date, unit: timedelta) -> int:
    """The number of a time outside the calendar; a time inside it must be written as one."""
    try:
        moment = epoch + number * unit
    except OverflowError:
        return number
    raise ValueError(f"{moment} is written as the number {number}")


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
            return text if text.endswith(_MICROS) else text.replace(" ", "T")
        case _ if column_type.is_integer:
            return int(text)
        case _:
            return text


def key_value(value: Value) -> Value:
    """What a report shows for a value of a key: the same for equal ones, and -0.0 equals 0.0."""
    return value + 0.0 if isinstance(value, float) else value


def _instant(micros: int) -> str:
    try:
        moment = _EPOCH + micros * _MICROSECOND
    except OverflowError:
        return f"{micros}{_MICROS}"
    return moment.isoformat().replace("+00:00", "Z")
