# SPDX-License-Identifier: Apache-2.0
"""Values told in JSON are found again, bit by bit: what a journal holds is what was there."""

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.codec.arrow_types import to_arrow
from scrub.codec.json_values import from_table, to_table
from scrub.model.defect import Value
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName, parse_type

_MICROS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from(
    # Years 1 and 9999, the moments just outside them, and fractions of a second.
    [
        *(-62_135_596_800_000_000, 253_402_300_799_999_999, -62_135_596_800_000_001),
        *(253_402_300_800_000_000, -1, 1, 500_000, 0),
    ]
)
_DAYS = st.integers(-(2**31), 2**31 - 1) | st.sampled_from([-719_162, -719_163, 2_932_896])
_DOUBLES = st.floats() | st.sampled_from([-0.0, 0.0, 5e-324, 2.0**53 + 2, math.inf, -math.inf])


def _bits(number: int, octets: int) -> bytes:
    return number.to_bytes(octets, "little", signed=True)


def _stored(column_type: ColumnType) -> st.SearchStrategy[bytes]:
    """The octets of any value of a type, as Arrow stores them."""
    match column_type.name:
        case TypeName.DECIMAL:
            most = 10**column_type.precision - 1
            return (
                st.integers(-most, most) | st.sampled_from([most, -most, 10**28, 10**28 + 1, 0])
            ).map(lambda n: _bits(n if abs(n) <= most else most, 16))
        case TypeName.STRING:
            return st.text().map(str.encode) | st.binary() | st.just(b"a\x00\xff\xed\xa0\x80\\xff")
        case TypeName.BINARY:
            return st.binary()
        case TypeName.DATE:
            return _DAYS.map(lambda days: _bits(days, 4))
        case TypeName.TIMESTAMP | TypeName.TIMESTAMP_NTZ:
            return _MICROS.map(lambda micros: _bits(micros, 8))
        case TypeName.DOUBLE:
            return _DOUBLES.map(lambda number: np.float64(number).tobytes())
        case TypeName.FLOAT:
            return st.floats(width=32).map(lambda number: np.float32(number).tobytes())
        case TypeName.BOOLEAN:
            return st.booleans().map(lambda truth: bytes([truth]))
    octets = to_arrow(column_type).bit_width // 8
    top = 2 ** (8 * octets - 1)
    return st.integers(-top, top - 1).map(lambda n: _bits(n, octets))


def _array(values: list[bytes | None], arrow: pa.DataType) -> Any:
    if pa.types.is_string(arrow):
        return pa.Array.from_buffers(arrow, len(values), pa.array(values, pa.binary()).buffers())
    if pa.types.is_binary(arrow):
        return pa.array(values, arrow)
    if pa.types.is_boolean(arrow):
        return pa.array([None if value is None else value != b"\0" for value in values], arrow)
    width = arrow.bit_width // 8
    return pa.array(values, pa.binary(width)).view(arrow)


def _octets(column: pa.ChunkedArray) -> list[bytes | bool | None]:
    """What is stored, whatever it may mean; every NaN is the same."""
    array = pa.concat_arrays(column.chunks)
    if pa.types.is_boolean(array.type):
        return array.to_pylist()  # type: ignore[no-any-return]
    if pa.types.is_floating(array.type):
        return [
            None if n is None else b"NaN" if math.isnan(n) else np.float64(n).tobytes()
            for n in array.to_pylist()
        ]
    if pa.types.is_string(array.type):
        return array.view(pa.binary()).to_pylist()  # type: ignore[no-any-return]
    if pa.types.is_binary(array.type):
        return array.to_pylist()  # type: ignore[no-any-return]
    return array.view(pa.binary(array.type.bit_width // 8)).to_pylist()  # type: ignore[no-any-return]


_TYPES = [
    *(name.value for name in TypeName if name is not TypeName.DECIMAL),
    *("decimal(38,0)", "decimal(38,38)", "decimal(38,10)", "decimal(29,2)", "decimal(5,0)"),
]


@pytest.mark.parametrize("spelled", _TYPES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_told_in_json_comes_back_bit_by_bit(spelled: str, data: st.DataObject) -> None:
    column = Column(name="value", type=parse_type(spelled))
    values = data.draw(st.lists(st.none() | _stored(column.type), min_size=1, max_size=4))
    table = pa.table({"value": _array(values, to_arrow(column.type))})
    told = json.loads(json.dumps(from_table(table, [column]), allow_nan=False))
    again = to_table(told, [column])
    assert again.schema == table.schema
    assert _octets(again.column(0)) == _octets(table.column(0))


@pytest.mark.parametrize(
    "text", ["12345678901234567890123456789012345678", "-99999999999999999999999999999"]
)
def test_decimals_of_more_than_28_digits_are_read(text: str) -> None:
    column = Column(name="value", type=parse_type("decimal(38,0)"))
    assert [str(n) for n in to_table([{"value": text}], [column]).column(0).to_pylist()] == [text]


def test_a_decimal_with_further_digits_is_refused_and_not_rounded() -> None:
    column = Column(name="value", type=parse_type("decimal(10,2)"))
    with pytest.raises(pa.ArrowInvalid):
        to_table([{"value": "1.555"}], [column])


@pytest.mark.parametrize("told", ["soon", "12 us ago", "1.5 us", f"{2**63} us", " us"])
@pytest.mark.parametrize("spelled", ["timestamp", "timestamp_ntz", "date"])
def test_what_is_no_time_is_refused(told: str, spelled: str) -> None:
    column = Column(name="value", type=parse_type(spelled))
    with pytest.raises((ValueError, OverflowError)):
        to_table([{"value": told}], [column])


@pytest.mark.parametrize("told", [1.5, 2.0, True, "1"])
@pytest.mark.parametrize("spelled", ["tinyint", "int", "bigint"])
def test_what_is_no_whole_number_is_refused_and_not_cut(told: Value, spelled: str) -> None:
    column = Column(name="value", type=parse_type(spelled))
    with pytest.raises(ValueError, match="no whole number"):
        to_table([{"value": told}], [column])
