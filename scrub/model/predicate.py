# SPDX-License-Identifier: Apache-2.0
"""Expressions that can be evaluated without Spark, as plain values that can be sent to tasks.

A term has a value, a predicate is true, false or NULL. Operands of one comparison have one type
(integers may differ in width), so no engine's rules for casting come into play. What is made of
terms and predicates alone means the same in every engine (`is_portable`); a call or a choice means
what it means in Spark.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from scrub.model.types import ColumnType, TypeName

LiteralValue = bool | int | str | date | Decimal
BOOLEAN = ColumnType(TypeName.BOOLEAN)


class Operator(StrEnum):
    """How two values are compared; strings are ordered by their UTF-8 bytes."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


@dataclass(frozen=True, slots=True)
class ColumnTerm:
    """A column of the row."""

    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True)
class LiteralTerm:
    """A value that is never NULL; it fits its type exactly."""

    value: LiteralValue
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Comparison:
    """NULL if either side is."""

    left: "Node"
    operator: Operator
    right: "Node"


@dataclass(frozen=True, slots=True)
class IsNull:
    """Never NULL itself."""

    term: "Node"


@dataclass(frozen=True, slots=True)
class IsIn:
    """NULL if the term is; the values are of the term's type."""

    term: "Node"
    values: tuple[LiteralValue, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """NULL stays NULL."""

    operand: "Node"


@dataclass(frozen=True, slots=True)
class And:
    """False if any operand is, else NULL if any is."""

    operands: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True if any operand is, else NULL if any is."""

    operands: tuple["Node", ...]


class Function(StrEnum):
    """What a call computes; see `scrub.codec.functions` for each."""

    LOWER = "lower"
    UPPER = "upper"
    TRIM = "trim"
    LTRIM = "ltrim"
    RTRIM = "rtrim"
    LENGTH = "length"
    SUBSTRING = "substring"
    CONCAT = "concat"
    LIKE = "like"
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "div"
    REMAINDER = "%"
    NEGATE = "negative"
    ABS = "abs"
    CAST = "cast"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    DATE_TRUNC = "date_trunc"


@dataclass(frozen=True, slots=True)
class Call:
    """A function of some operands, which is NULL if any of them is."""

    function: Function
    operands: tuple["Node", ...]
    type: ColumnType
    zone: str = ""  # whose clocks it reads, if it does


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true, or `otherwise`; None stands for NULL.

    A value is computed for those rows only that take it.
    """

    branches: tuple[tuple["Node", "Node | None"], ...]
    otherwise: "Node | None"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first value that is not NULL; later ones are computed only where they are needed."""

    operands: tuple["Node", ...]
    type: ColumnType


Term = ColumnTerm | LiteralTerm
Predicate = Comparison | IsNull | IsIn | Not | And | Or
Computed = Call | Case | Coalesce
Node = Term | Predicate | Computed


def node_type(node: Node) -> ColumnType:
    """The type of what the node evaluates to."""
    return node.type if isinstance(node, Term | Computed) else BOOLEAN


def parts_of(node: Node) -> tuple[Node, ...]:
    """The nodes that a node is made of, one level down."""
    match node:
        case ColumnTerm() | LiteralTerm():
            return ()
        case Comparison(left=left, right=right):
            return left, right
        case IsNull(term=term) | IsIn(term=term):
            return (term,)
        case Not(operand=operand):
            return (operand,)
        case Case(branches=branches, otherwise=otherwise):
            values = (*(value for _, value in branches), otherwise)
            conditions = (condition for condition, _ in branches)
            return (*conditions, *(value for value in values if value is not None))
        case _:
            return node.operands


def columns_in(node: Node) -> frozenset[str]:
    """The names of the columns that a node reads."""
    if isinstance(node, ColumnTerm):
        return frozenset((node.name,))
    return frozenset().union(*map(columns_in, parts_of(node)))


def is_portable(node: Node) -> bool:
    """Whether the node means the same in every engine, a database included."""
    match node:
        case ColumnTerm() | LiteralTerm():
            return True
        case Comparison() | IsNull() | IsIn():
            # Comparing conditions with each other is nothing that engines agree to parse.
            parts = parts_of(node)
            return all(isinstance(part, Term) for part in parts) and bool(columns_in(node))
        case Not() | And() | Or():
            return all(map(is_portable, parts_of(node)))
    return False
