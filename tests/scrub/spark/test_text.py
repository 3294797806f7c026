# SPDX-License-Identifier: Apache-2.0
"""Texts of values in defects, from which ids are made: one value, one text, in every session."""

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from scrub.codec.json_values import from_text
from scrub.model.types import parse_type
from scrub.spark.text import as_text

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
