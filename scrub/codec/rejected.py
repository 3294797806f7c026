# SPDX-License-Identifier: Apache-2.0
"""Finds values that a column cannot hold: the physical check rejects them.

A rejected value is evidence of nothing. The physical check reports it, the index check leaves
undecided what follows from it, and a repair does not write it anywhere. All of them ask here.

Most arrays are sound, so the question costs next to nothing: Arrow knows the number of NULLs,
validates strings and decimals in one pass, and most types cannot be wrong at all. Only an array
that holds such a value is looked at value by value.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scrub.codec.arrow_text import bytes_of_scalar
from scrub.model.table import Column

Rows = NDArray[np.int64]

_DAYS = (-719_162, 2_932_897)  # 0001-01-01, and the day after 9999-12-31
_SECONDS = tuple(days * 86_400 for days in _DAYS)
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}
_NO_ROWS: Rows = np.empty(0, dtype=np.int64)


def rejected_rows(array: Any, column: Column) -> Rows:
    """The rows of a stored array whose value the column cannot hold, in order."""
    rows = rows_that_do_not_fit(array)
    if column.nullable or not array.null_count:
        return rows
    return np.sort(np.concatenate([_flagged(pc.is_null(array)), rows]))


def rows_that_do_not_fit(array: Any) -> Rows:
    """The rows whose value is none of the stored type, or none that Spark can show."""
    stored = array.type
    if pa.types.is_dictionary(stored):
        return _rows_of_codes(array.indices, rows_that_do_not_fit(array.dictionary))
    if is_text(stored):
        return _NO_ROWS if _is_valid(array) else _rows_not_utf8(array)
    if pa.types.is_decimal(stored):
        return _NO_ROWS if _is_valid(array) else _rows_with_too_many_digits(array)
    if pa.types.is_date32(stored):
        return _rows_outside(array.view(pa.int32()), *_DAYS)
    if pa.types.is_timestamp(stored) and stored.unit in _PER_SECOND:
        first, end = (seconds * _PER_SECOND[stored.unit] for seconds in _SECONDS)
        return _rows_outside(array.view(pa.int64()), first, end)
    return _NO_ROWS


def is_text(stored: pa.DataType) -> bool:
    """Whether a stored type holds text."""
    return bool(
        pa.types.is_string(stored)
        or pa.types.is_large_string(stored)
        or pa.types.is_string_view(stored)
    )


def _is_valid(array: Any) -> bool:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _rows_of_codes(codes: Any, bad: Rows) -> Rows:
    if not len(bad):
        return _NO_ROWS
    return _flagged(pc.is_in(codes, value_set=pa.array(bad).cast(codes.type)))


def _rows_not_utf8(array: Any) -> Rows:
    return np.array(
        [row for row, scalar in enumerate(array) if scalar.is_valid and bad_octet(scalar) >= 0],
        dtype=np.int64,
    )


def bad_octet(scalar: pa.Scalar) -> int:
    """Where a string stops being UTF-8; -1 if it does not."""
    try:
        bytes_of_scalar(scalar).decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return -1


def _rows_with_too_many_digits(array: Any) -> Rows:
    least = 10**array.type.precision
    return np.array(
        [
            row
            for row, scalar in enumerate(array)
            if scalar.is_valid and abs(_unscaled(scalar)) >= least
        ],
        dtype=np.int64,
    )


def _unscaled(scalar: pa.Scalar) -> int:
    sign, digits, _ = scalar.as_py().as_tuple()
    number = int("".join(map(str, digits)))
    return -number if sign else number


def _rows_outside(numbers: Any, first: int, end: int) -> Rows:
    extremes = pc.min_max(numbers)
    lowest, highest = extremes["min"], extremes["max"]
    if not lowest.is_valid or (lowest.as_py() >= first and highest.as_py() < end):
        return _NO_ROWS
    early, late = pc.less(numbers, first), pc.greater_equal(numbers, end)
    return _flagged(pc.or_(early, late))


def _flagged(flags: Any) -> Rows:
    """The positions of true; NULL is not true."""
    found: Rows = np.flatnonzero(pc.fill_null(flags, False).to_numpy(zero_copy_only=False))
    return found
