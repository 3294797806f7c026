# SPDX-License-Identifier: Apache-2.0
"""Whole pairs: reading one into datums, and judging whether it is what writing these gives."""

from typing import NamedTuple

from numba import uint64

from scrub.codec.kv import field, kinds, tags
from scrub.codec.kv.anydatum import is_composite, put_key
from scrub.codec.kv.checksums import checksum
from scrub.codec.kv.compiled import Fault, Numbers, Octets, Offsets, compiled, inlined
from scrub.codec.kv.decimals import is_special, put_key_decimal
from scrub.codec.kv.faults import Code, fail
from scrub.codec.kv.held_rows import Room, Row
from scrub.codec.kv.integers import get_big_endian, same_octets
from scrub.codec.kv.layouts import Tables, columns_of, families_of, key_columns, suffix_columns
from scrub.codec.kv.pair_reading import (
    find_index,
    payload,
    read_bare,
    read_columns,
    read_family,
    read_tuple,
)
from scrub.codec.kv.pair_writing import put_column, put_family, put_payload

FINE, UNEXPECTED, INVALID, COMPOSITE, NONCANONICAL, MISSING = range(6)
"""Verdicts on a pair; the last one is on a row that lacks its first pair."""


class Batch(NamedTuple):
    """Keys and values, each one's bytes between an offset and the next."""

    key_offsets: Offsets
    keys: Octets
    value_offsets: Offsets
    values: Octets


@compiled
def _first_difference(data: Octets, begin: int, end: int, other: Octets, length: int) -> int:
    at = 0
    while begin + at < end and at < length and data[begin + at] == other[at]:
        at += 1
    return begin + at


@compiled
def _needs_part(kind: int, held: Octets, begin: int, end: int) -> bool:
    """Whether a datum from a key shows that there is more to it."""
    if kind == kinds.COLLATED:
        return True
    if kind == kinds.DECIMAL:
        return is_special(held[begin])
    if kind == kinds.ARRAY + kinds.DECIMAL:
        return is_composite(kind, held, begin, end)
    return False


@inlined
def _judge_parts(key: Octets, family: int, tables: Tables, room: Room) -> None:
    """Whether every composite has the part it needs, and that part belongs to its key."""
    held, spans, out, composite = room.row.held, room.row.spans, room.out, room.composite
    columns = tables.columns
    first, last = columns_of(family, tables)
    for number in range(first, last):
        if columns[number, field.ROLE] == field.STORED:
            continue
        slot, kind = columns[number, field.COLUMN_SLOT], columns[number, field.COLUMN_KIND]
        # The source is negative where the column is before the tuple in the value.
        source = spans[slot, field.SOURCE]
        if spans[slot, field.HELD] < 0:
            if spans[slot, field.PART] >= 0:
                fail(composite, Code.COMPOSITE_OTHER, source)
                spans[slot, field.SUSPECT] = 1
            continue
        if spans[slot, field.PART] < 0:
            if _needs_part(kind, held, spans[slot, field.HELD], spans[slot, field.HELD_END]):
                fail(composite, Code.COMPOSITE_MISSING, source)
                spans[slot, field.SUSPECT] = 1
            continue
        if kind == kinds.COLLATED:
            continue
        # A part that is written as the key is does not only belong there: the key is canonical.
        begin, end = spans[slot, field.PART], spans[slot, field.PART_END]
        turned = spans[slot, field.TURNED] == 1
        if kind == kinds.DECIMAL:
            of_part = put_key_decimal(held, begin, end, turned, out, 0)
        else:
            of_part = put_key(kind, held, begin, end, turned, out, 0)
        if source >= 0 and same_octets(key, source, spans[slot, field.SOURCE_END], out, 0, of_part):
            spans[slot, field.PROVEN] = 1
            continue
        begin, end = spans[slot, field.HELD], spans[slot, field.HELD_END]
        of_key = put_key(kind, held, begin, end, turned, out, of_part)
        if not same_octets(out, 0, of_part, out, of_part, of_key):
            fail(composite, Code.COMPOSITE_OTHER, source)
            spans[slot, field.SUSPECT] = 1


@inlined
def _same_as(key: Octets, at: int, end: int, out: Octets, length: int, fault: Fault) -> int:
    """The position after what is in `out`, if a key goes on like that."""
    if at + length <= end and same_octets(key, at, at + length, out, 0, length):
        return at + length
    return fail(fault, Code.SPELLING, _first_difference(key, at, end, out, length))


@inlined
def _same_as_column(key: Octets, at: int, end: int, keys: Numbers, number: int, room: Room) -> int:
    """The position after a column, if it is written as its datum demands."""
    spans, slot = room.row.spans, keys[number, field.SLOT]
    if spans[slot, field.SOURCE] == at and spans[slot, field.PROVEN] == 1:
        return spans[slot, field.SOURCE_END]
    descending = keys[number, field.DESCENDING] == 1
    length = put_column(keys[number, field.KIND], slot, descending, room.row, room.out, 0)
    return _same_as(key, at, end, room.out, length, room.fault)


@inlined
def _judge_key(
    key: Octets, at: int, end: int, index: int, family_id: int, tables: Tables, room: Room
) -> int:
    """Whether columns and family are what writing the datums gives, one after the other."""
    keys, any_null = tables.keys, False
    first, last = key_columns(index, tables)
    for number in range(first, last):
        any_null = any_null or room.row.spans[keys[number, field.SLOT], field.HELD] < 0
        at = _same_as_column(key, at, end, keys, number, room)
        if at < 0:
            return at
    if any_null or not tables.indexes[index, field.UNIQUE]:
        first, last = suffix_columns(index, tables)
        for number in range(first, last):
            at = _same_as_column(key, at, end, keys, number, room)
            if at < 0:
                return at
    at = _same_as(key, at, end, room.out, put_family(family_id, room.out, 0), room.fault)
    return fail(room.fault, Code.SPELLING, at) if 0 <= at < end else at


@inlined
def _family_of(index: int, family_id: int, tables: Tables) -> int:
    """The family's row of the families, -1 if the index has no pairs of this one."""
    found = -1
    first, last = families_of(index, tables)
    for number in range(first, last):
        columns_from, columns_to = columns_of(number, tables)
        is_this = tables.families[number, field.FAMILY_ID] == family_id
        if is_this and (columns_from < columns_to or family_id == 0):
            found = number
    return found


@inlined
def read_key_columns(
    key: Octets, at: int, end: int, index: int, tables: Tables, row: Row, h: int, fault: Fault
) -> tuple[int, int]:
    """All columns that a key has, with the suffix where it belongs there."""
    keys = tables.keys
    first, last = key_columns(index, tables)
    suffix_from, suffix_to = suffix_columns(index, tables)
    at, h, any_null = read_columns(key, at, end, keys, first, last, True, row, h, fault)
    if at >= 0 and (any_null or not tables.indexes[index, field.UNIQUE]):
        at, h, _ = read_columns(key, at, end, keys, suffix_from, suffix_to, True, row, h, fault)
    return at, h


@inlined
def _read_value(
    value: Octets, start: int, end: int, index: int, family: int, tables: Tables, room: Room, h: int
) -> tuple[int, int]:
    """Tag and data, all of them; what is not there is then known to be NULL."""
    columns, spans, fault = tables.columns, room.row.spans, room.fault
    form = tables.families[family, field.FORM]
    first, last = columns_of(family, tables)
    for number in range(first, last):
        slot = columns[number, field.COLUMN_SLOT]
        spans[slot, field.PART] = -1
        if columns[number, field.ROLE] == field.STORED:
            spans[slot, field.HELD] = -1
    at = start + 1
    if form == field.BARE:
        kind, slot = columns[first, field.COLUMN_KIND], columns[first, field.COLUMN_SLOT]
        at, after = read_bare(kind, value[start], value, at, end, room.row.held, h, fault)
        if at < 0:
            return at, h
        spans[slot, field.HELD], spans[slot, field.HELD_END] = h, after
        return at, after
    if value[start] != tags.tag_of_form(form):
        return fail(fault, Code.VALUE_TAG, start), h
    if form == field.ENTRY and tables.indexes[index, field.UNIQUE]:
        # Where the key has the suffix too, for a NULL, this one counts.
        from_, to = suffix_columns(index, tables)
        at, h, _ = read_columns(value, at, end, tables.keys, from_, to, False, room.row, h, fault)
        if at < 0:
            return at, h
    return read_tuple(value, at, end, columns, first, last, h, room)


@inlined
def _verdict(
    batch: Batch, pair: int, h: int, tables: Tables, room: Room
) -> tuple[int, int, int, bool, int]:
    key, key_begin, key_end = batch.keys, batch.key_offsets[pair], batch.key_offsets[pair + 1]
    value, end = batch.values, batch.value_offsets[pair + 1]
    fault, composite = room.fault, room.composite
    fault[0] = composite[0] = 0
    index, columns_at = find_index(key, key_begin, key_end, tables.indexes, room.out, fault)
    if index < 0:
        return UNEXPECTED, -1, -1, False, h
    at, h = read_key_columns(key, columns_at, key_end, index, tables, room.row, h, fault)
    if at < 0:
        return INVALID, index, -1, False, h
    family_at = at
    family_id, at = read_family(key, at, key_end, fault)
    if at < 0:
        return INVALID, index, -1, False, h
    family = _family_of(index, family_id, tables)
    if family < 0:
        fail(fault, Code.FAMILY, family_at)
        return INVALID, index, -1, False, h
    start = payload(value, batch.value_offsets[pair], end, fault)
    if start < 0:
        return INVALID, index, family, True, h
    stored = get_big_endian(value, start - 4, 4)
    if stored != uint64(0) and stored != uint64(
        checksum(key, key_begin, key_end, value, start, end)
    ):
        fail(fault, Code.CHECKSUM, start - 4)
        return INVALID, index, family, True, h
    at, h = _read_value(value, start, end, index, family, tables, room, h)
    if at < 0:
        return INVALID, index, family, True, h
    if family_id == 0:
        code, place = composite[0], composite[1]
        _judge_parts(key, family, tables, room)
        if code:  # a part of another type is reported first, and others are suspect all the same
            composite[0], composite[1] = code, place
    if composite[0]:
        in_value = composite[0] == Code.COMPOSITE_TYPE or composite[1] < 0
        fault[0], fault[1] = composite[0], composite[1] if composite[1] >= 0 else start + 1
        return COMPOSITE, index, family, in_value, h
    if _judge_key(key, columns_at, key_end, index, family_id, tables, room) < 0:
        return NONCANONICAL, index, family, False, h
    length = put_payload(index, family, tables, room.row, room.out, 0)
    if length < 0 or not same_octets(value, start, end, room.out, 0, length):
        difference = _first_difference(value, start, end, room.out, max(length, 0))
        fail(fault, Code.SPELLING, difference)
        return NONCANONICAL, index, family, True, h
    return FINE, index, family, False, h


@inlined
def examine(
    batch: Batch, pair: int, h: int, tables: Tables, room: Room
) -> tuple[int, int, int, bool, int]:
    """Read a pair and judge it: verdict, index, row of families, and if the value is at fault.

    Datums are held from `h` on, to the position returned last, unless the verdict is that they
    cannot be read. A fault's position counts from the beginning of the key or the value.
    """
    verdict, index, family, in_value, h = _verdict(batch, pair, h, tables, room)
    room.fault[1] -= batch.value_offsets[pair] if in_value else batch.key_offsets[pair]
    return verdict, index, family, in_value, h


@compiled
def examined(
    batch: Batch, pair: int, h: int, tables: Tables, room: Room
) -> tuple[int, int, int, bool, int]:
    """The same as a call, for loops that do so much with a pair that one more costs them little."""
    return examine(batch, pair, h, tables, room)
