# SPDX-License-Identifier: Apache-2.0
"""The `families:` of a table of pairs: each column is in one of them, and each has its own id."""

from collections.abc import Iterable, Iterator, Mapping

from yaml.nodes import Node

from scrub.catalog import document
from scrub.catalog.document import Mistakes, NamedNode, line_of
from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean
from scrub.model.kv import Family

_KEYS = ("id", "columns", "default")


def read_families(
    entries: Iterable[NamedNode], ids: Mapping[str, int], mistakes: Mistakes
) -> tuple[Family, ...]:
    """The families in file order; columns that none names belong to the first, whose id is 0."""
    reader = _FamilyReader(ids, mistakes)
    read = [reader.read(entry) for entry in entries]
    left = {name: column for name, column in ids.items() if column not in reader.family_of_column}
    families = [
        reader.family(section, number, columns | left if number == 0 else columns)
        for section, number, columns in read
    ]
    if all(family.id != 0 for family in families):
        return (Family(0, tuple(left.values())), *families)
    return tuple(families)


def column_id_of(
    node: Node, what: str, ids: Mapping[str, int], mistakes: Mistakes
) -> tuple[str, int] | None:
    """The name and the id of a known column; None, with a mistake recorded, otherwise."""
    name = document.text(node, what, mistakes)
    if name is None:
        return None
    if name not in ids:
        hint = did_you_mean(name, ids, "columns")
        mistakes.add(line_of(node), f"{what}: there is no column '{name}'", hint)
        return None
    return name, ids[name]


def columns_named(
    nodes: Iterable[Node], what: str, ids: Mapping[str, int], mistakes: Mistakes
) -> Iterator[tuple[Node, str, int]]:
    """The known ones of some columns, each with the node that names it."""
    for node in nodes:
        if (found := column_id_of(node, what, ids, mistakes)) is not None:
            yield node, *found


class _FamilyReader:
    def __init__(self, ids: Mapping[str, int], mistakes: Mistakes) -> None:
        self._ids, self._mistakes = ids, mistakes
        self._family_of_id: dict[int, str] = {}
        self.family_of_column: dict[int, str] = {}

    def read(self, entry: NamedNode) -> tuple[Section, int, dict[str, int]]:
        """The id and the columns of one family."""
        section = Section(entry.value, entry.line, f"family '{entry.name}'", _KEYS, self._mistakes)
        return section, self._number(section, entry.name), self._columns(section, entry.name)

    def family(self, section: Section, number: int, columns: Mapping[str, int]) -> Family:
        """The family, once the ids of all columns are known."""
        return Family(number, tuple(columns.values()), self._default(section, columns))

    def _number(self, section: Section, name: str) -> int:
        if section.require("id", "the number at the end of its keys") is None:
            return 0
        number = section.id_number("id", 0, least=0)
        if number in self._family_of_id:
            other = self._family_of_id[number]
            hint = "write the number that its keys end with"
            section.add("id", f"{section.what} has the same id as family '{other}'", hint)
        self._family_of_id.setdefault(number, name)
        return number

    def _columns(self, section: Section, family: str) -> dict[str, int]:
        columns: dict[str, int] = {}
        items = section.items("columns")
        for item, name, column in columns_named(items, section.what, self._ids, self._mistakes):
            other = self.family_of_column.setdefault(column, family)
            if name in columns:
                message = f"'{name}' comes twice in {section.what}"
                self._mistakes.add(line_of(item), message, "leave it out here")
            elif other != family:
                message = f"column '{name}' is in {section.what} and in family '{other}'"
                self._mistakes.add(line_of(item), message, "leave it in one of them")
            columns[name] = column
        return columns

    def _default(self, section: Section, columns: Mapping[str, int]) -> int | None:
        node = section.node("default")
        found = column_id_of(node, section.what, self._ids, self._mistakes) if node else None
        if found is None:
            return None
        name, column = found
        if name not in columns:
            message = f"the default of {section.what} is '{name}', which is not one of its columns"
            hint = f"write one of [{', '.join(columns)}], or leave `default` out"
            section.add("default", message, hint)
        return column
