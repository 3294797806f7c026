# SPDX-License-Identifier: Apache-2.0
"""Values that a column cannot hold, found in one stored array.

Counting is for every batch, so it costs next to nothing where all is well: Arrow knows the number
of NULLs, validates strings and decimals in one pass, and most types cannot be wrong at all. Only
an array that holds a fault is looked at value by value.

A value is held against the type that the file declares for it; that this type fits the catalog's
is for the reader of the file to say.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scrub.codec.arrow_text import octets_of
from scrub.model.defect import DefectKind
from scrub.model.table import Column

Rows = NDArray[np.int64]

OCTETS_SHOWN_MAX = 1024
_OFFENDING_OCTETS_SHOWN = 8
_DAYS = (-719_162, 2_932_897)  # 0001-01-01, and the day after 9999-12-31
_SECONDS = tuple(days * 86_400 for days in _DAYS)
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}
_NO_ROWS: Rows = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Fault:
    """One value that cannot be, and what is wrong with it."""

    row: int  # within the batch
    kind: DefectKind
    detail: str
    value_hex: str | None = None


def count_faults(array: Any, column: Column) -> dict[DefectKind, int]:
    """How many values of a stored array the column cannot hold; kinds with none are left out."""
    counts = {}
    if not column.nullable and array.null_count:
        counts[DefectKind.NULL_VIOLATION] = int(array.null_count)
    if ill_fitting := len(rows_that_do_not_fit(array)):
        counts[DefectKind.INVALID_ENCODING] = ill_fitting
    return counts


def faults_in(array: Any, column: Column) -> Iterator[Fault]:
    """Each of them, in the order of rows."""
    rows = _NO_ROWS if column.nullable else _flagged(pc.is_null(array))
    for row in np.sort(np.concatenate([rows, rows_that_do_not_fit(array)])):
        yield _fault(array[int(row)], int(row), column)


def rows_that_do_not_fit(array: Any) -> Rows:
    """The rows whose value is none of the stored type, or none that Spark can show."""
    stored = array.type
    if pa.types.is_dictionary(stored):
        return _rows_of_codes(array.indices, rows_that_do_not_fit(array.dictionary))
    if _is_text(stored):
        return _NO_ROWS if _is_valid(array) else _rows_not_utf8(array)
    if pa.types.is_decimal(stored):
        return _NO_ROWS if _is_valid(array) else _rows_with_too_many_digits(array)
    if pa.types.is_date32(stored):
        return _rows_outside(array.view(pa.int32()), *_DAYS)
    if pa.types.is_timestamp(stored) and stored.unit in _PER_SECOND:
        first, end = (seconds * _PER_SECOND[stored.unit] for seconds in _SECONDS)
        return _rows_outside(array.view(pa.int64()), first, end)
    return _NO_ROWS


def _is_text(stored: pa.DataType) -> bool:
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
        [row for row, scalar in enumerate(array) if scalar.is_valid and _bad_octet(scalar) >= 0],
        dtype=np.int64,
    )


def _bad_octet(scalar: pa.Scalar) -> int:
    """Where a string stops being UTF-8; -1 if it does not."""
    try:
        octets_of(scalar).decode("utf-8")
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


def _fault(scalar: pa.Scalar, row: int, column: Column) -> Fault:
    if not scalar.is_valid:
        detail = f"column {column.name} is NULL, and the catalog says it never is"
        return Fault(row, DefectKind.NULL_VIOLATION, detail)
    if isinstance(scalar, pa.DictionaryScalar):
        scalar = scalar.value
    what, value_hex = _what_is_wrong(scalar)
    return Fault(row, DefectKind.INVALID_ENCODING, f"column {column.name} {what}", value_hex)


def _what_is_wrong(scalar: pa.Scalar) -> tuple[str, str | None]:
    if _is_text(scalar.type):
        octets, position = octets_of(scalar), _bad_octet(scalar)
        offending = octets[position : position + _OFFENDING_OCTETS_SHOWN].hex()
        what = f"holds bytes that are not UTF-8, from byte {position} on: {offending}"
        return what, octets[:OCTETS_SHOWN_MAX].hex()
    if pa.types.is_decimal(scalar.type):
        precision, scale = scalar.type.precision, scalar.type.scale
        return (
            f"holds {scalar.as_py()}, which has more digits than decimal({precision},{scale})",
            None,
        )
    unit = "days" if pa.types.is_date32(scalar.type) else scalar.type.unit
    return f"holds {scalar.value} {unit} since 1970, outside the years 1 to 9999", None
