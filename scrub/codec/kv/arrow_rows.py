# SPDX-License-Identifier: Apache-2.0
"""Whole rows as Arrow columns in the types they are asked for: the way back from `arrow_columns`.

A column that is asked for as binary is the bytes that its datum is held in, whatever its kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numba import int64, uint64
from numpy.typing import NDArray

from scrub.codec.arrow_types import arrow_schema_of, to_arrow
from scrub.codec.kv import field
from scrub.codec.kv.batches import binary_of, grown
from scrub.codec.kv.compiled import Octets, Offsets, loop
from scrub.codec.kv.decimals import (
    ZERO,
    digits_of,
    fits_digits,
    head_of,
    is_negative,
    is_special,
)
from scrub.codec.kv.integers import copy_octets
from scrub.codec.kv.layouts import Layout
from scrub.codec.kv.rows import Datums
from scrub.codec.kv.whole_rows import whole_rows
from scrub.model.kv import DatumKind
from scrub.model.table import Column
from scrub.model.types import TypeName

Mask = NDArray[np.bool_]

_MICROS, _NANOS = 1_000_000, 1_000  # in a second, and in a microsecond
_LOW_HALF = np.uint64((1 << 32) - 1)


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """Rows that can be read, and what is known of the others; see `whole_rows`."""

    batch: pa.RecordBatch
    partial: Mask
    undecoded: int
    unheld: int  # rows, read well, with a value that the type of a column asked for does not have
    lost: bool


def arrow_rows(
    layout: Layout, columns: Sequence[Column], keys: pa.Array, values: pa.Array
) -> ArrowRows:
    """Some columns of the rows that pairs of the first table's primary index hold.

    A row with a value that the type of a column asked for does not have is left out: a decimal that
    is infinite, no number or longer than its column, a time between two microseconds.
    """
    rows = whole_rows(layout, layout.primary(0), keys, values)
    by_name = {of.name: (slot, of.type.kind) for slot, of in enumerate(layout.tables[0].columns)}
    fits = np.ones(len(rows.partial), dtype=np.bool_)
    arrays = []
    for column in columns:
        slot, kind = by_name[column.name]
        array, held_well = _array(kind, column, *_spans(rows.datums, slot))
        arrays.append(array)
        fits &= held_well
    batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema_of(columns))
    if fits.all():
        return ArrowRows(batch, rows.partial, rows.undecoded, 0, rows.lost)
    held, unheld = batch.filter(pa.array(fits)), int((~fits).sum())
    return ArrowRows(held, rows.partial[fits], rows.undecoded, unheld, rows.lost)


def _spans(datums: Datums, slot: int) -> tuple[Octets, Offsets, Offsets]:
    """Where a column's datums are; what a value adds to a key tells more than the key."""
    spans = datums.spans[:, slot]
    has_part = spans[:, field.PART] >= 0
    begins = np.where(has_part, spans[:, field.PART], spans[:, field.HELD])
    ends = np.where(has_part, spans[:, field.PART_END], spans[:, field.HELD_END])
    return datums.held, begins, ends


def _array(
    kind: DatumKind, column: Column, held: Octets, begins: Offsets, ends: Offsets
) -> tuple[pa.Array, Mask]:
    """One column, and which of its values have one of its type; those that have not are NULL."""
    is_null, wanted = begins < 0, to_arrow(column.type)
    fits = np.ones(len(begins), dtype=np.bool_)
    if kind is DatumKind.BYTES or column.type.name is TypeName.BINARY:
        octets, offsets = _gathered(held, begins, ends)
        # Bytes of text were found to be UTF-8 when they were read.
        return _with_nulls(binary_of(octets, offsets).cast(wanted), is_null), fits
    if kind is DatumKind.BOOL:
        return pa.array(_fixed(held, begins, 1).reshape(-1) != 0, mask=is_null), fits
    if kind is DatumKind.DECIMAL:
        words, held_well = _unscaled(held, begins, ends, column.type.precision, column.type.scale)
        fits = held_well.astype(np.bool_)
        buffers = [_bitmap(~is_null & fits), pa.py_buffer(words)]
        return pa.Array.from_buffers(wanted, len(begins), buffers), fits
    if kind is DatumKind.FLOAT:
        numbers = _fixed(held, begins, 8).view(np.float64).reshape(-1)
        return pa.array(numbers, pa.float64(), mask=is_null).cast(wanted, safe=False), fits
    if kind is DatumKind.TIMESTAMP:
        seconds, nanos = _fixed(held, begins, 16).view(np.int64).T
        fits = is_null | (nanos % _NANOS == 0)
        micros = seconds * _MICROS + nanos // _NANOS
        return pa.array(micros, pa.int64(), mask=is_null | ~fits).view(wanted), fits
    words = _fixed(held, begins, 8).view(np.int64).reshape(-1)
    if pa.types.is_date32(wanted):
        return pa.array(words, pa.int64(), mask=is_null).cast(pa.int32()).view(wanted), fits
    return pa.array(words, pa.int64(), mask=is_null).cast(wanted), fits


def _fixed(held: Octets, begins: Offsets, size: int) -> NDArray[np.uint8]:
    """Datums of a fixed size, one in each row; zeros for NULL."""
    found = np.zeros((len(begins), size), dtype=np.uint8)
    present = begins >= 0
    found[present] = held[begins[present, None] + np.arange(size)]
    return found


def _with_nulls(array: pa.Array, is_null: Mask) -> pa.Array:
    buffers = array.buffers()
    return pa.Array.from_buffers(array.type, len(array), [_bitmap(~is_null), *buffers[1:]])


def _bitmap(valid: Mask) -> Any:
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


@loop
def _gathered(held: Octets, begins: Offsets, ends: Offsets) -> tuple[Octets, Offsets]:
    """Datums behind one another, and where each of them ends; NULL has no bytes."""
    octets, offsets = np.empty(len(held), dtype=np.uint8), np.zeros(len(begins) + 1, dtype=np.int64)
    at = 0
    for row in range(len(begins)):
        if begins[row] >= 0:
            octets = grown(octets, at, ends[row] - begins[row])
            at = copy_octets(held, begins[row], ends[row], octets, at)
        offsets[row + 1] = at
    return octets[:at], offsets


@loop
def _unscaled(
    held: Octets, begins: Offsets, ends: Offsets, precision: int, scale: int
) -> tuple[Offsets, Offsets]:
    """Decimals as Arrow holds them, two words each, low one first, and 1 for those that fit.

    What is infinite, or no number, fits nowhere.
    """
    rows = len(begins)
    words, fits = np.zeros(2 * rows, dtype=np.int64), np.ones(rows, dtype=np.int64)
    digits = np.empty(0, dtype=np.uint8)
    for row in range(rows):
        begin, end = begins[row], ends[row]
        if begin < 0 or held[begin] == ZERO:
            continue
        fits_type = fits_digits(held, begin, end, precision - scale, scale)
        if is_special(held[begin]) or not fits_type:
            fits[row] = 0
            continue
        exponent, start = head_of(held, begin)
        if len(digits) < 3 * (end - start) + 2:
            digits = np.empty(3 * (end - start) + 64, dtype=np.uint8)
        first = digits_of(held, start, end, digits)
        if first == len(digits):
            continue  # a zero with its own number of digits
        low, high = uint64(0), uint64(0)
        for place in range(exponent + scale):
            digit = uint64(digits[first + place]) if first + place < len(digits) else uint64(0)
            # Times ten, plus a digit, in halves of a word, whose carries have room.
            lower = (low & _LOW_HALF) * uint64(10) + digit
            upper = (low >> uint64(32)) * uint64(10) + (lower >> uint64(32))
            low = (upper << uint64(32)) | (lower & _LOW_HALF)
            high = high * uint64(10) + (upper >> uint64(32))
        if is_negative(held[begin]):
            low = ~low + uint64(1)
            high = ~high + (uint64(1) if low == uint64(0) else uint64(0))
        words[2 * row], words[2 * row + 1] = int64(low), int64(high)
    return words, fits
