# SPDX-License-Identifier: Apache-2.0
"""Columns inside one Parquet file: where they are, how they are best read, and when not at all."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scrub.codec.arrow_types import to_arrow
from scrub.model.types import ColumnType, TypeName

_DICTIONARY = pa.dictionary(pa.int32(), pa.string())
# Little more than the codes themselves: with many distinct strings a dictionary only costs.
_DICTIONARY_BYTES_PER_VALUE_MAX = 4
_LEGACY_CALENDAR_KEYS = frozenset(
    {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}
)
_MICROSECONDS_1900 = -25_567 * 86_400_000_000


def first_leaf(schema: pa.Schema, position: int) -> int:
    """The Parquet column where a top-level field begins; nested fields take several."""
    return sum(_leaves(schema.field(i).type) for i in range(position))


def _leaves(arrow: pa.DataType) -> int:
    if arrow.num_fields == 0:
        return 1
    return sum(_leaves(arrow.field(i).type) for i in range(arrow.num_fields))


def chunk_bytes(metadata: Any, groups: Sequence[int], leaves: Sequence[int]) -> int:
    """The compressed size of the column chunks."""
    return sum(
        metadata.row_group(group).column(leaf).total_compressed_size
        for group in groups
        for leaf in leaves
    )


def dictionary_columns(metadata: Any) -> list[str]:
    """Strings with few distinct values, which are much faster as codes; none inside of others."""
    schema = metadata.schema
    whole = schema.to_arrow_schema().names
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return [
        schema.column(leaf).path
        for leaf in range(metadata.num_columns)
        if schema.column(leaf).logical_type.type == "STRING"
        and schema.column(leaf).path in whole
        and all(_is_compact(group.column(leaf)) for group in groups)
    ]


def _is_compact(chunk: Any) -> bool:
    size_max = _DICTIONARY_BYTES_PER_VALUE_MAX * chunk.num_values
    return bool(chunk.has_dictionary_page and chunk.total_uncompressed_size <= size_max)


def converted(array: Any, column_type: ColumnType) -> Any:
    """A stored array in the catalog's type, strings as they come: plain or dictionary."""
    if pa.types.is_dictionary(array.type):
        if column_type.name is TypeName.STRING:
            return array if array.type == _DICTIONARY else array.cast(_DICTIONARY)
        array = array.dictionary_decode()
    wanted = to_arrow(column_type)
    return array if array.type == wanted else array.cast(wanted)


def repeated(value: pa.Scalar, rows: int) -> Any:
    """A constant column; a string is stored once."""
    if not value.is_valid:
        return pa.nulls(rows, value.type)
    if value.type == pa.string():
        codes = pa.repeat(pa.scalar(0, pa.int32()), rows)
        return pa.DictionaryArray.from_arrays(codes, pa.array([value.as_py()], pa.string()))
    return pa.repeat(value, rows)


def is_legacy_calendar(metadata: Any, column_type: ColumnType) -> bool:
    """Whether old dates of the column need the rebasing that only Spark does."""
    dated = column_type.name in (TypeName.DATE, TypeName.TIMESTAMP)
    return dated and not _LEGACY_CALENDAR_KEYS.isdisjoint(metadata.metadata or {})


def has_dates_before_1900(array: Any) -> bool:
    earliest = pc.min(array)
    if not earliest.is_valid:
        return False
    days_or_microseconds: int = earliest.value
    unit = 86_400_000_000 if pa.types.is_date32(array.type) else 1
    return days_or_microseconds * unit < _MICROSECONDS_1900
