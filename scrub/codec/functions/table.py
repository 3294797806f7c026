# SPDX-License-Identifier: Apache-2.0
"""Which function computes a call."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scrub.codec.arrow_types import to_arrow
from scrub.codec.functions import arithmetic, casing, casts, text, times
from scrub.model.predicate import Call, Function

_OF_OPERANDS: Mapping[Function, Callable[..., Any]] = {
    Function.LOWER: casing.lower,
    Function.UPPER: casing.upper,
    Function.TRIM: text.trimmed,
    Function.LTRIM: text.without_leading,
    Function.RTRIM: text.without_trailing,
    Function.LENGTH: text.length,
    Function.SUBSTRING: text.substring,
    Function.CONCAT: text.concatenated,
    Function.LIKE: text.like,
    Function.ADD: arithmetic.add,
    Function.SUBTRACT: arithmetic.subtract,
    Function.MULTIPLY: arithmetic.multiply,
    Function.DIVIDE: arithmetic.divide,
    Function.REMAINDER: arithmetic.remainder,
    Function.NEGATE: arithmetic.negate,
    Function.ABS: arithmetic.absolute,
    Function.YEAR: times.year,
    Function.MONTH: times.month,
    Function.DAY: times.day,
}


def computed(call: Call, operands: Sequence[Any]) -> Any:
    """The call's value for each row; operands are arrays, or scalars where they are literals."""
    if call.function is Function.CAST:
        return casts.cast(operands[0], to_arrow(call.type), call.zone)
    if call.function is Function.DATE_TRUNC:
        return times.truncated(operands[0], operands[1].as_py(), call.zone)
    return _OF_OPERANDS[call.function](*operands)
