# SPDX-License-Identifier: Apache-2.0
"""What a condition demands at least, in terms that mean the same in every engine."""

from collections.abc import Iterator, Mapping

from scrub.model.predicate import And, Node, is_portable
from scrub.model.types import ColumnType


def demanded(text: str, columns: Mapping[str, ColumnType]) -> Node | None:
    """A condition that is true wherever the given one is; None if nothing is known of it.

    Of `day = '2026-11-15' AND total / 2 > 5` it is the first part: only Spark knows the second.
    """
    parts = tuple(_translatable(text, columns))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(parts)


def _translatable(text: str, columns: Mapping[str, ColumnType]) -> Iterator[Node]:
    from sqlglot import exp

    from scrub.catalog.sql import parse
    from scrub.catalog.translation import translate_tree
    from scrub.catalog.untranslatable import Untranslatable

    tree = parse(text).unnest()
    for part in tree.flatten() if isinstance(tree, exp.And) else (tree,):
        try:
            node = translate_tree(text, part, columns)
        except Untranslatable:
            continue
        if is_portable(node):
            yield node
