# SPDX-License-Identifier: Apache-2.0
"""Entries of rows that were read, where only Spark knows what an index's expressions mean."""

from dataclasses import dataclass

import pyarrow as pa

from scrub.errors import StoreUnavailable, first_line
from scrub.model.index_shape import shape_of
from scrub.model.table import Column, Index, Table
from scrub.stores.base import SessionProvider
from scrub.stores.delta.entries import entry_schema
from scrub.stores.delta.entry_making import entries_of_frame, with_types
from scrub.stores.delta.row_demands import EntriesOf
from scrub.stores.recovering import key_columns
from scrub.stores.row_entries import RowEntries, columns_for_entries, native_row_entries

_KEY = "key of row "


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
        from pyspark.errors import PySparkException

        from scrub.spark.collecting import collect_arrow
        from scrub.spark.meaning import evaluating
        from scrub.spark.names import named
        from scrub.spark.types import to_struct

        of_rows = entry_schema(key_columns(self.table))
        of_entries = entry_schema(shape_of(self.table, self.index).columns)
        # PySpark 4 loses the rows of a table that begins with two empty chunks.
        given = rows.select([column.name for column in self.columns]).combine_chunks()
        try:
            with evaluating(self.session(), self.table, self.index) as spark:
                frame = spark.createDataFrame(given, to_struct(self.columns))
                if frame.count() != rows.num_rows:
                    raise StoreUnavailable("Spark lost rows that it was given, so nothing is known")
                keys = [named(name).alias(f"{_KEY}{name}") for name in of_rows.names]
                found = collect_arrow(entries_of_frame(self.index, frame, keys))
        except PySparkException as error:
            raise StoreUnavailable(
                f"entries of {self.table.name}.{self.index.name} could not be made: "
                f"{first_line(error)}",
                hint="nothing of this batch was written: correct the row, or leave it out",
            ) from error
        rows_found = found.select([f"{_KEY}{name}" for name in of_rows.names])
        return (
            rows_found.rename_columns(of_rows.names).cast(of_rows),
            found.select(of_entries.names).cast(of_entries),
        )
