# SPDX-License-Identifier: Apache-2.0
"""The lines of a catalog file, for mistakes that only the relations reveal."""

from dataclasses import dataclass
from pathlib import Path

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from scrub.catalog import document
from scrub.catalog.document import Mistakes, line_of
from scrub.model.table import EntryColumn, Index, Table

_NAMES_OF_A_COLUMN = ("as", "column")


@dataclass(frozen=True, slots=True)
class CatalogLines:
    """The nodes of a catalog that was loaded without a mistake."""

    root: Node

    def of(self, *keys: str) -> int:
        """The line of what the keys lead to; as far as they do, if the rest is not written."""
        node, line = self.root, line_of(self.root)
        for key in keys:
            found = _below(node, key)
            if found is None:
                break
            line, node = found
        return line

    def of_relation(self, holder: Table | Index, table: Table) -> int:
        """Where the relation of a table or an index is named, if it is."""
        if isinstance(holder, Table):
            return self.of("tables", table.name, "relation")
        return self.of("tables", table.name, "indexes", holder.name, "relation")

    def of_column(self, table: Table, name: str) -> int:
        return self.of("tables", table.name, "columns", name)

    def of_entry_column(self, table: Table, index: Index, column: EntryColumn) -> int:
        """A column of the primary key is part of every entry without being written."""
        of_index = ("tables", table.name, "indexes", index.name)
        if column in index.suffix:
            return self.of(*of_index)
        part = "storing" if column in index.stored else "columns"
        return self.of(*of_index, part, column.name)


def lines_of(path: Path) -> CatalogLines:
    """Those of a catalog file that has been loaded."""
    root = document.compose(document.read_text(path, "catalog", hint=""), Mistakes())
    assert root is not None, "a catalog that was loaded is no empty file"
    return CatalogLines(root)


def _below(node: Node, key: str) -> tuple[int, Node] | None:
    """A key of a mapping, or an item of a list by its name."""
    if isinstance(node, MappingNode):
        for name, value in node.value:
            if isinstance(name, ScalarNode) and name.value == key:
                return line_of(name), value
    if isinstance(node, SequenceNode):
        for item in node.value:
            named = [document.peek(item, name) for name in _NAMES_OF_A_COLUMN]
            if key in (getattr(item, "value", None), *named):
                return line_of(item), item
    return None
