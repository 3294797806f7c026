# SPDX-License-Identifier: Apache-2.0
"""Column types in Arrow's terms, and back."""

from collections.abc import Iterable

import pyarrow as pa

from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName

_ARROW = {
    TypeName.BOOLEAN: pa.bool_(),
    TypeName.TINYINT: pa.int8(),
    TypeName.SMALLINT: pa.int16(),
    TypeName.INT: pa.int32(),
    TypeName.BIGINT: pa.int64(),
    TypeName.FLOAT: pa.float32(),
    TypeName.DOUBLE: pa.float64(),
    TypeName.STRING: pa.string(),
    TypeName.BINARY: pa.binary(),
    TypeName.DATE: pa.date32(),
    TypeName.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    TypeName.TIMESTAMP_NTZ: pa.timestamp("us"),
}
_COLUMN = {arrow: ColumnType(name) for name, arrow in _ARROW.items()} | {
    pa.large_string(): ColumnType(TypeName.STRING),
    pa.string_view(): ColumnType(TypeName.STRING),
    pa.large_binary(): ColumnType(TypeName.BINARY),
    pa.binary_view(): ColumnType(TypeName.BINARY),
    # Unsigned integers widen into the next signed type, as Spark reads them.
    pa.uint8(): ColumnType(TypeName.SMALLINT),
    pa.uint16(): ColumnType(TypeName.INT),
    pa.uint32(): ColumnType(TypeName.BIGINT),
}


def to_arrow(column_type: ColumnType) -> pa.DataType:
    """The Arrow type that holds exactly the values of a column type."""
    if column_type.name is TypeName.DECIMAL:
        return pa.decimal128(column_type.precision, column_type.scale)
    return _ARROW[column_type.name]


def arrow_schema_of(columns: Iterable[Column]) -> pa.Schema:
    """Columns in the types that hold exactly their values."""
    return pa.schema([(column.name, to_arrow(column.type)) for column in columns])


def from_arrow(arrow: pa.DataType) -> ColumnType | None:
    """The column type of stored Arrow data; None for what scrub does not compare.

    Nanosecond timestamps are not compared: Spark reads microseconds, and rounding would call
    different instants equal.
    """
    if pa.types.is_dictionary(arrow):
        return from_arrow(arrow.value_type)
    if pa.types.is_decimal(arrow) and not pa.types.is_decimal256(arrow):
        return ColumnType(TypeName.DECIMAL, arrow.precision, arrow.scale)
    if pa.types.is_timestamp(arrow) and arrow.unit in ("s", "ms", "us"):
        return ColumnType(TypeName.TIMESTAMP if arrow.tz else TypeName.TIMESTAMP_NTZ)
    return _COLUMN.get(arrow)
