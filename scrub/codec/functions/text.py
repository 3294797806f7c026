# SPDX-License-Identifier: Apache-2.0
"""Functions of texts: Spark counts code points, and takes nothing but spaces for blank."""

from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scrub.codec.functions.doubt import doubting

_NOT_ASCII = np.uint8(0x80)


def is_ascii(array: Any) -> bool:
    """Whether all texts of an array are ASCII."""
    _, offsets, data = array.buffers()
    if data is None or not len(array):
        return True
    ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    octets = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    return not len(octets) or bool(octets.max() < _NOT_ASCII)


def demand_utf8(*arrays: Any) -> None:
    """Raise InDoubt for octets that are no text, of which Spark makes something of its own."""
    for array in arrays:
        if isinstance(array, pa.Array) and not is_ascii(array):
            with doubting("octets that are not UTF-8"):
                array.validate(full=True)


def trimmed(text: Any, trim: Any = pc.utf8_trim) -> Any:
    """Without spaces at both ends; other white space stays."""
    demand_utf8(text)
    return trim(text, characters=" ")


def without_leading(text: Any) -> Any:
    return trimmed(text, pc.utf8_ltrim)


def without_trailing(text: Any) -> Any:
    return trimmed(text, pc.utf8_rtrim)


def length(text: Any) -> Any:
    """The number of code points."""
    demand_utf8(text)
    return pc.utf8_length(text)


def substring(text: Any, start: Any, length: Any = None) -> Any:
    """From the start on, which is counted from 1, or from the end if it is negative."""
    demand_utf8(text)
    position = start.as_py()
    first = position - 1 if position > 0 else position
    if length is None:
        return pc.utf8_slice_codeunits(text, first)
    number = length.as_py()
    if number <= 0:
        return pc.if_else(pc.is_valid(text), "", pa.scalar(None, pa.string()))
    stop = first + number
    if first >= 0:
        return pc.utf8_slice_codeunits(text, first, stop)
    # What begins before the text ends as much earlier.
    return pc.utf8_slice_codeunits(text, first, None if stop >= 0 else stop)


def concatenated(*texts: Any) -> Any:
    """All texts in a row; NULL if one is."""
    demand_utf8(*texts)
    return reduce(lambda left, right: pc.binary_join_element_wise(left, right, ""), texts)


def like(text: Any, pattern: Any) -> Any:
    """Whether the text fits a pattern of % and _, which stand for any code points."""
    demand_utf8(text)
    return pc.match_like(text, pattern.as_py())
