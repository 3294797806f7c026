# SPDX-License-Identifier: Apache-2.0
"""Making the entries that an index has for rows in files, exactly as checks expect them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from scrub.errors import first_line
from scrub.model.index_shape import shape_of
from scrub.model.relation import Split
from scrub.model.table import EntryColumn, Index, Table
from scrub.model.types import ColumnType
from scrub.stores.base import SessionProvider
from scrub.stores.delta.changes import CHANGE_TYPE, CannotFollow
from scrub.stores.delta.entries import entry_schema
from scrub.stores.delta.lake import Lake
from scrub.stores.files.parquet_scan import SplitReader
from scrub.stores.row_entries import (
    NativeRowEntries,
    columns_for_entries,
    native_row_entries,
    with_evident_types,
    with_types_by,
)
from scrub.stores.unreadable import UnreadableSplit

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession


class EntryMaker(Protocol):
    """Makes the entries of one index; `kinds` selects rows of change files by their change type."""

    def make(self, splits: Sequence[Split], kinds: frozenset[str] | None) -> Iterator[pa.Table]:
        """The entries of the rows in some files of the table, with the shape's columns."""


def with_types(table: Table, index: Index, session: SessionProvider) -> Index:
    """The index with the type of every expression: declared, evident, or what Spark says."""
    return with_types_by(
        with_evident_types(table, index), lambda column: _type_in_spark(table, column, session)
    )


def _type_in_spark(table: Table, column: EntryColumn, session: SessionProvider) -> ColumnType:
    from pyspark.sql import functions as F

    from scrub.spark.types import from_spark, to_struct

    empty = session().createDataFrame([], to_struct(table.columns))
    known = from_spark(empty.select(F.expr(column.source)).schema.fields[0].dataType)
    if known is None:
        raise CannotFollow(
            f"column {column.name}: '{column.source}' has a type that scrub cannot compare",
            hint="say of which type it is to be: {expr: ..., as: ..., type: string}",
        )
    return known


def entry_maker(table: Table, index: Index, lake: Lake, session: SessionProvider) -> EntryMaker:
    """In this process if all engines agree on the index's expressions, else in Spark."""
    native = native_row_entries(table, index)
    location, options = lake.place(table)
    if native is None:
        return SparkEntries(table, index, location, session)
    return NativeEntries(native, options)


@dataclass(frozen=True, slots=True)
class NativeEntries:
    """Reads files in this process, batch by batch."""

    of_rows: NativeRowEntries
    options: Mapping[str, str]

    def make(self, splits: Sequence[Split], kinds: frozenset[str] | None) -> Iterator[pa.Table]:
        columns = self.of_rows.columns
        if kinds is not None:
            columns = (*columns, CHANGE_TYPE)
        for split in splits:
            try:
                for batch in SplitReader(split, columns, self.options).batches():
                    yield self._entries(batch, kinds)
            except UnreadableSplit as error:
                raise gone(split, error.reason) from error

    def _entries(self, batch: pa.RecordBatch, kinds: frozenset[str] | None) -> pa.Table:
        chosen = self.of_rows.covered(batch)
        if kinds is not None:
            said = batch.column(CHANGE_TYPE.name).to_pylist()
            chosen &= np.array([kind in kinds for kind in said], np.bool_)
        return self.of_rows.entries(batch.filter(pa.array(chosen)))


@dataclass(frozen=True, slots=True)
class SparkEntries:
    """Evaluates expressions in Spark; the entries of one call are held in memory."""

    table: Table
    index: Index
    location: str  # of the table
    session: SessionProvider

    def make(self, splits: Sequence[Split], kinds: frozenset[str] | None) -> Iterator[pa.Table]:
        from pyspark.errors import PySparkException

        from scrub.spark.collecting import collect_arrow
        from scrub.spark.meaning import evaluating

        if not splits:
            return
        try:
            with evaluating(self.session(), self.table, self.index) as spark:
                found = collect_arrow(self._frame(spark, splits, kinds))
        except PySparkException as error:
            raise CannotFollow(
                f"entries of {self.table.name}.{self.index.name} could not be made: "
                f"{first_line(error)}",
                hint="if files of the table are gone (vacuum), rebuild the index",
            ) from error
        yield found.cast(entry_schema(shape_of(self.table, self.index).columns))

    def _frame(
        self, spark: "SparkSession", splits: Sequence[Split], kinds: frozenset[str] | None
    ) -> "DataFrame":
        """The entries of the rows in some files, as a lazy frame."""
        from pyspark.sql import functions as F

        from scrub.stores.files.partitioned_frame import partitioned_frame
        from scrub.stores.files.typed_formats import parquet_loader

        columns = columns_for_entries(self.table, self.index)
        if kinds is not None:
            columns = (*columns, CHANGE_TYPE)
        rows = partitioned_frame(spark, self.location, splits, columns, parquet_loader(spark))
        if kinds is not None:
            rows = rows.where(F.col(CHANGE_TYPE.name).isin(*sorted(kinds)))
        return entries_of_frame(self.index, rows)


def entries_of_frame(
    index: Index, rows: "DataFrame", beside: "Sequence[SparkColumn]" = ()
) -> "DataFrame":
    """The entries of rows of the table, each behind what stands beside it."""
    from scrub.spark.expected_values import expected_value, is_covered

    entry = [expected_value(column).alias(column.name) for column in index.entry]
    return rows.where(is_covered(index, None)).select(*beside, *entry)


def gone(split: Split, reason: str) -> CannotFollow:
    """A file of the table that is needed and cannot be read."""
    if "is gone" in reason:
        return CannotFollow(
            f"{split.uri} is gone: a vacuum of the table removed it before an index had followed",
            hint="rebuild the index; vacuum only what is older than the indexes' lag",
        )
    return CannotFollow(f"{split.name}: {reason}")
