# SPDX-License-Identifier: Apache-2.0
"""A check, decided but not yet run: what will be read, how, and what will not be looked at."""

from dataclasses import dataclass
from enum import StrEnum

from scrub.errors import ScrubError
from scrub.model.constraint import Constraint
from scrub.model.defect import DefectKind
from scrub.model.kv import KeyChoice
from scrub.model.place import Place
from scrub.model.relation import RelationFacts, Split
from scrub.model.request import Engine, Strategy
from scrub.model.table import Index, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One relation in a check: the table's, or an index's."""

    facts: RelationFacts
    engine: Engine  # NATIVE or SQL, never AUTO
    reason: str  # why this engine
    columns: tuple[str, ...]  # what is read, and nothing else
    left_out: tuple[Split, ...] = ()  # whose partition values say that --where chooses none of them


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlan:
    """One index to be compared with its table."""

    index: Index
    side: Side
    notes: tuple[str, ...] = ()  # ignored columns, lag, missing snapshot: part of the coverage
    ignored: tuple[str, ...] = ()  # columns of the index's relation that the catalog does not name
    in_store: bool = False  # whether the database that holds both sides compares them
    not_looked_for: tuple[DefectKind, ...] = ()  # what cannot be found with this --where

    @property
    def by_rows(self) -> bool:
        """Whether entries are looked at whose primary key a chosen row has.

        Otherwise entries are chosen as rows are: they hold what `--where` speaks of.
        """
        return bool(self.not_looked_for)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholePlan:
    """A check of a whole table, in the scan that serves its indexes."""

    check: str
    columns: tuple[str, ...]  # what is read for it, the primary key included
    notes: tuple[str, ...] = ()


class Way(StrEnum):
    """How the rows that violate a constraint are found; the strings appear in plans."""

    SCAN = "scan"  # tasks count them in the scan that serves the indexes
    KEYS = "keys"  # tasks bring the digests of all keys together
    SQL = "sql"  # Spark SQL looks for them
    STORE = "store"  # the database that holds the rows looks for them


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The table that a foreign key refers to, at its snapshot."""

    table: Table
    facts: RelationFacts
    pairs: "TablePlan | None" = None  # how it is read, if it is in key-value layout

    @property
    def label(self) -> str:
        return f"{self.table.name} at {self.facts.snapshot.label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintPlan:
    """One constraint of a table, and how it is checked."""

    constraint: Constraint
    way: Way
    reason: str  # why this way
    columns: tuple[str, ...]  # of the table, which it is judged by
    parent: Parent | None = None  # of a foreign key
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRelation:
    """A relation that holds pairs of a table, and which of its pairs these are."""

    side: Side
    keys: KeyChoice

    @property
    def facts(self) -> RelationFacts:
        return self.side.facts


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsPlan:
    """How the pairs of a table in key-value layout are read."""

    relations: tuple[PairRelation, ...]  # the first holds the rows
    are_files: bool = False  # whether tasks can open what Spark reads, too


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """One scan of a table at one snapshot, serving all checks that concern it."""

    table: Table
    side: Side
    indexes: tuple[IndexPlan, ...]
    bucket_bits: int
    whole: tuple[WholePlan, ...] = ()  # checks of the whole table
    constraints: tuple[ConstraintPlan, ...] = ()
    where: str | None = None
    notes: tuple[str, ...] = ()
    pairs: PairsPlan | None = None  # set for a table in key-value layout

    def of_check(self, name: str) -> WholePlan | None:
        """The plan of a check of the whole table, if it is made."""
        return next((one for one in self.whole if one.check == name), None)

    @property
    def snapshot(self) -> str:
        """What was pinned of the table, or of all relations that hold its pairs."""
        if self.pairs is None:
            return self.side.facts.snapshot.label
        labels = [relation.side.facts.snapshot.label for relation in self.pairs.relations]
        return ", ".join(dict.fromkeys(labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChecked:
    """A check of an index or a constraint that will not run, and why: skipped is never silent."""

    table: str
    check: str
    index: str | None
    reason: str
    incomplete: bool = False  # True: it should have run but could not; False: it does not apply
    error: ScrubError | None = None  # what kept it from running
    snapshot: str | None = None
    constraint: str | None = None

    @classmethod
    def because_of(
        cls,
        error: ScrubError,
        *,
        table: str,
        check: str,
        index: str | None = None,
        constraint: str | None = None,
    ) -> "NotChecked":
        """A check that should have run, but for an error."""
        return cls(
            table=table,
            check=check,
            index=index,
            constraint=constraint,
            reason=error.in_one_line,
            incomplete=True,
            error=error,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnIndexPlan:
    """An index of the database itself, which the database is asked to walk through."""

    table: str
    index: str
    reading: str  # what of it is read
    rows: int | None = None  # of the table, as the planner estimates
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPlan:
    """Everything a run will do; `--explain` prints exactly this."""

    strategy: Strategy
    tables: tuple[TablePlan, ...]
    not_checked: tuple[NotChecked, ...] = ()
    own_indexes: tuple[OwnIndexPlan, ...] = ()
    place: Place | None = None  # where tasks run, once it is decided
    pace: str | None = None  # what reading is limited to

    @property
    def errors(self) -> tuple[ScrubError, ...]:
        """What keeps checks from running."""
        return tuple(part.error for part in self.not_checked if part.error is not None)

    @property
    def rows(self) -> int | None:
        """Rows and entries that will be read; None unless it is known of every relation."""
        sides = [
            side for of in self.tables for side in (of.side, *(one.side for one in of.indexes))
        ]
        if any(side.facts.rows is None or side.facts.rows_estimated for side in sides):
            return None
        return sum(side.facts.rows or 0 for side in sides)
