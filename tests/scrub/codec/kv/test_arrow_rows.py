# SPDX-License-Identifier: Apache-2.0
"""Decoded rows as Arrow columns: values that went in come out, and others are left out."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.catalog.kv_types import parse_datum_type
from scrub.codec.arrow_types import to_arrow
from scrub.codec.kv.arrow_columns import datums_of
from scrub.codec.kv.arrow_rows import ArrowRows, arrow_rows
from scrub.codec.kv.layouts import layout_of
from scrub.codec.kv.rows import encode
from scrub.model.kv import DatumKind, Family, KeyPart, KvColumn, KvTable
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName
from tests.scrub.codec.kv import fast, reference_pairs
from tests.scrub.codec.kv.test_codec import stored

BINARY = ColumnType(TypeName.BINARY)
MICROS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))
TYPES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "decimal(4,2)": st.decimals(-99, 99, places=2),
    "decimal(18,0)": st.integers(-(10**18) + 1, 10**18 - 1).map(Decimal),
    "decimal(38,10)": st.integers(-(10**38) + 1, 10**38 - 1).map(
        lambda number: Decimal(f"{number}E-10")
    ),
    "string": st.text(st.characters(codec="utf-8"), max_size=20),
    "binary": st.binary(max_size=20),
    "date": st.dates(),
    "timestamp": MICROS.map(lambda moment: moment.replace(tzinfo=dt.UTC)),
    "timestamp_ntz": MICROS,
}


def table_of(*types: str) -> tuple[KvTable, tuple[Column, ...]]:
    """A number as key, and columns of some types."""
    both = [parse_datum_type(text) for text in ("bigint", *types)]
    columns = tuple(Column(name=f"c{n}", type=spark) for n, (spark, _) in enumerate(both))
    of_pairs = tuple(KvColumn(n + 1, f"c{n}", datum, n > 0) for n, (_, datum) in enumerate(both))
    every = Family(0, tuple(column.id for column in of_pairs))
    return KvTable(51, "table", of_pairs, (KeyPart(1),), (every,)), columns


def written(table: KvTable, *rows: dict[int, Any]) -> tuple[pa.Array, pa.Array]:
    return fast.arrays_of(
        stored([pair for row in rows for pair in reference_pairs.encode_row(table, row)])
    )


def counts(rows: ArrowRows) -> tuple[int, int, bool]:
    return rows.undecoded, rows.unheld, rows.lost


@pytest.mark.parametrize("spelling", TYPES)
@given(data=st.data())
@settings(max_examples=25)
def test_values_come_back_in_the_types_of_the_catalog(spelling: str, data: st.DataObject) -> None:
    table, columns = table_of(spelling)
    with_digits = [] if "decimal" not in spelling else [Decimal("0"), Decimal("-0.00")]
    values = [*data.draw(st.lists(st.none() | TYPES[spelling], max_size=8)), *with_digits, None]
    arrays = {
        "c0": pa.array(range(len(values)), pa.int64()),
        "c1": pa.array(values, to_arrow(columns[1].type)),
    }
    layout = layout_of([table])
    pairs = encode(layout, layout.primary(0), datums_of(table, arrays))
    rows = arrow_rows(layout, columns, *pairs)
    assert counts(rows) == (0, 0, False)
    rows.batch.validate(full=True)
    for name, array in arrays.items():
        assert rows.batch.column(name).equals(array), rows.batch.column(name)


def test_floats_that_are_no_number_come_back() -> None:
    table, columns = table_of("double", "float")
    pairs = written(table, {1: 1, 2: math.nan, 3: math.nan}, {1: 2, 2: -0.0, 3: -math.inf})
    found = arrow_rows(layout_of([table]), columns, *pairs).batch.to_pylist()
    assert math.isnan(found[0]["c1"])
    assert math.isnan(found[0]["c2"])
    assert (math.copysign(1, found[1]["c1"]), found[1]["c2"]) == (-1, -math.inf)


def test_decimals_with_zeros_at_the_end_are_the_same_number() -> None:
    table, columns = table_of("decimal(4,2)")
    spelled = ["1.5000", "1E+1", "-0.00", "0", "-99.9", "0E-9"]
    pairs = written(table, *({1: n, 2: Decimal(text)} for n, text in enumerate(spelled)))
    rows = arrow_rows(layout_of([table]), columns, *pairs)
    expected = [Decimal(text) for text in ("1.50", "10.00", "0.00", "0.00", "-99.90", "0.00")]
    assert rows.batch.column("c1").to_pylist() == expected


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_a_decimal_that_spark_has_not_leaves_its_row_out_only_if_it_is_asked_for(text: str) -> None:
    table, columns = table_of("decimal(4,2)")
    pairs = written(table, {1: 1, 2: Decimal(text)}, {1: 2, 2: Decimal("2.5")})
    rows = arrow_rows(layout_of([table]), columns, *pairs)
    assert rows.batch.column("c0").to_pylist() == [2]
    assert counts(rows) == (0, 1, False)
    assert len(rows.partial) == 1
    without = arrow_rows(layout_of([table]), columns[:1], *pairs)
    assert without.batch.column("c0").to_pylist() == [1, 2]
    assert counts(without) == (0, 0, False)


def test_a_decimal_of_any_digits_is_never_cut() -> None:
    table, (key, _) = table_of("decimal")
    short = Column(name="c1", type=ColumnType(TypeName.DECIMAL, 4, 2))
    texts = ["1.255", "100", "99.99", "-1E-3", "12.5", "1E+400", "1E-400"]
    pairs = written(table, *({1: n, 2: Decimal(text)} for n, text in enumerate(texts)))
    rows = arrow_rows(layout_of([table]), (key, short), *pairs)
    assert rows.batch.column("c1").to_pylist() == [Decimal("99.99"), Decimal("12.50")]
    assert counts(rows) == (0, 5, False)


def test_a_time_between_two_microseconds_leaves_its_row_out() -> None:
    table, columns = table_of("timestamp")
    moments = [(0, 1_000), (0, 1), (-1, 999_999_000), (-62_135_596_800, 0)]
    pairs = written(table, *({1: n, 2: moment} for n, moment in enumerate(moments)))
    rows = arrow_rows(layout_of([table]), columns, *pairs)
    assert rows.batch.column("c0").to_pylist() == [0, 2, 3]
    micros = rows.batch.column("c1").view(pa.int64()).to_pylist()
    assert micros == [1, -1, -62_135_596_800_000_000]
    assert counts(rows) == (0, 1, False)


def test_columns_without_a_type_in_spark_are_bytes_that_tell_null_from_a_value() -> None:
    table, columns = table_of("uuid", "int[]", "interval", "time")
    key = bytes(range(16))
    values = {2: key, 3: [1, None, 3], 4: (1, 2, 3), 5: 86_400_000_000}
    nothing: dict[int, Any] = dict.fromkeys(values)
    pairs = written(table, {1: 1} | values, {1: 2} | nothing, {1: 3} | values)
    assert all(column.type == BINARY for column in columns[1:])
    rows = arrow_rows(layout_of([table]), columns, *pairs)
    one, none, same = ([row[f"c{n}"] for n in range(1, 5)] for row in rows.batch.to_pylist())
    assert one[0] == key
    assert one == same
    assert all(one)
    assert none == [None] * 4


def test_decimals_of_a_key_have_the_digits_that_the_value_adds() -> None:
    table, columns = table_of("decimal(6,2)", "string")
    table = KvTable(51, "table", table.columns, (KeyPart(2, True), KeyPart(1)), table.families)
    assert table.columns[1].type.kind is DatumKind.DECIMAL
    pairs = written(table, {1: 1, 2: Decimal("1.50"), 3: b"x"}, {1: 2, 2: Decimal("-10"), 3: None})
    rows = arrow_rows(layout_of([table]), columns, *pairs)
    assert rows.batch.to_pylist() == [
        {"c0": 1, "c1": Decimal("1.50"), "c2": "x"},
        {"c0": 2, "c1": Decimal("-10.00"), "c2": None},
    ]


def test_no_columns_still_count() -> None:
    table, _ = table_of("string")
    rows = arrow_rows(layout_of([table]), (), *written(table, {1: 1, 2: b"x"}, {1: 2, 2: None}))
    assert len(rows.partial) == 2
