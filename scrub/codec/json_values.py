# SPDX-License-Identifier: Apache-2.0
"""Values of reports, which are JSON, and the same values in Arrow: what was told is found again."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from scrub.codec.arrow_text import text_of
from scrub.codec.arrow_types import to_arrow
from scrub.model.defect import Value
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_table(entries: Iterable[Mapping[str, Value]], columns: Sequence[Column]) -> pa.Table:
    """Entries as reports tell them, in the columns' types."""
    rows = list(entries)
    arrays = [
        pa.array([_read(row[column.name], column.type) for row in rows], to_arrow(column.type))
        for column in columns
    ]
    return pa.table(arrays, names=[column.name for column in columns])


def from_table(table: pa.Table, columns: Sequence[Column]) -> list[dict[str, Value]]:
    """Rows of a table as reports tell them."""
    told = {
        column.name: [
            from_text(text_of(scalar, column.type), column.type)
            for scalar in table.column(column.name)
        ]
        for column in columns
    }
    return [dict(zip(told, values, strict=True)) for values in zip(*told.values(), strict=True)]


def _read(value: Value, of_type: ColumnType) -> Any:
    if value is None:
        return None
    match of_type.name:
        case TypeName.DECIMAL:
            return Decimal(str(value)).quantize(Decimal(1).scaleb(-of_type.scale))
        case TypeName.BINARY:
            return bytes.fromhex(str(value))
        case TypeName.DATE:
            return date.fromisoformat(str(value))
        case TypeName.TIMESTAMP | TypeName.TIMESTAMP_NTZ:
            return datetime.fromisoformat(str(value))
        case TypeName.FLOAT | TypeName.DOUBLE:
            return float(value)
    return value


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
