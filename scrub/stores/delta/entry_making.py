# SPDX-License-Identifier: Apache-2.0
"""Making the entries that an index has for rows in files, exactly as checks expect them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from scrub.errors import StoreUnavailable, first_line
from scrub.model.index_shape import shape_of
from scrub.model.relation import Split
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import ColumnType
from scrub.stores.base import SessionProvider
from scrub.stores.delta.changes import CHANGE_TYPE, CannotFollow
from scrub.stores.delta.entries import entry_schema
from scrub.stores.delta.lake import Lake
from scrub.stores.delta.row_demands import EntriesOf
from scrub.stores.files.parquet_scan import SplitReader
from scrub.stores.recovering import key_columns
from scrub.stores.row_entries import (
    NativeRowEntries,
    RowEntries,
    columns_for_entries,
    native_row_entries,
    with_evident_types,
    with_types_by,
)
from scrub.stores.unreadable import UnreadableSplit

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession


_KEY = "key of row "


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
        from scrub.spark.collecting import collect_arrow

        if not splits:
            return
        hint = "if files of the table are gone (vacuum), rebuild the index"
        with made_in_spark(self.table, self.index, self.session, CannotFollow, hint) as spark:
            found = collect_arrow(self._frame(spark, splits, kinds))
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


@contextmanager
def made_in_spark(
    table: Table,
    index: Index,
    session: SessionProvider,
    failure: type[StoreUnavailable],
    hint: str | None = None,
) -> "Iterator[SparkSession]":
    """A session that makes entries of an index; what Spark raises becomes the failure."""
    from pyspark.errors import PySparkException

    from scrub.spark.collecting import translated
    from scrub.spark.meaning import evaluating

    try:
        with translated(), evaluating(session(), table, index) as spark:
            yield spark
    except PySparkException as error:
        what = f"entries of {table.name}.{index.name} could not be made"
        raise failure(f"{what}: {first_line(error)}", hint=hint) from error


def entries_of_frame(
    index: Index, rows: "DataFrame", beside: "Sequence[SparkColumn]" = ()
) -> "DataFrame":
    """The entries of rows of the table, each behind what stands beside it."""
    from scrub.spark.expected_values import expected_value, is_covered

    entry = [expected_value(column).alias(column.name) for column in index.entry]
    return rows.where(is_covered(index, None)).select(*beside, *entry)


def entries_with_spark(session: SessionProvider) -> EntriesOf:
    """What makes entries of any index; a session is asked for only where one is needed."""

    def entries_of(table: Table, index: Index) -> RowEntries:
        typed = with_types(table, index, session)
        native = native_row_entries(table, typed)
        return native or SparkRowEntries(table, typed, session)

    return entries_of


@dataclass(frozen=True, slots=True)
class SparkRowEntries:
    """Has Spark evaluate an index's expressions for a few rows."""

    table: Table
    index: Index
    session: SessionProvider

    @property
    def columns(self) -> tuple[Column, ...]:
        return columns_for_entries(self.table, self.index)

    def of(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        from scrub.spark.collecting import collect_arrow
        from scrub.spark.names import named
        from scrub.spark.types import to_struct

        of_rows = entry_schema(key_columns(self.table))
        of_entries = entry_schema(shape_of(self.table, self.index).columns)
        # PySpark 4 loses the rows of a table that begins with two empty chunks.
        given = rows.select([column.name for column in self.columns]).combine_chunks()
        hint = "nothing of this batch was written: correct the row, or leave it out"
        with made_in_spark(self.table, self.index, self.session, StoreUnavailable, hint) as spark:
            frame = spark.createDataFrame(given, to_struct(self.columns))
            if frame.count() != rows.num_rows:
                raise StoreUnavailable("Spark lost rows that it was given, so nothing is known")
            keys = [named(name).alias(f"{_KEY}{name}") for name in of_rows.names]
            found = collect_arrow(entries_of_frame(self.index, frame, keys))
        rows_found = found.select([f"{_KEY}{name}" for name in of_rows.names])
        return (
            rows_found.rename_columns(of_rows.names).cast(of_rows),
            found.select(of_entries.names).cast(of_entries),
        )


def gone(split: Split, reason: str) -> CannotFollow:
    """A file of the table that is needed and cannot be read."""
    if "is gone" in reason:
        return CannotFollow(
            f"{split.uri} is gone: a vacuum of the table removed it before an index had followed",
            hint="rebuild the index; vacuum only what is older than the indexes' lag",
        )
    return CannotFollow(f"{split.name}: {reason}")
