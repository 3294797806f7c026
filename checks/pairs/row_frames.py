# SPDX-License-Identifier: Apache-2.0
"""The decoded rows of a key-value table for jobs that speak of columns.

All pairs are read once to learn what cannot be decoded, before the first job reads the rows. So a
job never takes a column for NULL that stands in a pair which could not be read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyspark.sql import DataFrame

from checks.failures import failures, split_not_read
from checks.pairs.plan import stamp_of
from checks.pairs.rows import PairRows
from checks.source import Reading
from checks.unread import PARTS_SET_ASIDE_MAX, parts_not_read
from scrub.model.plan import TablePlan
from scrub.model.relation import RelationFacts, Split
from scrub.model.table import Column
from scrub.model.types import TypeName
from scrub.spark.collecting import translated

Answer = TypeVar("Answer")

_MAY_BE_UNHELD = (TypeName.DECIMAL, TypeName.TIMESTAMP, TypeName.TIMESTAMP_NTZ)
"""Types that lack values which a sound pair may have: NaN, or a time between two microseconds."""


@dataclass(frozen=True, slots=True)
class CountedRows:
    """How many rows can be decoded, and what about the others."""

    rows: int
    undecoded: int  # rows that cannot be read; of a key that tells no row, each pair is one
    unheld: int  # rows with a value that the type of a column does not have
    partial: int  # rows that lack a family
    lost: bool  # a pair could not be read: it may be what a row without a family lacks

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "CountedRows":
        """What all tasks counted, from rows of COUNT_SCHEMA."""
        return cls(
            rows=sum(row["rows"] for row in rows),
            undecoded=sum(row["undecoded"] for row in rows),
            unheld=sum(row["unheld"] for row in rows),
            partial=sum(row["partial"] for row in rows),
            lost=any(row["lost"] for row in rows),
        )


@dataclass(slots=True)
class DecodedRows:
    """A table of pairs; a file that turns out to be unreadable is left out from then on."""

    reading: Reading
    plan: TablePlan
    lost: dict[str, str] = field(default_factory=dict)  # by name of a file or split, the reason
    counts: dict[frozenset[str], CountedRows] = field(default_factory=dict)
    """By the columns whose values were looked at for those that their types do not have."""
    counted: CountedRows | None = None  # of the columns that the last job was about

    def over(self, columns: Sequence[Column], job: Callable[[DataFrame], Answer]) -> Answer:
        """What a job answers about some columns of all rows that can be read."""
        while True:
            try:
                self.counted = self._counted([c for c in columns if c.type.name in _MAY_BE_UNHELD])
                rows = PairRows(self.reading, self.plan, self._readable)
                with translated():
                    return job(rows.frame(columns, partial=not self._may_lack_pairs))
            except failures() as error:
                found = split_not_read(error, self._readable)
                # Of a pair in several versions, what was not read may be the latest.
                if found is None or not self._may_set_aside:
                    raise
                self._set_aside(*found)

    @property
    def not_read(self) -> str | None:
        """What was left out so far, and why."""
        return "; ".join(self._left_out()) or None

    @property
    def not_read_by_column(self) -> bool:
        """Whether a job on fewer columns may have read more rows."""
        return self.counted is not None and self.counted.unheld > 0

    def _left_out(self) -> Iterator[str]:
        if self.lost:
            yield parts_not_read(self._facts, [f"{name}: {why}" for name, why in self.lost.items()])
        if self.counted is None:
            return
        if number := self.counted.undecoded:
            yield f"{_rows(number)} could not be decoded: --checks physical reports what is wrong"
        if number := self.counted.unheld:
            have = "has a value" if number == 1 else "have values"
            yield f"{_rows(number)} {have} that Spark's type of the column does not have"
        if self._may_lack_pairs and (number := self.counted.partial):
            lack = "lacks" if number == 1 else "lack"
            yield f"{_rows(number)} {lack} a family, which may be in a pair that could not be read"

    @property
    def _facts(self) -> RelationFacts:
        assert self.plan.pairs is not None, "only tables in key-value layout come here"
        return self.plan.pairs.relations[0].facts

    @property
    def _readable(self) -> list[Split]:
        return [
            split
            for split in self._facts.splits
            if split.uri not in self.lost and split.name not in self.lost
        ]

    @property
    def _may_lack_pairs(self) -> bool:
        """Whether what a row lacks may be among what was not read."""
        return bool(self.lost) or (self.counted is not None and self.counted.lost)

    @property
    def _may_set_aside(self) -> bool:
        return stamp_of(self._facts) is None and len(self.lost) < PARTS_SET_ASIDE_MAX

    def _set_aside(self, split: Split, reason: str) -> None:
        """Leave out a file from now on, and count the rows of the others again."""
        self.lost[split.uri] = reason
        self.counts.clear()

    def _counted(self, judged: Sequence[Column]) -> CountedRows:
        """What cannot be decoded, and how many rows have values of these columns without a place.

        Where no value of more columns lacks one, none of fewer does.
        """
        names = frozenset(column.name for column in judged)
        for of, counted in self.counts.items():
            if of == names or (of > names and not counted.unheld):
                return counted
        splits = self._readable
        rows = PairRows(self.reading, self.plan, splits)
        found = self.reading.jobs.arrow(rows.counted(judged)).to_pylist()
        self.lost |= {splits[row["split"]].name: row["error"] for row in found if row["error"]}
        self.counts[names] = CountedRows.of(found)
        return self.counts[names]


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"
