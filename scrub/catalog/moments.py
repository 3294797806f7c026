# SPDX-License-Identifier: Apache-2.0
"""Literals such as 'today', which mean another day tomorrow where a date or time is wanted.

Spark and PostgreSQL read them so wherever text becomes a date or a time: in DATE 'today', in a
cast, and also in `day >= 'today'`, which has an implicit cast. Where Spark expects an instant,
'08:30' means that time today.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from scrub.model.types import ColumnType, TypeName

if TYPE_CHECKING:
    from sqlglot.expressions import Expr  # what older versions call Expression

_MOMENT = re.compile(r"(now|today|tomorrow|yesterday)(\s+\S+)?", re.IGNORECASE)  # and a zone
_TIME_OF_DAY = re.compile(r"T?\d{1,2}:\d{1,2}(:.*)?")
_TIMES = (TypeName.DATE, TypeName.TIMESTAMP, TypeName.TIMESTAMP_NTZ)
_TIME_WORDS = re.compile(r"date|time|day|month|year|week|quarter|hour|minute|second|trunc|zone")
_OF_VALUES = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In)
_OF_ORDER = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_INSTANTS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)


def moment_written_out(node: "Expr", dialect: str) -> str | None:
    """The literal of a cast like DATE 'today'; None if the node is no such cast."""
    if not isinstance(node, exp.Cast):
        return None
    literal = node.this.unnest()
    is_instant = dialect == "spark" and node.to.this in _INSTANTS
    if _is_text(literal, _MOMENT) or (is_instant and _is_text(literal, _TIME_OF_DAY)):
        return str(literal.name)
    return None


def moment_implied(
    tree: "Expr", columns: Mapping[str, ColumnType], dialect: str = "spark"
) -> str | None:
    """A literal that an implicit cast would turn into a moment; None if there is none.

    The answer is conservative: 'today' counts as plain text only if it is compared with a text
    column, or if no date or time is involved.
    """
    types = {name.lower(): column_type.name for name, column_type in columns.items()}
    return next(_implied(tree, types, dialect), None)


def _implied(tree: "Expr", types: Mapping[str, TypeName], dialect: str) -> Iterator[str]:
    for literal in tree.find_all(exp.Literal):
        others = _compared_with(literal, types)
        is_of_instants = dialect == "spark" and TypeName.TIMESTAMP in others
        if _is_text(literal, _MOMENT):
            is_word = others == {TypeName.STRING} and isinstance(literal.parent, _OF_VALUES)
            if not is_word and _has_times(tree, types):
                yield str(literal.name)
        elif is_of_instants and _is_text(literal, _TIME_OF_DAY):
            yield str(literal.name)


def _is_text(node: "Expr", pattern: re.Pattern[str]) -> bool:
    is_text = isinstance(node, exp.Literal) and node.is_string
    return is_text and pattern.fullmatch(node.name.strip()) is not None


def _compared_with(literal: "Expr", types: Mapping[str, TypeName]) -> set[TypeName | None]:
    """The types of the columns that a literal is compared with, on whichever side it stands."""
    parent = literal.parent
    if not isinstance(parent, _OF_VALUES + _OF_ORDER):
        return set()
    operands = (node.unnest() for node in parent.iter_expressions())
    return {types.get(node.name.lower()) for node in operands if isinstance(node, exp.Column)}


def _has_times(tree: "Expr", types: Mapping[str, TypeName]) -> bool:
    return any(
        types.get(node.name.lower()) in _TIMES
        if isinstance(node, exp.Column)
        else any(_TIME_WORDS.search(name.lower()) for name in _names(node))
        for node in tree.walk()
    )


def _names(node: "Expr") -> list[str]:
    """What a type or function is called."""
    if isinstance(node, exp.DataType):
        return [str(node.this)]
    if isinstance(node, exp.Anonymous):
        return [node.name]
    if isinstance(node, exp.Func):
        return [type(node).__name__, *node.sql_names()]
    return []
