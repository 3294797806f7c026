# SPDX-License-Identifier: Apache-2.0
"""Values that a column cannot hold, found in one stored array, and what is wrong with each.

A value is held against the type that the file declares for it; that this type fits the catalog's
is for the reader of the file to say.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from scrub.codec.arrow_text import bytes_of_scalar
from scrub.codec.rejected import bad_octet, is_text, rejected_rows, rows_that_do_not_fit
from scrub.model.defect import DefectKind
from scrub.model.table import Column

OCTETS_SHOWN_MAX = 1024
_OFFENDING_OCTETS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Fault:
    """One row or value that cannot be, and what is wrong with it."""

    row: int  # within the batch
    kind: DefectKind
    subject: str  # the column, or whatever else a rule is about
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
    for row in rejected_rows(array, column):
        yield _fault(array[int(row)], int(row), column)


def null_fault(column: str) -> str:
    """What is wrong with a NULL, in every engine's words."""
    return f"column {column} is NULL, which the catalog does not allow"


def _fault(scalar: pa.Scalar, row: int, column: Column) -> Fault:
    if not scalar.is_valid:
        return Fault(row, DefectKind.NULL_VIOLATION, column.name, null_fault(column.name))
    if isinstance(scalar, pa.DictionaryScalar):
        scalar = scalar.value
    what, value_hex = _what_is_wrong(scalar)
    detail = f"column {column.name} {what}"
    return Fault(row, DefectKind.INVALID_ENCODING, column.name, detail, value_hex)


def _what_is_wrong(scalar: pa.Scalar) -> tuple[str, str | None]:
    if is_text(scalar.type):
        octets, position = bytes_of_scalar(scalar), bad_octet(scalar)
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
