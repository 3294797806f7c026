# SPDX-License-Identifier: Apache-2.0
"""Entries of rows that were read, where only Spark knows what an index's expressions mean."""

from dataclasses import dataclass

import pyarrow as pa

from scrub.codec.arrow_types import to_arrow
from scrub.errors import StoreUnavailable, first_line
from scrub.model.table import Column, Index, Table
from scrub.stores.base import SessionProvider
from scrub.stores.delta.entry_making import with_types
from scrub.stores.delta.row_demands import EntriesOf
from scrub.stores.row_entries import RowEntries, columns_for_entries, native_row_entries

_KEY = "key of row "


def entries_with_spark(session: SessionProvider) -> EntriesOf:
    """What makes entries of any index; a session is asked for only where one is needed."""

    def entries_of(table: Table, index: Index) -> RowEntries:
        typed = with_types(table, index, session)
        native = native_row_entries(table, typed)
        return native or SparkRowEntries(table, typed, columns_for_entries(table, typed), session)

    return entries_of


@dataclass(frozen=True, slots=True)
class SparkRowEntries:
    """Has Spark evaluate an index's expressions for a few rows."""

    table: Table
    index: Index
    columns: tuple[Column, ...]
    session: SessionProvider

    def of(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        from pyspark.errors import PySparkException

        from scrub.spark.collecting import collect_arrow
        from scrub.spark.expected_values import expected_value, is_covered
        from scrub.spark.meaning import evaluating
        from scrub.spark.names import named
        from scrub.spark.types import to_struct

        keys = [(f"{_KEY}{name}", name) for name in self.table.primary_key]
        # PySpark 4 loses the rows of a table that begins with two empty chunks.
        given = rows.select([column.name for column in self.columns]).combine_chunks()
        try:
            with evaluating(self.session(), self.table, self.index) as spark:
                frame = spark.createDataFrame(given, to_struct(self.columns))
                if frame.count() != rows.num_rows:
                    raise StoreUnavailable("Spark lost rows that it was given, so nothing is known")
                found = collect_arrow(
                    frame.where(is_covered(self.index, None)).select(
                        *[named(name).alias(alias) for alias, name in keys],
                        *[expected_value(column).alias(column.name) for column in self.index.entry],
                    )
                )
        except PySparkException as error:
            raise StoreUnavailable(
                f"entries of {self.table.name}.{self.index.name} could not be made: "
                f"{first_line(error)}",
                hint="nothing of this batch was written: correct the row, or leave it out",
            ) from error
        of_rows = [(name, to_arrow(self.table.column(name).type)) for _, name in keys]
        entries = [(c.name, to_arrow(c.type)) for c in self.index.entry if c.type is not None]
        return (
            found.select([alias for alias, _ in keys])
            .rename_columns([name for _, name in keys])
            .cast(pa.schema(of_rows)),
            found.select([name for name, _ in entries]).cast(pa.schema(entries)),
        )
