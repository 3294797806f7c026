# SPDX-License-Identifier: Apache-2.0
"""Both engines reject the same values: what Spark says of a column is what Arrow says of it."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from scrub.codec.arrow_types import to_arrow
from scrub.codec.rejected import rejected_rows
from scrub.model.table import Column
from scrub.model.types import parse_type
from scrub.spark.rejected import is_rejected
from tests.checks.trials import ARROW, POOLS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


def of_numbers(kind: str, *numbers: int) -> Any:
    arrow = to_arrow(parse_type(kind))
    width = pa.int32() if kind == "date" else pa.int64()
    return pa.array(numbers, width).view(arrow)


def _texts(*octets: bytes) -> Any:
    return pa.Array.from_buffers(pa.string(), len(octets), pa.array(octets).buffers())


EDGES = {
    "date": of_numbers("date", -719_162, 2_932_896, -719_163, 2_932_897),
    "timestamp": of_numbers("timestamp", FIRST, LAST, FIRST - 1, LAST + 1),
    "timestamp_ntz": of_numbers("timestamp_ntz", FIRST, LAST, FIRST - 1, LAST + 1),
    "string": _texts(b"", "ß\U0001f600\x00".encode(), b"\xff", b"\xed\xa0\x80", b"\xc0\x80"),
    "decimal(38,10)": pa.array([Decimal("9" * 28 + "." + "9" * 10)], pa.decimal128(38, 10)),
    "decimal(4,4)": pa.array([Decimal("0.9999"), Decimal("-0.9999")], pa.decimal128(4, 4)),
    "decimal(10,2)": pa.array([Decimal("-99999999.99")], pa.decimal128(10, 2)),
}
CASES = [
    *(pytest.param(k, pa.array([*POOLS[k], None], ARROW[k]), id=f"{k}, usual") for k in ARROW),
    *(pytest.param(kind, values, id=f"{kind}, edges") for kind, values in EDGES.items()),
]


@pytest.mark.parametrize(("kind", "values"), CASES)
def test_both_engines_reject_the_same(kind: str, values: Any, spark: "SparkSession") -> None:
    columns = [
        Column(name="value", type=parse_type(kind), nullable=nullable) for nullable in (True, False)
    ]
    rows = spark.createDataFrame(pa.table({"place": range(len(values)), "value": values}))
    told = rows.select("place", *(is_rejected([column], of_files=True) for column in columns))
    by_spark = sorted(told.collect())
    for number, column in enumerate(columns, start=1):
        rejected = [row[0] for row in by_spark if row[number]]
        assert rejected == list(rejected_rows(values, column))
