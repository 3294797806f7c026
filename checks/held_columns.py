# SPDX-License-Identifier: Apache-2.0
"""Columns of rows that are held here, such that equal values are told alike."""

import pyarrow as pa
import pyarrow.compute as pc


def with_one_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values, with 0.0 for -0.0 and without a dictionary."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    return pc.add(column, 0.0).cast(column.type) if pa.types.is_floating(column.type) else column


def column_of_bytes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Strings as their bytes, since not every string is UTF-8; other columns as they are."""
    of_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return column.cast(pa.binary()) if of_text else column
