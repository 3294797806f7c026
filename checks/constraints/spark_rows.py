# SPDX-License-Identifier: Apache-2.0
"""The rows of a pinned relation as Spark reads them, without what cannot be read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from pyspark.sql import DataFrame

from checks.failures import FAILURES, split_not_read
from checks.read_by_spark import frame_read
from checks.source import Reading
from checks.unread import PARTS_SET_ASIDE_MAX, parts_not_read
from scrub.model.relation import RelationFacts
from scrub.model.table import Column
from scrub.spark.collecting import translated

Answer = TypeVar("Answer")


class RowFrames(Protocol):
    """Rows of a table that jobs are run over."""

    def over(self, columns: Sequence[Column], job: Callable[[DataFrame], Answer]) -> Answer:
        """What a job answers about some columns of all rows that can be read."""

    @property
    def not_read(self) -> str | None:
        """What was left out so far, and why."""

    @property
    def not_read_by_column(self) -> bool:
        """Whether a job on fewer columns may have read more rows."""


@dataclass(slots=True)
class SparkRows:
    """A relation of columns; a file that turns out to be unreadable is left out from then on."""

    reading: Reading
    facts: RelationFacts
    lost: dict[str, str] = field(default_factory=dict)  # by file, the reason

    def over(self, columns: Sequence[Column], job: Callable[[DataFrame], Answer]) -> Answer:
        store = self.reading.stores[self.facts.store]
        while True:
            splits = [split for split in self.facts.splits if split.uri not in self.lost]
            try:
                with translated():
                    return job(frame_read(store, self.reading.spark, self.facts, columns, splits))
            except FAILURES as error:
                found = split_not_read(error, splits)
                if found is None or len(self.lost) >= PARTS_SET_ASIDE_MAX:
                    raise
                self.lost[found[0].uri] = found[1]

    @property
    def not_read_by_column(self) -> bool:
        return False  # files are left out, whatever is read of them

    @property
    def not_read(self) -> str | None:
        if not self.lost:
            return None
        return parts_not_read(self.facts, [f"{uri}: {why}" for uri, why in self.lost.items()])
