# SPDX-License-Identifier: Apache-2.0
"""Texts of values in defects, from which ids are made: one value, one text, in every session."""

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from scrub.codec.arrow_text import text_of
from scrub.codec.json_values import from_text
from scrub.model.types import parse_type
from scrub.spark.text import as_text, as_told_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = parse_type("decimal(20,10)")


def test_a_decimal_has_one_text_however_spark_writes_it() -> None:
    assert from_text("1E-10", SMALL) == from_text("0.0000000001", SMALL) == "0.0000000001"
    assert from_text("0E-10", SMALL) == "0.0000000000"
    assert from_text("1.50", parse_type("decimal(10,2)")) == "1.50"


@pytest.mark.spark
@pytest.mark.usefixtures("ansi_mode")
def test_a_decimal_has_one_text_in_both_of_sparks_modes(spark: "SparkSession") -> None:
    small = F.lit("0.0000000001").cast(str(SMALL))
    (row,) = spark.range(1).select(as_text(small, SMALL).alias("text")).collect()
    assert from_text(row["text"], SMALL) == "0.0000000001"


OCTETS = [
    b"",
    b"a\xc3\xa9\xf0\x9f\x98\x80",
    b"\xff",
    b"a\xffb",
    b"\xe2\x82",
    b"\xe2\x82A",
    b"\xc0\xaf\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\\xff \xc3\xa9\xc3",
]
DAYS = [0, -719162, -719163, 2932896, 2932897, 4_000_000, -1_000_000]


@pytest.mark.spark
@pytest.mark.usefixtures("ansi_mode")
def test_values_that_cannot_be_have_the_text_that_arrow_tells(spark: "SparkSession") -> None:
    string, date = parse_type("string"), parse_type("date")
    strings = spark.createDataFrame([(o,) for o in OCTETS], "o binary").select(
        as_told_text(F.expr("CAST(o AS string)"), string)
    )
    octets = pa.array(OCTETS, pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(octets), octets.buffers())
    assert [row[0] for row in strings.collect()] == [text_of(t, string) for t in texts]
    dates = spark.createDataFrame([(d,) for d in DAYS], "d int").select(
        as_told_text(F.date_from_unix_date("d"), date)
    )
    days = pa.array(DAYS, pa.int32()).view(pa.date32())
    assert [row[0] for row in dates.collect()] == [text_of(d, date) for d in days]
    nothing = spark.sql("SELECT CAST(NULL AS string) AS s, CAST(NULL AS date) AS d")
    assert nothing.select(
        as_told_text(F.col("s"), string), as_told_text(F.col("d"), date)
    ).collect() == [(None, None)]
