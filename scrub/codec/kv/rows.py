# SPDX-License-Identifier: Apache-2.0
"""Rows as the pairs of an index, and the other way round."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scrub.codec.kv import field
from scrub.codec.kv.batches import PAIR_ROOM, batch_of, binary_of, grown, room_for
from scrub.codec.kv.compiled import Cube, Numbers, Octets, Offsets, loop
from scrub.codec.kv.held_rows import Room, Row, forget, keep
from scrub.codec.kv.judging import BadPair, bad_pair, noted
from scrub.codec.kv.layouts import Layout, Tables, families_of
from scrub.codec.kv.pair_writing import put_checksum, put_index_key, put_payload
from scrub.codec.kv.pairs import FINE, INVALID, UNEXPECTED, Batch, examined


@dataclass(frozen=True, slots=True)
class Datums:
    """Rows of a table: for each row and slot where the datum is in `held`, -1 for NULL.

    A collated string has two datums, its collation key and, as part, its contents.
    """

    held: Octets
    spans: NDArray[np.int64]  # (rows, slots, 4): HELD, HELD_END, PART, PART_END


def encode(layout: Layout, index: int, datums: Datums) -> tuple[pa.Array, pa.Array]:
    """The pairs that rows have in one index, values with their checksums."""
    keys, key_ends, values, value_ends = _encode(datums.held, datums.spans, layout.numbers(), index)
    return binary_of(keys, key_ends), binary_of(values, value_ends)


def decode(
    layout: Layout, index: int, keys: pa.Array, values: pa.Array
) -> tuple[Datums, list[BadPair]]:
    """The datums of an index's pairs; a pair that cannot be read has none."""
    batch = batch_of(keys, values)
    held, spans, bad = _decode(batch, index, layout.numbers(), room_for(layout, batch))
    return Datums(held, spans), [bad_pair(row) for row in bad.tolist()]


@loop
def _encode(
    held: Octets, placed: Cube, tables: Tables, index: int
) -> tuple[Octets, Offsets, Octets, Offsets]:
    rows, slots = placed.shape[0], placed.shape[1]
    first, last = families_of(index, tables)
    spans = np.full((slots, field.SPAN), -1, dtype=np.int64)
    row_datums = Row(held, spans)
    out_keys = np.empty(64 * rows + 64, dtype=np.uint8)
    out_values = np.empty(64 * rows + 64, dtype=np.uint8)
    key_ends = np.zeros(rows * (last - first) + 1, dtype=np.int64)
    value_ends = np.zeros(rows * (last - first) + 1, dtype=np.int64)
    k = v = count = 0
    for row in range(rows):
        size = PAIR_ROOM
        for slot in range(slots):
            for which in range(4):
                spans[slot, which] = placed[row, slot, which]
            # An array's NULLs are bits here and bytes in a key; a value may repeat what a key has.
            held_size = max(placed[row, slot, field.HELD_END] - placed[row, slot, field.HELD], 0)
            size += 12 * held_size + 64
            size += 12 * max(placed[row, slot, field.PART_END] - placed[row, slot, field.PART], 0)
        for family in range(first, last):
            out_keys = grown(out_keys, k, size)
            out_values = grown(out_values, v, size)
            end = put_payload(index, family, tables, row_datums, out_values, v + 4)
            if end < 0:
                continue
            family_id = tables.families[family, field.FAMILY_ID]
            after = put_index_key(index, family_id, tables, row_datums, out_keys, k)
            put_checksum(out_keys, k, after, out_values, v, end)
            k, v = after, end
            count += 1
            key_ends[count], value_ends[count] = k, v
    return out_keys[:k], key_ends[: count + 1], out_values[:v], value_ends[: count + 1]


@loop
def _decode(batch: Batch, wanted: int, tables: Tables, room: Room) -> tuple[Octets, Cube, Numbers]:
    spans, pairs, most = room.row.spans, len(batch.key_offsets) - 1, len(room.out)
    bad, bad_count = np.empty((0, 6), dtype=np.int64), 0
    kept = np.empty(64 * pairs + most, dtype=np.uint8)
    placed = np.full((pairs, len(spans), 4), -1, dtype=np.int64)
    at = 0
    for pair in range(pairs):
        forget(spans)
        verdict, index, _, in_value, _ = examined(batch, pair, 0, tables, room)
        if verdict != FINE:
            bad = noted(bad, bad_count, pair, verdict, index, room.fault, in_value)
            bad_count += 1
        if verdict == UNEXPECTED or verdict == INVALID or index != wanted:
            continue
        kept = grown(kept, at, most)
        at = keep(room.row, kept, at, placed, pair)
    return kept[:at], placed, bad[:bad_count]
