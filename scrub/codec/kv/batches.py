# SPDX-License-Identifier: Apache-2.0
"""Batches of pairs in Arrow arrays: judged, read as index entries, or written from rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scrub.codec.kv.compiled import (
    Cube,
    Fault,
    Numbers,
    Octets,
    Offsets,
    allocating,
    inlined,
)
from scrub.codec.kv.faults import TEXTS, Code
from scrub.codec.kv.integers import copy_octets, same_octets
from scrub.codec.kv.layouts import (
    FAMILIES_FROM,
    FAMILIES_TO,
    FAMILY_ID,
    IS_PRIMARY,
    KEY_FROM,
    OWNER,
    SLOT,
    SUFFIX_TO,
    Layout,
)
from scrub.codec.kv.pairs import (
    FINE,
    HELD,
    HELD_END,
    INVALID,
    MISSING,
    PART,
    PART_END,
    SOURCE,
    SOURCE_END,
    SPAN,
    UNEXPECTED,
    examine,
    put_checksum,
    put_index_key,
    put_payload,
    put_row_key,
)

# What is reported of a pair that is not fine
PAIR, VERDICT, INDEX, FAULT, POSITION, IN_VALUE = range(6)
NO_FIRST_FAMILY = int(Code.NO_FIRST_FAMILY)

# What a pair may need for its datums, for each of its bytes and besides. A byte becomes eight at
# most: a small integer in a key, a zero of an array of floats.
HELD_ROOM, PAIR_ROOM = 32, 512


@dataclass(frozen=True, slots=True)
class BadPair:
    """A pair that is not what it should be; `index` is a number of the layout, or None."""

    number: int
    verdict: int
    index: int | None
    code: Code
    position: int
    in_value: bool

    @property
    def expected(self) -> str:
        return TEXTS[self.code]


def judge(layout: Layout, keys: pa.Array, values: pa.Array) -> list[BadPair]:
    """The pairs of a batch that are not the canonical spelling of a row or an entry."""
    offsets: tuple[Any, ...] = (*_buffers(keys), *_buffers(values))
    arguments: tuple[Any, ...] = (
        *offsets,
        *layout.arrays(),
        *_scratch(layout, offsets[0], offsets[2]),
    )
    found = _judge(*arguments)
    return [_bad_pair(row) for row in found.tolist()]


def _bad_pair(row: Sequence[int]) -> BadPair:
    number, verdict, index, code, position, in_value = row
    return BadPair(
        number, verdict, index if index >= 0 else None, Code(code), position, bool(in_value)
    )


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of some indexes: those that rows ask for, and those that are there."""

    indexes: NDArray[np.int64]  # numbers of the layout
    expected: NDArray[np.bool_]  # from a row; else from the index itself
    rows: pa.Array  # the primary key's columns, which identify the row
    keys: pa.Array
    values: pa.Array  # without checksum
    bad: list[BadPair]
    lost: bool  # a row could not be read, so that not all that is expected is known


def entries(layout: Layout, wanted: Sequence[int], keys: pa.Array, values: pa.Array) -> Entries:
    """What pairs say about some secondary indexes.

    Where a table has several families, its pairs must come in the order of their keys, all pairs of
    a row in the same batch.
    """
    offsets: tuple[Any, ...] = (*_buffers(keys), *_buffers(values))
    chosen = np.array(wanted, dtype=np.int64)
    scratch = _scratch(layout, offsets[0], offsets[2])
    arguments: tuple[Any, ...] = (*offsets, *layout.arrays(), chosen, *scratch)
    bad, numbers, rows, row_ends, entry_keys, key_ends, entry_values, value_ends, lost = _entries(
        *arguments
    )
    return Entries(
        numbers[:, 0],
        numbers[:, 1] == 1,
        _binary(rows, row_ends),
        _binary(entry_keys, key_ends),
        _binary(entry_values, value_ends),
        [_bad_pair(row) for row in bad.tolist()],
        bool(lost),
    )


@dataclass(frozen=True, slots=True)
class Datums:
    """Rows of a table: for each row and slot where the datum is in `held`, -1 for NULL.

    A collated string has two datums, its collation key and, as part, its contents.
    """

    held: Octets
    spans: NDArray[np.int64]  # (rows, slots, 4): HELD, HELD_END, PART, PART_END


def encode(layout: Layout, index: int, datums: Datums) -> tuple[pa.Array, pa.Array]:
    """The pairs that rows have in one index, values with their checksums."""
    keys, key_offsets, values, value_offsets = _encode(
        datums.held, datums.spans, *layout.arrays(), index
    )
    return _binary(keys, key_offsets), _binary(values, value_offsets)


def decode(
    layout: Layout, index: int, keys: pa.Array, values: pa.Array
) -> tuple[Datums, list[BadPair]]:
    """The datums of an index's pairs; a pair that cannot be read has none."""
    offsets: tuple[Any, ...] = (*_buffers(keys), *_buffers(values))
    scratch = _scratch(layout, offsets[0], offsets[2])
    arguments: tuple[Any, ...] = (*offsets, *layout.arrays(), index, *scratch)
    held, spans, bad = _decode(*arguments)
    return Datums(held, spans), [_bad_pair(row) for row in bad.tolist()]


def _buffers(array: pa.Array) -> tuple[NDArray[np.int64], Octets]:
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


def _binary(octets: Octets, offsets: NDArray[np.int64]) -> pa.Array:
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(octets)]
    )


def _scratch(
    layout: Layout, key_offsets: NDArray[np.int64], value_offsets: NDArray[np.int64]
) -> tuple[Any, ...]:
    """Room for everything a row can become: its datums, its bytes, where they are, and faults."""
    lengths = np.diff(key_offsets) + np.diff(value_offsets)
    pairs_of_row = int((layout.indexes[:, FAMILIES_TO] - layout.indexes[:, FAMILIES_FROM]).max())
    room = pairs_of_row * (HELD_ROOM * int(lengths.max(initial=0)) + PAIR_ROOM)
    return (
        np.empty(room, dtype=np.uint8),
        np.empty(2 * room, dtype=np.uint8),
        np.empty((layout.slots, SPAN), dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


@allocating
def _grown(buffer: Octets, used: int, more: int) -> Octets:
    if used + more <= len(buffer):
        return buffer
    bigger = np.empty(max(2 * len(buffer), used + more), dtype=np.uint8)
    bigger[:used] = buffer[:used]
    return bigger


@allocating
def _noted(
    bad: Numbers, count: int, pair: int, verdict: int, index: int, fault: Fault, in_value: bool
) -> Numbers:
    """The bad pairs with one more."""
    if count == len(bad):
        bigger = np.empty((2 * len(bad) + 16, 6), dtype=np.int64)
        bigger[:count] = bad
        bad = bigger
    bad[count, PAIR] = pair
    bad[count, VERDICT] = verdict
    bad[count, INDEX] = index
    bad[count, FAULT] = fault[0]
    bad[count, POSITION] = fault[1]
    bad[count, IN_VALUE] = in_value
    return bad


@inlined
def _forget(spans: Numbers) -> None:
    for slot in range(len(spans)):
        spans[slot, HELD] = spans[slot, PART] = spans[slot, SOURCE] = -1


@inlined
def _goes_on(data: Octets, begin: int, length: int, end: int, other_end: int) -> bool:
    """Whether the key at `end` is the next one of the row that data[begin:end] is a key of.

    Both start with the row's columns, of this length. A key that is not behind this one, such as
    the same once more, is a row of its own.
    """
    if length < 0 or end + length >= other_end:
        return False
    if not same_octets(data, begin, begin + length, data, end, end + length):
        return False
    for at in range(length, other_end - end):
        if begin + at == end:
            return True
        if data[begin + at] != data[end + at]:
            return data[begin + at] < data[end + at]
    return False


@inlined
def _row_length(index: int, indexes: Numbers, keys: Numbers, spans: Numbers, begin: int) -> int:
    """How far the columns of a key go, to where its family begins."""
    end = begin
    for number in range(indexes[index, KEY_FROM], indexes[index, SUFFIX_TO]):
        if spans[keys[number, SLOT], SOURCE] >= 0:
            end = max(end, spans[keys[number, SLOT], SOURCE_END])
    return end - begin


@allocating
def _judge(
    key_offsets: Offsets,
    key_data: Octets,
    value_offsets: Offsets,
    value_data: Octets,
    indexes: Numbers,
    keys: Numbers,
    families: Numbers,
    columns: Numbers,
    held: Octets,
    out: Octets,
    spans: Numbers,
    fault: Fault,
    composite: Fault,
) -> Numbers:
    bad, bad_count = np.empty((0, 6), dtype=np.int64), 0
    for pair in range(len(key_offsets) - 1):
        verdict, index, _, in_value, _ = examine(
            key_data,
            key_offsets[pair],
            key_offsets[pair + 1],
            value_data,
            value_offsets[pair],
            value_offsets[pair + 1],
            indexes,
            keys,
            families,
            columns,
            held,
            0,
            out,
            spans,
            fault,
            composite,
        )
        if verdict != FINE:
            fault[1] -= value_offsets[pair] if in_value else key_offsets[pair]
            bad = _noted(bad, bad_count, pair, verdict, index, fault, in_value)
            bad_count += 1
    return bad[:bad_count]


@allocating
def _entries(
    key_offsets: Offsets,
    key_data: Octets,
    value_offsets: Offsets,
    value_data: Octets,
    indexes: Numbers,
    keys: Numbers,
    families: Numbers,
    columns: Numbers,
    wanted: Offsets,
    held: Octets,
    out: Octets,
    spans: Numbers,
    fault: Fault,
    composite: Fault,
) -> tuple[Numbers, Numbers, Octets, Offsets, Octets, Offsets, Octets, Offsets, bool]:
    pairs, room, capacity = len(key_offsets) - 1, len(out), len(held)
    most = pairs * max(len(wanted), 1) * max(len(families), 1)
    bad, bad_count = np.empty((0, 6), dtype=np.int64), 0
    rows = np.empty(32 * pairs + room, dtype=np.uint8)
    entry_keys = np.empty(32 * pairs + room, dtype=np.uint8)
    entry_values = np.empty(32 * pairs + room, dtype=np.uint8)
    row_ends = np.zeros(most + 1, dtype=np.int64)
    key_ends = np.zeros(most + 1, dtype=np.int64)
    value_ends = np.zeros(most + 1, dtype=np.int64)
    numbers = np.empty((most, 2), dtype=np.int64)
    count, lost = 0, False
    # The row, or entry, that pairs are being added to: its first pair, how many bytes its columns
    # take (negative without a row), how much of `held` it fills, and what it lacks.
    row, length, used, readable, has_first, goes_on = 0, -1, 0, True, False, False
    for pair in range(pairs):
        begin, end = key_offsets[pair], key_offsets[pair + 1]
        size = end - begin + value_offsets[pair + 1] - value_offsets[pair]
        # Only many spellings of the same families can fill what was made for each of them once.
        crowded = goes_on and used + HELD_ROOM * size + PAIR_ROOM > capacity
        continues = goes_on and not crowded
        if not continues:
            length, used, readable, has_first = -1, 0, not crowded, False
            lost = lost or crowded
            _forget(spans)
        goes_on = False
        verdict, index, family, in_value, after = examine(
            key_data,
            key_offsets[pair],
            key_offsets[pair + 1],
            value_data,
            value_offsets[pair],
            value_offsets[pair + 1],
            indexes,
            keys,
            families,
            columns,
            held,
            used,
            out,
            spans,
            fault,
            composite,
        )
        if verdict != FINE:
            fault[1] -= value_offsets[pair] if in_value else key_offsets[pair]
            bad = _noted(bad, bad_count, pair, verdict, index, fault, in_value)
            bad_count += 1
        if verdict == UNEXPECTED:
            continue
        is_primary = indexes[index, IS_PRIMARY] == 1
        if verdict == INVALID:
            lost = lost or is_primary
            readable = False
            if not is_primary or not (continues or in_value):
                continue
        else:
            has_first = has_first or families[family, FAMILY_ID] == 0
            used = after
        if indexes[index, FAMILIES_TO] - indexes[index, FAMILIES_FROM] > 1:
            if not continues:
                row, length = pair, _row_length(index, indexes, keys, spans, begin)
            following = key_offsets[pair + 2] if pair + 1 < pairs else end
            goes_on = _goes_on(key_data, begin, length, end, following)
        primary = index
        if is_primary:
            if goes_on:
                continue
            if not has_first and readable:
                fault[0], fault[1] = NO_FIRST_FAMILY, length
                bad = _noted(bad, bad_count, row, MISSING, index, fault, False)
                bad_count += 1
            if not has_first or not readable:
                continue
        else:
            for number in range(len(indexes)):
                if indexes[number, IS_PRIMARY] and indexes[number, OWNER] == indexes[index, OWNER]:
                    primary = number
        for position in range(len(wanted)):
            target = wanted[position]
            if indexes[target, OWNER] != indexes[index, OWNER]:
                continue
            if not is_primary and target != index:
                continue
            first, last = family, family + 1
            if is_primary:
                first, last = indexes[target, FAMILIES_FROM], indexes[target, FAMILIES_TO]
            for of_family in range(first, last):
                size = put_payload(
                    target, of_family, indexes, keys, families, columns, held, spans, out, 0
                )
                if size < 0:
                    continue
                v, k, r = value_ends[count], key_ends[count], row_ends[count]
                entry_values = _grown(entry_values, v, size)
                value_ends[count + 1] = copy_octets(out, 0, size, entry_values, v)
                family_id = families[of_family, FAMILY_ID]
                size = put_index_key(target, family_id, indexes, keys, held, spans, out, 0)
                entry_keys = _grown(entry_keys, k, size)
                key_ends[count + 1] = copy_octets(out, 0, size, entry_keys, k)
                size = put_row_key(primary, indexes, keys, held, spans, out, 0)
                rows = _grown(rows, r, size)
                row_ends[count + 1] = copy_octets(out, 0, size, rows, r)
                numbers[count, 0], numbers[count, 1] = target, is_primary
                count += 1
    return (
        bad[:bad_count],
        numbers[:count],
        rows[: row_ends[count]],
        row_ends[: count + 1],
        entry_keys[: key_ends[count]],
        key_ends[: count + 1],
        entry_values[: value_ends[count]],
        value_ends[: count + 1],
        lost,
    )


@allocating
def _encode(
    held: Octets,
    placed: Cube,
    indexes: Numbers,
    keys: Numbers,
    families: Numbers,
    columns: Numbers,
    index: int,
) -> tuple[Octets, Offsets, Octets, Offsets]:
    rows, slots = placed.shape[0], placed.shape[1]
    per_row = indexes[index, FAMILIES_TO] - indexes[index, FAMILIES_FROM]
    spans = np.full((slots, SPAN), -1, dtype=np.int64)
    out_keys = np.empty(64 * rows + 64, dtype=np.uint8)
    out_values = np.empty(64 * rows + 64, dtype=np.uint8)
    key_ends = np.zeros(rows * per_row + 1, dtype=np.int64)
    value_ends = np.zeros(rows * per_row + 1, dtype=np.int64)
    k = v = count = 0
    for row in range(rows):
        size = PAIR_ROOM
        for slot in range(slots):
            for which in range(4):
                spans[slot, which] = placed[row, slot, which]
            # An array's NULLs are bits here and bytes in a key; a value may repeat what a key has.
            held_size = max(placed[row, slot, HELD_END] - placed[row, slot, HELD], 0)
            size += 12 * held_size + 64
            size += 12 * max(placed[row, slot, PART_END] - placed[row, slot, PART], 0)
        for family in range(indexes[index, FAMILIES_FROM], indexes[index, FAMILIES_TO]):
            out_keys = _grown(out_keys, k, size)
            out_values = _grown(out_values, v, size)
            end = put_payload(
                index, family, indexes, keys, families, columns, held, spans, out_values, v + 4
            )
            if end < 0:
                continue
            after = put_index_key(
                index, families[family, FAMILY_ID], indexes, keys, held, spans, out_keys, k
            )
            put_checksum(out_keys, k, after, out_values, v, end)
            k, v = after, end
            count += 1
            key_ends[count], value_ends[count] = k, v
    return out_keys[:k], key_ends[: count + 1], out_values[:v], value_ends[: count + 1]


@allocating
def _decode(
    key_offsets: Offsets,
    key_data: Octets,
    value_offsets: Offsets,
    value_data: Octets,
    indexes: Numbers,
    keys: Numbers,
    families: Numbers,
    columns: Numbers,
    wanted: int,
    held: Octets,
    out: Octets,
    spans: Numbers,
    fault: Fault,
    composite: Fault,
) -> tuple[Octets, Cube, Numbers]:
    pairs, room, slots = len(key_offsets) - 1, len(out), len(spans)
    bad, bad_count = np.empty((0, 6), dtype=np.int64), 0
    kept = np.empty(64 * pairs + room, dtype=np.uint8)
    placed = np.full((pairs, slots, 4), -1, dtype=np.int64)
    at = 0
    for pair in range(pairs):
        _forget(spans)
        verdict, index, _, in_value, _ = examine(
            key_data,
            key_offsets[pair],
            key_offsets[pair + 1],
            value_data,
            value_offsets[pair],
            value_offsets[pair + 1],
            indexes,
            keys,
            families,
            columns,
            held,
            0,
            out,
            spans,
            fault,
            composite,
        )
        if verdict != FINE:
            fault[1] -= value_offsets[pair] if in_value else key_offsets[pair]
            bad = _noted(bad, bad_count, pair, verdict, index, fault, in_value)
            bad_count += 1
        if verdict == UNEXPECTED or verdict == INVALID or index != wanted:
            continue
        kept = _grown(kept, at, room)
        for slot in range(slots):
            for which in range(HELD, PART_END, 2):
                if spans[slot, which] >= 0:
                    after = copy_octets(held, spans[slot, which], spans[slot, which + 1], kept, at)
                    placed[pair, slot, which], placed[pair, slot, which + 1] = at, after
                    at = after
    return kept[:at], placed, bad[:bad_count]
