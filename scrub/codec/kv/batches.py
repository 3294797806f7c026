# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays of pairs as compiled code needs them, and back."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scrub.codec.kv import field
from scrub.codec.kv.compiled import Numbers, Octets, Offsets, allocating
from scrub.codec.kv.held_rows import Room, Row
from scrub.codec.kv.integers import copy_octets
from scrub.codec.kv.layouts import Layout
from scrub.codec.kv.pairs import Batch

# What a pair may need for its datums, for each of its bytes and besides. A byte becomes eight at
# most: a small integer in a key, a zero of an array of floats.
HELD_ROOM, PAIR_ROOM = 32, 512


def batch_of(keys: pa.Array, values: pa.Array) -> Batch:
    """The bytes of some pairs."""
    return Batch(*octets_of(keys), *octets_of(values))


def batch_of_keys(keys: pa.Array) -> Batch:
    """The bytes of some keys, beside values without any."""
    offsets, octets = octets_of(keys)
    return Batch(offsets, octets, np.zeros_like(offsets), np.empty(0, dtype=np.uint8))


def octets_of(array: pa.Array) -> tuple[NDArray[np.int64], Octets]:
    """Offsets and bytes of a binary array; of a NULL no bytes."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if not pa.types.is_large_binary(array.type):
        array = array.cast(pa.large_binary())
    if array.null_count:
        array = array.fill_null(b"")  # there may be bytes behind a NULL
    if not len(array):
        return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint8)
    buffers = array.buffers()
    offsets = np.frombuffer(buffers[1], dtype=np.int64)[
        array.offset : array.offset + len(array) + 1
    ]
    data = buffers[2]
    octets = np.frombuffer(data, dtype=np.uint8) if data else np.empty(0, dtype=np.uint8)
    # Copies: compiled code would otherwise exist twice, for arrays that may be written and not.
    return offsets - offsets[0], octets[offsets[0] : offsets[-1]].copy()


def binary_of(octets: Octets, offsets: NDArray[np.int64]) -> pa.Array:
    """Bytes between offsets as an Arrow array."""
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(octets)]
    )


def room_for(layout: Layout, batch: Batch) -> Room:
    """Room for everything a row can become: its datums, its bytes, where they are, and faults."""
    lengths = np.diff(batch.key_offsets) + np.diff(batch.value_offsets)
    indexes = layout.indexes
    pairs_of_row = indexes[:, field.FAMILIES_TO] - indexes[:, field.FAMILIES_FROM]
    room = int(pairs_of_row.max()) * (HELD_ROOM * int(lengths.max(initial=0)) + PAIR_ROOM)
    return Room(
        Row(np.empty(room, dtype=np.uint8), np.empty((layout.slots, field.SPAN), dtype=np.int64)),
        np.empty(2 * room, dtype=np.uint8),
        np.zeros(2, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


@allocating
def grown(buffer: Octets, used: int, more: int) -> Octets:
    """The buffer, or a bigger one with the same bytes, with room for some more."""
    if used + more <= len(buffer):
        return buffer
    bigger = np.empty(max(2 * len(buffer), used + more), dtype=np.uint8)
    copy_octets(buffer, 0, used, bigger, 0)
    return bigger


@allocating
def longer(numbers: Numbers) -> Numbers:
    """The same rows, with room for more of them."""
    # Assigning a slice would do, but takes seconds to compile, for what it may have to complain of.
    more = np.empty((2 * len(numbers) + 16, numbers.shape[1]), dtype=np.int64)
    for row in range(len(numbers)):
        for column in range(numbers.shape[1]):
            more[row, column] = numbers[row, column]
    return more


@allocating
def appended(buffer: Octets, ends: Offsets, count: int, out: Octets, size: int) -> Octets:
    """The buffer with one more string of bytes, the first ones of `out`."""
    buffer = grown(buffer, ends[count], size)
    ends[count + 1] = copy_octets(out, 0, size, buffer, ends[count])
    return buffer
