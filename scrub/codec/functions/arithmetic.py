# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of integers of one width. Where Spark raises, or wraps around, rows are in doubt."""

from collections.abc import Callable
from typing import Any

import pyarrow.compute as pc

from scrub.codec.functions.doubt import doubting


def _checked(compute: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*operands: Any) -> Any:
        with doubting("arithmetic that overflows, or divides by zero"):
            return compute(*operands)

    return checked


def _remainder(left: Any, right: Any) -> Any:
    """With the sign of the left side, as in Java."""
    quotient = pc.divide_checked(left, right)
    return pc.subtract_checked(left, pc.multiply_checked(quotient, right))


add = _checked(pc.add_checked)
subtract = _checked(pc.subtract_checked)
multiply = _checked(pc.multiply_checked)
divide = _checked(pc.divide_checked)
remainder = _checked(_remainder)
negate = _checked(pc.negate_checked)
absolute = _checked(pc.abs_checked)
