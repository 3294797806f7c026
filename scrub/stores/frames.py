# SPDX-License-Identifier: Apache-2.0
"""DataFrames that the caller holds, as a store: each stands for a table or an index."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scrub.errors import RelationMismatch, UsageError
from scrub.model.relation import RelationFacts, Snapshot, Splits
from scrub.model.request import AsOf
from scrub.model.table import Column
from scrub.spark.types import from_spark
from scrub.stores.base import SessionProvider
from scrub.stores.typed_frame import typed_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNPINNED = "unpinned DataFrame"
"""The snapshot of such a relation: Spark computes a DataFrame again whenever it is read."""


class FrameStore:
    """A read-only store of DataFrames by name. None of them can be pinned."""

    def __init__(self, name: str, frames: "Mapping[str, DataFrame]") -> None:
        self.name = name
        self._frames = frames

    def pin(
        self, relation: str, as_of: AsOf | None, session: SessionProvider, columns: Sequence[Column]
    ) -> RelationFacts:
        """The columns of the DataFrame; nothing of it is computed."""
        if as_of is not None:
            raise UsageError(
                f"{relation} is a DataFrame, which has no versions, so there is no --as-of",
                hint="leave as_of out, or make the DataFrame of the version that you mean",
            )
        session()
        frame = self._frames.get(relation)
        if frame is None:
            raise RelationMismatch(f"there is no DataFrame for {relation}")
        fields = frame.schema.fields
        _require_one_of_each([field.name for field in fields], relation, columns)
        return RelationFacts(
            store=self.name,
            relation=relation,
            snapshot=Snapshot(label=UNPINNED, pinned=False, lasting=False),
            columns={field.name: from_spark(field.dataType) for field in fields},
            splits=(),
            rows=None,
            native=False,
            native_reason="only Spark reads a DataFrame",
        )

    def frame(
        self,
        spark: "SparkSession",  # noqa: ARG002 - a DataFrame has a session of its own
        facts: RelationFacts,
        columns: Sequence[Column],
        splits: Splits,  # noqa: ARG002 - it has none
    ) -> "DataFrame":
        """The columns in the catalog's types."""
        return typed_frame(self._frames[facts.relation], facts, columns)

    def close(self) -> None:
        """The DataFrames belong to the caller."""


def _require_one_of_each(names: Sequence[str], relation: str, wanted: Sequence[Column]) -> None:
    """A join easily leaves two columns of one name, and nobody could say which is meant."""
    times = Counter(name.lower() for name in names)
    for column in wanted:
        if times[column.name.lower()] > 1:
            raise RelationMismatch(
                f"the DataFrame for {relation} has {times[column.name.lower()]} columns named "
                f"{column.name}",
                hint="drop or rename all but one of them",
            )
