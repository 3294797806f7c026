# SPDX-License-Identifier: Apache-2.0
"""Checks that run in this process, whatever session there is; a test fails if one does not."""

from typing import Any

from scrub.app import explain_check, run_check
from scrub.model.place import IN_PROCESS_BYTES
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.result import RunResult

HERE = SparkOptions(conf=((IN_PROCESS_BYTES, "1 GiB"),))


def runs_here(request: CheckRequest) -> bool:
    """Whether a check is planned to run in this process; of some relations only Spark knows."""
    place = explain_check(request, spark_options=HERE).place
    return place is not None and place.in_process


def check_here(request: CheckRequest, **options: Any) -> RunResult:
    """What a check finds without Spark, which may not start."""
    result = run_check(request, spark_options=HERE, **options)
    assert result.ran is not None, "nothing ran"
    assert result.ran.startswith("in process"), result.ran
    assert "Spark" not in result.ran, result.ran
    return result
