# SPDX-License-Identifier: Apache-2.0
"""What every store offers a reader. Every read names the snapshot it is taken at."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

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
