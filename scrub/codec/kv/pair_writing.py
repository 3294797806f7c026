# SPDX-License-Identifier: Apache-2.0
"""The pairs of a row, from held datums into bytes."""

from numba import int64, uint64

from scrub.codec.kv import field, kinds, tags
from scrub.codec.kv.anydatum import is_composite, put_key, put_tagged
from scrub.codec.kv.checksums import checksum
from scrub.codec.kv.compiled import Numbers, Octets, also_loop, compiled, inlined
from scrub.codec.kv.datums import (
    put_body_scalar,
    put_key_bytes,
    put_key_float,
    put_key_scalar,
    put_null,
)
from scrub.codec.kv.decimals import is_composite_decimal, put_key_decimal
from scrub.codec.kv.held_rows import Row, effective
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
from scrub.codec.kv.layouts import Tables, columns_of, key_columns, suffix_columns


@inlined
def put_column(kind: int, slot: int, descending: bool, row: Row, out: Octets, at: int) -> int:
    """A column of a key."""
    held, begin, end = row.held, row.spans[slot, field.HELD], row.spans[slot, field.HELD_END]
    if begin < 0:
        return put_null(descending, out, at)
    if kind == kinds.INT:
        return put_varint(get_int(held, begin), descending, out, at)
    if kind == kinds.BYTES:
        return put_key_bytes(held, begin, end, descending, out, at)
    if kind == kinds.DECIMAL:
        return put_key_decimal(held, begin, end, descending, out, at)
    if kind == kinds.FLOAT:
        return put_key_float(get_word(held, begin), descending, out, at)
    return put_key(kind, held, begin, end, descending, out, at)


@inlined
def _put_ascending(first: int, last: int, keys: Numbers, row: Row, out: Octets, at: int) -> int:
    for number in range(first, last):
        at = put_column(keys[number, field.KIND], keys[number, field.SLOT], False, row, out, at)
    return at


@inlined
def _put_suffix(index: int, tables: Tables, row: Row, out: Octets, at: int) -> int:
    first, last = suffix_columns(index, tables)
    return _put_ascending(first, last, tables.keys, row, out, at)


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
    keys, any_null = tables.keys, False
    first, last = key_columns(index, tables)
    for number in range(first, last):
        slot, descending = keys[number, field.SLOT], keys[number, field.DESCENDING] == 1
        any_null = any_null or row.spans[slot, field.HELD] < 0
        at = put_column(keys[number, field.KIND], slot, descending, row, out, at)
    if any_null or not tables.indexes[index, field.UNIQUE]:
        at = _put_suffix(index, tables, row, out, at)
    return put_family(family, out, at)


@compiled
def put_index_key(index: int, family: int, tables: Tables, row: Row, out: Octets, at: int) -> int:
    """A pair's key from a row's datums."""
    at = put_uvarint(uint64(tables.indexes[index, field.TABLE_ID]), False, out, at)
    at = put_uvarint(uint64(tables.indexes[index, field.INDEX_ID]), False, out, at)
    return put_index_columns(index, family, tables, row, out, at)


@compiled
def put_row_key(primary: int, tables: Tables, row: Row, out: Octets, at: int) -> int:
    """What identifies a row, wherever it was found: its primary key's columns, ascending."""
    first, last = key_columns(primary, tables)
    return _put_ascending(first, last, tables.keys, row, out, at)


@compiled
def put_row_key_of_value(primary: int, tables: Tables, row: Row, out: Octets, at: int) -> int:
    """The same by what the value says, where it tells more about a column than the key."""
    keys = tables.keys
    first, last = key_columns(primary, tables)
    for number in range(first, last):
        begin, end = effective(row.spans, keys[number, field.SLOT])
        at = put_key(keys[number, field.KIND], row.held, begin, end, False, out, at)
    return at


@compiled
def put_bare(kind: int, held: Octets, begin: int, end: int, out: Octets, at: int) -> int:
    out[at] = tags.bare_tag(kind)
    at += 1
    if kind == kinds.INT:
        return put_zigzag(get_int(held, begin), out, at)
    if kind == kinds.BOOL:
        return put_zigzag(int64(held[begin]), out, at)
    if kind == kinds.FLOAT or kind == kinds.BIT:
        return put_body_scalar(kind, held, begin, end, out, at)
    if kind == kinds.TIMESTAMP or kind == kinds.INTERVAL or kind == kinds.TIMETZ:
        return put_key_scalar(kind, held, begin, end, False, out, at)
    return copy_octets(held, begin, end, out, at)


@inlined
def _is_written(role: int, kind: int, slot: int, row: Row, begin: int, end: int) -> bool:
    """Whether a value has to have a column: one that is kept, or a composite in the key."""
    if role == field.STORED:
        return True
    if kind == kinds.COLLATED:
        return row.spans[slot, field.PART] >= 0
    if kind == kinds.DECIMAL:
        return is_composite_decimal(row.held, begin, end)
    return is_composite(kind, row.held, begin, end)


@inlined
def _put_tagged(
    kind: int, delta: int, held: Octets, begin: int, end: int, out: Octets, at: int
) -> int:
    """A column's tag and body; the commonest kinds are not worth a call."""
    if kind == kinds.INT:
        at = tags.put_tag(delta, tags.INT_TYPE, out, at)
        return put_zigzag(get_int(held, begin), out, at)
    if kind == kinds.BYTES:
        at = tags.put_tag(delta, tags.BYTES_TYPE, out, at)
        at = put_groups(uint64(end - begin), out, at)
        return copy_octets(held, begin, end, out, at)
    if kind == kinds.FLOAT:
        at = tags.put_tag(delta, tags.FLOAT_TYPE, out, at)
        return put_big_endian(get_word(held, begin), 8, out, at)
    if kind == kinds.DECIMAL:
        at = tags.put_tag(delta, tags.DECIMAL_TYPE, out, at)
        at = put_leb128(uint64(end - begin), out, at)
        return copy_octets(held, begin, end, out, at)
    return put_tagged(kind, delta, held, begin, end, out, at)


@inlined
def put_payload(index: int, family: int, tables: Tables, row: Row, out: Octets, at: int) -> int:
    """A pair's tag and data from a row's datums; -1 when the row has no such pair.

    `family` is a row of the families.
    """
    families, columns = tables.families, tables.columns
    form = families[family, field.FORM]
    first, last = columns_of(family, tables)
    if form == field.BARE:
        if first == last:
            return -1
        start, end = effective(row.spans, columns[first, field.COLUMN_SLOT])
        if start < 0:
            return -1
        return put_bare(columns[first, field.COLUMN_KIND], row.held, start, end, out, at)
    begin = at
    out[at] = tags.tag_of_form(form)
    at += 1
    if form == field.ENTRY and tables.indexes[index, field.UNIQUE]:
        at = _put_suffix(index, tables, row, out, at)
    before = int64(0)
    for number in range(first, last):
        slot, kind = columns[number, field.COLUMN_SLOT], columns[number, field.COLUMN_KIND]
        start, end = effective(row.spans, slot)
        if start >= 0 and _is_written(columns[number, field.ROLE], kind, slot, row, start, end):
            delta = columns[number, field.COLUMN_ID] - before
            at = _put_tagged(kind, delta, row.held, start, end, out, at)
            before = columns[number, field.COLUMN_ID]
    if families[family, field.FAMILY_ID] != 0 and at == begin + 1:
        return -1
    return at


@also_loop
@inlined
def put_checksum(
    key: Octets, key_begin: int, key_end: int, value: Octets, begin: int, end: int
) -> None:
    """Fill in the first four bytes of value[begin:end]."""
    crc = checksum(key, key_begin, key_end, value, begin + 4, end)
    put_big_endian(uint64(crc), 4, value, begin)
