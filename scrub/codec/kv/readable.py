# SPDX-License-Identifier: Apache-2.0
"""Pairs for people: which columns a pair holds, and a path for its key.

/orders/by_customer/7/NULL/12:0 -> {status: 'open'}
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

from scrub.codec.kv import field
from scrub.codec.kv.compiled import Octets
from scrub.codec.kv.entries import entries
from scrub.codec.kv.faults import Code
from scrub.codec.kv.judging import BadPair, judge
from scrub.codec.kv.kinds import kind_number
from scrub.codec.kv.layouts import Layout
from scrub.codec.kv.python_datums import to_python
from scrub.codec.kv.row_keys import read_keys
from scrub.codec.kv.rows import decode
from scrub.model.defect import Value
from scrub.model.kv import DatumKind, DatumType, KvTable
from scrub.model.types import ColumnType, TypeName

Types = Mapping[str, ColumnType]  # what the catalog calls the columns' types

_NO_CHECKSUM = b"\x00" * 4
_EPOCH_DAY, _EPOCH = date(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)


def columns_of(
    layout: Layout, index: int, key: bytes, value: bytes, types: Types
) -> dict[str, Value] | None:
    """The columns that a pair of an index holds, by name; None if it cannot be read."""
    datums, _ = decode(layout, index, pa.array([key]), pa.array([value]))
    (spans,) = datums.spans.tolist()
    if all(span[field.HELD] < 0 and span[field.PART] < 0 for span in spans):
        return None
    return _named(layout, datums.held, spans, types)


def key_columns_of(layout: Layout, key: bytes, types: Types) -> dict[str, Value]:
    """The columns that a key holds, by name, whatever its value is; none if they cannot be read."""
    read = read_keys(layout, pa.array([key]))
    (spans,) = read.datums.spans.tolist()
    return _named(layout, read.datums.held, spans, types)


def _named(
    layout: Layout, held: Octets, spans: Sequence[Sequence[int]], types: Types
) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for slot, column in enumerate(layout.tables[0].columns):
        where = field.PART if spans[slot][field.PART] >= 0 else field.HELD
        begin, end = spans[slot][where : where + 2]
        if begin >= 0:
            octets = held[begin:end].tobytes()
            found[column.name] = value_of(octets, column.type, types.get(column.name))
    return found


def value_of(held: bytes, datum: DatumType, of_catalog: ColumnType | None) -> Value:
    """A datum in its held form as reports show it."""
    return _value(to_python(kind_number(datum), held), datum.kind, of_catalog)


def with_checksum_unset(payload: bytes) -> bytes:
    """Tag and data as a value that can be read."""
    return _NO_CHECKSUM + payload


def describe_pair(layout: Layout, key: bytes, value: bytes, types: Types) -> str:
    """One line about a pair, whatever it is."""
    keys, values = pa.array([key]), pa.array([value])
    bad = judge(layout, keys, values)
    trouble = f"  ! {trouble_of(bad[0])}" if bad else _unfit(layout, keys, values)
    for index in range(len(layout.indexes)):
        datums, _ = decode(layout, index, keys, values)
        if (datums.spans[0, :, field.HELD] >= 0).any():
            columns = columns_of(layout, index, key, value, types) or {}
            return f"{path_of(layout, index, key, columns)}{trouble}"
    return f"{key.hex()} -> {value.hex()}{trouble}"


def trouble_of(bad: BadPair) -> str:
    """What is wrong with a pair, where, and what was expected there."""
    where = f"{'value' if bad.in_value else 'key'} byte {bad.position}"
    if bad.code is Code.SPELLING:
        return f"not canonical: {where} should differ"
    return f"{where}: expected {bad.expected}"


def _unfit(layout: Layout, keys: pa.Array, values: pa.Array) -> str:
    """What a pair that reads well holds that a column cannot have."""
    several = len(layout.tables[0].families) > 1  # then NULL here may be a value in another pair
    for value in entries(layout, [], keys, values).unfit:
        if value.code is not Code.NULL or not several:
            column = layout.tables[0].columns[value.slot].name
            return f"  ! column {column}: expected {value.code.text}"
    return ""


def path_of(layout: Layout, index: int, key: bytes, columns: Mapping[str, Value]) -> str:
    """A key as a path of names, and what its value adds."""
    table = layout.tables[0]
    names = _key_columns(table, layout.names[index])
    name = layout.names[index] or "primary"
    path = "/".join(_shown(columns.get(column)) for column in names)
    family = _family(key)
    rest = {column: value for column, value in columns.items() if column not in names}
    inside = ", ".join(f"{column}: {_shown(value)}" for column, value in rest.items())
    return f"/{table.name}/{name}/{path}:{family} -> {{{inside}}}"


def _key_columns(table: KvTable, index: str | None) -> list[str]:
    if index is None:
        return [table.by_id[part.column].name for part in table.primary_key]
    (of,) = (candidate for candidate in table.indexes if candidate.name == index)
    ids = [*(part.column for part in of.parts), *of.suffix]
    return [table.by_id[column].name for column in ids]


def _family(key: bytes) -> int:
    length = key[-1] - 0x88
    if length <= 0:
        return 0
    number = key[-1 - length : -1]
    return number[0] - 0x88 if len(number) == 1 else int.from_bytes(number[1:], "big")


def _shown(value: Value) -> str:
    return "NULL" if value is None else json.dumps(value, ensure_ascii=False)


def _value(datum: Any, kind: DatumKind, of_catalog: ColumnType | None) -> Value:
    """A datum as reports show it."""
    name = of_catalog.name if of_catalog else None
    match kind:
        case DatumKind.INT if name is TypeName.DATE:
            return _day(datum)
        case DatumKind.BYTES if name is TypeName.STRING:
            return bytes(datum).decode("utf-8", "backslashreplace")
        case DatumKind.TIMESTAMP:
            seconds, nanos = datum
            return _instant(seconds, nanos, name)
        case DatumKind.UUID:
            return str(uuid.UUID(bytes=datum))
        case DatumKind.DECIMAL:
            return str(datum)
        case DatumKind.BOOL | DatumKind.INT:
            return bool(datum) if kind is DatumKind.BOOL else int(datum)
        case DatumKind.FLOAT:
            return float(datum) if abs(datum) < float("inf") else str(datum)
        case DatumKind.BYTES | DatumKind.COLLATED | DatumKind.INET:
            return bytes(datum).hex()
        case _:
            return str(datum)


def _day(number: int) -> Value:
    try:
        return (_EPOCH_DAY + timedelta(days=number)).isoformat()
    except OverflowError:
        return number


def _instant(seconds: int, nanos: int, name: TypeName | None) -> Value:
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        return f"{seconds} s"
    return moment.isoformat().replace("+00:00", "" if name is TypeName.TIMESTAMP_NTZ else "Z")
