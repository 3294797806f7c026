# SPDX-License-Identifier: Apache-2.0
"""The `checks:` and `unique:` of a table, and the names of all its constraints."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from yaml.nodes import Node, SequenceNode

from scrub.catalog import document
from scrub.catalog.bad_expression import BadExpression
from scrub.catalog.document import Mistakes, NamedNode, line_of
from scrub.catalog.expressions import check_condition
from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean
from scrub.model.constraint import NOT_NULL, PRIMARY_KEY, RESERVED_NAMES
from scrub.model.table import Table, UniqueKey
from scrub.model.types import ColumnType

_SECTIONS = {"checks": "check", "unique": "unique key", "foreign_keys": "foreign key"}


def read_checks(section: Section, columns: Mapping[str, ColumnType]) -> dict[str, str]:
    """The conditions of `checks:` by name."""
    checks = {}
    for entry, condition in section.texts("checks", "check"):
        checks[entry.name] = condition
        try:
            check_condition(condition, columns)
        except BadExpression as error:
            message = f"check '{entry.name}' {error}"
            section.mistakes.add(line_of(entry.value), message, error.hint)
    return checks


def read_unique_keys(section: Section, columns: Mapping[str, ColumnType]) -> Iterator[UniqueKey]:
    """The keys of `unique:`, each a list of columns."""
    for entry in section.named_entries("unique", "unique key"):
        what = f"unique key '{entry.name}'"
        items = document.items(entry.value, what, section.mistakes)
        if isinstance(entry.value, SequenceNode) and not items:
            section.mistakes.add(
                entry.line, f"{what} is empty", "name at least one column: [email]"
            )
        named = read_key_columns(items, what, list(columns), section.mistakes)
        yield UniqueKey(name=entry.name, columns=named)


def read_key_columns(
    items: Sequence[Node], what: str, known: Collection[str], mistakes: Mistakes
) -> tuple[str, ...]:
    """The columns of a key, each of which the table has, and which comes once."""
    columns: list[str] = []
    for item in items:
        name = document.text(item, f"a column of {what}", mistakes)
        # A table whose columns are missing altogether has been reported already.
        if name is not None and known and name not in known:
            message = f"{what} uses an unknown column '{name}'"
            mistakes.add(line_of(item), message, did_you_mean(name, known, "columns"))
        elif name is not None and name in columns:
            message = f"'{name}' comes twice in the columns of {what}"
            mistakes.add(line_of(item), message, "name each column once")
        columns.append(name or "")
    return tuple(columns)


def constraint_lines(entry: NamedNode) -> dict[str, int]:
    """Where a table's constraints are in the file, by name; reports point there."""
    parts = {part.name: part for part in _nodes_of(entry.value)}
    of_keys = {NOT_NULL: "columns", PRIMARY_KEY: "primary_key"}
    lines = {name: parts[key].line for name, key in of_keys.items() if key in parts}
    for key in _SECTIONS.keys() & parts.keys():
        lines |= {constraint.name: constraint.line for constraint in _nodes_of(parts[key].value)}
    return lines


def _nodes_of(node: Node) -> Iterator[NamedNode]:
    """The keys of a mapping; its mistakes have been recorded by whoever read it."""
    return document.named_nodes(node, line_of(node), "", Mistakes())


def refuse_shared_names(entry: NamedNode, table: Table, mistakes: Mistakes) -> None:
    """A defect says which constraint it violates, so a table's constraints differ in name."""
    seen: dict[str, str] = dict.fromkeys(RESERVED_NAMES, "")
    for key, noun in _SECTIONS.items():
        node = document.child_of(entry.value, key)
        if node is None:
            continue
        for constraint in _nodes_of(node):
            name, what = constraint.name, f"{noun} '{constraint.name}' of table '{table.name}'"
            if name in RESERVED_NAMES:
                message = f"{what} has a name that every table uses for another constraint"
                mistakes.add(constraint.line, message, "choose another name")
            elif name in seen and seen[name] != noun:
                mistakes.add(
                    constraint.line,
                    f"{what} has the same name as a {seen[name]}",
                    "choose another name: defects are reported by it",
                )
            seen.setdefault(name, noun)
