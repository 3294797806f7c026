# SPDX-License-Identifier: Apache-2.0
"""What every store offers a reader. Every read names the snapshot it is taken at."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import pyarrow as pa

from scrub.model.predicate import ColumnTerm, Node
from scrub.model.relation import RelationFacts, Split
from scrub.model.request import AsOf
from scrub.model.table import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SessionProvider = Callable[[], "SparkSession"]
"""Starts Spark when called; a store that can answer without a session never calls it."""


class ReadableStore(Protocol):
    """A place where relations live, opened for reading."""

    def pin(
        self, relation: str, as_of: AsOf | None, session: SessionProvider, columns: Sequence[Column]
    ) -> RelationFacts:
        """Fix the version that all later reads of this relation see.

        `columns` is what the catalog expects; formats that store no types (CSV, JSON) take them
        from there. Raises RelationMismatch when there is no such relation or version, and
        StoreUnavailable when it cannot be told.
        """

    def frame(
        self,
        spark: "SparkSession",
        facts: RelationFacts,
        columns: Sequence[Column],
        splits: Sequence[Split],
    ) -> "DataFrame":
        """Read columns, in the catalog's types, of some splits through Spark.

        A column that a file lacks is NULL. `splits` is ignored by sources that have none.
        """

    def close(self) -> None:
        """Let go of what pinning holds; snapshots that are not lasting end here."""


@dataclass(frozen=True, slots=True)
class Following:
    """What an index says of itself: the version of its table that it shows, if it follows it."""

    shown: int | None = None
    being_built: bool = False  # it is not yet meant to be read


@runtime_checkable
class FollowedStore(Protocol):
    """A store whose relations have versions, and whose indexes can say which one they show."""

    def following(self, facts: RelationFacts, table: str) -> Following:
        """What an index says of itself; `table` is the relation of its table."""


@runtime_checkable
class KeepingStore(Protocol):
    """A store in which functions of scrub's own may keep indexes while their table is written."""

    def upkeep(self, table: str, index: str) -> "Upkeep":
        """How what keeps an index fits its table by now; both are relations that were pinned."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What is to be said of it, in words; nothing, if all is well or others keep the index."""

    to_renew: tuple[str, ...] = ()  # what new functions would put in order
    to_check: tuple[str, ...] = ()  # what only another build, or a repair, would


@dataclass(frozen=True, slots=True)
class EntrySource:
    """Entries of an index as one relation tells them: expected of a table, actual of an index.

    Their columns are called p0, p1, ... for the primary key and c0, c1, ... for what is beside it.
    """

    facts: RelationFacts
    primary_key: tuple[ColumnTerm, ...]
    beside: tuple[Node, ...]
    conditions: tuple[Node, ...]  # all must be true for a row to have an entry


@dataclass(frozen=True, slots=True)
class Compared:
    """How many entries both sides have, and whether there is anything to name."""

    expected: int
    actual: int
    differing: int  # about as many entries are to be named
    copies: bool  # whether an entry is there more than once

    @property
    def agrees(self) -> bool:
        return self.differing == 0 and not self.copies


@runtime_checkable
class ComparingStore(Protocol):
    """A store that compares two of its own relations by itself, so that no row need be moved."""

    def compare(self, expected: EntrySource, actual: EntrySource) -> Compared:
        """Count the entries of both sides and what differs; raises StoreUnavailable."""

    def entries_that_differ(
        self, expected: EntrySource, actual: EntrySource, compared: Compared
    ) -> pa.Table:
        """Both sides' entries of every row that is not the same on both, or not there once.

        A column `expected` tells the sides apart.
        """

    def entries_sharing(self, expected: EntrySource, key: Sequence[str]) -> pa.Table:
        """The entries whose columns `key`, none of them NULL, another one has too."""

    def keys_rejected(self, expected: EntrySource, columns: Sequence[Column]) -> pa.Table:
        """The primary keys, p0, p1, ..., of rows with a value that one of the columns cannot hold.

        `expected` tells where the rows are; what it demands of them does not matter.
        """
