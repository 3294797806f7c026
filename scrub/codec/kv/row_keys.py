# SPDX-License-Identifier: Apache-2.0
"""What keys tell without their values: the index, the columns that are in them, and the row."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scrub.codec.kv import field
from scrub.codec.kv.batches import appended, batch_of_keys, binary_of, grown, room_for
from scrub.codec.kv.compiled import Cube, Octets, Offsets, inlined, loop
from scrub.codec.kv.held_rows import Room, forget, keep
from scrub.codec.kv.layouts import Layout, Tables, key_columns
from scrub.codec.kv.pair_reading import find_index
from scrub.codec.kv.pair_writing import put_row_key
from scrub.codec.kv.pairs import Batch, read_key_columns
from scrub.codec.kv.rows import Datums


@dataclass(frozen=True, slots=True)
class ReadKeys:
    """Some keys; what follows their columns may be anything."""

    indexes: NDArray[np.int64]  # numbers of the layout; -1 where the columns cannot be read
    datums: Datums
    rows: pa.Array  # what identifies the row; empty where the key does not tell


def read_keys(layout: Layout, keys: pa.Array) -> ReadKeys:
    batch = batch_of_keys(keys)
    indexes, held, placed, rows, ends = _read(batch, layout.numbers(), room_for(layout, batch))
    return ReadKeys(indexes, Datums(held, placed), binary_of(rows, ends))


@inlined
def primary_of(index: int, tables: Tables) -> int:
    """The primary index of the table that an index belongs to."""
    indexes, primary, owner = tables.indexes, index, tables.indexes[index, field.OWNER]
    for number in range(len(indexes)):
        if indexes[number, field.IS_PRIMARY] and indexes[number, field.OWNER] == owner:
            primary = number
    return primary


@inlined
def tells_row(primary: int, tables: Tables, room: Room) -> bool:
    """Whether every column of the primary key was read."""
    known = True
    first, last = key_columns(primary, tables)
    for number in range(first, last):
        known = known and room.row.spans[tables.keys[number, field.SLOT], field.HELD] >= 0
    return known


@loop
def _read(
    batch: Batch, tables: Tables, room: Room
) -> tuple[Offsets, Octets, Cube, Octets, Offsets]:
    row, spans, fault = room.row, room.row.spans, room.fault
    keys, most = len(batch.key_offsets) - 1, len(room.out)
    indexes = np.full(keys, -1, dtype=np.int64)
    kept = np.empty(64 * keys + most, dtype=np.uint8)
    placed = np.full((keys, len(spans), 4), -1, dtype=np.int64)
    rows = np.empty(32 * keys + most, dtype=np.uint8)
    ends = np.zeros(keys + 1, dtype=np.int64)
    used = 0
    for number in range(keys):
        begin, end, size = batch.key_offsets[number], batch.key_offsets[number + 1], 0
        forget(spans)
        index, at = find_index(batch.keys, begin, end, tables.indexes, room.out, fault)
        if index >= 0:
            at, _ = read_key_columns(batch.keys, at, end, index, tables, row, 0, fault)
            if at >= 0:
                indexes[number] = index
                kept = grown(kept, used, most)
                used = keep(row, kept, used, placed, number)
                primary = primary_of(index, tables)
                if tells_row(primary, tables, room):
                    size = put_row_key(primary, tables, row, room.out, 0)
        rows = appended(rows, ends, number, room.out, size)
    return indexes, kept[:used], placed, rows[: ends[keys]], ends
