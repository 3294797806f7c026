# SPDX-License-Identifier: Apache-2.0
"""The pairs of a row, from held datums into bytes."""

from numba import int64, uint64

from scrub.codec.kv.anydatum import (
    BYTES_TYPE,
    DECIMAL_TYPE,
    FLOAT_TYPE,
    INT_TYPE,
    is_composite,
    put_key,
    put_tag,
    put_tagged,
)
from scrub.codec.kv.checksums import checksum
from scrub.codec.kv.compiled import Octets, compiled, inlined
from scrub.codec.kv.datums import (
    put_body_scalar,
    put_key_bytes,
    put_key_float,
    put_key_scalar,
    put_null,
)
from scrub.codec.kv.decimals import is_composite_decimal, put_key_decimal
from scrub.codec.kv.held_rows import HELD, HELD_END, PART, Row, effective
from scrub.codec.kv.integers import (
    copy_octets,
    get_int,
    get_word,
    put_big_endian,
    put_groups,
    put_leb128,
    put_uvarint,
    put_varint,
    put_zigzag,
)
from scrub.codec.kv.kinds import (
    BIT,
    BOOL,
    BYTES,
    COLLATED,
    DECIMAL,
    FLOAT,
    INT,
    INTERVAL,
    TIMESTAMP,
    TIMETZ,
)
from scrub.codec.kv.layouts import (
    BARE,
    COLUMN_ID,
    COLUMN_KIND,
    COLUMN_SLOT,
    COLUMNS_FROM,
    COLUMNS_TO,
    DESCENDING,
    ENTRY,
    FAMILY_ID,
    FORM,
    INDEX_ID,
    KEY_FROM,
    KIND,
    ROLE,
    SLOT,
    STORED,
    SUFFIX_FROM,
    SUFFIX_TO,
    TABLE_ID,
    UNIQUE,
    Tables,
)
from scrub.codec.kv.value_tags import bare_tag, tag_of_form


@inlined
def put_column(kind: int, slot: int, descending: bool, row: Row, out: Octets, at: int) -> int:
    """A column of a key."""
    held, begin, end = row.held, row.spans[slot, HELD], row.spans[slot, HELD_END]
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
def _put_suffix(index: int, tables: Tables, row: Row, out: Octets, at: int) -> int:
    indexes, keys = tables.indexes, tables.keys
    for number in range(indexes[index, SUFFIX_FROM], indexes[index, SUFFIX_TO]):
        at = put_column(keys[number, KIND], keys[number, SLOT], False, row, out, at)
    return at


@inlined
def put_family(family: int, out: Octets, at: int) -> int:
    """What a key ends with."""
    begin = at
    at = put_uvarint(uint64(family), False, out, at)
    return put_uvarint(uint64(at - begin), False, out, at) if family else at


@inlined
def put_index_columns(
    index: int, family: int, tables: Tables, row: Row, out: Octets, at: int
) -> int:
    """What a row's key has after its prefix: columns and family."""
    indexes, keys = tables.indexes, tables.keys
    any_null = False
    for number in range(indexes[index, KEY_FROM], indexes[index, SUFFIX_FROM]):
        slot, descending = keys[number, SLOT], keys[number, DESCENDING] == 1
        any_null = any_null or row.spans[slot, HELD] < 0
        at = put_column(keys[number, KIND], slot, descending, row, out, at)
    if any_null or not indexes[index, UNIQUE]:
        at = _put_suffix(index, tables, row, out, at)
    return put_family(family, out, at)


@compiled
def put_index_key(index: int, family: int, tables: Tables, row: Row, out: Octets, at: int) -> int:
    """A pair's key from a row's datums."""
    at = put_uvarint(uint64(tables.indexes[index, TABLE_ID]), False, out, at)
    at = put_uvarint(uint64(tables.indexes[index, INDEX_ID]), False, out, at)
    return put_index_columns(index, family, tables, row, out, at)


@compiled
def put_row_key(primary: int, tables: Tables, row: Row, out: Octets, at: int) -> int:
    """What identifies a row, wherever it was found: its primary key's columns, ascending."""
    indexes, keys = tables.indexes, tables.keys
    for number in range(indexes[primary, KEY_FROM], indexes[primary, SUFFIX_FROM]):
        at = put_column(keys[number, KIND], keys[number, SLOT], False, row, out, at)
    return at


@compiled
def put_row_key_of_value(primary: int, tables: Tables, row: Row, out: Octets, at: int) -> int:
    """The same by what the value says, where it tells more about a column than the key."""
    indexes, keys = tables.indexes, tables.keys
    for number in range(indexes[primary, KEY_FROM], indexes[primary, SUFFIX_FROM]):
        begin, end = effective(row.spans, keys[number, SLOT])
        at = put_key(keys[number, KIND], row.held, begin, end, False, out, at)
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
def _is_written(role: int, kind: int, slot: int, row: Row, begin: int, end: int) -> bool:
    """Whether a value has to have a column: one that is kept, or a composite in the key."""
    if role == STORED:
        return True
    if kind == COLLATED:
        return row.spans[slot, PART] >= 0
    if kind == DECIMAL:
        return is_composite_decimal(row.held, begin, end)
    return is_composite(kind, row.held, begin, end)


@inlined
def _put_tagged(
    kind: int, delta: int, held: Octets, begin: int, end: int, out: Octets, at: int
) -> int:
    """A column's tag and body; the commonest kinds are not worth a call."""
    if kind == INT:
        at = put_tag(delta, INT_TYPE, out, at)
        return put_zigzag(get_int(held, begin), out, at)
    if kind == BYTES:
        at = put_tag(delta, BYTES_TYPE, out, at)
        at = put_groups(uint64(end - begin), out, at)
        return copy_octets(held, begin, end, out, at)
    if kind == FLOAT:
        at = put_tag(delta, FLOAT_TYPE, out, at)
        return put_big_endian(get_word(held, begin), 8, out, at)
    if kind == DECIMAL:
        at = put_tag(delta, DECIMAL_TYPE, out, at)
        at = put_leb128(uint64(end - begin), out, at)
        return copy_octets(held, begin, end, out, at)
    return put_tagged(kind, delta, held, begin, end, out, at)


@inlined
def put_payload(index: int, family: int, tables: Tables, row: Row, out: Octets, at: int) -> int:
    """A pair's tag and data from a row's datums; -1 when the row has no such pair.

    `family` is a row of the families.
    """
    families, columns = tables.families, tables.columns
    form = families[family, FORM]
    first, last = families[family, COLUMNS_FROM], families[family, COLUMNS_TO]
    if form == BARE:
        if first == last:
            return -1
        start, end = effective(row.spans, columns[first, COLUMN_SLOT])
        if start < 0:
            return -1
        return put_bare(columns[first, COLUMN_KIND], row.held, start, end, out, at)
    begin = at
    out[at] = tag_of_form(form)
    at += 1
    if form == ENTRY and tables.indexes[index, UNIQUE]:
        at = _put_suffix(index, tables, row, out, at)
    before = int64(0)
    for number in range(first, last):
        slot, kind = columns[number, COLUMN_SLOT], columns[number, COLUMN_KIND]
        start, end = effective(row.spans, slot)
        if start >= 0 and _is_written(columns[number, ROLE], kind, slot, row, start, end):
            delta = columns[number, COLUMN_ID] - before
            at = _put_tagged(kind, delta, row.held, start, end, out, at)
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
