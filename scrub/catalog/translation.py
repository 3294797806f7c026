# SPDX-License-Identifier: Apache-2.0
"""Expressions translated out of Spark SQL, into nodes that are evaluated without Spark.

This is an allow-list: whatever is not recognised here, or in `scrub.catalog.calls`, runs in Spark.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import TokenType, exp, tokenize

from scrub.catalog.calls import CALLS
from scrub.catalog.literals import is_literal, literal_of_type, typed_literal
from scrub.catalog.untranslatable import Untranslatable, demand
from scrub.model import predicate
from scrub.model.predicate import BOOLEAN, Node, Operator, node_type
from scrub.model.types import ColumnType, TypeName

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
# The parser and Spark differ on what such a thing is an operand of, unless it is in parentheses.
_CONDITIONS = (*_OPERATORS, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Like)
_COMPARABLE = (TypeName.STRING, TypeName.BOOLEAN, TypeName.DATE, TypeName.DECIMAL)
# What a setting of the session gives another meaning (escapes, double quotes); comments; and types
# whose length the parser forgets.
_SPARK_DECIDES = re.compile(r"""[\\"]|--|/\*|\b(?:var)?char\b""", re.IGNORECASE)
_SHORTEST_UNIT = len("DAY")


def translate_tree(
    text: str, tree: "Expr", columns: Mapping[str, ColumnType], zone: str = ""
) -> Node:
    """The node that means what the tree means; Untranslatable if there is none.

    What reads clocks is translated only if their zone is given.
    """
    demand(not _SPARK_DECIDES.search(text))
    demand(not _forgets(text, tree))
    return Translator(columns, zone).value(tree)


def _forgets(text: str, tree: "Expr") -> bool:
    """Whether the tree lacks something that the text says, and that Spark heeds."""
    tokens = tokenize(text, dialect="spark")
    # To Spark, +a is a number whatever a is.
    pluses = sum(1 for token in tokens if token.token_type is TokenType.PLUS)
    if pluses != sum(1 for _ in tree.find_all(exp.Add)):
        return True
    # Spark knows no 'D', which the parser takes for 'DAY'.
    short = any(
        token.token_type is TokenType.STRING and len(token.text) < _SHORTEST_UNIT
        for token in tokens
    )
    return short and tree.find(exp.TimestampTrunc) is not None


class Translator:
    """Translates trees over some columns, with times read in a zone."""

    def __init__(self, columns: Mapping[str, ColumnType], zone: str) -> None:
        self.zone = zone
        self._columns = {
            name.lower(): predicate.ColumnTerm(name, column_type)
            for name, column_type in columns.items()
        }

    def value(self, tree: "Expr") -> Node:
        """A node, whatever its type."""
        match tree:
            case exp.Paren():
                return self.value(tree.this)
            case exp.Boolean():
                return predicate.LiteralTerm(bool(tree.this), BOOLEAN)
            case exp.Column():
                return self._column(tree)
            case exp.And():
                return predicate.And(tuple(map(self.condition, tree.flatten())))
            case exp.Or():
                return predicate.Or(tuple(map(self.condition, tree.flatten())))
            case exp.Not():
                return predicate.Not(self.condition(tree.this))
            case exp.Is() if isinstance(tree.expression, exp.Null):
                return predicate.IsNull(self.operand(tree.this))
            case exp.In():
                return self._is_in(tree)
            case exp.Between() if not tree.args.get("symmetric"):
                low = self.comparison(tree.this, Operator.GREATER_OR_EQUAL, tree.args["low"])
                high = self.comparison(tree.this, Operator.LESS_OR_EQUAL, tree.args["high"])
                return predicate.And((low, high))
        if type(tree) in _OPERATORS:
            return self.comparison(tree.this, _OPERATORS[type(tree)], tree.expression)
        if type(tree) in CALLS:
            return CALLS[type(tree)](self, tree)
        raise Untranslatable

    def condition(self, tree: "Expr") -> Node:
        """A node that is true, false or NULL."""
        node = self.value(tree)
        demand(node_type(node) == BOOLEAN)
        return node

    def operand(self, tree: "Expr") -> Node:
        """What an operator or a function is applied to; a literal has the type of its own."""
        demand(not isinstance(tree, _CONDITIONS))
        tree = tree.unnest()
        if is_literal(tree) and (literal := typed_literal(tree)) is not None:
            return literal
        return self.value(tree)

    def comparison(self, left: "Expr", operator: Operator, right: "Expr") -> predicate.Comparison:
        """A comparison of two values of one type; a literal is of the other's."""
        demand(not isinstance(left, _CONDITIONS) and not isinstance(right, _CONDITIONS))
        left, right = left.unnest(), right.unnest()
        if is_literal(left):
            demand(not is_literal(right))
            value = self.operand(right)
            return predicate.Comparison(_literal(left, node_type(value)), operator, value)
        value = self.operand(left)
        if is_literal(right):
            return predicate.Comparison(value, operator, _literal(right, node_type(value)))
        other = self.operand(right)
        demand(_same_kind(node_type(value), node_type(other)))
        return predicate.Comparison(value, operator, other)

    def _column(self, tree: exp.Column) -> predicate.ColumnTerm:
        demand(len(tree.parts) == 1)
        return self._columns[tree.name.lower()]

    def _is_in(self, tree: exp.In) -> predicate.IsIn:
        # IN can also stand before a subquery, an array or a lambda.
        demand({key for key, value in tree.args.items() if value} == {"this", "expressions"})
        demand(not is_literal(tree.this.unnest()))
        value = self.operand(tree.this)
        literals = (_literal(item, node_type(value)) for item in tree.expressions)
        return predicate.IsIn(value, tuple(literal.value for literal in literals))


def _same_kind(left: ColumnType, right: ColumnType) -> bool:
    if left.is_integer and right.is_integer:
        return True
    return left == right and left.name in _COMPARABLE


def _literal(tree: "Expr", wanted: ColumnType) -> predicate.LiteralTerm:
    """A literal that has exactly one equal value of the wanted type."""
    literal = literal_of_type(tree, wanted)
    if literal is None:
        raise Untranslatable
    return literal
