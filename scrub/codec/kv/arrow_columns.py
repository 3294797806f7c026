# SPDX-License-Identifier: Apache-2.0
"""Rows in Arrow columns as datums that the codec can write."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import int64, uint64
from numpy.typing import NDArray

from scrub.codec.kv import field
from scrub.codec.kv.compiled import Octets, Offsets, loop
from scrub.codec.kv.decimals import digits_of, put_decimal
from scrub.codec.kv.integers import put_big_endian
from scrub.codec.kv.rows import Datums
from scrub.model.kv import DatumKind, KvColumn, KvTable

WRITABLE = (
    DatumKind.BOOL,
    DatumKind.INT,
    DatumKind.FLOAT,
    DatumKind.DECIMAL,
    DatumKind.BYTES,
    DatumKind.TIMESTAMP,
    DatumKind.UUID,
    DatumKind.INET,
)
"""The kinds that a column of Spark's can be; the others have no type there."""

Held = tuple[Octets, NDArray[np.int64], NDArray[np.int64]]  # bytes, and each datum's begin and end


def datums_of(table: KvTable, columns: Mapping[str, pa.Array]) -> Datums:
    """The datums of rows, whose columns are given by name."""
    rows = len(next(iter(columns.values())))
    spans = np.full((rows, len(table.columns), 4), -1, dtype=np.int64)
    pieces: list[Octets] = []
    at = 0
    for slot, column in enumerate(table.columns):
        array = columns[column.name]
        octets, begins, ends = _held(column, array)
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        spans[valid, slot, field.HELD] = begins[valid] + at
        spans[valid, slot, field.HELD_END] = ends[valid] + at
        pieces.append(octets)
        at += len(octets)
    held = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.uint8)
    return Datums(held, spans)


def _held(column: KvColumn, array: pa.Array) -> Held:
    match column.type.kind:
        case DatumKind.BOOL:
            return _words(pc.cast(array, pa.uint8()).fill_null(0), np.uint8)
        case DatumKind.INT:
            if pa.types.is_date32(array.type):
                array = array.view(pa.int32())
            return _words(pc.cast(array, pa.int64()).fill_null(0), np.int64)
        case DatumKind.FLOAT:
            return _words(pc.cast(array, pa.float64()).fill_null(0.0), np.float64)
        case DatumKind.TIMESTAMP:
            micros = array.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
            seconds = micros // 1_000_000
            words = np.stack([seconds, (micros - seconds * 1_000_000) * 1000], axis=1)
            return _fixed(np.ascontiguousarray(words).view(np.uint8).reshape(-1), len(array), 16)
        case DatumKind.DECIMAL:
            return _decimals(array)
        case _:
            return _bytes(array)


def _words(array: pa.Array, dtype: type) -> Held:
    values: NDArray[Any] = np.ascontiguousarray(array.to_numpy(zero_copy_only=False), dtype=dtype)
    return _fixed(values.view(np.uint8), len(values), values.dtype.itemsize)


def _fixed(octets: Octets, rows: int, size: int) -> Held:
    begins = np.arange(rows, dtype=np.int64) * size
    return octets, begins, begins + size


def _bytes(array: pa.Array) -> Held:
    large = array.cast(pa.large_binary())
    offsets = np.frombuffer(large.buffers()[1], dtype=np.int64)[large.offset :][: len(large) + 1]
    data = large.buffers()[2]
    octets = np.frombuffer(data, dtype=np.uint8) if data else np.empty(0, dtype=np.uint8)
    return octets, offsets[:-1], offsets[1:]


def _decimals(array: pa.Array) -> Held:
    words = np.frombuffer(array.buffers()[1], dtype=np.int64)[2 * array.offset :][: 2 * len(array)]
    octets, ends = _hold_decimals(words.copy(), array.type.scale)
    return octets, np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]]), ends


@loop
def _hold_decimals(words: Offsets, scale: int) -> tuple[Octets, Offsets]:
    rows = len(words) // 2
    octets = np.empty(32 * rows, dtype=np.uint8)
    ends = np.empty(rows, dtype=np.int64)
    coefficient = np.empty(16, dtype=np.uint8)
    digits = np.empty(64, dtype=np.uint8)
    at = 0
    for row in range(rows):
        low, high = uint64(words[2 * row]), uint64(words[2 * row + 1])
        negative = words[2 * row + 1] < 0
        if negative:
            low = ~low + uint64(1)
            high = ~high + (uint64(1) if low == uint64(0) else uint64(0))
        put_big_endian(high, 8, coefficient, 0)
        put_big_endian(low, 8, coefficient, 8)
        begin = 0
        while begin < 16 and coefficient[begin] == 0:
            begin += 1
        count = max(int64(len(digits) - digits_of(coefficient, begin, 16, digits)), 1)
        at = put_decimal(negative, count - scale, coefficient, begin, 16, octets, at)
        ends[row] = at
    return octets, ends
