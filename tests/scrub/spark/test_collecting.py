# SPDX-License-Identifier: Apache-2.0
"""A job that fails raises a PySparkException that tells the cause, whatever the action."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from scrub.spark.collecting import collect_arrow, translated
from scrub.spark.failures import condition, first_sentence, unreadable_file, unreadable_reason

pytestmark = pytest.mark.spark


def failure_of(act: Callable[[DataFrame], object], frame: DataFrame) -> PySparkException:
    with pytest.raises(PySparkException) as failure, translated():
        act(frame)
    return failure.value


ACTIONS: dict[str, Callable[[DataFrame], object]] = {
    "collect": DataFrame.collect,
    "isEmpty": DataFrame.isEmpty,
    "toLocalIterator": lambda frame: list(frame.toLocalIterator()),
    "toArrow": collect_arrow,
    "two sides of a join": lambda frame: frame.join(frame.hint("merge"), "id").collect(),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_a_file_that_spark_cannot_read_is_told(action: str, tmp_path: Path, spark: Any) -> None:
    file = tmp_path / "a b.parquet"
    file.write_text("no Parquet at all")
    error = failure_of(ACTIONS[action], spark.read.schema("id bigint").parquet(str(file)))
    assert unreadable_file(error) == str(file)
    reason = unreadable_reason(error)
    assert reason is not None
    assert reason.startswith("Spark cannot read the file: ")
    assert "is not a Parquet file" in reason


@pytest.mark.parametrize("action", ["collect", "toArrow"])
def test_an_expression_that_raises_is_told(action: str, spark: Any) -> None:
    frame = spark.range(3).selectExpr("raise_error(concat('no ', id)) AS id")
    error = failure_of(ACTIONS[action], frame)
    assert condition(error) == "USER_RAISED_EXCEPTION"
    assert first_sentence(error).startswith("no ")
    assert unreadable_file(error) is None
    assert unreadable_reason(error) is None
