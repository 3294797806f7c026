# SPDX-License-Identifier: Apache-2.0
"""Whole rows from the pairs of the primary index: the families of one row joined together.

A family that is not there, or a column that is not in its value, is NULL. A row of which any part
cannot be read is left out and counted: a pair whose bytes cannot be read, a row without the pair
that every row has, a value that its column's type does not have, a key and a value that disagree.
What reads well but is spelled wrongly counts as what it should be.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scrub.codec.kv import field
from scrub.codec.kv.batches import HELD_ROOM, PAIR_ROOM, batch_of, grown, room_for
from scrub.codec.kv.compiled import Cube, Numbers, Octets, Offsets, inlined, loop
from scrub.codec.kv.doubt import judge_values
from scrub.codec.kv.held_rows import Room, forget, keep
from scrub.codec.kv.layouts import Layout, Tables
from scrub.codec.kv.pairs import INVALID, Batch, examined
from scrub.codec.kv.row_pairs import FAMILIES_KEPT, is_partial, is_same_row, row_length
from scrub.codec.kv.rows import Datums


@dataclass(frozen=True, slots=True)
class WholeRows:
    """Rows that can be read, and what is known of the others."""

    datums: Datums
    partial: NDArray[np.bool_]  # which rows lack the pair of a family
    undecoded: int  # rows that cannot be read; of a key that tells no row, each pair is one
    lost: bool  # a pair could not be read: it may be what a partial row lacks


def whole_rows(layout: Layout, primary: int, keys: pa.Array, values: pa.Array) -> WholeRows:
    """The rows of a primary index.

    Where a table has several families, its pairs must come in the order of their keys, all pairs of
    a row in the same batch.
    """
    batch = batch_of(keys, values)
    held, spans, partial, undecoded, lost = _whole_rows(
        batch, primary, layout.numbers(), room_for(layout, batch)
    )
    return WholeRows(Datums(held, spans), partial.astype(np.bool_), undecoded, bool(lost))


@inlined
def _is_suspect(spans: Numbers) -> bool:
    """Whether a row has a value that cannot be."""
    suspect = False
    for slot in range(len(spans)):
        suspect = suspect or spans[slot, field.SUSPECT] == 1
    return suspect


@loop
def _whole_rows(
    batch: Batch, primary: int, tables: Tables, room: Room
) -> tuple[Octets, Cube, Offsets, int, bool]:
    indexes, key_offsets, value_offsets = tables.indexes, batch.key_offsets, batch.value_offsets
    spans, capacity, most = room.row.spans, len(room.row.held), len(room.out)
    first_family = indexes[primary, field.FAMILIES_FROM]
    pairs, by_row = len(key_offsets) - 1, indexes[primary, field.FAMILIES_TO] - first_family > 1
    kept = np.empty(64 * pairs + most, dtype=np.uint8)
    placed = np.full((pairs, len(spans), 4), -1, dtype=np.int64)
    partial = np.zeros(pairs, dtype=np.int64)
    unfit = np.empty((0, 4), dtype=np.int64)
    count, kept_to, undecoded, lost = 0, 0, 0, False
    # The row that pairs are being added to: how many bytes its columns take in a key, how much of
    # what is held it fills, whether it can be read, and which families it has.
    length, used, readable, has_first, goes_on, seen = -1, 0, True, False, False, 0
    for pair in range(pairs):
        begin, end = key_offsets[pair], key_offsets[pair + 1]
        size = end - begin + value_offsets[pair + 1] - value_offsets[pair]
        # Only many spellings of the same families can fill what was made for each of them once.
        crowded = goes_on and used + HELD_ROOM * size + PAIR_ROOM > capacity
        continues = goes_on and not crowded
        if not continues:
            length, used, readable, has_first, seen = -1, 0, not crowded, False, 0
            lost = lost or crowded
            forget(spans)
        goes_on = False
        verdict, index, family, in_value, after = examined(batch, pair, used, tables, room)
        if index != primary:
            continue
        if verdict == INVALID:
            lost, readable = True, False
            if not (continues or in_value):
                undecoded += 1
                continue
        else:
            used = after
            has_first = has_first or tables.families[family, field.FAMILY_ID] == 0
            seen |= 1 << min(family - first_family, FAMILIES_KEPT)
            unfit, _ = judge_values(unfit, 0, pair, index, family, not continues, tables, room)
        if by_row:
            if not continues:
                length = row_length(index, indexes, tables.keys, spans, begin)
            following = key_offsets[pair + 2] if pair + 1 < pairs else end
            goes_on = is_same_row(batch.keys, begin, length, end, following)
        if goes_on:
            continue
        if not readable or not has_first or _is_suspect(spans):
            undecoded += 1
            continue
        kept = grown(kept, kept_to, most)
        kept_to = keep(room.row, kept, kept_to, placed, count)
        partial[count] = is_partial(index, seen, tables)
        count += 1
    return kept[:kept_to], placed[:count], partial[:count], undecoded, lost
