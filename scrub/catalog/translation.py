# SPDX-License-Identifier: Apache-2.0
"""Expressions translated out of Spark SQL, when they mean the same in every engine.

This is an allow-list: whatever is not recognised here runs in Spark. Engines differ on casts,
on division, on upper and lower case, on escapes in strings; none of these is on the list.
"""

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from scrub.model import predicate
from scrub.model.predicate import BOOLEAN, LiteralValue, Node, Operator, Term, node_type
from scrub.model.types import INTEGER_BITS, ColumnType, TypeName

if TYPE_CHECKING:
    from sqlglot.expressions import Expr  # what older versions call Expression

_OPERATORS: Mapping[type["Expr"], Operator] = {
    exp.EQ: Operator.EQUAL,
    exp.NEQ: Operator.NOT_EQUAL,
    exp.LT: Operator.LESS,
    exp.LTE: Operator.LESS_OR_EQUAL,
    exp.GT: Operator.GREATER,
    exp.GTE: Operator.GREATER_OR_EQUAL,
}
_COMPARABLE = (TypeName.STRING, TypeName.BOOLEAN, TypeName.DATE, TypeName.DECIMAL)
# What a setting of the session gives another meaning (escapes, double quotes), and comments.
_SPARK_DECIDES = re.compile(r"""[\\"]|--|/\*""")
_INT_MAX = 2**31 - 1
_DECIMAL_DIGITS_MAX = 38


class Untranslatable(Exception):
    """The expression is not on the list."""


def translate_tree(text: str, tree: "Expr", columns: Mapping[str, ColumnType]) -> Node:
    """The node that means what the tree means; Untranslatable if there is none."""
    if _SPARK_DECIDES.search(text):
        raise Untranslatable
    return _Translator(columns).value(tree)


class _Translator:
    def __init__(self, columns: Mapping[str, ColumnType]) -> None:
        self._columns = {
            name.lower(): predicate.ColumnTerm(name, column_type)
            for name, column_type in columns.items()
        }

    def value(self, tree: "Expr") -> Node:
        """A term or a predicate, whichever it is."""
        match tree:
            case exp.Paren():
                return self.value(tree.this)
            case exp.Boolean():
                return predicate.LiteralTerm(bool(tree.this), BOOLEAN)
            case exp.Column():
                return self._column(tree)
            case exp.And():
                return predicate.And(tuple(map(self._condition, tree.flatten())))
            case exp.Or():
                return predicate.Or(tuple(map(self._condition, tree.flatten())))
            case exp.Not():
                return predicate.Not(self._condition(tree.this))
            case exp.Is() if isinstance(tree.expression, exp.Null):
                return predicate.IsNull(self._column(tree.this))
            case exp.In():
                return self._is_in(tree)
            case exp.Between() if not tree.args.get("symmetric"):
                low = self._comparison(tree.this, Operator.GREATER_OR_EQUAL, tree.args["low"])
                high = self._comparison(tree.this, Operator.LESS_OR_EQUAL, tree.args["high"])
                return predicate.And((low, high))
        if type(tree) in _OPERATORS:
            return self._comparison(tree.this, _OPERATORS[type(tree)], tree.expression)
        raise Untranslatable

    def _condition(self, tree: "Expr") -> Node:
        node = self.value(tree)
        if node_type(node) != BOOLEAN:
            raise Untranslatable
        return node

    def _column(self, tree: "Expr") -> predicate.ColumnTerm:
        tree = tree.unnest()
        if not isinstance(tree, exp.Column) or len(tree.parts) > 1:
            raise Untranslatable
        return self._columns[tree.name.lower()]

    def _is_in(self, tree: exp.In) -> predicate.IsIn:
        # IN can also stand before a subquery, an array or a lambda.
        if {key for key, value in tree.args.items() if value} != {"this", "expressions"}:
            raise Untranslatable
        column = self._column(tree.this)
        return predicate.IsIn(
            column, tuple(_literal(item, column.type).value for item in tree.expressions)
        )

    def _comparison(self, left: "Expr", operator: Operator, right: "Expr") -> predicate.Comparison:
        """A comparison of two terms; one that compares a comparison is not on the list."""
        left, right = left.unnest(), right.unnest()
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            first, second = self._column(left), self._column(right)
            if not _same_kind(first.type, second.type):
                raise Untranslatable
            return predicate.Comparison(first, operator, second)
        column = self._column(left if isinstance(left, exp.Column) else right)
        terms: list[Term] = [
            column if isinstance(side, exp.Column) else _literal(side, column.type)
            for side in (left, right)
        ]
        return predicate.Comparison(terms[0], operator, terms[1])


def _same_kind(left: ColumnType, right: ColumnType) -> bool:
    if left.is_integer and right.is_integer:
        return True
    return left == right and left.name in _COMPARABLE


def _literal(tree: "Expr", wanted: ColumnType) -> predicate.LiteralTerm:
    """A literal that has exactly one equal value of the wanted type."""
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
    if value is None:
        raise Untranslatable
    return predicate.LiteralTerm(value, wanted)


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
