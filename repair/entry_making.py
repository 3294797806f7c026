# SPDX-License-Identifier: Apache-2.0
"""From rows in files to the entries that an index has for them, with the meaning of checks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from scrub.catalog.expressions import translate
from scrub.catalog.native_terms import column_types
from scrub.codec.arrow_types import to_arrow
from scrub.model.entry_shape import EntryShape
from scrub.model.predicate import type_of
from scrub.model.relation import Split
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import ColumnType
from scrub.stores.base import SessionProvider
from scrub.stores.delta_changes import CHANGE_TYPE, CannotFollow
from scrub.stores.native_scan import SplitReader
from scrub.stores.row_entries import NativeRowEntries, native_row_entries, table_columns
from scrub.stores.unreadable import UnreadableSplit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class EntryMaker(Protocol):
    """Makes the entries of one index; `kinds` chooses rows of change files by what they say."""

    def make(self, splits: Sequence[Split], kinds: frozenset[str] | None) -> Iterator[pa.Table]:
        """The entries of the rows in some files of the table, with the shape's columns."""


def with_types(table: Table, index: Index, session: SessionProvider) -> Index:
    """The index with the type of every expression: declared, evident, or what Spark says."""

    def resolved(columns: tuple[EntryColumn, ...]) -> tuple[EntryColumn, ...]:
        return tuple(
            column if column.type else replace(column, type=_told(table, column, session))
            for column in columns
        )

    return replace(
        index,
        key=resolved(index.key),
        suffix=resolved(index.suffix),
        stored=resolved(index.stored),
    )


def _told(table: Table, column: EntryColumn, session: SessionProvider) -> ColumnType:
    node = translate(column.source, column_types(table))
    if node is not None:
        return type_of(node)
    from pyspark.sql import functions as F

    from scrub.spark.types import from_spark, to_struct

    empty = session().createDataFrame([], to_struct(table.columns))
    told = from_spark(empty.select(F.expr(column.source)).schema.fields[0].dataType)
    if told is None:
        raise CannotFollow(
            f"column {column.name}: '{column.source}' has a type that scrub cannot compare",
            hint="say of which type it is to be: {expr: ..., as: ..., type: string}",
        )
    return told


def shape_of(index: Index) -> EntryShape:
    """An entry for each row: two rows that share a unique key are for the check to find."""

    def columns(of: tuple[EntryColumn, ...]) -> tuple[Column, ...]:
        return tuple(Column(name=c.name, type=c.type) for c in of if c.type is not None)

    return EntryShape(
        relation=index.relation,
        indexed=columns(index.key),
        suffix=columns(index.suffix),
        stored=columns(index.stored),
    )


def entry_maker(
    table: Table, index: Index, root: str, options: dict[str, str], session: SessionProvider
) -> EntryMaker:
    """In this process where every engine agrees on the index's expressions, else in Spark."""
    native = native_row_entries(table, index)
    if native is None:
        return SparkEntries(table, index, table_columns(table, index), root, session)
    return NativeEntries(native, options)


@dataclass(frozen=True, slots=True)
class NativeEntries:
    """Reads files in this process, batch by batch."""

    of_rows: NativeRowEntries
    options: dict[str, str]

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
    """Leaves expressions to Spark; the entries of one call are held in memory."""

    table: Table
    index: Index
    columns: tuple[Column, ...]
    root: str
    session: SessionProvider

    def make(self, splits: Sequence[Split], kinds: frozenset[str] | None) -> Iterator[pa.Table]:
        from pyspark.errors import PySparkException

        from scrub.spark.collecting import collect_arrow
        from scrub.spark.meaning import evaluating

        if not splits:
            return
        try:
            with evaluating(self.session(), self.table, self.index) as spark:
                found = collect_arrow(self.frame(spark, splits, kinds))
        except PySparkException as error:
            text = next(iter(str(error).splitlines()), "")
            raise CannotFollow(
                f"entries of {self.table.name}.{self.index.name} could not be made: {text}",
                hint="if files of the table are gone (vacuum), build the index anew",
            ) from error
        fields = [(c.name, to_arrow(c.type)) for c in self.index.entry if c.type is not None]
        yield found.cast(pa.schema(fields))

    def frame(
        self, spark: "SparkSession", splits: Sequence[Split], kinds: frozenset[str] | None
    ) -> "DataFrame":
        """The entries of the rows in some files, not yet computed."""
        from pyspark.sql import functions as F

        from scrub.stores.file_formats import parquet_loader
        from scrub.stores.partitioned_frame import partitioned_frame

        columns = self.columns if kinds is None else (*self.columns, CHANGE_TYPE)
        rows = partitioned_frame(spark, self.root, splits, columns, parquet_loader(spark))
        if kinds is not None:
            rows = rows.where(F.col(CHANGE_TYPE.name).isin(*sorted(kinds)))
        return self.entries(rows)

    def entries(self, rows: "DataFrame") -> "DataFrame":
        """The entries of rows of the table."""
        from scrub.spark.expected_values import expected_value, is_covered

        covered = rows.where(is_covered(self.index, None))
        return covered.select(*[expected_value(c).alias(c.name) for c in self.index.entry])


def gone(split: Split, reason: str) -> CannotFollow:
    """A file of the table that is needed and cannot be read."""
    if "is gone" in reason:
        return CannotFollow(
            f"{split.uri} is gone: a vacuum of the table removed it before an index had followed",
            hint="build the index anew; vacuum only what is older than the indexes' lag",
        )
    return CannotFollow(f"{split.name}: {reason}")
