# SPDX-License-Identifier: Apache-2.0
"""Rows that hold every type's hard values, and how to read a relation back for comparing."""

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from scrub.codec.arrow_types import to_arrow
from scrub.model.relation import RelationFacts
from scrub.model.table import Column
from scrub.model.types import parse_type
from scrub.stores.base import ReadableStore
from scrub.stores.split_readers import read_split

COLUMNS = tuple(
    Column(name=name, type=parse_type(type_))
    for name, type_ in {
        "id": "bigint",
        "flag": "boolean",
        "tiny": "tinyint",
        "small": "smallint",
        "back`tick": "int",
        "single": "float",
        "real": "double",
        "money": "decimal(10,2)",
        "huge": "decimal(38,18)",
        "a.b": "string",
        "with space": "string",
        "bytes": "binary",
        "day": "date",
        "moment": "timestamp",
        "clock": "timestamp_ntz",
    }.items()
)
_NONE = (None,) * (len(COLUMNS) - 1)
ROWS: tuple[tuple[Any, ...], ...] = (
    (
        1, True, -128, -32768, -(2**31), float("nan"), float("nan"), Decimal("-99999999.99"),
        Decimal("12345678901234567890.123456789012345678"), "", "ΑΣ é 🙂", b"\x00\xff",
        date(1970, 1, 1), datetime(2024, 1, 1, 1, 2, 3, 456789, UTC),
        datetime(2024, 3, 31, 2, 30, 0, 1),
    ),
    (
        2, False, 127, 32767, 2**31 - 1, -0.0, -0.0, Decimal("0.00"), Decimal("0E-18"),
        "a,\"b\" 'c'\n\\d", " both sides ", b"", date(9999, 12, 31),
        datetime(1969, 12, 31, 12, 59, 59, 999999, UTC), datetime(1900, 1, 1),
    ),
    (
        3, None, 0, 0, 0, float("inf"), -math.inf, Decimal("1.10"),
        Decimal("-0.000000000000000001"), "NULL", "01", b"abc", date(2020, 2, 29),
        datetime(2024, 10, 27, 1, 30, tzinfo=UTC), datetime(2024, 10, 27, 1, 30),
    ),
    (4, *_NONE),
    (2**63 - 1, *_NONE),
)  # fmt: skip


def arrow_table(
    columns: Sequence[Column] = COLUMNS, rows: Sequence[tuple[Any, ...]] = ROWS
) -> pa.Table:
    """The rows in the Arrow types of the columns, which are a selection of COLUMNS."""
    places = [COLUMNS.index(column) for column in columns]
    return pa.table(
        {
            column.name: pa.array([row[place] for row in rows], to_arrow(column.type))
            for column, place in zip(columns, places, strict=True)
        }
    )


def plain(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows that compare exactly: NaN equals itself, -0.0 is not 0.0; in the order of ids."""
    rows = [
        tuple(repr(value) if isinstance(value, float) else value for value in row.values())
        for row in table.to_pylist()
    ]
    return sorted(rows, key=lambda row: (row[0] is None, row[0]))


def in_catalog_types(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Only what differs between Arrow's spellings of one type is cast."""
    schema = pa.schema([(column.name, to_arrow(column.type)) for column in columns])
    assert table.column_names == schema.names
    return table.cast(schema)


def read_natively(facts: RelationFacts, columns: Sequence[Column]) -> pa.Table:
    tables = [
        in_catalog_types(pa.Table.from_batches([batch]), columns)
        for split in facts.splits
        for batch in read_split(split, columns, facts.storage_options, batch_rows=2)
    ]
    schema = pa.schema([(column.name, to_arrow(column.type)) for column in columns])
    return pa.concat_tables([schema.empty_table(), *tables])


def read_through_spark(
    store: ReadableStore, spark: Any, facts: RelationFacts, columns: Sequence[Column]
) -> pa.Table:
    frame = store.frame(spark, facts, columns, facts.splits)
    return in_catalog_types(frame.toArrow(), columns)


def of(names: Iterable[str]) -> tuple[Column, ...]:
    """Columns of the sample by name."""
    by_name = {column.name: column for column in COLUMNS}
    return tuple(by_name[name] for name in names)


def no_session() -> Any:
    """For stores that must answer without Spark."""
    raise AssertionError("a session was asked for")
