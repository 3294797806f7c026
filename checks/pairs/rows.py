# SPDX-License-Identifier: Apache-2.0
"""The rows of a table in key-value layout, decoded from the pairs of its primary index.

What cannot be decoded is no row: `counted` tells how many there are, and a constraint on the others
is then incomplete. A pair that could not be read may be the family that some row lacks, so the
columns of such rows are then unknown rather than NULL: `frame` can leave these rows out.

Of keys that are there more than once every copy is a row, as it is where rows are not pairs. Where
a row has several families, its second copy is made of the second copies of its pairs, and of the
only one of those that are there once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Row, SparkSession

from checks.pairs.entries import SparkPairs
from checks.pairs.keys import primary_prefix
from checks.pairs.native import NativePairs, Work
from checks.pairs.row_columns import row_columns
from checks.pairs.scan import PairSpec, layout_and_indexes, whole_rows
from checks.pairs.table import PairTable
from checks.task_rows import as_batch
from checks.task_sums import NumberedSplit
from scrub.model.kv import KeyChoice
from scrub.model.table import Column
from scrub.spark.types import to_struct
from scrub.stores.base import ReadableStore
from scrub.stores.unreadable import UnreadableSplit

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from scrub.codec.kv.arrow_rows import ArrowRows

COUNT_SCHEMA = "split int, rows bigint, undecoded bigint, lost boolean, error string"
"""What a task counted; where tasks open files a row for each split, and why one cannot be read."""


@dataclass(frozen=True, slots=True)
class CountedRows:
    """How many rows a table has, and what could not be decoded."""

    rows: int = 0
    undecoded: int = 0  # rows that cannot be read; of a key that tells no row, each pair is one
    lost: bool = False  # a pair could not be read: it may be what a row without a family lacks
    errors: Mapping[int, str] | None = None  # by number, splits that could not be read

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "CountedRows":
        """What all tasks counted, from rows of COUNT_SCHEMA."""
        return cls(
            rows=sum(row["rows"] for row in rows),
            undecoded=sum(row["undecoded"] for row in rows),
            lost=any(row["lost"] for row in rows),
            errors={row["split"]: row["error"] for row in rows if row["error"] is not None},
        )

    @property
    def reason(self) -> str | None:
        """Why what was found in the rows is incomplete, if it is."""
        if not self.undecoded:
            return None
        rows = "row" if self.undecoded == 1 else "rows"
        return f"{self.undecoded} {rows} could not be decoded: --checks physical reports them"


@dataclass(frozen=True, slots=True)
class _RowSpec:
    """What a task must know to decode rows."""

    pairs: PairSpec
    columns: tuple[Column, ...]
    partial: bool = True  # whether rows that lack a family are wanted


class PairRows:
    """The decoded rows of a planned table."""

    def __init__(
        self,
        spark: SparkSession,
        table: PairTable,
        stores: Mapping[str, ReadableStore],
        spec: PairSpec,
        splits: Sequence[NumberedSplit] | None = None,
    ) -> None:
        """Where tasks open the files, `splits` are those to read; None means all of them."""
        chosen = table.splits if splits is None else splits
        self.splits = [numbered for numbered in chosen if numbered.relation == 0]
        self.spark, self.table, self.stores = spark, _of_rows(table), stores
        self.spec = replace(spec, indexes=())

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return row_columns(self.table.table)

    def frame(self, *, partial: bool = True) -> DataFrame:
        """All rows, in the types of `columns`; without `partial`, those that have every family."""
        spec = _RowSpec(self.spec, self.columns, partial)
        return self._run(_rows, _rows_of_splits, to_struct(self.columns), spec)

    def counted(self) -> DataFrame:
        """How many rows there are, and what could not be decoded, as COUNT_SCHEMA."""
        return self._run(_count, _count_splits, COUNT_SCHEMA, _RowSpec(self.spec, self.columns))

    def _run(
        self,
        of_pairs: Callable[..., Iterator[pa.RecordBatch]],
        of_splits: Callable[..., Iterator[pa.RecordBatch]],
        schema: "StructType | str",
        spec: _RowSpec,
    ) -> DataFrame:
        if not self.table.is_native:
            pairs = SparkPairs(self.spark, self.table, self.stores, self.spec).together()
            return pairs.mapInArrow(partial(of_pairs, spec=spec), schema)
        if not self.splits:
            return self.spark.createDataFrame([], schema)
        native = NativePairs(self.spark, self.table, self.splits, self.spec)
        return native.run(of_splits, schema, spec=spec)


def _of_rows(table: PairTable) -> PairTable:
    """The table with the pairs of its primary index only."""
    assert table.plan.pairs is not None, "only tables in key-value layout come here"
    first = table.relations[0]
    keys = KeyChoice(primary_prefix(table.kv), wanted=True, entries=first.keys.entries)
    relations = (replace(first, keys=keys),)
    return PairTable(replace(table.plan, pairs=replace(table.plan.pairs, relations=relations)))


def _decoded(batches: Iterator[pa.RecordBatch], spec: _RowSpec) -> "Iterator[ArrowRows]":
    from scrub.codec.kv.arrow_rows import arrow_rows

    layout, _ = layout_and_indexes(spec.pairs)
    for batch in whole_rows(batches) if spec.pairs.by_row else batches:
        for pairs in each_copy(batch) if spec.pairs.by_row else (batch,):
            yield arrow_rows(layout, spec.columns, pairs.column("key"), pairs.column("value"))


def each_copy(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Pairs in order of keys, each of them once; then those of rows that are there once more."""
    keys, rows = (batch.column(name) for name in ("key", "row_key"))
    copy = _positions_among_equals(keys)
    if not copy.any():
        yield batch
        return
    copies = _largest_among_equals(keys, copy)
    copies_of_row = _largest_among_equals(rows, copies)
    for number in range(int(copy.max()) + 1):
        only_one_left = (copies < number) & (copy == 0) & (copies_of_row >= number)
        yield batch.filter(pa.array((copy == number) | only_one_left))


def _begins(ordered: pa.Array) -> NDArray[np.int64]:
    """Where values begin that are not the one before."""
    differ = pc.not_equal(ordered.slice(1), ordered.slice(0, max(len(ordered) - 1, 0)))
    return np.flatnonzero(np.concatenate([[True], differ.to_numpy(zero_copy_only=False)]))


def _positions_among_equals(ordered: pa.Array) -> NDArray[np.int64]:
    begins = _begins(ordered)
    lengths = np.diff(np.append(begins, len(ordered)))
    return np.arange(len(ordered)) - np.repeat(begins, lengths)


def _largest_among_equals(ordered: pa.Array, of: NDArray[np.int64]) -> NDArray[np.int64]:
    begins = _begins(ordered)
    lengths = np.diff(np.append(begins, len(ordered)))
    return np.repeat(np.maximum.reduceat(of, begins), lengths)


def _rows(batches: Iterator[pa.RecordBatch], spec: _RowSpec) -> Iterator[pa.RecordBatch]:
    for rows in _decoded(batches, spec):
        wanted = rows.batch
        if not spec.partial and rows.partial.any():
            wanted = wanted.filter(pa.array(~rows.partial))
        if wanted.num_rows:
            yield wanted


def _rows_of_splits(number: int, work: Work, spec: _RowSpec) -> Iterator[pa.RecordBatch]:
    for numbered in work.tasks[number]:
        yield from _rows(work.pairs(numbered, work.reader(numbered)), spec)


def _count(batches: Iterator[pa.RecordBatch], spec: _RowSpec) -> Iterator[pa.RecordBatch]:
    yield as_batch([_counts(0, batches, spec)], COUNT_SCHEMA)


def _count_splits(number: int, work: Work, spec: _RowSpec) -> Iterator[pa.RecordBatch]:
    counted: list[tuple[object, ...]] = []
    for numbered in work.tasks[number]:
        try:
            pairs = work.pairs(numbered, work.reader(numbered))
            counted.append(_counts(numbered.number, pairs, spec))
        except UnreadableSplit as error:
            counted.append((numbered.number, 0, 0, False, error.reason))
    yield as_batch(counted, COUNT_SCHEMA)


def _counts(number: int, batches: Iterator[pa.RecordBatch], spec: _RowSpec) -> tuple[object, ...]:
    count, undecoded, lost = 0, 0, False
    for rows in _decoded(batches, spec):
        count += rows.batch.num_rows
        undecoded += rows.undecoded
        lost = lost or rows.lost
    return number, count, undecoded, lost, None
