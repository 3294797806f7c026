# SPDX-License-Identifier: Apache-2.0
"""Literals of Spark SQL as values of a type that holds them exactly."""

import re
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from scrub.model.predicate import BOOLEAN, LiteralTerm, LiteralValue
from scrub.model.types import INTEGER_BITS, ColumnType, TypeName

if TYPE_CHECKING:
    from sqlglot.expressions import Expr  # what older versions call Expression

_STRING, _DATE = ColumnType(TypeName.STRING), ColumnType(TypeName.DATE)
_INT, _BIGINT = ColumnType(TypeName.INT), ColumnType(TypeName.BIGINT)
_INT_MAX = 2**31 - 1
_DECIMAL_DIGITS_MAX = 38


def is_literal(tree: "Expr") -> bool:
    """Whether a tree is a literal that has one value, maybe with a sign."""
    if isinstance(tree, exp.Neg):
        return isinstance(tree.this, exp.Literal) and not tree.this.is_string
    if isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Literal):
        return bool(tree.args["to"].this == exp.DType.DATE)
    return isinstance(tree, exp.Boolean | exp.Literal)


def literal_of_type(tree: "Expr", wanted: ColumnType) -> LiteralTerm | None:
    """The literal as the one value of the wanted type that is equal to it; None if none is."""
    negative = isinstance(tree, exp.Neg)
    literal = tree.this if negative else tree
    value: LiteralValue | None = None
    match literal:
        case exp.Boolean() if wanted == BOOLEAN and not negative:
            value = bool(literal.this)
        case exp.Literal(is_string=True) if wanted.name is TypeName.STRING and not negative:
            value = literal.name
        case exp.Literal(is_string=False):
            value = _number(f"-{literal.name}" if negative else literal.name, wanted)
        case exp.Cast() if wanted.name is TypeName.DATE and not negative:
            value = _date(literal)
    return None if value is None else LiteralTerm(value, wanted)


def typed_literal(tree: "Expr") -> LiteralTerm | None:
    """The literal in the type that Spark gives it; None for types that are not on the list."""
    types = (BOOLEAN, _STRING, _INT, _BIGINT, _DATE)
    return next(filter(None, (literal_of_type(tree, wanted) for wanted in types)), None)


def _number(text: str, wanted: ColumnType) -> LiteralValue | None:
    if wanted.is_integer and re.fullmatch(r"-?\d+", text, re.ASCII):
        limit = 1 << (INTEGER_BITS[wanted.name] - 1)
        return int(text) if -limit <= int(text) < limit else None
    # A number with an exponent is a double in Spark.
    if wanted.name is TypeName.DECIMAL and re.fullmatch(r"-?(\d+\.?\d*|\.\d+)", text, re.ASCII):
        return Decimal(text) if _spark_compares_exactly(text, wanted) else None
    return None


def _spark_compares_exactly(text: str, wanted: ColumnType) -> bool:
    """Whether the common type that Spark finds for column and literal has room for both.

    Beyond 38 digits it would round the column. It takes an integer literal for 10 digits, or 20.
    """
    whole, _, fraction = text.lstrip("-").partition(".")
    whole_digits_max = wanted.precision - wanted.scale
    if len(whole.lstrip("0")) > whole_digits_max or len(fraction) > wanted.scale:
        return False
    if "." in text:
        return True
    digits = 10 if abs(int(text)) <= _INT_MAX else 20
    return max(whole_digits_max, digits) + wanted.scale <= _DECIMAL_DIGITS_MAX


def _date(tree: exp.Cast) -> date | None:
    literal, text = tree.this, tree.this.name
    is_date = tree.to.this == exp.DataType.Type.DATE and isinstance(literal, exp.Literal)
    if not is_date or not literal.is_string or not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
