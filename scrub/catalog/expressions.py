# SPDX-License-Identifier: Apache-2.0
"""The expressions of a catalog: which columns they use, and which can run outside Spark.

The parser is imported when the first expression is met: most catalogs have none.
"""

from collections.abc import Iterable, Mapping

from scrub.catalog.spelling import did_you_mean
from scrub.model.predicate import BOOLEAN, Predicate, Term, type_of
from scrub.model.types import ColumnType


class BadExpression(ValueError):
    """Why a text cannot be the expression of an index, and what to write instead."""

    def __init__(self, problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.hint = hint


class UnreadableExpression(BadExpression):
    """Why a text is no expression at all; the hint is one for catalogs."""


def columns_used(text: str, columns: Iterable[str], dialect: str = "spark") -> tuple[str, ...]:
    """The columns an expression reads, spelled as in `columns`; BadExpression if it is not one.

    Spark finds columns whatever their case; so does this.
    """
    from scrub.catalog.sql import columns_named, parse

    spelling = {name.lower(): name for name in columns}
    used: dict[str, None] = {}
    for name in columns_named(parse(text, dialect)):
        if name.lower() not in spelling:
            hint = did_you_mean(name, spelling.values(), "columns")
            raise BadExpression(f"uses an unknown column '{name}'", hint)
        used[spelling[name.lower()]] = None
    return tuple(used)


def check_expression(
    text: str, columns: Mapping[str, ColumnType], dialect: str = "spark"
) -> tuple[str, ...]:
    """The columns an expression reads; BadExpression if its value is not the row's alone.

    Beside what `columns_used` refuses, that is `day >= 'today'`, which only types can tell.
    """
    from scrub.catalog.moments import moment_implied
    from scrub.catalog.sql import changes, parse

    used = columns_used(text, columns, dialect)
    if (moment := moment_implied(parse(text, dialect), columns, dialect)) is not None:
        raise BadExpression(
            changes(f"'{moment}'"), "write a date or time that stays, such as '2026-01-31'"
        )
    return used


def check_condition(text: str, columns: Mapping[str, ColumnType]) -> None:
    """Raise BadExpression if the text cannot be true or false of a row of these columns.

    What only Spark can type is left to Spark.
    """
    check_expression(text, columns)
    node = translate(text, columns)
    if node is not None and type_of(node) != BOOLEAN:
        raise BadExpression(f"has type {type_of(node)}, so it is no condition", "compare it")


def translate(text: str, columns: Mapping[str, ColumnType]) -> Predicate | Term | None:
    """The expression as a value that means the same outside Spark; None if only Spark knows."""
    from scrub.catalog.sql import parse
    from scrub.catalog.translation import Untranslatable, translate_tree

    try:
        columns_used(text, columns)
        return translate_tree(text, parse(text), columns)
    except (BadExpression, Untranslatable):
        return None
