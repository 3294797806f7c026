# SPDX-License-Identifier: Apache-2.0
"""What the parts of a table's description may refer to."""

from collections.abc import Mapping
from dataclasses import dataclass

from scrub.catalog import names
from scrub.catalog.document import Mistakes
from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean
from scrub.model.table import Store
from scrub.model.types import ColumnType


@dataclass(frozen=True, slots=True, kw_only=True)
class TableContext:
    """The columns and stores that a table's keys, indexes and checks can name."""

    table: str
    store: str
    columns: Mapping[str, ColumnType]
    primary_key: tuple[str, ...] = ()
    stores: Mapping[str, Store]
    mistakes: Mistakes

    def knows_column(self, name: str, line: int) -> bool:
        """Whether the table has this column; if not, that is a mistake."""
        if name in self.columns:
            return True
        # A table whose columns are missing altogether has been told so already.
        if self.columns:
            hint = did_you_mean(name, self.columns, "columns")
            self.mistakes.add(line, f"table '{self.table}' has no column '{name}'", hint)
        return False

    def check_store(self, section: Section) -> None:
        """Record a mistake if the section names a store that is not there."""
        name = section.text("store")
        if name is not None and name not in self.stores:
            hint = did_you_mean(name, self.stores, "stores")
            section.add("store", f"{section.what} is in an unknown store '{name}'", hint)

    def relation(self, section: Section, *, default: str, store: str) -> str:
        """The relation a section names, or the default; it must lie inside its store."""
        return inside_its_store(section, section.text("relation") or default, store, self.stores)


def inside_its_store(
    section: Section, relation: str, store: str, stores: Mapping[str, Store]
) -> str:
    """The relation; one that lies outside its store is a mistake."""
    place = stores.get(store)
    if place is not None and place.path is not None and names.leaves_its_store(relation):
        message = f"relation '{relation}' lies outside store '{store}'"
        section.add("relation", message, "write its path below the store's path")
    return relation
