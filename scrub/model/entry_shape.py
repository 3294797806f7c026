# SPDX-License-Identifier: Apache-2.0
"""The entries of one index as writers see them: what identifies one, and what is stored with it."""

from dataclasses import dataclass
from enum import StrEnum

from scrub.model.table import Column


class Tombstones(StrEnum):
    """How a relation keeps the place of an entry that was deleted."""

    NONE = "none"  # a deleted entry is gone
    MARKED = "marked"  # a column says that the entry is deleted: indexes that are being built
    NULL_VALUE = "null_value"  # pairs whose value is NULL


MARK = "scrub_deleted"
"""The column of `Tombstones.MARKED`; it is there only while an index is being built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryShape:
    """What an entry consists of.

    An entry is identified by its indexed columns, and by the primary key too when the index is not
    unique or an indexed column is NULL: rows with NULLs never clash.
    """

    relation: str
    indexed: tuple[Column, ...]
    suffix: tuple[Column, ...]  # the primary key's columns that are not indexed
    stored: tuple[Column, ...] = ()
    unique: bool = False
    tombstones: Tombstones = Tombstones.NONE

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.indexed + self.suffix + self.stored

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def nullable(self) -> tuple[Column, ...]:
        """The indexed columns that may be NULL."""
        return tuple(column for column in self.indexed if column.nullable)
