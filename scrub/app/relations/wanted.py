# SPDX-License-Identifier: Apache-2.0
"""The columns that a relation should have, each with the line of the catalog that says so."""

from collections.abc import Sequence
from dataclasses import dataclass

from checks.fitting_columns import missing_or_other
from scrub.catalog.lines import CatalogLines
from scrub.errors import RelationMismatch
from scrub.model.relation import RelationFacts
from scrub.model.table import Index, Table
from scrub.model.types import ColumnType


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A column, and what to do if it is stored in another type."""

    line: int
    name: str
    what: str  # whose column it is
    type: ColumnType | None = None  # None: any that can be compared
    hint: str | None = None  # None: write the type that is stored

    def mismatch(self, facts: RelationFacts) -> RelationMismatch | None:
        """What is wrong with it, in the words of checks; what to write instead."""
        told = next(missing_or_other(facts, {self.name: self.type}, self.what), None)
        return None if told is None else RelationMismatch(told, hint=self._advice(facts))

    def _advice(self, facts: RelationFacts) -> str | None:
        if self.name not in facts.columns:
            return None  # the message has the closest name
        stored = facts.columns[self.name]
        if stored is None:
            return "leave the column out of the catalog"
        return self.hint or f"write type: {_quoted(str(stored))}"


def columns_of_table(table: Table, lines: CatalogLines) -> Sequence[Wanted]:
    """All columns that the catalog describes, whether or not a check needs them."""
    what = f"table {table.name}"
    return [
        Wanted(line=lines.of_column(table, of.name), name=of.name, type=of.type, what=what)
        for of in table.columns
    ]


def columns_of_entry(table: Table, index: Index, lines: CatalogLines) -> Sequence[Wanted]:
    """Indexed columns, the primary key, and stored columns."""
    what = f"index {table.name}.{index.name}"
    as_in_table = f"correct relation {index.relation}, or the type of the column in {table.name}"
    return [
        Wanted(
            line=lines.of_entry_column(table, index, of),
            name=of.name,
            type=of.type,
            what=what,
            hint=None if of.is_expression else as_in_table,
        )
        for of in index.entry
    ]


def _quoted(type_: str) -> str:
    """As YAML needs it inside of braces."""
    return f'"{type_}"' if "," in type_ else type_
