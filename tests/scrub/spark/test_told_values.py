# SPDX-License-Identifier: Apache-2.0
"""A value that makes a job fail stays out of what PySpark writes to standard error."""

import logging
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf

from scrub.model.request import SparkOptions
from scrub.spark.session import spark_session

pytestmark = pytest.mark.spark
SECRET = "a secret value"


class Kept(logging.Handler):
    """Everything that a logger tells."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())


@pytest.fixture
def kept(spark: Any) -> Any:
    """What PySpark tells of errors; it makes its loggers with the first of them."""
    handler = Kept()
    fail(spark)
    loggers = [
        logging.getLogger(name) for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
    ]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler
    for logger in loggers:
        logger.removeHandler(handler)


def fail(spark: Any) -> None:
    words = spark.createDataFrame([(SECRET,)], "word string")
    with pytest.raises(PySparkException):
        words.select(sf.col("word").cast("int")).collect()
    words.createOrReplaceTempView("words")
    with pytest.raises(PySparkException):
        spark.sql("SELECT CAST(word AS INT) FROM words").collect()


def test_a_value_that_makes_a_job_fail_is_not_written_to_standard_error(
    spark: Any, kept: Kept
) -> None:
    with spark_session(spark, SparkOptions()) as session:
        fail(session)
    assert kept.told == []


def test_what_pyspark_tells_otherwise_is_left_as_it_was(spark: Any, kept: Kept) -> None:
    with spark_session(spark, SparkOptions(verbose=True)) as session:
        fail(session)
    fail(spark)
    assert len([told for told in kept.told if SECRET in told]) == 4
