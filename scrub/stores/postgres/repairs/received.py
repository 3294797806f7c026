# SPDX-License-Identifier: Apache-2.0
"""Values that the driver hands over, in Arrow; also those that Python and Arrow have none for.

PostgreSQL knows infinite times, years before 1 and after 9999, and numbers that are none. The
catalog's types do not have them: each becomes a value that `codec.rejected` rejects, so a row that
has one is damaged, and an entry that has one equals no other. Nobody is stopped by the sight of it.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from scrub.codec.arrow_types import to_arrow
from scrub.errors import StoreUnavailable
from scrub.model.table import Column
from scrub.model.types import TypeName
from scrub.stores.postgres.connections import Connection, require_psycopg

_EPOCH, _EPOCH_DAY = datetime(1970, 1, 1, tzinfo=UTC), date(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_EARLY, _LATE = -(2**31), 2**31 - 1  # in days: outside of any calendar
_MICROS_OF_DAY = 3_000_000_000  # few enough that the product is a 64-bit number
_TOO_MANY_DIGITS = 10**38  # no decimal has that many
_NO_NUMBERS = {"NaN": 0, "Infinity": 1, "-Infinity": 2}


class OutsideTime(int):
    """A time that Python has none for: a number that stands for it, earlier or later than any."""


def hand_over_all_times(connection: Connection) -> None:
    """From now on, this session meets times that Python has none for without an error."""
    psycopg = require_psycopg()
    from psycopg.types import datetime as types

    def tolerant(loader: Any) -> Any:
        def load(self: Any, data: Any) -> Any:
            try:
                return loader.load(self, data)
            except psycopg.DataError:
                text = bytes(data)
                is_early = text.startswith(b"-") or text.endswith(b"BC")
                return OutsideTime(_EARLY if is_early else _LATE)

        return type(f"Tolerant{loader.__name__}", (loader,), {"load": load})

    for name, loader in (
        ("date", types.DateLoader),
        ("timestamp", types.TimestampLoader),
        ("timestamptz", types.TimestamptzLoader),
    ):
        connection.adapters.register_loader(name, tolerant(loader))


def received(rows: Sequence[Sequence[Any]], columns: Sequence[Column]) -> pa.Table:
    """Rows of the server in the types of the catalog."""
    arrays = [_array([row[n] for row in rows], column) for n, column in enumerate(columns)]
    return pa.table(arrays, names=[column.name for column in columns])


def _array(values: list[Any], column: Column) -> Any:
    arrow = to_arrow(column.type)
    if any(isinstance(value, OutsideTime) for value in values):
        return _times(values, arrow)
    if column.type.name is TypeName.DECIMAL and any(map(_is_no_number, values)):
        return _decimals(values, arrow)
    try:
        return pa.array(values, arrow)
    except pa.ArrowInvalid as error:
        raise StoreUnavailable(
            f"column {column.name} holds a value that does not fit {column.type}: {error}",
            hint="correct the value, or the type in the catalog",
        ) from error


def _times(values: list[Any], arrow: pa.DataType) -> Any:
    if pa.types.is_date32(arrow):
        days = [v if v is None or isinstance(v, int) else (v - _EPOCH_DAY).days for v in values]
        return pa.array(days, pa.int32()).view(arrow)
    return pa.array([_micros(value) for value in values], pa.int64()).view(arrow)


def _micros(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, OutsideTime):
        return int(value) * _MICROS_OF_DAY
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return int((moment - _EPOCH) // _MICROSECOND)


def _is_no_number(value: Any) -> bool:
    return isinstance(value, Decimal) and not value.is_finite()


def _decimals(values: list[Any], arrow: pa.DataType) -> Any:
    """Arrow builds no decimal that is none, so its bytes are written."""
    array = pa.array([Decimal(0) if _is_no_number(v) else v for v in values], arrow)
    valid, data = array.buffers()
    numbers = np.frombuffer(data, np.uint8)[: 16 * len(array)].copy().reshape(len(array), 16)
    for place, value in enumerate(values):
        if _is_no_number(value):
            number = _TOO_MANY_DIGITS + _NO_NUMBERS.get(str(value), 0)
            numbers[place] = np.frombuffer(number.to_bytes(16, "little"), np.uint8)
    return pa.Array.from_buffers(arrow, len(array), [valid, pa.py_buffer(numbers.tobytes())])
