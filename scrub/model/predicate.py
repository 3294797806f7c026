# SPDX-License-Identifier: Apache-2.0
"""Expressions that mean the same in every engine, as plain values that can be sent to tasks.

A term has a value, a predicate is true, false or NULL. Operands of one comparison have one type
(integers may differ in width), so no engine's rules for casting come into play.
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

    left: "Term"
    operator: Operator
    right: "Term"


@dataclass(frozen=True, slots=True)
class IsNull:
    """Never NULL itself."""

    term: ColumnTerm


@dataclass(frozen=True, slots=True)
class IsIn:
    """NULL if the column is; the values are of the column's type."""

    term: ColumnTerm
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


Term = ColumnTerm | LiteralTerm
Predicate = Comparison | IsNull | IsIn | Not | And | Or
Node = Term | Predicate


def node_type(node: Node) -> ColumnType:
    """The type of what the node evaluates to."""
    return node.type if isinstance(node, ColumnTerm | LiteralTerm) else BOOLEAN
