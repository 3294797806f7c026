# SPDX-License-Identifier: Apache-2.0
"""The expressions of a catalog: which columns they use, and which can run outside Spark.

The parser is imported with the first expression: most catalogs have none.
"""

from collections.abc import Iterable, Mapping

from scrub.catalog.bad_expression import BadExpression
from scrub.catalog.spelling import did_you_mean
from scrub.model.predicate import BOOLEAN, Node, is_portable, node_type
from scrub.model.types import ColumnType


def columns_used(text: str, columns: Iterable[str], dialect: str = "spark") -> tuple[str, ...]:
    """The columns that an expression reads, spelled as in `columns`.

    Names are matched without regard to case, as Spark does. Raises BadExpression.
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
    """The columns that an expression reads; BadExpression if it depends on more than the row.

    `columns_used` refuses most of these; `day >= 'today'` is recognised only with column types.
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
    """Raise BadExpression if the text is no condition on a row of these columns.

    Expressions whose type only Spark can determine are accepted.
    """
    from scrub.catalog.sql import never_a_condition

    check_expression(text, columns)
    if (told := never_a_condition(text)) is not None:
        raise BadExpression(f"is {told}, so it is no condition", "compare it")
    node = translate(text, columns)
    if node is not None and node_type(node) != BOOLEAN:
        raise BadExpression(f"has type {node_type(node)}, so it is no condition", "compare it")


def translate(text: str, columns: Mapping[str, ColumnType]) -> Node | None:
    """The expression in terms that every engine evaluates alike; None if there are none."""
    node = translate_native(text, columns)
    return node if node is not None and is_portable(node) else None


def translate_native(text: str, columns: Mapping[str, ColumnType], zone: str = "") -> Node | None:
    """The expression as Spark means it, to be evaluated without Spark; None if only Spark can.

    What reads clocks is translated only if their time zone is given.
    """
    from scrub.catalog.sql import parse
    from scrub.catalog.translation import translate_tree
    from scrub.catalog.untranslatable import Untranslatable

    try:
        columns_used(text, columns)
        return translate_tree(text, parse(text), columns, zone)
    except (BadExpression, Untranslatable):
        return None
