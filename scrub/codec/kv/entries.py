# SPDX-License-Identifier: Apache-2.0
"""What pairs say about secondary indexes: entries that rows ask for, and entries that are there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scrub.codec.kv import field
from scrub.codec.kv.batches import HELD_ROOM, PAIR_ROOM, appended, batch_of, binary_of, room_for
from scrub.codec.kv.compiled import Numbers, Octets, Offsets, loop
from scrub.codec.kv.doubt import is_doubtful, judge_nulls, judge_values, tells_two_rows
from scrub.codec.kv.faults import Code, fail
from scrub.codec.kv.held_rows import Room, forget
from scrub.codec.kv.integers import copy_octets
from scrub.codec.kv.judging import BadPair, bad_pair, noted
from scrub.codec.kv.layouts import Layout, Tables, families_of
from scrub.codec.kv.pair_reading import payload
from scrub.codec.kv.pair_writing import (
    put_index_key,
    put_payload,
    put_row_key,
    put_row_key_of_value,
)
from scrub.codec.kv.pairs import FINE, INVALID, MISSING, UNEXPECTED, Batch, examined
from scrub.codec.kv.row_keys import primary_of, tells_row
from scrub.codec.kv.row_pairs import FAMILIES_KEPT, is_partial, is_same_row, row_length
from scrub.codec.kv.sides import ACTUAL, DOUBTFUL, EXPECTED, OTHERWISE, PARTIAL


@dataclass(frozen=True, slots=True)
class UnfitValue:
    """A datum that its column cannot have; `code` says why."""

    number: int  # of the pair
    index: int  # of the layout
    slot: int
    code: Code


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of some indexes: those that rows ask for, and those that are there."""

    indexes: NDArray[np.int64]  # numbers of the layout
    sides: NDArray[np.int64]  # see scrub.codec.kv.sides
    rows: pa.Array  # the primary key's columns, which identify the row; empty where nobody knows
    keys: pa.Array  # of entries that are there, as they are
    values: pa.Array  # without checksum
    bad: list[BadPair]
    unfit: list[UnfitValue]
    lost: bool  # a row could not be read, so that not all that is expected is known

    @property
    def expected(self) -> NDArray[np.bool_]:
        """Those that rows ask for."""
        return (self.sides == EXPECTED) | (self.sides == PARTIAL)

    @property
    def doubtful(self) -> NDArray[np.bool_]:
        """Rows of which nobody knows what they ask for."""
        return self.sides == DOUBTFUL


def entries(layout: Layout, wanted: Sequence[int], keys: pa.Array, values: pa.Array) -> Entries:
    """What pairs say about some secondary indexes.

    Where a table has several families, its pairs must come in the order of their keys, all pairs of
    a row in the same batch.
    """
    batch = batch_of(keys, values)
    bad, unfit, numbers, rows, entry_keys, entry_values, ends, lost = _entries(
        batch, np.array(wanted, dtype=np.int64), layout.numbers(), room_for(layout, batch)
    )
    row_ends, key_ends, value_ends = (np.ascontiguousarray(of) for of in ends)
    return Entries(
        numbers[:, 0],
        numbers[:, 1],
        binary_of(rows, row_ends),
        binary_of(entry_keys, key_ends),
        binary_of(entry_values, value_ends),
        [bad_pair(row) for row in bad.tolist()],
        [UnfitValue(pair, index, slot, Code(code)) for pair, index, slot, code in unfit.tolist()],
        bool(lost),
    )


@loop
def _entries(
    batch: Batch, wanted: Offsets, tables: Tables, room: Room
) -> tuple[Numbers, Numbers, Numbers, Octets, Octets, Octets, Numbers, bool]:
    indexes, keys, families = tables.indexes, tables.keys, tables.families
    key_offsets, value_offsets = batch.key_offsets, batch.value_offsets
    row, spans, out, fault = room.row, room.row.spans, room.out, room.fault
    size = len(out)
    pairs, capacity = len(key_offsets) - 1, len(row.held)
    most = pairs * max(len(wanted), 1) * max(len(families), 2)
    bad, bad_count = np.empty((0, 6), dtype=np.int64), 0
    unfit, unfit_count = np.empty((0, 4), dtype=np.int64), 0
    rows = np.empty(32 * pairs + size, dtype=np.uint8)
    entry_keys = np.empty(32 * pairs + size, dtype=np.uint8)
    entry_values = np.empty(32 * pairs + size, dtype=np.uint8)
    ends = np.zeros((3, most + 1), dtype=np.int64)
    row_ends, key_ends, value_ends = ends[0], ends[1], ends[2]
    numbers = np.empty((most, 2), dtype=np.int64)
    count, lost = 0, False
    # The row, or entry, that pairs are being added to: its first pair, how many bytes its columns
    # take (negative without a row), how much of `held` it fills, and what it lacks.
    first_pair, length, used, readable, has_first, goes_on, seen = 0, -1, 0, True, False, False, 0
    for pair in range(pairs):
        begin, end = key_offsets[pair], key_offsets[pair + 1]
        size = end - begin + value_offsets[pair + 1] - value_offsets[pair]
        # Only many spellings of the same families can fill what was made for each of them once.
        crowded = goes_on and used + HELD_ROOM * size + PAIR_ROOM > capacity
        continues = goes_on and not crowded
        if not continues:
            first_pair, length, used, readable, has_first = pair, -1, 0, not crowded, False
            lost, seen = lost or crowded, 0
            forget(spans)
        goes_on = False
        verdict, index, family, in_value, after = examined(batch, pair, used, tables, room)
        if verdict != FINE:
            bad = noted(bad, bad_count, pair, verdict, index, fault, in_value)
            bad_count += 1
        if verdict == UNEXPECTED:
            continue
        is_primary = indexes[index, field.IS_PRIMARY] == 1
        if verdict == INVALID:
            lost = lost or is_primary
            readable = False
            if not is_primary and not in_value:
                # No lookup finds it, whatever it says: an entry that no row asks for.
                for position in range(len(wanted)):
                    if wanted[position] != index:
                        continue
                    start, stop = value_offsets[pair], value_offsets[pair + 1]
                    start = payload(batch.values, start, stop, fault)
                    size = 0
                    if start >= 0:
                        size = copy_octets(batch.values, start, stop, out, 0)
                    entry_values = appended(entry_values, value_ends, count, out, size)
                    size = copy_octets(batch.keys, begin, end, out, 0)
                    entry_keys = appended(entry_keys, key_ends, count, out, size)
                    rows = appended(rows, row_ends, count, out, 0)
                    numbers[count, 0], numbers[count, 1] = index, ACTUAL
                    count += 1
            if not is_primary or not (continues or in_value):
                continue
        else:
            has_first = has_first or families[family, field.FAMILY_ID] == 0
            used = after
            seen |= 1 << min(family - indexes[index, field.FAMILIES_FROM], FAMILIES_KEPT)
            unfit, unfit_count = judge_values(
                unfit, unfit_count, pair, index, family, not continues, tables, room
            )
        if indexes[index, field.FAMILIES_TO] - indexes[index, field.FAMILIES_FROM] > 1:
            if not continues:
                length = row_length(index, indexes, keys, spans, begin)
            following = key_offsets[pair + 2] if pair + 1 < pairs else end
            goes_on = is_same_row(batch.keys, begin, length, end, following)
        primary = index
        if is_primary:
            if goes_on:
                continue
            if not has_first and readable:
                fail(fault, Code.NO_FIRST_FAMILY, length)
                bad = noted(bad, bad_count, first_pair, MISSING, index, fault, False)
                bad_count += 1
            if not readable:
                continue
            if has_first:
                unfit, unfit_count = judge_nulls(
                    unfit, unfit_count, first_pair, index, tables, room
                )
        else:
            primary = primary_of(index, tables)
        for position in range(len(wanted)):
            target = wanted[position]
            if indexes[target, field.OWNER] != indexes[index, field.OWNER]:
                continue
            if not is_primary and target != index:
                continue
            first, last, side = family, family + 1, ACTUAL
            if is_primary:
                first, last = families_of(target, tables)
                side = PARTIAL if is_partial(index, seen, tables) else EXPECTED
                if not has_first or is_doubtful(target, tables, room):
                    side = DOUBTFUL
            if side == DOUBTFUL:
                for mark in range(DOUBTFUL, OTHERWISE + 1):
                    if mark == OTHERWISE and not tells_two_rows(primary, tables, room):
                        continue
                    entry_values = appended(entry_values, value_ends, count, out, 0)
                    entry_keys = appended(entry_keys, key_ends, count, out, 0)
                    if mark == DOUBTFUL:
                        size = put_row_key(primary, tables, row, out, 0)
                    else:
                        size = put_row_key_of_value(primary, tables, row, out, 0)
                    rows = appended(rows, row_ends, count, out, size)
                    numbers[count, 0], numbers[count, 1] = target, mark
                    count += 1
                continue
            for of_family in range(first, last):
                size = put_payload(target, of_family, tables, row, out, 0)
                if size < 0:
                    continue
                entry_values = appended(entry_values, value_ends, count, out, size)
                if is_primary:
                    family_id = families[of_family, field.FAMILY_ID]
                    size = put_index_key(target, family_id, tables, row, out, 0)
                else:
                    size = copy_octets(batch.keys, begin, end, out, 0)
                entry_keys = appended(entry_keys, key_ends, count, out, size)
                size = 0
                if tells_row(primary, tables, room):
                    size = put_row_key(primary, tables, row, out, 0)
                rows = appended(rows, row_ends, count, out, size)
                numbers[count, 0], numbers[count, 1] = target, side
                count += 1
    return (
        bad[:bad_count],
        unfit[:unfit_count],
        numbers[:count],
        rows[: row_ends[count]],
        entry_keys[: key_ends[count]],
        entry_values[: value_ends[count]],
        ends[:, : count + 1].copy(),
        lost,
    )
