# SPDX-License-Identifier: Apache-2.0
"""Reading one Parquet split inside a Spark task, in the catalog's types.

This module runs in Python workers and knows nothing of Spark. A split that cannot be read to the
end, or whose columns are not what the catalog says, is unreadable as a whole: what was yielded
before the exception must be thrown away.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scrub import pacing
from scrub.codec.arrow_types import from_arrow, to_arrow
from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName, widens
from scrub.stores.files import parquet_columns
from scrub.stores.files.partition_values import PartitionValueError, parse_partition_value
from scrub.stores.locations import open_file
from scrub.stores.unreadable import UnreadableSplit

BATCH_ROWS = 32768


@dataclass(frozen=True, slots=True)
class _Source:
    """Where one wanted column comes from: a Parquet column of the file, or a constant."""

    position: int | None  # of the top-level field
    convert: Callable[[Any], Any]  # stored array -> array in the catalog's type
    repeat: Callable[[int], Any] | None = None  # number of rows -> array, if there is no field


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """Rows as a file holds them, column by column; those it does not hold as wanted are absent."""

    rows: int
    arrays: Mapping[str, Any]


class SplitReader:
    """Reads one split once; `bytes_read` is the compressed size of the column chunks it reads.

    A column in `also` that is not stored in the catalog's type does not make the split unreadable:
    `misfits` says why, column by column, `stored_types` how it is stored instead, and only
    converting it raises.
    """

    def __init__(
        self,
        split: Split,
        columns: Sequence[Column],
        storage_options: Mapping[str, str],
        batch_rows: int = BATCH_ROWS,
        also: Sequence[Column] | None = None,
    ) -> None:
        self.split = split
        self.columns = tuple(columns)
        self.also = None if also is None else tuple(also)
        self.misfits: dict[str, str] = {}
        self.stored_types: dict[str, str] = {}
        self._sources: dict[str, _Source] = {}
        self.storage_options = storage_options
        self.batch_rows = batch_rows
        self.bytes_read = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The split's rows: exactly the wanted columns, in order; strings may be dictionaries."""
        for stored in self.stored_batches():
            yield self.converted(stored, self.columns)

    def converted(self, stored: StoredBatch, columns: Sequence[Column]) -> pa.RecordBatch:
        """Some columns of a batch in the catalog's types; raises where the file has others."""
        self._demand(columns)
        try:
            arrays = [self._sources[c.name].convert(stored.arrays[c.name]) for c in columns]
        except pa.ArrowException as error:
            raise self._unreadable(problem_with_file(error)) from error
        return pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])

    def stored_batches(self) -> Iterator[StoredBatch]:
        """The split's rows as they are stored, for those who look at what conversion hides."""
        try:
            with open_file(self.split.uri, self.storage_options) as opened:
                self._demand_size(opened.size())
                for _, stored in self._read(open_parquet(opened)):
                    yield stored
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(problem_with_file(error)) from error

    def whole_batches(self, file: pq.ParquetFile) -> Iterator[tuple[pa.RecordBatch, StoredBatch]]:
        """The rows of a file that is open already: all columns that it holds, and those wanted."""
        try:
            yield from self._read(file, whole=True)
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(problem_with_file(error)) from error

    def _demand_size(self, size: int) -> None:
        if self.split.row_groups is None and size != self.split.bytes:
            raise self._unreadable(
                f"the file has {size} bytes, but had {self.split.bytes} in the snapshot"
            )

    def _read(
        self, file: pq.ParquetFile, whole: bool = False
    ) -> Iterator[tuple[pa.RecordBatch, StoredBatch]]:
        groups = self._row_groups(file.metadata.num_row_groups)
        self._find_sources(file)
        wanted = {s.position for s in self._sources.values() if s.position is not None}
        positions = range(len(file.schema_arrow)) if whole else sorted(wanted)
        places: dict[int | None, int] = {position: n for n, position in enumerate(positions)}
        if whole:
            leaves = list(range(file.metadata.num_columns))
        else:
            leaves = [parquet_columns.first_leaf(file.schema_arrow, p) for p in positions]
        self.bytes_read = parquet_columns.chunk_bytes(file.metadata, groups, leaves)
        row_bytes = self._bytes_a_row(file, groups)
        # Leaves are given by number: by name, a dot would mean a field inside a struct.
        batches = file.reader.iter_batches(
            pacing.batch_rows(self.batch_rows, row_bytes),
            row_groups=groups,
            column_indices=leaves,
            use_threads=False,
        )
        for batch in pacing.paced(batches, lambda b: (b.num_rows, b.num_rows * row_bytes)):
            arrays = {
                name: source.repeat(batch.num_rows)
                if source.repeat
                else batch.column(places[source.position])
                for name, source in self._sources.items()
            }
            yield batch, StoredBatch(batch.num_rows, arrays)

    def _bytes_a_row(self, file: pq.ParquetFile, groups: Sequence[int]) -> float:
        """What a row takes in the file, of the columns that are read."""
        rows = sum(file.metadata.row_group(number).num_rows for number in groups)
        return self.bytes_read / rows if rows else 0.0

    def _find_sources(self, file: pq.ParquetFile) -> None:
        for column in (*self.columns, *(self.also or ())):
            try:
                self._sources[column.name] = self._source(file, column)
            except UnreadableSplit as error:
                self.misfits[column.name] = error.reason
        if self.also is None:
            self._demand(self.columns)

    def _demand(self, columns: Sequence[Column]) -> None:
        for column in columns:
            if column.name in self.misfits:
                raise self._unreadable(self.misfits[column.name])

    def _row_groups(self, present: int) -> list[int]:
        if self.split.row_groups is None:
            return list(range(present))
        if max(self.split.row_groups) >= present:
            raise self._unreadable(f"the file has only {present} row groups now")
        return list(self.split.row_groups)

    def _source(self, file: pq.ParquetFile, column: Column) -> _Source:
        if column.name in self.split.partition:
            value = self._partition_value(column)
            return _constant(lambda rows: parquet_columns.repeated(value, rows))
        position = self._position(file.schema_arrow.names, column.name)
        if position is None:
            arrow = to_arrow(column.type)
            return _constant(lambda rows: pa.nulls(rows, arrow))
        leaf = parquet_columns.first_leaf(file.schema_arrow, position)
        stored = file.schema_arrow.field(position).type
        self._demand_widening(stored, file.schema.column(leaf).physical_type, column)
        legacy = parquet_columns.is_legacy_calendar(file.metadata, column.type)
        return _Source(position, lambda array: self._converted(array, column, legacy))

    def _position(self, names: Sequence[str], name: str) -> int | None:
        """The top-level field of that name; as in Spark, another case will do if it is the one."""
        found = [i for i, other in enumerate(names) if other == name]
        found = found or [i for i, other in enumerate(names) if other.lower() == name.lower()]
        if len(found) > 1:
            self.stored_types[name] = "several columns"
            raise self._unreadable(f"the file has several columns named {name}")
        return found[0] if found else None

    def _demand_widening(self, stored: pa.DataType, physical: str, column: Column) -> None:
        # Arrow shows INT96 without a zone, but the writers of INT96 meant an instant.
        known = ColumnType(TypeName.TIMESTAMP) if physical == "INT96" else from_arrow(stored)
        if known is None or not widens(known, column.type):
            self.stored_types[column.name] = str(known or stored)
            raise self._unreadable(
                f"column {column.name} is stored as {known or stored}, not {column.type}"
            )

    def _partition_value(self, column: Column) -> pa.Scalar:
        text = self.split.partition[column.name]
        try:
            return parse_partition_value(text, column.type)
        except PartitionValueError as error:
            # The value itself stays where it is: this goes into ids and redacted reports.
            digest = sha256((text or "").encode("utf-8", "surrogatepass")).hexdigest()
            self.stored_types[column.name] = f"partition value {digest[:16]}"
            raise self._unreadable(f"partition column {column.name}: {error}") from error

    def _converted(self, array: Any, column: Column, legacy: bool) -> Any:
        array = parquet_columns.converted(array, column.type)
        if legacy and parquet_columns.has_dates_before_1900(array):
            raise self._unreadable(
                f"column {column.name} holds dates before 1900 in the legacy calendar, "
                "which only Spark reads right (--engine sql)"
            )
        return array

    def _unreadable(self, reason: str) -> UnreadableSplit:
        return UnreadableSplit(self.split.name, reason)


def _constant(repeat: Callable[[int], Any]) -> _Source:
    """A column that the file does not hold; it is in the catalog's type already."""
    return _Source(None, lambda array: array, repeat)


def open_parquet(opened: pa.NativeFile) -> pq.ParquetFile:
    """A Parquet file whose columns come as they are read fastest: few distinct texts as codes."""
    metadata = pq.read_metadata(opened)
    return pq.ParquetFile(
        opened,
        metadata=metadata,
        read_dictionary=parquet_columns.dictionary_columns(metadata),
        # Memory-mapped pages are there already; from afar, whole chunks are fetched ahead.
        pre_buffer=not isinstance(opened, pa.MemoryMappedFile),
        coerce_int96_timestamp_unit="us",
    )


def problem_with_file(error: Exception) -> str:
    """What is wrong with a file, in one line without its path."""
    if isinstance(error, FileNotFoundError):
        return "the file is gone"
    if isinstance(error, PermissionError):
        return "no permission to read the file"
    text = next(iter(str(error).splitlines()), "").strip()
    if "magic bytes" in text or "file size is 0 bytes" in text or "empty file" in text:
        return "not a Parquet file, or cut off: no Parquet footer at its end"
    return f"damaged Parquet: {text}"
