# SPDX-License-Identifier: Apache-2.0
"""Values of Arrow as JSON that restores every bit: for journals, which nobody has to read.

Reports tell values so that people and checks take them for what they are: they know one NaN and one
zero, and have no times beyond the year 9999. What is to be restored is written as it is stored.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from scrub.codec.arrow_types import to_arrow
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName

ExactRow = Mapping[str, str | int | bool | None]

_WHOLE = Context(prec=76)  # of any decimal that Arrow has
_AS_STORED = {
    TypeName.DATE: pa.int32(),
    TypeName.TIMESTAMP: pa.int64(),
    TypeName.TIMESTAMP_NTZ: pa.int64(),
    TypeName.STRING: pa.binary(),
}
"""Types that Python has no equal of, and what they are stored as."""
_PACKED = {TypeName.DOUBLE: ">d", TypeName.FLOAT: ">f"}


def to_exact(table: pa.Table, columns: Sequence[Column]) -> list[ExactRow]:
    told = {c.name: _told(table.column(c.name), c.type) for c in columns}
    return [dict(zip(told, values, strict=True)) for values in zip(*told.values(), strict=True)]


def from_exact(rows: Iterable[ExactRow], columns: Sequence[Column]) -> pa.Table:
    """The rows again; a column that they do not have is NULL."""
    listed = list(rows)
    arrays = [_read([row.get(c.name) for row in listed], c.type) for c in columns]
    return pa.table(arrays, names=[column.name for column in columns])


def _told(column: pa.ChunkedArray, of_type: ColumnType) -> list[Any]:
    stored = _AS_STORED.get(of_type.name)
    values = (column.cast(stored) if stored is not None else column).to_pylist()
    return [None if value is None else _written(value, of_type) for value in values]


def _written(value: Any, of_type: ColumnType) -> Any:
    match value:
        case float():
            return struct.pack(_PACKED[of_type.name], value).hex()
        case bytes():
            return value.hex()
        case Decimal():
            return str(value)
    return value


def _read(values: Sequence[Any], of_type: ColumnType) -> pa.Array:
    found = [None if value is None else _restored(value, of_type) for value in values]
    stored = _AS_STORED.get(of_type.name)
    arrow = to_arrow(of_type)
    return pa.array(found, arrow) if stored is None else pa.array(found, stored).cast(arrow)


def _restored(value: Any, of_type: ColumnType) -> Any:
    match of_type.name:
        case TypeName.DOUBLE | TypeName.FLOAT:
            return struct.unpack(_PACKED[of_type.name], bytes.fromhex(value))[0]
        case TypeName.STRING | TypeName.BINARY:
            return bytes.fromhex(value)
        case TypeName.DECIMAL:
            step = Decimal(1).scaleb(-of_type.scale, _WHOLE)
            return Decimal(value).quantize(step, context=_WHOLE)
    return value
