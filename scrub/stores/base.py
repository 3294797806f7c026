# SPDX-License-Identifier: Apache-2.0
"""What every store offers a reader. Every read names the snapshot it is taken at."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import pyarrow as pa

from scrub.errors import SparkUnavailable
from scrub.model.predicate import ColumnTerm, Node
from scrub.model.relation import RelationFacts, Splits
from scrub.model.request import AsOf
from scrub.model.table import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SessionProvider = Callable[[], "SparkSession"]
"""Starts Spark when called; a store that can answer without a session never calls it."""


def no_session() -> "SparkSession":
    """The provider for reads that never need Spark."""
    raise SparkUnavailable("this is read without Spark")


class ReadableStore(Protocol):
    """A place where relations live, opened for reading."""

    def pin(
        self, relation: str, as_of: AsOf | None, session: SessionProvider, columns: Sequence[Column]
    ) -> RelationFacts:
        """Fix the version that all later reads of this relation see.

        `columns` is what the catalog expects; formats that store no types (CSV, JSON) take them
        from there. Raises RelationMismatch when there is no such relation or version, and
        StoreUnavailable when the store cannot be asked. A file that cannot be read is no error
        here: it becomes a split, and the run names it. A store without versions refuses `as_of`
        with a UsageError that says it has no versions.
        """

    def frame(
        self, spark: "SparkSession", facts: RelationFacts, columns: Sequence[Column], splits: Splits
    ) -> "DataFrame":
        """Read columns, in the catalog's types, of some splits through Spark.

        A column that a file lacks is NULL. `splits` is ignored by sources that have none. Raises
        UnreadableSplit, with the split's name, for a file that is gone or damaged.
        """

    def close(self) -> None:
        """Release what pinning holds. Snapshots that are not lasting end here."""


@runtime_checkable
class ReachableStore(Protocol):
    """A store that can be tried as a whole, before any of its relations is."""

    def reach(self) -> None:
        """Raise what keeps every relation of the store from being opened."""


@dataclass(frozen=True, slots=True)
class Following:
    """Which version of its table an index shows, if it follows the table."""

    shown: int | None = None
    being_built: bool = False  # it is not yet meant to be read


@runtime_checkable
class FollowedStore(Protocol):
    """A store whose relations have versions, and whose indexes can say which one they show."""

    def following(self, facts: RelationFacts, table: str) -> Following:
        """What an index says of itself; `table` is the relation of its table."""


@runtime_checkable
class KeepingStore(Protocol):
    """A store in which triggers that scrub installed may maintain indexes."""

    def upkeep(self, table: str, index: str) -> "Upkeep":
        """Whether the triggers of an index still fit its table; both relations are pinned."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What the triggers of an index need, in words; empty if nothing, or if there are none."""

    to_renew: tuple[str, ...] = ()  # what new functions would put in order
    to_check: tuple[str, ...] = ()  # what only another build, or a repair, would


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """How one relation produces entries: the table the expected ones, the index the actual ones.

    Their columns are called p0, p1, ... for the primary key and c0, c1, ... for the other columns.
    If a table has a `choice`, the entries of an index are those with the primary key of a row that
    it chooses; entries of other rows with such a key explain what is there.
    """

    facts: RelationFacts
    primary_key: tuple[ColumnTerm, ...]
    beside: tuple[Node, ...]
    conditions: tuple[Node, ...]  # all must be true for a row to have an entry
    choice: tuple[Node, ...] = ()  # all must be true of a row whose entries are looked at


@dataclass(frozen=True, slots=True)
class ComparedEntries:
    """How many entries both sides have, and how many differ."""

    expected: int
    actual: int
    differing: int  # about as many entries are to be named
    copies: bool  # whether an entry is there more than once

    @property
    def agrees(self) -> bool:
        return self.differing == 0 and not self.copies


@runtime_checkable
class ComparingStore(Protocol):
    """A store that can compare two of its own relations without moving rows."""

    def compare(self, expected: ComparedSide, actual: ComparedSide) -> ComparedEntries:
        """Count the entries of both sides and what differs; raises StoreUnavailable."""

    def entries_that_differ(
        self, expected: ComparedSide, actual: ComparedSide, compared: ComparedEntries
    ) -> pa.Table:
        """The entries of both sides for every row whose entries differ or occur more than once.

        The column `expected` is true for entries of the table's side, and NULL for those of rows
        that were not chosen.
        """

    def entries_sharing(self, expected: ComparedSide, key: Sequence[str]) -> pa.Table:
        """The entries that share the values of `key`, none of them NULL, with another entry."""

    def keys_rejected(self, expected: ComparedSide, columns: Sequence[Column]) -> pa.Table:
        """The primary keys, p0, p1, ..., of rows with a value that one of the columns cannot hold.

        `expected` names the relation of the rows; its conditions are not applied.
        """
