# SPDX-License-Identifier: Apache-2.0
"""The compiled codec behind the names and signatures of the reference, so that one test fits both.

What a function takes and gives is told in `reference_datums` and `reference_pairs`. Whatever has no
counterpart in the codec is taken from the bytes that the codec writes.
"""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scrub.codec.kv import (
    anydatum,
    checksums,
    decimals,
    integers,
    judging,
    pair_reading,
    pair_writing,
    pairs,
    tags,
)
from scrub.codec.kv.datums import is_null, put_body_scalar, put_null
from scrub.codec.kv.faults import Code
from scrub.codec.kv.held_rows import Row as HeldRow
from scrub.codec.kv.kinds import ARRAY, COLLATED, DECIMAL, kind_number
from scrub.codec.kv.layouts import Layout, Tables, layout_of
from scrub.codec.kv.python_datums import to_python
from scrub.codec.kv.rows import Datums
from scrub.codec.kv.rows import encode as write_rows
from scrub.model.kv import DatumKind, DatumType, KvIndex, KvTable
from tests.scrub.codec.kv.held_datums import from_python
from tests.scrub.codec.kv.reference_datums import Datum, Invalid, TupleEntry
from tests.scrub.codec.kv.reference_pairs import Pair, Row

VERDICTS = {
    pairs.FINE: None,
    pairs.UNEXPECTED: "unexpected_key",
    pairs.INVALID: "invalid_encoding",
    pairs.COMPOSITE: "invalid_composite_encoding",
    pairs.NONCANONICAL: "noncanonical_encoding",
    pairs.MISSING: "missing",
}
NO_NUMBERS = np.zeros((0, 8), dtype=np.int64)
NO_ROW = HeldRow(np.zeros(0, dtype=np.uint8), NO_NUMBERS)


def octets(data: bytes) -> Any:
    return np.frombuffer(data, dtype=np.uint8).copy()


def room(size: int) -> Any:
    """Many times what is needed: that the codec's own buffers suffice is tested on batches."""
    return np.empty(64 * size + 256, dtype=np.uint8)


def no_fault() -> Any:
    return np.zeros(2, dtype=np.int64)


def checked(position: int, fault: Any) -> int:
    if position < 0:
        raise Invalid(int(fault[1]), Code(int(fault[0])).text)
    return int(position)


# ----------------------------------------------------------------------------- held forms


def in_key(datum: Datum, datum_type: DatumType) -> bytes:
    """The held form of what a key has of a datum."""
    kind = kind_number(datum_type)
    return from_python(kind, datum[0] if kind == COLLATED else datum)


def in_value(datum: Datum, datum_type: DatumType) -> bytes:
    kind = kind_number(datum_type)
    if kind == COLLATED:
        datum = datum[1]
    elif kind == ARRAY + COLLATED:
        datum = [None if element is None else element[1] for element in datum]
    return from_python(kind, datum)


def from_key(held: bytes, datum_type: DatumType) -> Datum:
    kind = kind_number(datum_type)
    datum = with_one_nan(to_python(kind, held))
    return (datum, None) if kind == COLLATED else datum


def with_one_nan(datum: Datum | None) -> Datum | None:
    """The codec has Go's NaN for the one in keys and the reference Python's; no key tells them."""
    if isinstance(datum, list):
        return [with_one_nan(element) for element in datum]
    return math.nan if isinstance(datum, float) and math.isnan(datum) else datum


def from_value(held: bytes, datum_type: DatumType) -> Datum:
    kind = kind_number(datum_type)
    datum = to_python(kind, held)
    if kind == COLLATED:
        return (None, datum)
    if kind == ARRAY + COLLATED:
        return [None if element is None else (None, element) for element in datum]
    return datum


# ----------------------------------------------------------------------------- numbers


def big_endian(count: int, value: int) -> bytes:
    out = room(count)
    return bytes(out[: integers.put_big_endian(np.uint64(value), count, out, 0)])


def inverted(data: bytes) -> bytes:
    word = int(integers.get_big_endian(octets(data), 0, len(data)))
    return big_endian(len(data), ~word & (1 << 64) - 1)


def encode_unsigned(value: int, descending: bool) -> bytes:
    out = room(9)
    return bytes(out[: integers.put_uvarint(np.uint64(value), descending, out, 0)])


def decode_unsigned(data: bytes, at: int, descending: bool) -> tuple[int, int]:
    fault = no_fault()
    word, end = integers.read_uvarint(octets(data), at, len(data), descending, fault)
    return int(word), checked(end, fault)


# ----------------------------------------------------------------------------- keys


def encode_key(datum: Datum | None, datum_type: DatumType, descending: bool) -> bytes:
    if datum is None:
        out = room(1)
        return bytes(out[: put_null(descending, out, 0)])
    held, kind = in_key(datum, datum_type), kind_number(datum_type)
    out = room(len(held))
    end = anydatum.put_key(kind, octets(held), 0, len(held), descending, out, 0)
    return bytes(out[:end])


def decode_key(
    data: bytes, at: int, datum_type: DatumType, descending: bool
) -> tuple[Datum | None, int]:
    source, fault, out = octets(data), no_fault(), room(len(data))
    if is_null(source, at, len(data)):
        return None, at + 1
    kind = kind_number(datum_type)
    end, size = anydatum.read_key(kind, source, at, len(data), descending, out, 0, fault)
    checked(end, fault)
    return from_key(bytes(out[:size]), datum_type), int(end)


def exponent_and_mantissa(value: Decimal) -> tuple[int, bytes]:
    """From the key of the number without its sign."""
    key = encode_key(value.copy_abs(), DatumType(DatumKind.DECIMAL), descending=False)
    assert key[-1] == 0
    match key[0]:
        case 0x28:
            exponent, start = decode_unsigned(key, 1, descending=True)
            return -exponent, key[start:-1]
        case 0x34:
            exponent, start = decode_unsigned(key, 1, descending=False)
            return exponent, key[start:-1]
        case tag:
            return tag - 0x29, key[1:-1]


# ----------------------------------------------------------------------------- values


def encode_decimal_value(value: Decimal) -> bytes:
    held = from_python(DECIMAL, value)
    out = room(len(held))
    end = put_body_scalar(DECIMAL, octets(held), 0, len(held), out, 0)
    _, start = integers.read_leb128(out, 0, end, no_fault())
    return bytes(out[start:end])


def decode_decimal_value(data: bytes, at: int) -> Decimal:
    out, fault = room(len(data)), no_fault()
    end, size = decimals.read_decimal(octets(data), at, len(data), out, 0, fault)
    assert checked(end, fault) == len(data)
    decoded: Decimal = to_python(DECIMAL, bytes(out[:size]))
    return decoded


def encode_array_body(elements: Sequence[Datum | None], kind: DatumKind) -> bytes:
    return encode_legacy(elements, DatumType(DatumKind.ARRAY, kind))[1:]


def decode_array_body(data: bytes, at: int, kind: DatumKind) -> list[Datum | None]:
    out, fault = room(len(data)), no_fault()
    number = kind_number(DatumType(kind))
    end, size = anydatum.read_array_body(number, octets(data), at, len(data), out, 0, fault)
    assert checked(end, fault) == len(data)
    elements: list[Datum | None] = from_value(bytes(out[:size]), DatumType(DatumKind.ARRAY, kind))
    return elements


def encode_tagged(delta: int, datum: Datum | None, datum_type: DatumType) -> bytes:
    if datum is None:
        out = room(16)
        return bytes(out[: tags.put_tag(delta, tags.NULL_TYPE, out, 0)])
    held, kind = in_value(datum, datum_type), kind_number(datum_type)
    out = room(len(held))
    return bytes(out[: anydatum.put_tagged(kind, delta, octets(held), 0, len(held), out, 0)])


def encode_tuple(row: Mapping[int, Datum | None], types: Mapping[int, DatumType]) -> bytes:
    written = [column for column in sorted(row) if row[column] is not None]
    steps = zip([0, *written], written, strict=False)
    return b"".join(
        encode_tagged(column - before, row[column], types[column]) for before, column in steps
    )


def decode_tuple(data: bytes, at: int, types: Mapping[int, DatumType]) -> list[TupleEntry]:
    """Of columns without a known type only the ids: the codec passes over them."""
    source, fault, entries, column = octets(data), no_fault(), [], 0
    while at < len(data):
        delta, number, body = tags.read_tag(source, at, len(data), fault)
        at = checked(body, fault)
        column += delta
        if number == tags.NULL_TYPE:
            entries.append(TupleEntry(column, None, True))
        elif column not in types:
            at = checked(anydatum.skip_tagged(number, source, at, len(data), fault), fault)
            entries.append(TupleEntry(column, None, True))
        else:
            out, kind = room(len(data)), kind_number(types[column])
            at, size = anydatum.read_tagged(kind, number, source, at, len(data), out, 0, fault)
            checked(at, fault)
            datum = from_value(bytes(out[:size]), types[column])
            entries.append(TupleEntry(column, datum, True))
    return entries


def encode_legacy(datum: Datum, datum_type: DatumType) -> bytes:
    held = in_value(datum, datum_type)
    out = room(len(held))
    end = pair_writing.put_bare(kind_number(datum_type), octets(held), 0, len(held), out, 0)
    return bytes(out[:end])


def decode_legacy(tag_and_data: bytes, datum_type: DatumType) -> Datum:
    out, fault, data = room(len(tag_and_data)), no_fault(), octets(tag_and_data)
    kind = kind_number(datum_type)
    end, size = pair_reading.read_bare(kind, tag_and_data[0], data, 1, len(data), out, 0, fault)
    assert checked(end, fault) == len(data)
    return from_value(bytes(out[:size]), datum_type)


def is_composite(datum: Datum | None, datum_type: DatumType) -> bool:
    if datum is None:
        return False
    held = in_value(datum, datum_type)
    return bool(anydatum.is_composite(kind_number(datum_type), octets(held), 0, len(held)))


# ----------------------------------------------------------------------------- around values


def checksum(key: bytes, tag_and_data: bytes) -> int:
    return int(
        checksums.checksum(octets(key), 0, len(key), octets(tag_and_data), 0, len(tag_and_data))
    )


def encode_value(key: bytes, tag_and_data: bytes) -> bytes:
    value = octets(bytes(4) + tag_and_data)
    pair_writing.put_checksum(octets(key), 0, len(key), value, 0, len(value))
    return bytes(value)


def decode_value(key: bytes, value: bytes) -> bytes:
    fault = no_fault()
    start = checked(pair_reading.payload(octets(value), 0, len(value), fault), fault)
    if value[start - 4 : start] not in (bytes(4), big_endian(4, checksum(key, value[start:]))):
        raise Invalid(start - 4, Code.CHECKSUM.text)
    return value[start:]


def decode_mvcc(stored: bytes) -> tuple[bytes | None, bytes]:
    fault = no_fault()
    start = pair_reading.payload(octets(stored), 0, len(stored), fault) - 4
    if fault[0]:
        if fault[0] != Code.TOMBSTONE:
            checked(-1, fault)
        start = int(fault[1])
    return (stored[5:start] if start else None), stored[start:]


def decode_wrapper(message: bytes) -> tuple[bytes, bool]:
    fault = no_fault()
    begin, end, deleted = pair_reading.wrapped(octets(message), 0, len(message), fault)
    return message[checked(begin, fault) : end], bool(deleted)


# ----------------------------------------------------------------------------- parts of keys


def tables_of(index: NDArray[np.int64]) -> Tables:
    """A table of which nothing but an index's numbers is known."""
    return Tables(index, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS)


def encode_family(family: int) -> bytes:
    out = room(16)
    nothing = np.zeros((1, 12), dtype=np.int64)
    end = pair_writing.put_index_columns(0, family, tables_of(nothing), NO_ROW, out, 0)
    return bytes(out[:end])


def decode_family(key: bytes, at: int) -> int:
    fault = no_fault()
    family, end = pair_reading.read_family(octets(key), at, len(key), fault)
    checked(end, fault)
    return int(family)


def encode_prefix(table_id: int, index_id: int) -> bytes:
    out = room(32)
    index = np.array([[table_id, index_id, *[0] * 10]], dtype=np.int64)
    end = pair_writing.put_index_key(0, 0, tables_of(index), NO_ROW, out, 0)
    return bytes(out[: end - 1])


# ----------------------------------------------------------------------------- pairs


@functools.lru_cache(maxsize=4096)
def layout_for(table: KvTable) -> Layout:
    return layout_of([table])


def datums_of(table: KvTable, rows: Iterable[Row]) -> Datums:
    """Rows in the form that batches are written from."""
    held, places = bytearray(), []

    def place(datum: bytes) -> tuple[int, int]:
        begin = len(held)
        held.extend(datum)
        return begin, len(held)

    for row in rows:
        spans = []
        for column in table.columns:
            datum = row.get(column.id)
            if datum is None:
                spans.append((-1, -1, -1, -1))
            elif column.type.kind is DatumKind.COLLATED:
                key = datum[1] if datum[0] is None else datum[0]
                part = (-1, -1) if datum[1] is None else place(datum[1])
                spans.append((*place(key), *part))
            else:
                spans.append((*place(in_value(datum, column.type)), -1, -1))
        places.append(spans)
    shape = (len(places), len(table.columns), 4)
    return Datums(octets(bytes(held)), np.array(places, dtype=np.int64).reshape(shape))


def encode_rows(table: KvTable, index: KvIndex | None, rows: Iterable[Row]) -> list[Pair]:
    """The pairs of some rows in one index, None being the primary one, with their checksums."""
    layout = layout_for(table)
    number = layout.secondary(0, index.name) if index else layout.primary(0)
    keys, values = write_rows(layout, number, datums_of(table, rows))
    return list(zip(keys.to_pylist(), values.to_pylist(), strict=True))


def encode_row(table: KvTable, row: Row) -> list[Pair]:
    return [(key, value[4:]) for key, value in encode_rows(table, None, [row])]


def encode_entry(table: KvTable, index: KvIndex, row: Row) -> list[Pair]:
    return [(key, value[4:]) for key, value in encode_rows(table, index, [row])]


def judge(table: KvTable, stored: Sequence[Pair]) -> list[judging.BadPair]:
    return judging.judge(layout_for(table), *arrays_of(stored))


def arrays_of(stored: Sequence[Pair]) -> tuple[pa.Array, pa.Array]:
    keys, values = [key for key, _ in stored], [value for _, value in stored]
    return pa.array(keys, pa.large_binary()), pa.array(values, pa.large_binary())


def classify_pairs(table: KvTable, stored: Sequence[Pair]) -> list[str | None]:
    verdicts: list[str | None] = [None] * len(stored)
    for bad in judge(table, stored):
        assert verdicts[bad.number] is None, "one verdict a pair"
        verdicts[bad.number] = VERDICTS[bad.verdict]
    return verdicts


def classify_pair(table: KvTable, key: bytes, value: bytes) -> str | None:
    return classify_pairs(table, [(key, value)])[0]


ADAPTED = {
    function.__name__: function
    for function in (
        big_endian,
        checksum,
        classify_pair,
        decode_array_body,
        decode_decimal_value,
        decode_family,
        decode_key,
        decode_legacy,
        decode_mvcc,
        decode_tuple,
        decode_unsigned,
        decode_value,
        decode_wrapper,
        encode_array_body,
        encode_decimal_value,
        encode_entry,
        encode_family,
        encode_key,
        encode_legacy,
        encode_prefix,
        encode_row,
        encode_tagged,
        encode_tuple,
        encode_unsigned,
        encode_value,
        exponent_and_mantissa,
        inverted,
        is_composite,
    )
}
"""What takes the place of the reference's functions; it lacks the writers of what is only read."""
