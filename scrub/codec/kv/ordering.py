# SPDX-License-Identifier: Apache-2.0
"""Whether keys come in the order that their values demand.

Bytes alone do not tell: a value in a spelling that is not canonical may sort where it does not
belong. So every key is read and written again; what cannot be read counts as the bytes it has.

A key is out of order if it is less than the one before it, whichever that was. So one key in the
wrong place is one defect: too small, it is reported itself; too large, the next one is, and those
after that are compared with their true neighbours again. Equal keys are versions, and in order.
"""

import numpy as np
import pyarrow as pa

from scrub.codec.kv.batches import batch_of_keys, room_for
from scrub.codec.kv.compiled import Octets, Offsets, inlined, loop
from scrub.codec.kv.held_rows import Room
from scrub.codec.kv.integers import copy_octets
from scrub.codec.kv.layouts import Layout, Tables
from scrub.codec.kv.pair_reading import find_index, read_family
from scrub.codec.kv.pair_writing import put_index_key
from scrub.codec.kv.pairs import Batch, read_key_columns


def out_of_order(
    layout: Layout, keys: pa.Array, before: bytes | None
) -> tuple[list[int], bytes | None]:
    """The positions of keys less than the one before, and what the next batch has before it.

    `before` is what the batch before this one returned, None for the first.
    """
    if not len(keys):
        return [], before
    batch = batch_of_keys(keys)
    room = room_for(layout, batch)
    half = max(len(room.out), len(before or b""))
    rebuilt = np.empty(2 * half, dtype=np.uint8)
    length = -1
    if before is not None:
        length = len(before)
        rebuilt[half : half + length] = np.frombuffer(before, dtype=np.uint8)
    late = np.empty(len(keys), dtype=np.int64)
    count, begin, end = _find_late(batch, layout.numbers(), room, rebuilt, length, late)
    return late[:count].tolist(), rebuilt[begin:end].tobytes()


@inlined
def _rebuild(
    key: Octets, begin: int, end: int, tables: Tables, room: Room, out: Octets, o: int
) -> int:
    """A key as it should be spelled, if it can be read."""
    fault = room.fault
    index, at = find_index(key, begin, end, tables.indexes, room.out, fault)
    if index >= 0:
        at, _ = read_key_columns(key, at, end, index, tables, room.row, 0, fault)
        if at >= 0:
            family, at = read_family(key, at, end, fault)
            if at >= 0:
                return put_index_key(index, family, tables, room.row, out, o)
    return copy_octets(key, begin, end, out, o)


@inlined
def _is_less(data: Octets, begin: int, end: int, other: int, other_end: int) -> bool:
    """Whether data[begin:end] sorts before data[other:other_end]."""
    for step in range(min(end - begin, other_end - other)):
        if data[begin + step] != data[other + step]:
            return data[begin + step] < data[other + step]
    return end - begin < other_end - other


@loop
def _find_late(
    batch: Batch, tables: Tables, room: Room, rebuilt: Octets, length: int, late: Offsets
) -> tuple[int, int, int]:
    """How many keys are out of order, and where in `rebuilt` the last key is.

    The two halves of `rebuilt` take turns; the second one starts with the key before the batch,
    unless its length is negative.
    """
    half = len(rebuilt) // 2
    begin, before, before_end, count = 0, half, half + length, 0
    for pair in range(len(batch.key_offsets) - 1):
        key_begin, key_end = batch.key_offsets[pair], batch.key_offsets[pair + 1]
        end = _rebuild(batch.keys, key_begin, key_end, tables, room, rebuilt, begin)
        if before_end >= before and _is_less(rebuilt, begin, end, before, before_end):
            late[count] = pair
            count += 1
        begin, before, before_end = before, begin, end
    return count, before, before_end
