# SPDX-License-Identifier: Apache-2.0
"""The parts that a pair consists of, from bytes into held datums."""

import numpy as np
from numba import int64, uint64

from scrub.codec.kv import field, kinds, tags
from scrub.codec.kv.anydatum import read_array_body, read_key, read_tagged, skip_tagged
from scrub.codec.kv.compiled import Fault, Numbers, Octets, also_loop, compiled, inlined
from scrub.codec.kv.datums import (
    is_inet,
    is_null,
    read_bits_body,
    read_body_scalar,
    read_decimal_body,
    read_float_body,
    read_key_bytes,
    read_key_float,
    read_key_scalar,
)
from scrub.codec.kv.decimals import read_decimal, read_key_decimal
from scrub.codec.kv.faults import Code, fail
from scrub.codec.kv.held_rows import Room, Row
from scrub.codec.kv.integers import (
    copy_octets,
    get_big_endian,
    put_uvarint,
    put_word,
    read_leb128,
    read_uvarint,
    read_varint,
    read_zigzag,
    same_octets,
)

MVCC_MARK = 0x65
MAX_ID = (1 << 32) - 1
MAX_FAMILY = np.uint64(MAX_ID)


@inlined
def find_index(
    data: Octets, at: int, end: int, indexes: Numbers, prefix: Octets, fault: Fault
) -> tuple[int, int]:
    """The number of the index that a key belongs to, and where its columns start.

    An index is known by the bytes that its keys begin with, in their one spelling; `prefix` is
    room for them.
    """
    for number in range(len(indexes)):
        length = put_uvarint(uint64(indexes[number, field.TABLE_ID]), False, prefix, 0)
        length = put_uvarint(uint64(indexes[number, field.INDEX_ID]), False, prefix, length)
        if at + length <= end and same_octets(data, at, at + length, prefix, 0, length):
            return number, at + length
    _, after = read_uvarint(data, at, end, False, fault)
    if after >= 0:
        _, after = read_uvarint(data, after, end, False, fault)
    return fail(fault, Code.PREFIX if after < 0 else Code.NO_SUCH_INDEX, at), at


@also_loop
@inlined
def read_columns(
    data: Octets,
    at: int,
    end: int,
    keys: Numbers,
    first: int,
    last: int,
    from_key: bool,
    row: Row,
    h: int,
    fault: Fault,
) -> tuple[int, int, bool]:
    """Ordered columns one after the other; also whether any of them is NULL."""
    any_null = False
    held, spans = row.held, row.spans
    for number in range(first, last):
        slot = keys[number, field.SLOT]
        begin = at
        if is_null(data, at, end):
            if keys[number, field.IDENTIFIES]:
                return fail(fault, Code.NULL, at), h, any_null
            any_null = True
            at += 1
            spans[slot, field.HELD] = -1
        else:
            kind, descending = keys[number, field.KIND], keys[number, field.DESCENDING] == 1
            if kind == kinds.INT:  # by far the commonest, and not worth a call
                word, at = read_varint(data, at, end, descending, fault)
                after = put_word(uint64(word), held, h)
            elif kind == kinds.BYTES:
                at, after = read_key_bytes(data, at, end, descending, held, h, fault)
            elif kind == kinds.DECIMAL:
                at, after = read_key_decimal(data, at, end, descending, held, h, fault)
            elif kind == kinds.FLOAT:
                at, after = read_key_float(data, at, end, descending, held, h, fault)
            else:
                at, after = read_key(kind, data, at, end, descending, held, h, fault)
            if at < 0:
                return at, h, any_null
            spans[slot, field.HELD], spans[slot, field.HELD_END] = h, after
            h = after
        if from_key:
            spans[slot, field.SOURCE], spans[slot, field.SOURCE_END] = begin, at
            spans[slot, field.TURNED], spans[slot, field.PROVEN] = keys[number, field.DESCENDING], 0
        else:
            spans[slot, field.SOURCE] = -1
    return at, h, any_null


@inlined
def read_family(data: Octets, at: int, end: int, fault: Fault) -> tuple[int, int]:
    """The family at the end of a key: its number, and unless that is 0 how long it is."""
    begin = at
    word, at = read_uvarint(data, at, end, False, fault)
    if at < 0:
        return int64(0), at
    if at < end:
        if int64(data[at]) != 0x88 + at - begin or word > MAX_FAMILY:
            return int64(0), fail(fault, Code.FAMILY_LENGTH, at)
        at += 1
    elif word != uint64(0) or at - begin > 1:  # a padded 0 has a length, and it is not here
        return int64(0), fail(fault, Code.FAMILY_LENGTH, at)
    if at != end:
        return int64(0), fail(fault, Code.LEFT_OVER, at)
    return int64(word), at


@inlined
def read_tuple(
    data: Octets,
    at: int,
    end: int,
    columns: Numbers,
    first: int,
    last: int,
    h: int,
    room: Room,
) -> tuple[int, int]:
    """Tagged columns until the end; those that do not belong here are passed over."""
    held, spans, fault = room.row.held, room.row.spans, room.fault
    column = int64(0)
    while at < end:
        begin = at
        delta, number, at = tags.read_tag(data, at, end, fault)
        if at < 0:
            return at, h
        column += delta
        if delta > MAX_ID or column > MAX_ID:
            return fail(fault, Code.COLUMN_TYPE, begin), h
        found = -1
        for candidate in range(first, last):
            if columns[candidate, field.COLUMN_ID] == column:
                found = candidate
        if found >= 0 and number == tags.NULL_TYPE:
            absent = field.HELD if columns[found, field.ROLE] == field.STORED else field.PART
            spans[columns[found, field.COLUMN_SLOT], absent] = -1
            continue
        if found < 0:
            at = skip_tagged(number, data, at, end, fault)
            if at < 0:
                return at, h
            continue
        kind, slot = columns[found, field.COLUMN_KIND], columns[found, field.COLUMN_SLOT]
        after_tag = at
        if kind == kinds.INT and number == tags.INT_TYPE:
            word, at = read_zigzag(data, at, end, fault)
            after = put_word(uint64(word), held, h)
        elif kind == kinds.BYTES and number == tags.BYTES_TYPE:
            at, after = read_body_scalar(kind, data, at, end, held, h, fault)
        elif kind == kinds.FLOAT and number == tags.FLOAT_TYPE:
            at, after = read_float_body(data, at, end, held, h, fault)
        elif kind == kinds.DECIMAL and number == tags.DECIMAL_TYPE:
            at, after = read_decimal_body(data, at, end, held, h, fault)
        else:
            at, after = read_tagged(kind, number, data, at, end, held, h, fault)
        if at < 0:
            # Of a composite, another type is its own kind of lie, if the rest can be read.
            if columns[found, field.ROLE] == field.STORED or fault[0] != Code.COLUMN_TYPE:
                return at, h
            fail(room.composite, Code.COMPOSITE_TYPE, begin)
            spans[slot, field.SUSPECT] = 1
            at = skip_tagged(number, data, after_tag, end, fault)
            if at < 0:
                return at, h
            continue
        if columns[found, field.ROLE] == field.STORED:
            spans[slot, field.HELD], spans[slot, field.HELD_END] = h, after
        else:
            spans[slot, field.PART], spans[slot, field.PART_END] = h, after
        h = after
    return at, h


@compiled
def read_bare(
    kind: int, tag: int, data: Octets, at: int, end: int, held: Octets, h: int, fault: Fault
) -> tuple[int, int]:
    """A family's only column, written without a tag of its own."""
    if tag != tags.bare_tag(kind):
        return fail(fault, Code.VALUE_TAG, at - 1), h
    if kind == kinds.INT or kind == kinds.BOOL:
        number, at = read_zigzag(data, at, end, fault)
        if at < 0:
            return at, h
        if kind == kinds.INT:
            h = put_word(uint64(number), held, h)
        else:
            held[h] = 1 if number != 0 else 0
            h += 1
    elif kind == kinds.FLOAT:
        if at + 8 > end:
            return fail(fault, Code.CUT_OFF, end), h
        h = put_word(get_big_endian(data, at, 8), held, h)
        at += 8
    elif kind == kinds.DECIMAL:
        return read_decimal(data, at, end, held, h, fault)
    elif kind == kinds.TIMESTAMP or kind == kinds.INTERVAL or kind == kinds.TIMETZ:
        at, h = read_key_scalar(kind, data, at, end, False, held, h, fault)
    elif kind == kinds.BIT:
        at, h = read_bits_body(data, at, end, held, h, fault)
    elif kind >= kinds.ARRAY:
        return read_array_body(kind - kinds.ARRAY, data, at, end, held, h, fault)
    else:
        if kind == kinds.UUID and end - at != 16:
            return fail(fault, Code.UUID_LENGTH, at), h
        if kind == kinds.INET and not is_inet(data, at, end):
            return fail(fault, Code.INET, at), h
        h = copy_octets(data, at, end, held, h)
        at = end
    if at >= 0 and at != end:
        return fail(fault, Code.LEFT_OVER, at), h
    return at, h


@also_loop
@inlined
def payload(data: Octets, begin: int, end: int, fault: Fault) -> int:
    """Where tag and data start in a value; before them are a checksum and maybe more."""
    if end - begin >= 5 and data[begin + 4] == MVCC_MARK:
        begin = begin + 5 + int64(get_big_endian(data, begin, 4))
    if begin + 5 > end:
        return fail(fault, Code.TOMBSTONE if begin == end else Code.HEADER, min(begin, end))
    return begin + 4


@compiled
def wrapped(data: Octets, begin: int, end: int, fault: Fault) -> tuple[int, int, bool]:
    """An entry of a temporary index: where its tag and data are, and whether it is a deletion.

    The message has two optional fields: 1 the entry's bytes, 2 whether it was deleted.
    """
    at, from_, to, deleted = begin, int64(0), int64(0), False
    while at < end:
        which = data[at]
        at += 1
        if which == 0x0A:
            length, at = read_leb128(data, at, end, fault)
            if at < 0:
                return at, to, deleted
            if length > uint64(end - at):
                return fail(fault, Code.WRAPPER, at), to, deleted
            from_, to = at, at + int64(length)
            at = to
        elif which == 0x10:
            flag, at = read_leb128(data, at, end, fault)
            if at < 0:
                return at, to, deleted
            deleted = flag != uint64(0)
        else:
            return fail(fault, Code.WRAPPER, at - 1), to, deleted
    if not deleted and to == from_:
        return fail(fault, Code.WRAPPER, end), to, deleted
    return from_, to, deleted
