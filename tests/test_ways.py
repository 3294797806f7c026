# SPDX-License-Identifier: Apache-2.0
"""Trials, scenarios and the self-test run in every way, and a way that is left out is noticed."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from scrub.app.selftest_and_demo import selftest
from scrub.model.request import CheckRequest, Strategy
from scrub.model.result import RunResult, Status
from tests import test_scenarios
from tests.builders import delta_lake, entries_of, orders
from tests.checks import test_detection
from tests.in_process import check_here
from tests.reports.results import a_check, a_run, a_table
from tests.ways import IN_PROCESS, WAYS, Way, demand_made, objections, way_of

RUN = {
    "trials": product(test_detection.ENGINES, test_detection.STRATEGIES),
    "scenarios": ((engine, strategy) for _, engine, strategy in test_scenarios.WAYS),
    "self-test": ((way.engine, way.strategy) for way in selftest.WAYS if not way.in_process),
}
"""What runs on Spark; the same in this process asks for it by name.

That the self-test was made in all four is asserted of a real one in `test_selftest.py`.
"""


@pytest.mark.parametrize("what", RUN)
def test_it_runs_in_every_way_on_spark(what: str) -> None:
    ways = {way_of(engine, strategy).name for engine, strategy in RUN[what]}
    assert ways == {way.name for way in WAYS if not way.in_process}


def result_of(way: Way) -> RunResult:
    """What a check says that was made in a way."""
    engine = "sql" if way.engine == "sql" else "native"
    told: dict[str, Any] = {"engine": engine, "strategy": way.strategy.value}
    place = "in process" if way.in_process else "on Spark"
    run = a_run(a_table(a_check("by_customer", Status.CLEAN, **told)))
    return replace(run, ran=f"{place}, because", seconds_starting=0.0)


@pytest.mark.parametrize(
    ("made", "asked"), list(product(WAYS, WAYS)), ids=lambda way: way.name.replace(" ", "-")
)
def test_a_result_is_of_one_way_only(made: Way, asked: Way) -> None:
    assert (not list(objections(result_of(made), asked))) == (made is asked)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
@pytest.mark.parametrize("status", [Status.NOT_APPLICABLE, Status.INCOMPLETE])
def test_a_way_in_which_nothing_was_compared_was_not_exercised(way: Way, status: Status) -> None:
    result = result_of(way)
    (table,) = result.tables
    checks = tuple(replace(check, status=status) for check in table.checks)
    result = replace(result, tables=(replace(table, checks=checks),))
    assert list(objections(result, way)) == ["no index was compared"]


def test_a_spark_that_was_started_after_all_is_noticed() -> None:
    result = replace(result_of(IN_PROCESS), ran="in process, little; Spark was started for more")
    assert list(objections(result, IN_PROCESS))


def test_what_a_check_says_of_itself_is_of_its_way(tmp_path: Path) -> None:
    """A real result, lest reports change and every demand is met by nothing."""
    rows = orders(100)
    catalog = delta_lake(tmp_path, rows, entries_of(rows).slice(1))
    request = CheckRequest(catalog=catalog, strategy=Strategy.FINGERPRINT)
    result = demand_made(check_here(request), IN_PROCESS)
    for way in WAYS:
        if way is not IN_PROCESS:
            with pytest.raises(AssertionError):
                demand_made(result, way)
