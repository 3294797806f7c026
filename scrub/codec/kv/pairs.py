# SPDX-License-Identifier: Apache-2.0
"""Whole pairs: reading one into datums, judging it, and writing the pairs of a row.

While a pair is read, `spans` says for each slot where its datum is held:
    HELD, HELD_END      the datum, from key or value; -1 when NULL or not there
    PART, PART_END      of a composite the part that came from the value; -1 without
    SOURCE, SOURCE_END  where the column's bytes are in the key; -1 if it is not in the key
    TURNED, PROVEN      whether those bytes are descending, and are known to be canonical
"""

import numpy as np
from numba import int64, uint64

from scrub.codec.kv.anydatum import (
    BYTES_TYPE,
    DECIMAL_TYPE,
    FLOAT_TYPE,
    INT_TYPE,
    NULL_TYPE,
    is_composite,
    put_key,
    put_tag,
    put_tagged,
    read_array_body,
    read_key,
    read_tag,
    read_tagged,
    skip_tagged,
)
from scrub.codec.kv.checksums import checksum
from scrub.codec.kv.compiled import Fault, Numbers, Octets, compiled, inlined
from scrub.codec.kv.datums import (
    is_inet,
    is_null,
    put_body_scalar,
    put_key_bytes,
    put_key_scalar,
    put_key_float,
    put_null,
    read_bits_body,
    read_body_scalar,
    read_decimal_body,
    read_float_body,
    read_key_bytes,
    read_key_float,
    read_key_scalar,
)
from scrub.codec.kv.decimals import (
    is_composite_decimal,
    put_key_decimal,
    read_decimal,
    read_key_decimal,
)
from scrub.codec.kv.faults import Code, fail
from scrub.codec.kv.integers import (
    copy_octets,
    get_big_endian,
    get_int,
    get_word,
    put_big_endian,
    put_groups,
    put_leb128,
    put_uvarint,
    put_varint,
    put_word,
    put_zigzag,
    read_leb128,
    read_uvarint,
    read_varint,
    read_zigzag,
    same_octets,
)
from scrub.codec.kv.kinds import (
    ARRAY,
    BIT,
    BOOL,
    BYTES,
    COLLATED,
    DECIMAL,
    FLOAT,
    INET,
    INT,
    INTERVAL,
    TIMESTAMP,
    TIMETZ,
    UUID,
)
from scrub.codec.kv.layouts import (
    BARE,
    COLUMN_ID,
    COLUMN_KIND,
    COLUMN_NULLABLE,
    COLUMN_SLOT,
    COLUMNS_FROM,
    COLUMNS_TO,
    DESCENDING,
    ENTRY,
    FAMILIES_FROM,
    FAMILIES_TO,
    FAMILY_ID,
    FORM,
    INDEX_ID,
    KEY_FROM,
    KIND,
    NULLABLE,
    ROLE,
    SLOT,
    STORED,
    SUFFIX_FROM,
    SUFFIX_TO,
    TABLE_ID,
    UNIQUE,
)

FINE, UNEXPECTED, INVALID, COMPOSITE, NONCANONICAL, MISSING = range(6)
"""Verdicts on a pair; the last one is on a row that lacks its first pair."""

HELD, HELD_END, PART, PART_END, SOURCE, SOURCE_END, TURNED, PROVEN = range(8)
SPAN = 8

(
    PREFIX_FAULT,
    NO_SUCH_INDEX,
    NULL_FAULT,
    FAMILY_FAULT,
    FAMILY_LENGTH,
    LEFT_OVER,
    HEADER,
    CHECKSUM,
    VALUE_TAG,
    COLUMN_TYPE,
    MISSING_PART,
    OTHER_PART,
    PART_TYPE,
    SPELLING,
    CUT_OFF,
    UUID_LENGTH,
    INET_BYTES,
    WRAPPER,
    TOMBSTONE,
) = (
    int(code)
    for code in (
        Code.PREFIX,
        Code.NO_SUCH_INDEX,
        Code.NULL,
        Code.FAMILY,
        Code.FAMILY_LENGTH,
        Code.LEFT_OVER,
        Code.HEADER,
        Code.CHECKSUM,
        Code.VALUE_TAG,
        Code.COLUMN_TYPE,
        Code.COMPOSITE_MISSING,
        Code.COMPOSITE_OTHER,
        Code.COMPOSITE_TYPE,
        Code.SPELLING,
        Code.CUT_OFF,
        Code.UUID_LENGTH,
        Code.INET,
        Code.WRAPPER,
        Code.TOMBSTONE,
    )
)

TAG_INT, TAG_FLOAT, TAG_BYTES, TAG_TIME, TAG_DECIMAL, TAG_DURATION = 1, 2, 3, 4, 5, 6
TAG_TUPLE, TAG_BITS, TAG_TIMETZ = 10, 11, 12
MVCC_MARK = 0x65
MAX_ID = (1 << 32) - 1
MAX_FAMILY = np.uint64(MAX_ID)


# Reading


@inlined
def find_index(
    data: Octets, at: int, end: int, indexes: Numbers, prefix: Octets, fault: Fault
) -> tuple[int, int]:
    """The number of the index that a key belongs to, and where its columns start.

    An index is known by the bytes that its keys begin with, in their one spelling; `prefix` is
    room for them.
    """
    for number in range(len(indexes)):
        length = put_uvarint(uint64(indexes[number, TABLE_ID]), False, prefix, 0)
        length = put_uvarint(uint64(indexes[number, INDEX_ID]), False, prefix, length)
        if at + length <= end and same_octets(data, at, at + length, prefix, 0, length):
            return number, at + length
    _, after = read_uvarint(data, at, end, False, fault)
    if after >= 0:
        _, after = read_uvarint(data, after, end, False, fault)
    return fail(fault, PREFIX_FAULT if after < 0 else NO_SUCH_INDEX, at), at


@inlined
def _read_columns(
    data: Octets,
    at: int,
    end: int,
    keys: Numbers,
    first: int,
    last: int,
    from_key: bool,
    held: Octets,
    h: int,
    spans: Numbers,
    fault: Fault,
) -> tuple[int, int, bool]:
    """Ordered columns one after the other; also whether any of them is NULL."""
    any_null = False
    for number in range(first, last):
        slot = keys[number, SLOT]
        begin = at
        if is_null(data, at, end):
            if not keys[number, NULLABLE]:
                return fail(fault, NULL_FAULT, at), h, any_null
            any_null = True
            at += 1
            spans[slot, HELD] = -1
        else:
            kind, descending = keys[number, KIND], keys[number, DESCENDING] == 1
            if kind == INT:  # by far the commonest, and not worth a call
                word, at = read_varint(data, at, end, descending, fault)
                after = put_word(uint64(word), held, h)
            elif kind == BYTES:
                at, after = read_key_bytes(data, at, end, descending, held, h, fault)
            elif kind == DECIMAL:
                at, after = read_key_decimal(data, at, end, descending, held, h, fault)
            elif kind == FLOAT:
                at, after = read_key_float(data, at, end, descending, held, h, fault)
            else:
                at, after = read_key(kind, data, at, end, descending, held, h, fault)
            if at < 0:
                return at, h, any_null
            spans[slot, HELD], spans[slot, HELD_END] = h, after
            h = after
        if from_key:
            spans[slot, SOURCE], spans[slot, SOURCE_END] = begin, at
            spans[slot, TURNED], spans[slot, PROVEN] = keys[number, DESCENDING], 0
        else:
            spans[slot, SOURCE] = -1
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
            return int64(0), fail(fault, FAMILY_LENGTH, at)
        at += 1
    elif word != uint64(0) or at - begin > 1:  # a padded 0 has a length, and it is not here
        return int64(0), fail(fault, FAMILY_LENGTH, at)
    if at != end:
        return int64(0), fail(fault, LEFT_OVER, at)
    return int64(word), at


@inlined
def _read_tuple(
    data: Octets,
    at: int,
    end: int,
    columns: Numbers,
    first: int,
    last: int,
    held: Octets,
    h: int,
    spans: Numbers,
    fault: Fault,
    composite: Fault,
) -> tuple[int, int]:
    """Tagged columns until the end; those that do not belong here are passed over."""
    column = int64(0)
    while at < end:
        begin = at
        delta, number, at = read_tag(data, at, end, fault)
        if at < 0:
            return at, h
        column += delta
        if delta > MAX_ID or column > MAX_ID:
            return fail(fault, COLUMN_TYPE, begin), h
        found = -1
        for candidate in range(first, last):
            if columns[candidate, COLUMN_ID] == column:
                found = candidate
        if found >= 0 and number == NULL_TYPE:
            absent = HELD if columns[found, ROLE] == STORED else PART
            spans[columns[found, COLUMN_SLOT], absent] = -1
            continue
        if found < 0:
            at = skip_tagged(number, data, at, end, fault)
            if at < 0:
                return at, h
            continue
        kind, slot = columns[found, COLUMN_KIND], columns[found, COLUMN_SLOT]
        after_tag = at
        if kind == INT and number == INT_TYPE:
            word, at = read_zigzag(data, at, end, fault)
            after = put_word(uint64(word), held, h)
        elif kind == BYTES and number == BYTES_TYPE:
            at, after = read_body_scalar(kind, data, at, end, held, h, fault)
        elif kind == FLOAT and number == FLOAT_TYPE:
            at, after = read_float_body(data, at, end, held, h, fault)
        elif kind == DECIMAL and number == DECIMAL_TYPE:
            at, after = read_decimal_body(data, at, end, held, h, fault)
        else:
            at, after = read_tagged(kind, number, data, at, end, held, h, fault)
        if at < 0:
            # Of a composite, another type is its own kind of lie, if the rest can be read.
            if columns[found, ROLE] == STORED or fault[0] != COLUMN_TYPE:
                return at, h
            fail(composite, PART_TYPE, begin)
            at = skip_tagged(number, data, after_tag, end, fault)
            if at < 0:
                return at, h
            continue
        if columns[found, ROLE] == STORED:
            spans[slot, HELD], spans[slot, HELD_END] = h, after
        else:
            spans[slot, PART], spans[slot, PART_END] = h, after
        h = after
    return at, h


@compiled
def bare_tag(kind: int) -> int:
    if kind == INT or kind == BOOL:
        return TAG_INT
    if kind == FLOAT:
        return TAG_FLOAT
    if kind == DECIMAL:
        return TAG_DECIMAL
    if kind == TIMESTAMP:
        return TAG_TIME
    if kind == INTERVAL:
        return TAG_DURATION
    if kind == TIMETZ:
        return TAG_TIMETZ
    if kind == BIT:
        return TAG_BITS
    return TAG_BYTES


@compiled
def read_bare(
    kind: int, tag: int, data: Octets, at: int, end: int, held: Octets, h: int, fault: Fault
) -> tuple[int, int]:
    """A family's only column, written without a tag of its own."""
    if tag != bare_tag(kind):
        return fail(fault, VALUE_TAG, at - 1), h
    if kind == INT or kind == BOOL:
        number, at = read_zigzag(data, at, end, fault)
        if at < 0:
            return at, h
        if kind == INT:
            h = put_word(uint64(number), held, h)
        else:
            held[h] = 1 if number != 0 else 0
            h += 1
    elif kind == FLOAT:
        if at + 8 > end:
            return fail(fault, CUT_OFF, end), h
        h = put_word(get_big_endian(data, at, 8), held, h)
        at += 8
    elif kind == DECIMAL:
        return read_decimal(data, at, end, held, h, fault)
    elif kind == TIMESTAMP or kind == INTERVAL or kind == TIMETZ:
        at, h = read_key_scalar(kind, data, at, end, False, held, h, fault)
    elif kind == BIT:
        at, h = read_bits_body(data, at, end, held, h, fault)
    elif kind >= ARRAY:
        return read_array_body(kind - ARRAY, data, at, end, held, h, fault)
    else:
        if kind == UUID and end - at != 16:
            return fail(fault, UUID_LENGTH, at), h
        if kind == INET and not is_inet(data, at, end):
            return fail(fault, INET_BYTES, at), h
        h = copy_octets(data, at, end, held, h)
        at = end
    if at >= 0 and at != end:
        return fail(fault, LEFT_OVER, at), h
    return at, h


@inlined
def payload(data: Octets, begin: int, end: int, fault: Fault) -> int:
    """Where tag and data start in a value; before them are a checksum and maybe more."""
    if end - begin >= 5 and data[begin + 4] == MVCC_MARK:
        begin = begin + 5 + int64(get_big_endian(data, begin, 4))
    if begin + 5 > end:
        return fail(fault, TOMBSTONE if begin == end else HEADER, min(begin, end))
    return begin + 4


# Writing


@inlined
def _effective(spans: Numbers, slot: int) -> tuple[int, int]:
    """Where a column's datum is: a composite's part from the value tells more than its key."""
    if spans[slot, PART] >= 0:
        return spans[slot, PART], spans[slot, PART_END]
    return spans[slot, HELD], spans[slot, HELD_END]


@inlined
def _put_column(
    kind: int, slot: int, descending: bool, held: Octets, spans: Numbers, out: Octets, at: int
) -> int:
    begin, end = spans[slot, HELD], spans[slot, HELD_END]
    if begin < 0:
        return put_null(descending, out, at)
    if kind == INT:
        return put_varint(get_int(held, begin), descending, out, at)
    if kind == BYTES:
        return put_key_bytes(held, begin, end, descending, out, at)
    if kind == DECIMAL:
        return put_key_decimal(held, begin, end, descending, out, at)
    if kind == FLOAT:
        return put_key_float(get_word(held, begin), descending, out, at)
    return put_key(kind, held, begin, end, descending, out, at)


@inlined
def _put_suffix(
    index: int,
    indexes: Numbers,
    keys: Numbers,
    held: Octets,
    spans: Numbers,
    out: Octets,
    at: int,
) -> int:
    for number in range(indexes[index, SUFFIX_FROM], indexes[index, SUFFIX_TO]):
        at = _put_column(keys[number, KIND], keys[number, SLOT], False, held, spans, out, at)
    return at


@inlined
def _put_family(family: int, out: Octets, at: int) -> int:
    begin = at
    at = put_uvarint(uint64(family), False, out, at)
    return put_uvarint(uint64(at - begin), False, out, at) if family else at


@inlined
def put_index_columns(
    index: int,
    family: int,
    indexes: Numbers,
    keys: Numbers,
    held: Octets,
    spans: Numbers,
    out: Octets,
    at: int,
) -> int:
    """What a row's key has after its prefix: columns and family."""
    any_null = False
    for number in range(indexes[index, KEY_FROM], indexes[index, SUFFIX_FROM]):
        slot = keys[number, SLOT]
        any_null = any_null or spans[slot, HELD] < 0
        at = _put_column(
            keys[number, KIND], slot, keys[number, DESCENDING] == 1, held, spans, out, at
        )
    if any_null or not indexes[index, UNIQUE]:
        at = _put_suffix(index, indexes, keys, held, spans, out, at)
    return _put_family(family, out, at)


@compiled
def put_index_key(
    index: int,
    family: int,
    indexes: Numbers,
    keys: Numbers,
    held: Octets,
    spans: Numbers,
    out: Octets,
    at: int,
) -> int:
    """A pair's key from a row's datums."""
    at = put_uvarint(uint64(indexes[index, TABLE_ID]), False, out, at)
    at = put_uvarint(uint64(indexes[index, INDEX_ID]), False, out, at)
    return put_index_columns(index, family, indexes, keys, held, spans, out, at)


@compiled
def put_row_key(
    primary: int,
    indexes: Numbers,
    keys: Numbers,
    held: Octets,
    spans: Numbers,
    out: Octets,
    at: int,
) -> int:
    """What identifies a row, wherever it was found: its primary key's columns, ascending."""
    for number in range(indexes[primary, KEY_FROM], indexes[primary, SUFFIX_FROM]):
        at = _put_column(keys[number, KIND], keys[number, SLOT], False, held, spans, out, at)
    return at


@compiled
def put_bare(kind: int, held: Octets, begin: int, end: int, out: Octets, at: int) -> int:
    out[at] = bare_tag(kind)
    at += 1
    if kind == INT:
        return put_zigzag(get_int(held, begin), out, at)
    if kind == BOOL:
        return put_zigzag(int64(held[begin]), out, at)
    if kind == FLOAT or kind == BIT:
        return put_body_scalar(kind, held, begin, end, out, at)
    if kind == TIMESTAMP or kind == INTERVAL or kind == TIMETZ:
        return put_key_scalar(kind, held, begin, end, False, out, at)
    return copy_octets(held, begin, end, out, at)


@inlined
def put_payload(
    index: int,
    family: int,
    indexes: Numbers,
    keys: Numbers,
    families: Numbers,
    columns: Numbers,
    held: Octets,
    spans: Numbers,
    out: Octets,
    at: int,
) -> int:
    """A pair's tag and data from a row's datums; -1 when the row has no such pair.

    `family` is a row of `families`.
    """
    form = families[family, FORM]
    first, last = families[family, COLUMNS_FROM], families[family, COLUMNS_TO]
    if form == BARE:
        if first == last:
            return -1
        start, end = _effective(spans, columns[first, COLUMN_SLOT])
        if start < 0:
            return -1
        return put_bare(columns[first, COLUMN_KIND], held, start, end, out, at)
    begin = at
    out[at] = TAG_BYTES if form == ENTRY else TAG_TUPLE
    at += 1
    if form == ENTRY and indexes[index, UNIQUE]:
        at = _put_suffix(index, indexes, keys, held, spans, out, at)
    before = int64(0)
    for number in range(first, last):
        slot, kind = columns[number, COLUMN_SLOT], columns[number, COLUMN_KIND]
        start, end = _effective(spans, slot)
        if start < 0:
            continue
        if columns[number, ROLE] != STORED:
            if kind == COLLATED:
                if spans[slot, PART] < 0:
                    continue
            elif kind == DECIMAL:
                if not is_composite_decimal(held, start, end):
                    continue
            elif not is_composite(kind, held, start, end):
                continue
        delta = columns[number, COLUMN_ID] - before
        if kind == INT:
            at = put_tag(delta, INT_TYPE, out, at)
            at = put_zigzag(get_int(held, start), out, at)
        elif kind == BYTES:
            at = put_tag(delta, BYTES_TYPE, out, at)
            at = put_groups(uint64(end - start), out, at)
            at = copy_octets(held, start, end, out, at)
        elif kind == FLOAT:
            at = put_tag(delta, FLOAT_TYPE, out, at)
            at = put_big_endian(get_word(held, start), 8, out, at)
        elif kind == DECIMAL:
            at = put_tag(delta, DECIMAL_TYPE, out, at)
            at = put_leb128(uint64(end - start), out, at)
            at = copy_octets(held, start, end, out, at)
        else:
            at = put_tagged(kind, delta, held, start, end, out, at)
        before = columns[number, COLUMN_ID]
    if families[family, FAMILY_ID] != 0 and at == begin + 1:
        return -1
    return at


@compiled
def put_checksum(
    key: Octets, key_begin: int, key_end: int, value: Octets, begin: int, end: int
) -> None:
    """Fill in the first four bytes of value[begin:end]."""
    crc = checksum(key, key_begin, key_end, value, begin + 4, end)
    put_big_endian(uint64(crc), 4, value, begin)


# Judging


@compiled
def _first_difference(data: Octets, begin: int, end: int, other: Octets, length: int) -> int:
    at = 0
    while begin + at < end and at < length and data[begin + at] == other[at]:
        at += 1
    return begin + at


@compiled
def _needs_part(kind: int, held: Octets, begin: int, end: int) -> bool:
    """Whether a datum from a key shows that there is more to it."""
    if kind == COLLATED:
        return True
    if kind == DECIMAL:
        return (
            held[begin] == 0x18 or held[begin] == 0x19 or held[begin] == 0x35 or held[begin] == 0x27
        )
    if kind == ARRAY + DECIMAL:
        return is_composite(kind, held, begin, end)
    return False


@inlined
def _judge_parts(
    key: Octets,
    columns: Numbers,
    first: int,
    last: int,
    held: Octets,
    out: Octets,
    spans: Numbers,
    composite: Fault,
) -> None:
    """Whether every composite has the part it needs, and that part belongs to its key."""
    for number in range(first, last):
        if columns[number, ROLE] == STORED:
            continue
        slot, kind = columns[number, COLUMN_SLOT], columns[number, COLUMN_KIND]
        source = spans[slot, SOURCE]  # negative where the column is before the tuple in the value
        if spans[slot, HELD] < 0:
            if spans[slot, PART] >= 0:
                fail(composite, OTHER_PART, source)
            continue
        if spans[slot, PART] < 0:
            if _needs_part(kind, held, spans[slot, HELD], spans[slot, HELD_END]):
                fail(composite, MISSING_PART, source)
            continue
        if kind == COLLATED:
            continue
        # A part that is written as the key is does not only belong there: the key is canonical.
        begin, end, turned = spans[slot, PART], spans[slot, PART_END], spans[slot, TURNED] == 1
        if kind == DECIMAL:
            of_part = put_key_decimal(held, begin, end, turned, out, 0)
        else:
            of_part = put_key(kind, held, begin, end, turned, out, 0)
        if source >= 0 and same_octets(key, source, spans[slot, SOURCE_END], out, 0, of_part):
            spans[slot, PROVEN] = 1
            continue
        begin, end = spans[slot, HELD], spans[slot, HELD_END]
        of_key = put_key(kind, held, begin, end, turned, out, of_part)
        if not same_octets(out, 0, of_part, out, of_part, of_key):
            fail(composite, OTHER_PART, source)


@inlined
def _same_as(key: Octets, at: int, key_end: int, out: Octets, length: int, fault: Fault) -> int:
    if at + length <= key_end and same_octets(key, at, at + length, out, 0, length):
        return at + length
    return fail(fault, SPELLING, _first_difference(key, at, key_end, out, length))


@inlined
def _same_as_column(
    key: Octets,
    at: int,
    key_end: int,
    keys: Numbers,
    number: int,
    held: Octets,
    out: Octets,
    spans: Numbers,
    fault: Fault,
) -> int:
    """The position after a column, if that is what is written there."""
    slot = keys[number, SLOT]
    if spans[slot, SOURCE] == at and spans[slot, PROVEN] == 1:
        return spans[slot, SOURCE_END]
    length = _put_column(
        keys[number, KIND], slot, keys[number, DESCENDING] == 1, held, spans, out, 0
    )
    return _same_as(key, at, key_end, out, length, fault)


@inlined
def _judge_spelling(
    key: Octets,
    at: int,
    key_end: int,
    index: int,
    family: int,
    indexes: Numbers,
    keys: Numbers,
    held: Octets,
    out: Octets,
    spans: Numbers,
    fault: Fault,
) -> int:
    """Whether a key's columns and family are written as their datums demand, one by one."""
    any_null = False
    suffix_from, suffix_to = indexes[index, SUFFIX_FROM], indexes[index, SUFFIX_TO]
    for number in range(indexes[index, KEY_FROM], suffix_from):
        any_null = any_null or spans[keys[number, SLOT], HELD] < 0
        at = _same_as_column(key, at, key_end, keys, number, held, out, spans, fault)
        if at < 0:
            return at
    if any_null or not indexes[index, UNIQUE]:
        for number in range(suffix_from, suffix_to):
            at = _same_as_column(key, at, key_end, keys, number, held, out, spans, fault)
            if at < 0:
                return at
    at = _same_as(key, at, key_end, out, _put_family(family, out, 0), fault)
    if at >= 0 and at < key_end:
        return fail(fault, SPELLING, at)
    return at


@inlined
def examine(
    key: Octets,
    key_begin: int,
    key_end: int,
    value: Octets,
    value_begin: int,
    value_end: int,
    indexes: Numbers,
    keys: Numbers,
    families: Numbers,
    columns: Numbers,
    held: Octets,
    h: int,
    out: Octets,
    spans: Numbers,
    fault: Fault,
    composite: Fault,
) -> tuple[int, int, int, bool, int]:
    """Read a pair and judge it: verdict, index, row of `families`, and if the value is at fault.

    Datums go into `held` from `h` on, to the position returned last, and `spans` tells where they
    are, unless the verdict is that they cannot be read.
    """
    fault[0] = composite[0] = 0
    index, at = find_index(key, key_begin, key_end, indexes, out, fault)
    if index < 0:
        return UNEXPECTED, -1, -1, False, h
    columns_at = at
    at, h, any_null = _read_columns(
        key,
        at,
        key_end,
        keys,
        indexes[index, KEY_FROM],
        indexes[index, SUFFIX_FROM],
        True,
        held,
        h,
        spans,
        fault,
    )
    if at < 0:
        return INVALID, index, -1, False, h
    unique = indexes[index, UNIQUE] == 1
    suffix_from, suffix_to = indexes[index, SUFFIX_FROM], indexes[index, SUFFIX_TO]
    if any_null or not unique:
        at, h, _ = _read_columns(
            key, at, key_end, keys, suffix_from, suffix_to, True, held, h, spans, fault
        )
        if at < 0:
            return INVALID, index, -1, False, h
    family_at = at
    family_id, at = read_family(key, at, key_end, fault)
    if at < 0:
        return INVALID, index, -1, False, h
    family = -1
    for number in range(indexes[index, FAMILIES_FROM], indexes[index, FAMILIES_TO]):
        has_columns = families[number, COLUMNS_FROM] < families[number, COLUMNS_TO]
        if families[number, FAMILY_ID] == family_id and (has_columns or family_id == 0):
            family = number
    if family < 0:
        fail(fault, FAMILY_FAULT, family_at)
        return INVALID, index, -1, False, h

    start = payload(value, value_begin, value_end, fault)
    if start < 0:
        return INVALID, index, family, True, h
    stored = get_big_endian(value, start - 4, 4)
    if stored != uint64(0) and stored != uint64(
        checksum(key, key_begin, key_end, value, start, value_end)
    ):
        fail(fault, CHECKSUM, start - 4)
        return INVALID, index, family, True, h
    form = families[family, FORM]
    first, last = families[family, COLUMNS_FROM], families[family, COLUMNS_TO]
    for number in range(first, last):
        slot = columns[number, COLUMN_SLOT]
        spans[slot, PART] = -1
        if columns[number, ROLE] == STORED:
            spans[slot, HELD] = -1
    tag = value[start]
    at = start + 1
    if form == BARE:
        slot = columns[first, COLUMN_SLOT]
        at, after = read_bare(
            columns[first, COLUMN_KIND], tag, value, at, value_end, held, h, fault
        )
        if at < 0:
            return INVALID, index, family, True, h
        spans[slot, HELD], spans[slot, HELD_END] = h, after
        h = after
    else:
        if tag != (TAG_BYTES if form == ENTRY else TAG_TUPLE):
            fail(fault, VALUE_TAG, start)
            return INVALID, index, family, True, h
        if form == ENTRY and unique:
            # Where the key has the suffix too, for a NULL, this one counts.
            at, h, _ = _read_columns(
                value, at, value_end, keys, suffix_from, suffix_to, False, held, h, spans, fault
            )
            if at < 0:
                return INVALID, index, family, True, h
        at, h = _read_tuple(
            value, at, value_end, columns, first, last, held, h, spans, fault, composite
        )
        if at < 0:
            return INVALID, index, family, True, h
    for number in range(first, last):
        slot = columns[number, COLUMN_SLOT]
        is_stored = columns[number, ROLE] == STORED
        if is_stored and spans[slot, HELD] < 0 and not columns[number, COLUMN_NULLABLE]:
            fail(fault, NULL_FAULT, at)
            return INVALID, index, family, True, h
    if composite[0] == 0 and family_id == 0:
        _judge_parts(key, columns, first, last, held, out, spans, composite)
    if composite[0]:
        in_value = composite[0] == PART_TYPE or composite[1] < 0
        fault[0], fault[1] = composite[0], composite[1] if composite[1] >= 0 else start + 1
        return COMPOSITE, index, family, in_value, h

    at = _judge_spelling(
        key, columns_at, key_end, index, family_id, indexes, keys, held, out, spans, fault
    )
    if at < 0:
        return NONCANONICAL, index, family, False, h
    end = put_payload(index, family, indexes, keys, families, columns, held, spans, out, 0)
    if end < 0 or not same_octets(value, start, value_end, out, 0, end):
        fail(fault, SPELLING, _first_difference(value, start, value_end, out, max(end, 0)))
        return NONCANONICAL, index, family, True, h
    return FINE, index, family, False, h


@compiled
def wrapped(data: Octets, begin: int, end: int, fault: Fault) -> tuple[int, int, bool]:
    """An entry of a temporary index: where its tag and data are, and whether it is a deletion.

    The message has two optional fields: 1 the entry's bytes, 2 whether it was deleted.
    """
    at, from_, to, deleted = begin, int64(0), int64(0), False
    while at < end:
        field = data[at]
        at += 1
        if field == 0x0A:
            length, at = read_leb128(data, at, end, fault)
            if at < 0:
                return at, to, deleted
            if length > uint64(end - at):
                return fail(fault, WRAPPER, at), to, deleted
            from_, to = at, at + int64(length)
            at = to
        elif field == 0x10:
            flag, at = read_leb128(data, at, end, fault)
            if at < 0:
                return at, to, deleted
            deleted = flag != uint64(0)
        else:
            return fail(fault, WRAPPER, at - 1), to, deleted
    if not deleted and to == from_:
        return fail(fault, WRAPPER, end), to, deleted
    return from_, to, deleted
