# SPDX-License-Identifier: Apache-2.0
"""Values that a column cannot hold, in single arrays: no file, no Spark."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from checks.column_faults import OCTETS_SHOWN_MAX, count_faults, faults_in
from scrub.model.defect import DefectKind
from scrub.model.table import Column
from scrub.model.types import parse_type

NULL, INVALID = DefectKind.NULL_VIOLATION, DefectKind.INVALID_ENCODING
DAY_MAX, DAY_MIN = 2_932_896, -719_162  # 9999-12-31 and 0001-01-01


def a_column(kind: str, *, nullable: bool = True) -> Column:
    return Column(name="c", type=parse_type(kind), nullable=nullable)


def strings(*values: bytes | None, arrow: pa.DataType | None = None) -> Any:
    """An array of strings that nobody looked at."""
    wanted = arrow or pa.string()
    binary = pa.large_binary() if wanted == pa.large_string() else pa.binary()
    plain = pa.array(values, binary)
    return pa.Array.from_buffers(wanted, len(plain), plain.buffers())


def decimals(kind: pa.DataType, *values: str | None) -> Any:
    """Decimals that may have more digits than their type."""
    wide = pa.array(
        [None if v is None else Decimal(v) for v in values], pa.decimal128(38, kind.scale)
    )
    return pa.Array.from_buffers(kind, len(wide), wide.buffers())


def rows(array: Any, column: Column) -> list[tuple[int, DefectKind]]:
    named = [(fault.row, fault.kind) for fault in faults_in(array, column)]
    counts = count_faults(array, column)
    assert counts == {k: n for k in DefectKind if (n := sum(kind is k for _, kind in named))}
    return named


def test_a_null_is_a_fault_only_where_there_may_be_none() -> None:
    array = pa.array([1, None, 3, None])
    assert rows(array, a_column("bigint")) == []
    assert rows(array, a_column("bigint", nullable=False)) == [(1, NULL), (3, NULL)]
    (first, *_) = faults_in(array, a_column("bigint", nullable=False))
    assert first.detail == "column c is NULL, which the catalog does not allow"


def test_a_column_that_a_file_lacks_is_all_null() -> None:
    assert count_faults(pa.nulls(5, pa.string()), a_column("string", nullable=False)) == {NULL: 5}
    assert count_faults(pa.nulls(5, pa.string()), a_column("string")) == {}


@pytest.mark.parametrize("arrow", [pa.string(), pa.large_string()], ids=str)
def test_strings_that_are_not_utf8(arrow: pa.DataType) -> None:
    array = strings(b"good", b"ab\xff", None, "é".encode(), b"\xe9t\xe9", arrow=arrow)
    assert rows(array, a_column("string")) == [(1, INVALID), (4, INVALID)]
    first, second = faults_in(array, a_column("string"))
    assert first.detail == "column c holds bytes that are not UTF-8, from byte 2 on: ff"
    assert (first.value_hex, second.value_hex) == ("6162ff", "e974e9")


def test_a_surrogate_or_an_overlong_form_is_not_utf8() -> None:
    array = strings(b"\xed\xa0\x80", b"\xc0\x80", b"\x00")
    assert rows(array, a_column("string")) == [(0, INVALID), (1, INVALID)]


def test_of_a_long_value_only_the_beginning_is_shown() -> None:
    array = strings(b"x" * 10_000 + b"\xff" * 100)
    (fault,) = faults_in(array, a_column("string"))
    assert fault.detail.endswith("from byte 10000 on: " + "ff" * 8)
    assert fault.value_hex == "78" * OCTETS_SHOWN_MAX


def test_both_kinds_in_one_column_come_in_the_order_of_rows() -> None:
    array = strings(b"\xff", None, b"ok", b"\xfe", None)
    assert rows(array, a_column("string", nullable=False)) == [
        (0, INVALID),
        (1, NULL),
        (3, INVALID),
        (4, NULL),
    ]


def test_in_a_dictionary_every_row_with_the_bad_value_counts() -> None:
    codes = pa.array([0, 1, None, 2, 1], pa.int32())
    array = pa.DictionaryArray.from_arrays(codes, strings(b"good", b"b\xffd", b"fine"))
    assert rows(array, a_column("string")) == [(1, INVALID), (4, INVALID)]
    assert rows(array, a_column("string", nullable=False)) == [
        (1, INVALID),
        (2, NULL),
        (4, INVALID),
    ]
    (fault, *_) = faults_in(array, a_column("string"))
    assert fault.value_hex == "62ff64"
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 2], pa.int32()), array.dictionary)
    assert rows(unused, a_column("string")) == []


def test_decimals_with_more_digits_than_their_type() -> None:
    kind = pa.decimal128(5, 2)
    array = decimals(kind, "999.99", "1000.00", None, "-1000.01", "-999.99", "0.00")
    assert rows(array, a_column("decimal(5,2)")) == [(1, INVALID), (3, INVALID)]
    first, second = faults_in(array, a_column("decimal(5,2)"))
    assert first.detail == "column c holds 1000.00, which has more digits than decimal(5,2)"
    assert "-1000.01" in second.detail
    widest = decimals(pa.decimal128(37, 0), "9" * 37, "9" * 38)
    assert rows(widest, a_column("decimal(37,0)")) == [(1, INVALID)]


def test_dates_outside_the_years_that_spark_shows() -> None:
    array = pa.array([DAY_MIN, DAY_MIN - 1, None, DAY_MAX, DAY_MAX + 1], pa.int32()).cast(
        pa.date32()
    )
    assert rows(array, a_column("date")) == [(1, INVALID), (4, INVALID)]
    (first, _) = faults_in(array, a_column("date"))
    assert first.detail == "column c holds -719163 days since 1970, outside the years 1 to 9999"


@pytest.mark.parametrize(("unit", "per_second"), [("s", 1), ("ms", 1_000), ("us", 1_000_000)])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_outside_the_years_that_spark_shows(
    unit: str, per_second: int, zone: str | None
) -> None:
    first, end = DAY_MIN * 86_400 * per_second, (DAY_MAX + 1) * 86_400 * per_second
    numbers = pa.array([first, first - 1, None, end - 1, end], pa.int64())
    array = numbers.cast(pa.timestamp(unit, tz=zone))
    assert rows(array, a_column("timestamp")) == [(1, INVALID), (4, INVALID)]
    (early, _) = faults_in(array, a_column("timestamp"))
    assert (
        early.detail == f"column c holds {first - 1} {unit} since 1970, outside the years 1 to 9999"
    )


FAULTY: list[tuple[str, Callable[[], Any]]] = [
    ("string", lambda: strings(b"\xff", b"ok", None, b"\xfe", b"ok")),
    ("decimal(2,0)", lambda: decimals(pa.decimal128(2, 0), "100", "1", None, "-100", "2")),
    ("date", lambda: pa.array([10**7, 0, None, -(10**7), 1], pa.int32()).cast(pa.date32())),
    ("timestamp", lambda: pa.array([2**62, 0, None, -(2**62), 1]).cast(pa.timestamp("us"))),
    (
        "string",
        lambda: pa.DictionaryArray.from_arrays(
            pa.array([0, 1, None, 2, 1], pa.int8()), strings(b"\xff", b"ok", b"\xfe")
        ),
    ),
]


@pytest.mark.parametrize(("kind", "make"), FAULTY)
def test_a_slice_is_looked_at_from_its_own_beginning(kind: str, make: Callable[[], Any]) -> None:
    array, column = make(), a_column(kind, nullable=False)
    everything = [(0, INVALID), (2, NULL), (3, INVALID)]
    assert rows(array, column) == everything
    for start in range(6):
        for length in range(6 - start):
            within = [(r - start, k) for r, k in everything if start <= r < start + length]
            assert rows(array.slice(start, length), column) == within


@pytest.mark.parametrize(("kind", "make"), FAULTY)
def test_nothing_is_wrong_with_nothing(kind: str, make: Callable[[], Any]) -> None:
    array = make()
    for nothing in (array.slice(0, 0), pa.array([], array.type)):
        assert rows(nothing, a_column(kind, nullable=False)) == []
    assert rows(pa.nulls(3, array.type), a_column(kind)) == []


@pytest.mark.parametrize(
    ("kind", "array"),
    [
        ("boolean", pa.array([True, False, None])),
        ("tinyint", pa.array([-128, 127], pa.int8())),
        ("double", pa.array([float("nan"), float("inf"), 1e308])),
        ("binary", pa.array([b"\xff\xfe", b""])),
    ],
)
def test_types_that_cannot_be_wrong_are_not(kind: str, array: Any) -> None:
    assert rows(array, a_column(kind)) == []
