# SPDX-License-Identifier: Apache-2.0
"""Spark's functions and operators that run without Spark, each proven equal to Spark's.

A builder gives a node the type that Spark gives it. What Spark would first cast to another type is
not on the list, unless that cast is exact.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from scrub.catalog.untranslatable import demand
from scrub.model.predicate import (
    BOOLEAN,
    Call,
    Case,
    Coalesce,
    Function,
    LiteralTerm,
    Node,
    Not,
    Operator,
    columns_in,
    node_type,
)
from scrub.model.types import INTEGER_BITS, ColumnType, TypeName, widens

if TYPE_CHECKING:
    from sqlglot.expressions import Expr  # what older versions call Expression

STRING, INT, BIGINT = (ColumnType(TypeName(name)) for name in ("string", "int", "bigint"))
DATE, TIMESTAMP, TIMESTAMP_NTZ = (
    ColumnType(TypeName(name)) for name in ("date", "timestamp", "timestamp_ntz")
)
_TYPES = {
    exp.DType.TINYINT: ColumnType(TypeName.TINYINT),
    exp.DType.SMALLINT: ColumnType(TypeName.SMALLINT),
    exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT,
    exp.DType.TEXT: STRING,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,  # as the parser calls Spark's TIMESTAMP
}
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_TRIMS = {None: Function.TRIM, "LEADING": Function.LTRIM, "TRAILING": Function.RTRIM}
_OF_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


class Operands(Protocol):
    """What translates the operands of a call."""

    zone: str

    def operand(self, tree: "Expr") -> Node:
        """A node of any type."""

    def condition(self, tree: "Expr") -> Node:
        """A node that is true, false or NULL."""

    def comparison(self, left: "Expr", operator: Operator, right: "Expr") -> Node:
        """Two values compared."""


Builder = Callable[[Operands, "Expr"], Node]


def call(function: Function, operands: Sequence[Node], of_type: ColumnType, zone: str = "") -> Call:
    """A call that reads a column: one of literals alone is nothing that anybody indexes."""
    demand(any(map(columns_in, operands)))
    return Call(function, tuple(operands), of_type, zone)


def only(tree: "Expr", *keys: str) -> None:
    """Demand that a tree has no argument but these: another may change what it means."""
    demand({key for key, value in tree.args.items() if value} <= {*keys})


def _text(made_of: Operands, tree: "Expr") -> Node:
    node = made_of.operand(tree)
    demand(node_type(node) == STRING)
    return node


def _integer(made_of: Operands, tree: "Expr") -> Node:
    node = made_of.operand(tree)
    demand(node_type(node).is_integer)
    return node


def _of_text(function: Function, of_type: ColumnType = STRING) -> Builder:
    def build(made_of: Operands, tree: "Expr") -> Node:
        only(tree, "this")
        return call(function, [_text(made_of, tree.this)], of_type)

    return build


def _trim(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "position")
    position = tree.args.get("position")
    demand(position in _TRIMS)
    return call(_TRIMS[position], [_text(made_of, tree.this)], STRING)


def _substring(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "start", "length")
    numbers = [_written_out(made_of, tree.args["start"])]
    if tree.args.get("length") is not None:
        numbers.append(_written_out(made_of, tree.args["length"]))
    return call(Function.SUBSTRING, [_text(made_of, tree.this), *numbers], STRING)


def _left(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "expression")
    numbers = [LiteralTerm(1, INT), _written_out(made_of, tree.expression)]
    return call(Function.SUBSTRING, [_text(made_of, tree.this), *numbers], STRING)


def _written_out(made_of: Operands, tree: "Expr") -> LiteralTerm:
    node = made_of.operand(tree)
    demand(isinstance(node, LiteralTerm) and node.type == INT)
    assert isinstance(node, LiteralTerm)
    return node


def _concat(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "expressions", "safe")
    # Literals side by side are one text, or none, as a setting has it.
    demand(not all(isinstance(part, exp.Literal) for part in tree.expressions))
    return call(Function.CONCAT, [_as_text(made_of, part) for part in tree.expressions], STRING)


def _pipes(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "expression", "safe")
    parts = (tree.this, tree.expression)
    return call(Function.CONCAT, [_as_text(made_of, part) for part in parts], STRING)


def _as_text(made_of: Operands, tree: "Expr") -> Node:
    """A text, or an integer, which Spark casts to text here."""
    node = made_of.operand(tree)
    demand(node_type(node) == STRING or node_type(node).is_integer)
    return cast(node, STRING, "")


def _like(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "expression", "negate")
    pattern = _text(made_of, tree.expression)
    demand(isinstance(pattern, LiteralTerm))
    like = call(Function.LIKE, [_text(made_of, tree.this), pattern], BOOLEAN)
    return Not(like) if tree.args.get("negate") else like


def _arithmetic(function: Function, of_type: ColumnType | None = None) -> Builder:
    def build(made_of: Operands, tree: "Expr") -> Node:
        only(tree, "this", "expression")
        sides = [_integer(made_of, side) for side in (tree.this, tree.expression)]
        if of_type is not None:
            return call(function, [cast(side, of_type, "") for side in sides], of_type)
        sides = alike(sides)
        return call(function, sides, node_type(sides[0]))

    return build


def _of_integer(function: Function) -> Builder:
    def build(made_of: Operands, tree: "Expr") -> Node:
        only(tree, "this")
        node = _integer(made_of, tree.this)
        return call(function, [node], node_type(node))

    return build


def alike(nodes: Sequence[Node]) -> list[Node]:
    """Values of one type; integers of different width become as wide as the widest."""
    types = [node_type(node) for node in nodes]
    if all(of_type.is_integer for of_type in types):
        widest = max(types, key=lambda of_type: INTEGER_BITS[of_type.name])
        return [cast(node, widest, "") for node in nodes]
    demand(len(set(types)) == 1)
    return list(nodes)


def cast(node: Node, wanted: ColumnType, zone: str) -> Node:
    """The node in another type."""
    of_type = node_type(node)
    if of_type == wanted:
        return node
    if isinstance(node, LiteralTerm):
        demand(widens(of_type, wanted) or _fits(node, wanted))
        return LiteralTerm(node.value, wanted)
    if of_type.is_integer:
        demand(wanted.is_integer or wanted == STRING)
    elif of_type == STRING:
        demand(wanted.is_integer or wanted in (DATE, TIMESTAMP))
    elif of_type == BOOLEAN:
        demand(wanted == STRING)
    else:
        demand(of_type in _OF_TIMES and wanted in (DATE, TIMESTAMP, STRING))
        demand({of_type, wanted} != {TIMESTAMP, TIMESTAMP_NTZ})
    reads_clocks = TIMESTAMP in (of_type, wanted)
    demand(zone or not reads_clocks)
    return call(Function.CAST, [node], wanted, zone if reads_clocks else "")


def _fits(literal: LiteralTerm, wanted: ColumnType) -> bool:
    if not (literal.type.is_integer and wanted.is_integer):
        return False
    limit = 1 << (INTEGER_BITS[wanted.name] - 1)
    return -limit <= int(str(literal.value)) < limit


def _cast(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "to")  # a TRY_CAST is `safe`
    demand(tree.args["to"].this in _TYPES and not tree.args["to"].expressions)
    wanted = _TYPES[tree.args["to"].this]
    return cast(made_of.operand(tree.this), wanted, made_of.zone)


def _to_date(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "safe")  # with a format, it reads texts in many ways
    node = made_of.operand(tree.this)
    # The parser puts one around what YEAR is given, too; there, Spark casts no text.
    demand(node_type(node) in _OF_TIMES or (node_type(node) == STRING and tree.args.get("safe")))
    return cast(node, DATE, made_of.zone)


def _part_of_date(function: Function, *keys: str) -> Builder:
    def build(made_of: Operands, tree: "Expr") -> Node:
        only(tree, "this", *keys)
        return _of_day(function, made_of, tree.this)

    return build


def _of_day(function: Function, made_of: Operands, tree: "Expr") -> Node:
    node = made_of.operand(tree)
    demand(node_type(node) in _OF_TIMES)
    return call(function, [cast(node, DATE, made_of.zone)], INT)


def _extract(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "expression")
    parts = {of.name: of for of in (Function.YEAR, Function.MONTH, Function.DAY)}
    demand(tree.this.name.upper() in parts)
    return _of_day(parts[tree.this.name.upper()], made_of, tree.expression)


def _date_trunc(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "unit")
    unit, node = tree.args["unit"].name.upper(), made_of.operand(tree.this)
    demand(unit in _UNITS and node_type(node) == TIMESTAMP and made_of.zone)
    return call(Function.DATE_TRUNC, [node, LiteralTerm(unit, STRING)], TIMESTAMP, made_of.zone)


def _coalesce(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "expressions")
    nodes = alike([made_of.operand(part) for part in (tree.this, *tree.expressions)])
    demand(columns_in(nodes[0]))
    return Coalesce(tuple(nodes), node_type(nodes[0]))


def _case(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "ifs", "default")
    compared = tree.args.get("this")
    conditions: list[Node] = []
    for branch in tree.args["ifs"]:
        if compared is None:
            conditions.append(made_of.condition(branch.this))
        else:
            conditions.append(made_of.comparison(compared, Operator.EQUAL, branch.this))
    values = [branch.args["true"] for branch in tree.args["ifs"]]
    return _choice(made_of, conditions, [*values, tree.args.get("default")])


def _if(made_of: Operands, tree: "Expr") -> Node:
    only(tree, "this", "true", "false")
    values = [tree.args["true"], tree.args.get("false")]
    return _choice(made_of, [made_of.condition(tree.this)], values)


def _choice(made_of: Operands, conditions: Sequence[Node], trees: "Sequence[Expr | None]") -> Node:
    """The value of the first condition that is true, or the last; values may be NULL."""
    known = {
        number: made_of.operand(tree)
        for number, tree in enumerate(trees)
        if tree is not None and not isinstance(tree.unnest(), exp.Null)
    }
    demand(known)
    values = dict(zip(known, alike(list(known.values())), strict=True))
    of_type = node_type(next(iter(values.values())))
    branches = tuple((of, values.get(number)) for number, of in enumerate(conditions))
    return Case(branches, values.get(len(conditions)), of_type)


CALLS: Mapping[type["Expr"], Builder] = {
    exp.Lower: _of_text(Function.LOWER),
    exp.Upper: _of_text(Function.UPPER),
    exp.Length: _of_text(Function.LENGTH, INT),
    exp.Trim: _trim,
    exp.Substring: _substring,
    exp.Left: _left,
    exp.Concat: _concat,
    exp.DPipe: _pipes,
    exp.Like: _like,
    exp.Add: _arithmetic(Function.ADD),
    exp.Sub: _arithmetic(Function.SUBTRACT),
    exp.Mul: _arithmetic(Function.MULTIPLY),
    exp.Mod: _arithmetic(Function.REMAINDER),
    exp.IntDiv: _arithmetic(Function.DIVIDE, BIGINT),
    exp.Neg: _of_integer(Function.NEGATE),
    exp.Abs: _of_integer(Function.ABS),
    exp.Cast: _cast,
    exp.TryCast: _cast,  # as the parser calls a cast that raises, too
    exp.TsOrDsToDate: _to_date,
    exp.Year: _part_of_date(Function.YEAR),
    exp.Month: _part_of_date(Function.MONTH),
    exp.Day: _part_of_date(Function.DAY),
    exp.DayOfMonth: _part_of_date(Function.DAY),
    exp.Extract: _extract,
    exp.TimestampTrunc: _date_trunc,
    exp.Coalesce: _coalesce,
    exp.Case: _case,
    exp.If: _if,
}
