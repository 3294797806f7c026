# SPDX-License-Identifier: Apache-2.0
"""Facts about a relation at one snapshot, known before any row is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from scrub.model.types import ColumnType


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The fixed version a relation is read at."""

    label: str  # what people see: "version 12", "8 files listed 2026-11-16T09:00:00Z"
    version: int | None = None  # for stores that number their versions
    pinned: bool = True  # False: the source offers no snapshot, two readings may differ
    lasting: bool = True  # False: it ends with the run, so that no later run can go on with it


class SplitKind(StrEnum):
    """Who can open a split."""

    PARQUET = "parquet"
    POSTGRES = "postgres"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The part of a relation that one task scans: row groups of a Parquet file, pages of a table.

    `uri` is the file, or the table's name as SQL writes it.
    """

    uri: str
    bytes: int
    kind: SplitKind = SplitKind.PARQUET
    rows: int | None = None
    row_groups: tuple[int, ...] | None = None  # None: the whole file
    pages: tuple[int, int | None] | None = None  # from, and up to but without; None: all
    partition: Mapping[str, str | None] = field(default_factory=dict)  # values the path stands for

    @property
    def name(self) -> str:
        """How reports call this split."""
        if self.pages is not None:
            first, last = self.pages
            return f"{self.uri} (pages from {first}{'' if last is None else f' to {last - 1}'})"
        if self.row_groups is None:
            return self.uri
        return f"{self.uri} (row groups {self.row_groups[0]}-{self.row_groups[-1]})"


Splits = Sequence[Split]
"""Some splits of one relation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationFacts:
    """A relation at a snapshot: its columns, its size, and how it can be read."""

    store: str
    relation: str
    snapshot: Snapshot
    columns: Mapping[str, ColumnType | None]  # None: a type scrub cannot compare
    splits: tuple[Split, ...]  # empty for a source that only Spark can enumerate
    rows: int | None  # None when nobody knows
    bytes: int | None = None
    native: bool = False  # whether tasks can open the splits themselves
    native_reason: str = ""  # why not
    rows_estimated: bool = False  # what a planner believes, or a size suggests
    times_as_text: bool = False  # those without a zone are read in the session's
    times_by_clock: bool = False  # stored without a zone: instants are made of them in the JVM's
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
