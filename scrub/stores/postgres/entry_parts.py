# SPDX-License-Identifier: Apache-2.0
"""What entries consist of, in SQL: columns of the table, of its key, and of the index table."""

from dataclasses import dataclass

from scrub.stores.postgres.column_types import output_text
from scrub.stores.postgres.equality import same


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of the table that entries are made of, as it was when the index was described.

    Its number stays what it is when the column is renamed; its type is written without a length.
    Values are kept in the type behind a domain: to make a value of the domain is to run its checks,
    which are code of the domain's owner, with the rights of the index's.
    """

    name: str
    number: int
    type_number: int
    type: str
    value_type: str  # the same, or what is behind a domain


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of the table's primary key; its values travel as text."""

    name: str  # quoted
    type: str
    equality: str  # these are operators of its type, with their schema
    above: str
    at_least: str
    up_to: str

    @property
    def text(self) -> str:
        return output_text(self.name, self.type)


@dataclass(frozen=True, slots=True)
class EntryPart:
    """A column of an index table, and what a row puts into it."""

    name: str  # quoted
    value: str  # an expression over the table's columns
    nullable: bool
    type: str
    equality: str  # the operator by which its values are equal
    is_computed: bool = False

    def text(self, record: str) -> str:
        return output_text(f"{record}.{self.name}", self.type)

    def equal(self, left: str, right: str) -> str:
        """Whether two records have equal values here; NULL is unknown."""
        return f"{left}.{self.name} {self.equality} {right}.{self.name}"

    def same(self, left: str, right: str) -> str:
        """Whether they have equal values here, or none."""
        return same(f"{left}.{self.name}", self.equality, f"{right}.{self.name}")


@dataclass(frozen=True, slots=True)
class Arbiter:
    """A unique index that identifies entries; all of them, or those that satisfy its condition."""

    parts: tuple[EntryPart, ...]
    condition: str | None
    owners_may_differ: bool  # whether entries of two rows can have the same key

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def target(self) -> str:
        """What ON CONFLICT calls it."""
        where = f" WHERE {self.condition}" if self.condition else ""
        return f"({', '.join(self.columns)}){where}"

    @property
    def distinct(self) -> str:
        """What SELECT needs where rows may share a key: no statement may put one twice."""
        return f"DISTINCT ON ({', '.join(self.columns)}) " if self.owners_may_differ else ""
