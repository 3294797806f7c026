# SPDX-License-Identifier: Apache-2.0
"""Values that a column does not hold yet, for entries of rows that are not there."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import count, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scrub.codec.arrow_types import to_arrow
from scrub.model.types import INTEGER_BITS, ColumnType, TypeName

_AT_ONCE = 64
_TRIED_MAX = 4096
_FAR_DAY = date(2190, 1, 1)
_FAR_MOMENT = datetime(2190, 1, 1)
_WHOLE_FLOATS = 2**24  # every whole number below has a float of its own


def fresh_value(
    column_type: ColumnType, taken: Sequence[pa.ChunkedArray], rng: np.random.Generator
) -> pa.Scalar | None:
    """A value that none of the columns holds; None when the type has none left."""
    candidates = islice(_candidates(column_type, taken, rng), _TRIED_MAX)
    while chosen := list(islice(candidates, _AT_ONCE)):
        values = pa.array(chosen, to_arrow(column_type))
        free = np.ones(len(values), dtype=np.bool_)
        for column in taken:
            free &= ~pc.is_in(values, value_set=column).to_numpy(zero_copy_only=False)
        if free.any():
            return values[int(np.argmax(free))]
    return None


def _candidates(
    column_type: ColumnType, taken: Sequence[pa.ChunkedArray], rng: np.random.Generator
) -> Iterator[Any]:
    if column_type.is_integer:
        return _integers(INTEGER_BITS[column_type.name], taken, rng)
    if column_type.name is TypeName.DECIMAL:
        return _decimals(column_type, rng)
    if column_type.name is TypeName.BOOLEAN:
        return iter((False, True))
    make: dict[TypeName, Callable[[int], Any]] = {
        TypeName.FLOAT: lambda n: float(n % _WHOLE_FLOATS),
        TypeName.DOUBLE: float,
        TypeName.STRING: lambda n: f"planted {n}",
        TypeName.BINARY: lambda n: f"planted {n}".encode(),
        TypeName.DATE: lambda n: _FAR_DAY + timedelta(days=n),
        TypeName.TIMESTAMP: lambda n: (_FAR_MOMENT + timedelta(seconds=n)).replace(tzinfo=UTC),
        TypeName.TIMESTAMP_NTZ: lambda n: _FAR_MOMENT + timedelta(seconds=n),
    }
    return map(make[column_type.name], count(int(rng.integers(1, 1000))))


def _integers(
    bits: int, taken: Sequence[pa.ChunkedArray], rng: np.random.Generator
) -> Iterator[int]:
    """Upwards from the greatest taken, and on from the least there can be."""
    size, least = 1 << bits, -(1 << (bits - 1))
    greatest = max((pc.max(column).as_py() or 0 for column in taken), default=0)
    start = greatest + int(rng.integers(1, 100))
    return (least + (start - least + n) % size for n in range(size))


def _decimals(column_type: ColumnType, rng: np.random.Generator) -> Iterator[Decimal]:
    numbers = 10**column_type.precision
    start = int(rng.integers(0, min(numbers, 2**62)))
    # Digits and exponent, because arithmetic of decimals rounds to 28 digits.
    return (
        Decimal((0, Decimal((start + n) % numbers).as_tuple().digits, -column_type.scale))
        for n in range(numbers)
    )
