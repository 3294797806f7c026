# SPDX-License-Identifier: Apache-2.0
"""Texts of values from Arrow: those that Spark makes, from which ids of defects follow."""

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from scrub.codec.arrow_text import text_of
from scrub.model.types import parse_type
from tests.checks.trials import ARROW, POOLS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.parametrize("kind", ARROW)
def test_both_engines_write_the_same_text(kind: str, spark: "SparkSession") -> None:
    from pyspark.sql import functions as F

    from scrub.codec.json_values import from_text
    from scrub.spark.text import as_text

    values, column_type = pa.array([*POOLS[kind], None], ARROW[kind]), parse_type(kind)
    frame = spark.createDataFrame(pa.table({"value": values}))
    by_spark = [row[0] for row in frame.select(as_text(F.col("value"), column_type)).collect()]
    by_arrow = [text_of(value, column_type) for value in values]
    assert [from_text(text, column_type) for text in by_arrow] == [
        from_text(text, column_type) for text in by_spark
    ]


def test_a_value_that_cannot_be_still_has_a_text() -> None:
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"a\xff"]).buffers())
    assert text_of(bad[0], parse_type("string")) == "a\\xff"
    date = pa.array([10**7], pa.int32()).cast(pa.date32())
    assert text_of(date[0], parse_type("date")) == "10000000 days"
    wall_clock = pa.array([2**62], pa.int64()).cast(pa.timestamp("us"))
    assert text_of(wall_clock[0], parse_type("timestamp_ntz")) == f"{2**62} us"
