# SPDX-License-Identifier: Apache-2.0
"""Reading one Parquet split inside a Spark task, in the catalog's types.

This module runs in Python workers and knows nothing of Spark. A split that cannot be read to the
end, or whose columns are not what the catalog says, is unreadable as a whole: what was yielded
before the exception must be thrown away.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scrub.codec.arrow_types import from_arrow, to_arrow
from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName, widens
from scrub.stores.locations import is_local, open_filesystem
from scrub.stores.partition_values import PartitionValueError, parse_partition_value

_DICTIONARY = pa.dictionary(pa.int32(), pa.string())
_DICTIONARY_BYTES_PER_VALUE_MAX = 4  # more than codes alone: the dictionary would grow without end
_LEGACY_CALENDAR_KEYS = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}


class UnreadableSplit(Exception):
    """A split could not be read; the reason is one line for people."""

    def __init__(self, split_name: str, reason: str) -> None:
        super().__init__(split_name, reason)
        self.split_name = split_name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.split_name}: {self.reason}"


@dataclass(frozen=True, slots=True)
class _Source:
    """Where one wanted column comes from: a leaf of the file, or a constant."""

    leaf: int | None
    make: Callable[[Any, int], Any]  # (stored array or None, number of rows) -> array


class SplitReader:
    """Reads one split once; `bytes_read` is the compressed size of the column chunks it reads."""

    def __init__(
        self,
        split: Split,
        columns: Sequence[Column],
        storage_options: Mapping[str, str],
        batch_rows: int = 32768,
    ) -> None:
        self.split = split
        self.columns = tuple(columns)
        self.storage_options = storage_options
        self.batch_rows = batch_rows
        self.bytes_read = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The split's rows: exactly the wanted columns, in order; strings may be dictionaries."""
        try:
            yield from self._batches()
        except (OSError, pa.ArrowException) as error:
            raise UnreadableSplit(self.split.name, describe(error)) from error

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with self._open() as file:
            groups = self._row_groups(file)
            sources = [self._source(file, column) for column in self.columns]
            leaves = sorted({source.leaf for source in sources if source.leaf is not None})
            self.bytes_read = _chunk_bytes(file.metadata, groups, leaves)
            names = [column.name for column in self.columns]
            # Leaves are given by number: by name, a dot would mean a field inside a struct.
            for batch in file.reader.iter_batches(
                self.batch_rows, row_groups=groups, column_indices=leaves, use_threads=False
            ):
                arrays = [
                    source.make(
                        None if source.leaf is None else batch.column(leaves.index(source.leaf)),
                        batch.num_rows,
                    )
                    for source in sources
                ]
                yield pa.RecordBatch.from_arrays(arrays, names)

    def _open(self) -> pq.ParquetFile:
        filesystem, path = open_filesystem(self.split.uri, self.storage_options)
        local = is_local(self.split.uri)
        size = os.stat(path).st_size if local else filesystem.get_file_info(path).size
        if size is None:
            raise FileNotFoundError(path)
        if self.split.row_groups is None and size != self.split.bytes:
            raise self._unreadable(
                f"the file has {size} bytes, but had {self.split.bytes} in the snapshot"
            )
        where: dict[str, Any] = (
            {"memory_map": True, "pre_buffer": False}
            if local
            else {"filesystem": filesystem, "pre_buffer": True}
        )
        metadata = pq.read_metadata(path, filesystem=None if local else filesystem)
        return pq.ParquetFile(
            path,
            metadata=metadata,
            read_dictionary=_dictionary_columns(metadata),
            coerce_int96_timestamp_unit="us",
            **where,
        )

    def _row_groups(self, file: pq.ParquetFile) -> list[int]:
        present = file.metadata.num_row_groups
        if self.split.row_groups is None:
            return list(range(present))
        if max(self.split.row_groups) >= present:
            raise self._unreadable(f"the file has only {present} row groups now")
        return list(self.split.row_groups)

    def _source(self, file: pq.ParquetFile, column: Column) -> _Source:
        wanted = to_arrow(column.type)
        if column.name in self.split.partition:
            constant = self._partition_value(column)
            return _Source(None, lambda _, rows: _repeat(constant, rows))
        position = self._position(file, column.name)
        if position is None:
            return _Source(None, lambda _, rows: pa.nulls(rows, wanted))
        leaf = sum(_leaves(field.type) for field in list(file.schema_arrow)[:position])
        stored = file.schema_arrow.field(position).type
        self._demand_widening(stored, file.schema.column(leaf).physical_type, column)
        legacy = _is_legacy_calendar(file, column.type)
        return _Source(leaf, lambda array, _: self._convert(array, column, legacy))

    def _position(self, file: pq.ParquetFile, name: str) -> int | None:
        """The top-level field of that name; as in Spark, another case will do if it is the one."""
        names: list[str] = file.schema_arrow.names
        found = [i for i, other in enumerate(names) if other == name]
        found = found or [i for i, other in enumerate(names) if other.lower() == name.lower()]
        if len(found) > 1:
            raise self._unreadable(f"the file has several columns named {name}")
        return found[0] if found else None

    def _demand_widening(self, stored: pa.DataType, physical: str, column: Column) -> None:
        # Arrow shows INT96 without a zone, but the writers of INT96 meant an instant.
        known = ColumnType(TypeName.TIMESTAMP) if physical == "INT96" else from_arrow(stored)
        if known is None or not widens(known, column.type):
            raise self._unreadable(
                f"column {column.name} is stored as {known or stored}, not {column.type}"
            )

    def _partition_value(self, column: Column) -> pa.Scalar:
        text = self.split.partition[column.name]
        try:
            return parse_partition_value(text, column.type)
        except PartitionValueError as error:
            raise self._unreadable(f"partition column {column.name}: {error}") from error

    def _convert(self, array: Any, column: Column, legacy: bool) -> Any:
        wanted = to_arrow(column.type)
        if pa.types.is_dictionary(array.type):
            if column.type.name is TypeName.STRING:
                return array if array.type == _DICTIONARY else array.cast(_DICTIONARY)
            array = array.dictionary_decode()
        if array.type != wanted:
            array = array.cast(wanted)
        if legacy and _has_ancient(array):
            raise self._unreadable(
                f"column {column.name} holds dates before 1900 in the legacy calendar, "
                "which only Spark reads right (--engine sql)"
            )
        return array

    def _unreadable(self, reason: str) -> UnreadableSplit:
        return UnreadableSplit(self.split.name, reason)


def read_split(
    split: Split,
    columns: Sequence[Column],
    storage_options: Mapping[str, str],
    batch_rows: int = 32768,
) -> Iterator[pa.RecordBatch]:
    """The rows of a split, for callers that do not count bytes."""
    return SplitReader(split, columns, storage_options, batch_rows).batches()


def describe(error: Exception) -> str:
    """What is wrong with a file, in one line without its path."""
    if isinstance(error, FileNotFoundError):
        return "the file is gone"
    if isinstance(error, PermissionError):
        return "no permission to read the file"
    text = next(iter(str(error).splitlines()), "").strip()
    if "magic bytes" in text or "file size is 0 bytes" in text:
        return "not a Parquet file, or cut off: no Parquet footer at its end"
    return f"damaged Parquet: {text}"


def _leaves(arrow: pa.DataType) -> int:
    """How many Parquet columns hold a field."""
    if arrow.num_fields == 0:
        return 1
    return sum(_leaves(arrow.field(i).type) for i in range(arrow.num_fields))


def _chunk_bytes(metadata: Any, groups: Sequence[int], leaves: Sequence[int]) -> int:
    return sum(
        metadata.row_group(group).column(leaf).total_compressed_size
        for group in groups
        for leaf in leaves
    )


def _dictionary_columns(metadata: Any) -> list[str]:
    """Strings with few distinct values, which are much faster as codes."""
    schema = metadata.schema
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return [
        schema.column(leaf).path
        for leaf in range(metadata.num_columns)
        if schema.column(leaf).logical_type.type == "STRING"
        and all(_is_compact(group.column(leaf)) for group in groups)
    ]


def _is_compact(chunk: Any) -> bool:
    size_max = _DICTIONARY_BYTES_PER_VALUE_MAX * chunk.num_values
    return bool(chunk.has_dictionary_page and chunk.total_uncompressed_size <= size_max)


def _is_legacy_calendar(file: pq.ParquetFile, column_type: ColumnType) -> bool:
    dated = column_type.name in (TypeName.DATE, TypeName.TIMESTAMP)
    return dated and not _LEGACY_CALENDAR_KEYS.isdisjoint(file.metadata.metadata or {})


def _has_ancient(array: Any) -> bool:
    earliest = pc.min(array).cast(pa.timestamp("us")).value
    return earliest is not None and earliest < _MICROSECONDS_1900


_MICROSECONDS_1900 = -25_567 * 86_400_000_000


def _repeat(constant: pa.Scalar, rows: int) -> Any:
    if constant.is_valid and constant.type == pa.string():
        return pa.DictionaryArray.from_arrays(
            pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([constant.as_py()])
        )
    return pa.repeat(constant, rows) if constant.is_valid else pa.nulls(rows, constant.type)
