# SPDX-License-Identifier: Apache-2.0
"""Infinite dates and times as the driver hands them over, put back in their order.

The server counts from the year 2000 and calls the two ends of the number range infinite. The driver
adds the years since 1970, so that `infinity` overflows and comes out before any other time. Here
both become the ends of the range again: -infinity precedes every time, infinity follows every time.
"""

from typing import Any

import numpy as np
import pyarrow as pa

_DAYS_TO_2000 = 10_957
_MICROS_TO_2000 = _DAYS_TO_2000 * 86_400_000_000


def restored(array: Any) -> Any:
    """An array from the driver, with infinite dates and times at the ends of their range."""
    if pa.types.is_date32(array.type):
        return _at_the_ends(array, np.int32, _DAYS_TO_2000)
    if pa.types.is_timestamp(array.type) and array.type.unit == "us":
        return _at_the_ends(array, np.int64, _MICROS_TO_2000)
    return array


def _at_the_ends(array: Any, width: Any, to_2000: int) -> Any:
    numbers = array.view(pa.from_numpy_dtype(width))
    values = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.iinfo(width)
    # What the server calls -infinity; infinity, which overflows, is one before it.
    early = width(ends.min + to_2000)
    if not (values <= early).any():
        return array
    values = np.where(values == early, ends.min, values)
    values = np.where(values == early - 1, ends.max, values).astype(width)
    mask = numbers.is_null().to_numpy(zero_copy_only=False)
    return pa.array(values, mask=mask).view(array.type)
