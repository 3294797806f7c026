# SPDX-License-Identifier: Apache-2.0
"""Parses Spark SQL, and refuses expressions that depend on more than the row.

An index entry must follow from its row and nothing else: not from other rows (aggregates, windows,
subqueries), not from the moment or place it is computed at.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from scrub.catalog.bad_expression import BadExpression, UnreadableExpression
from scrub.catalog.moments import moment_written_out

if TYPE_CHECKING:
    from sqlglot.expressions import Expr  # what older versions call Expression


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CHANGING = _words(
    """ai_query curdate current_catalog current_database current_date current_schema current_time
    current_timestamp current_timezone current_user gen_random_uuid input_file_block_length
    input_file_block_start input_file_name java_method localtime localtimestamp
    monotonically_increasing_id now rand randn random randstr reflect session_user shuffle
    spark_partition_id try_reflect uniform user uuid version"""
)
# Those that the parser does not know to be aggregates, or does not know at all.
_AGGREGATES = _words(
    """any bit_and bit_or bit_xor bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list
    collect_set count_min_sketch every grouping grouping_id histogram_numeric kurtosis listagg
    max_by min_by mode percentile regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy skewness some string_agg try_avg try_sum"""
)
_ROW_MAKERS = _words(
    "explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack"
)


def parse(text: str, dialect: str = "spark") -> "Expr":
    """The tree of one expression that depends on the row alone; BadExpression otherwise."""
    try:
        tree = sqlglot.parse_one(text, dialect=dialect, into=exp.Condition)
        tokens = [token.token_type for token in sqlglot.tokenize(text, dialect=dialect)]
    except SqlglotError as error:
        raise _does_not_parse(text, _reason(error)) from error
    except RecursionError as error:
        raise BadExpression("is nested too deeply") from error
    _refuse_forgiven(text, tokens)
    if not isinstance(tree, exp.Condition | exp.Query | exp.Subquery | exp.AtTimeZone):
        raise BadExpression("is not one expression with one value")
    for problem in _problems(tree, dialect):
        raise BadExpression(problem)
    return tree


def _refuse_forgiven(text: str, tokens: list[TokenType]) -> None:
    """Raise BadExpression for text that the parser accepts and Spark refuses or misreads."""
    if TokenType.SEMICOLON in tokens:
        raise BadExpression("is not one expression with one value", "leave out the ';'")
    if tokens.count(TokenType.L_PAREN) != tokens.count(TokenType.R_PAREN):
        raise _does_not_parse(text, "a parenthesis is not closed")
    for token, following in pairwise([*tokens, TokenType.SEMICOLON]):
        # To Spark, `a ISNULL` is the column a under another name.
        is_postfix = following is not TokenType.L_PAREN
        if token in (TokenType.ISNULL, TokenType.NOTNULL) and is_postfix:
            raise BadExpression("uses ISNULL or NOTNULL", "write IS NULL or IS NOT NULL")


def never_a_condition(text: str) -> str | None:
    """What the expression is, if no types of columns can make it true or false; None otherwise."""
    tree = parse(text).unnest()
    if isinstance(tree, exp.Null):
        return "always NULL"
    if isinstance(tree, exp.Literal):
        return "a text" if tree.is_string else "a number"
    if isinstance(tree, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.IntDiv | exp.Mod | exp.Neg):
        return "a number"
    return None


def columns_named(tree: "Expr") -> Iterator[str]:
    """Every column as the text spells it, in order; BadExpression for a qualified one."""
    for column in tree.find_all(exp.Column, bfs=False):
        if len(column.parts) > 1:
            raise BadExpression(
                f"names '{column.sql(dialect='spark')}'",
                "write the column's name alone, in backquotes if it has a dot: `a.b`",
            )
        yield column.name


def _problems(tree: "Expr", dialect: str) -> Iterator[str]:
    for node in tree.walk():
        names = _function_names(node)
        if isinstance(node, exp.Query | exp.Subquery | exp.Exists):
            yield "contains a subquery; it must follow from the row alone"
        elif isinstance(node, exp.Window):
            yield "contains a window function; it must follow from the row alone"
        elif isinstance(node, exp.AggFunc | exp.Any | exp.Star) or _AGGREGATES & {*names}:
            yield "contains an aggregate; it must follow from the row alone"
        elif isinstance(node, exp.UDTF | exp.Explode) or _ROW_MAKERS & {*names}:
            yield "contains a function that makes several rows of one"
        elif isinstance(node, exp.Placeholder | exp.Parameter):
            yield "contains a parameter, and there is nothing to fill it in"
        elif changing := [name for name in names if name in _CHANGING]:
            yield changes(changing[0])
        elif (moment := moment_written_out(node, dialect)) is not None:
            yield changes(f"'{moment}'")


def changes(what: str) -> str:
    """The message for an expression whose value changes from run to run."""
    return f"uses {what}, whose value changes from one run to the next"


def _function_names(node: "Expr") -> tuple[str, ...]:
    """All names of a function, the usual one first."""
    if isinstance(node, exp.Anonymous):
        return (node.name.lower(),)
    if isinstance(node, exp.Func):
        return tuple(name.lower() for name in node.sql_names())
    return ()


def _does_not_parse(text: str, why: str) -> BadExpression:
    hint = None
    if text.count("(") > text.count(")"):
        hint = 'inside {...}, YAML ends a value at a comma: put the expression in quotes, "..."'
    return UnreadableExpression(f"does not parse as Spark SQL: {why}", hint)


def _reason(error: SqlglotError) -> str:
    """What the parser stumbled over, without its own vocabulary."""
    details = getattr(error, "errors", None) or [{}]
    near, column = details[0].get("highlight"), details[0].get("col")
    if not near:
        return "it cannot be read"
    return f"unexpected or incomplete near '{near}', character {column}"
