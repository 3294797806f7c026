# SPDX-License-Identifier: Apache-2.0
"""What Spark lacks is told in one line, with what to pass; other errors are left as they are."""

from collections.abc import Callable
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from scrub.spark.collecting import translated
from scrub.spark.failures import SessionEnded, explained, lacking, reason_of

LACKING: dict[str, tuple[Callable[[Any], DataFrame], str]] = {
    "s3a": (lambda s: s.read.parquet("s3a://b/x"), "no connector for s3a:// locations"),
    "s3": (lambda s: s.read.parquet("s3://b/x"), "org.apache.hadoop:hadoop-aws:VERSION"),
    "gs": (lambda s: s.read.parquet("gs://b/x"), "gcs-connector:VERSION"),
    "abfss": (lambda s: s.read.parquet("abfss://c@a.dfs/x"), "no connector for abfs"),
    "wasbs": (lambda s: s.read.parquet("wasbs://c@a.blob/x"), "no connector for wasbs://"),
    "cos": (lambda s: s.read.parquet("cos://b/x"), "spark.jars.packages=GROUP:CONNECTOR:VERSION"),
    "jdbc": (
        lambda s: s.read.jdbc("jdbc:nosuch://h/d", "t", properties={}),
        "Spark has no JDBC driver for the url of this store",
    ),
    "driver": (
        lambda s: s.read.jdbc("jdbc:x:y", "t", properties={"driver": "com.example.Driver"}),
        "Spark has no JDBC driver com.example.Driver",
    ),
    "format": (lambda s: s.read.format("nosuch").load("/x"), "Spark has no data source nosuch"),
}


@pytest.mark.spark
@pytest.mark.parametrize("what", LACKING)
def test_what_is_lacking_is_told_in_one_line(what: str, spark: Any) -> None:
    read, told = LACKING[what]
    with pytest.raises(PySparkException) as failure, translated():
        read(spark).collect()
    reason = reason_of(failure.value, redact=False)
    assert told in reason
    assert "\n" not in reason
    assert reason_of(failure.value, redact=True) == reason
    error = explained(failure.value)
    assert error is not None
    assert (str(error), error.exit_code) == (reason, 3)


@pytest.mark.spark
def test_other_errors_are_told_as_they_are(spark: Any) -> None:
    with pytest.raises(PySparkException) as failure, translated():
        spark.sql("SELECT raise_error('no')").collect()
    assert lacking(failure.value) is None
    assert explained(failure.value) is None
    assert explained(ValueError("No suitable driver")) is None


def test_a_jvm_that_does_not_answer_is_the_end_of_the_session() -> None:
    for error in (Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError()):
        with pytest.raises(SessionEnded), translated():
            raise error
    assert explained(Py4JNetworkError("Answer from Java side is empty")) is not None
    assert explained(Py4JError("method x does not exist")) is None


def test_an_error_that_came_of_ctrl_c_is_ctrl_c() -> None:
    """PySpark asks for the result of a job that was interrupted, which then fails."""

    def cancelled() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise PySparkException(message="[SPARK_JOB_CANCELLED] job was cancelled")

    with pytest.raises(KeyboardInterrupt), translated():
        cancelled()
