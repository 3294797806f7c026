# SPDX-License-Identifier: Apache-2.0
"""Expressions that mean the same in every engine, as PostgreSQL writes them."""

from collections.abc import Callable

from scrub.model.predicate import (
    And,
    ColumnTerm,
    Comparison,
    IsIn,
    IsNull,
    LiteralTerm,
    LiteralValue,
    Node,
    Not,
    Or,
    node_type,
)
from scrub.model.types import ColumnType, TypeName
from scrub.stores.postgres.column_types import sql_type
from scrub.stores.postgres.quoting import literal

ValueOf = Callable[[ColumnTerm], str]


def to_sql(node: Node, value_of: ValueOf) -> str:
    """A node as an expression; `value_of` says how a column is read in its type."""
    match node:
        case ColumnTerm():
            return value_of(node)
        case LiteralTerm(value=value, type=literal_type):
            return _typed(value, literal_type)
        case Comparison(left=left, operator=operator, right=right):
            # By bytes, as Spark orders strings; the column's own collation would do as it likes.
            collate = ' COLLATE "C"' if node_type(left).name is TypeName.STRING else ""
            compared = f"OPERATOR(pg_catalog.{operator})"
            return f"({to_sql(left, value_of)}{collate} {compared} {to_sql(right, value_of)})"
        case IsNull(term=term):
            return f"({to_sql(term, value_of)} IS NULL)"
        case IsIn(term=term, values=values):
            listed = ", ".join(_typed(value, node_type(term)) for value in values)
            return f"({to_sql(term, value_of)} OPERATOR(pg_catalog.=) ANY (ARRAY[{listed}]))"
        case Not(operand=operand):
            return f"(NOT {to_sql(operand, value_of)})"
        case And(operands=operands):
            return "(" + " AND ".join(to_sql(part, value_of) for part in operands) + ")"
        case Or(operands=operands):
            return "(" + " OR ".join(to_sql(part, value_of) for part in operands) + ")"
    raise AssertionError(f"only Spark, or tasks, evaluate {node}")


def _typed(value: LiteralValue, literal_type: ColumnType) -> str:
    return f"{literal(value)}::{sql_type(literal_type)}"
