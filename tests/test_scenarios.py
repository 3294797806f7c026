# SPDX-License-Identifier: Apache-2.0
"""Every scenario folder: what its `expected.json` says is found, and nothing else.

All scenarios of one store are checked in one run. Stores, engines and strategies are combined so
that each meets each of the others.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrub.app import run_check
from scrub.errors import ScrubError
from scrub.model.defect import Defect
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.result import EXIT_CODES, RunResult, Status, worst
from tests.in_process import check_here
from tests.scenario_folders import (
    FOLDERS,
    STORES,
    Scenario,
    corrupted,
    read_scenario,
    together_name,
    write_lake,
    write_together,
)
from tests.small_session import adapting_plans
from tests.ways import IN_PROCESS, demand_made, way_of

NAMES = sorted(path.name for path in FOLDERS.iterdir() if path.is_dir())
WAYS = [
    ("delta", Engine.AUTO, Strategy.FINGERPRINT),
    ("delta", Engine.SQL, Strategy.MERGE),
    ("parquet", Engine.AUTO, Strategy.MERGE),
    ("parquet", Engine.SQL, Strategy.FINGERPRINT),
]

RUN_HERE = [name for name in NAMES if "error" not in read_scenario(FOLDERS / name).expected]

Way = tuple[str, Engine, Strategy]
Run = Callable[[Way], RunResult]


@pytest.fixture(scope="module")
def scenarios() -> dict[str, Scenario]:
    return {name: read_scenario(FOLDERS / name) for name in NAMES}


@pytest.fixture(scope="module")
def checked(
    scenarios: dict[str, Scenario], tmp_path_factory: pytest.TempPathFactory, spark: Any
) -> Run:
    """The result of all scenarios together, computed once for each way."""
    results: dict[Way, RunResult] = {}
    catalogs: dict[str, Path] = {}

    def run(way: Way) -> RunResult:
        store, engine, strategy = way
        if store not in catalogs:
            rows = [(s, corrupted(s.healthy, s.steps)) for s in with_result(scenarios)]
            catalogs[store] = write_together(rows, store, tmp_path_factory.mktemp(store))
        if way not in results:
            request = CheckRequest(
                catalog=catalogs[store], engine=engine, strategy=strategy, limit=1_000
            )
            with adapting_plans(spark):
                result = run_check(request, spark=spark)
            results[way] = demand_made(result, way_of(engine, strategy))
        return results[way]

    return run


def with_result(scenarios: dict[str, Scenario]) -> list[Scenario]:
    return [scenario for scenario in scenarios.values() if "error" not in scenario.expected]


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_is_whole(name: str, scenarios: dict[str, Scenario]) -> None:
    expected = scenarios[name].expected
    assert expected.keys() == {"exit_code", "error"} or expected.keys() == {
        "exit_code",
        "checks",
        "defects",
    }
    assert corrupted(scenarios[name].healthy, scenarios[name].steps)


@pytest.mark.parametrize("lacking", ["scrub.yaml", "rows.yaml", "expected.json"])
def test_a_scenario_that_lacks_a_file_fails(lacking: str, tmp_path: Path) -> None:
    files = {"scrub.yaml": "tables: {}", "rows.yaml": "{}", "expected.json": "{}"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert read_scenario(tmp_path)
    (tmp_path / lacking).unlink()
    with pytest.raises(FileNotFoundError, match=lacking):
        read_scenario(tmp_path)


@pytest.mark.parametrize(
    "step",
    [
        {"delete": "t__i", "where": {"id": 2}},
        {"update": "t__i", "where": {"id": 2}, "set": {"id": 3}},
        {"update": "t__i", "where": {"id": 1}, "set": {"id": 1}},
        {"copy": "t__i", "where": {"id": 2}},
    ],
)
def test_a_corruption_that_touches_nothing_fails(step: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="nothing was touched"):
        corrupted({"t__i": [{"id": 1}]}, [step])


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize(
    "name", [n for n in NAMES if "error" not in read_scenario(FOLDERS / n).expected]
)
def test_what_is_expected_is_found_and_nothing_else(
    name: str, way: Way, scenarios: dict[str, Scenario], checked: Run
) -> None:
    expected = scenarios[name].expected
    expected = expected | {"defects": sorted(expected["defects"], key=json.dumps)}
    assert found(scenarios[name], checked(way)) == expected


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", RUN_HERE)
def test_in_this_process_the_same_is_found(
    name: str, store: str, scenarios: dict[str, Scenario], tmp_path: Path
) -> None:
    scenario = scenarios[name]
    rows = corrupted(scenario.healthy, scenario.steps)
    catalog = write_together([(scenario, rows)], store, tmp_path)
    request = CheckRequest(catalog=catalog, strategy=Strategy.FINGERPRINT, limit=1_000)
    result = demand_made(check_here(request), IN_PROCESS)
    expected = scenario.expected
    expected = expected | {"defects": sorted(expected["defects"], key=json.dumps)}
    assert found(scenario, result) == expected


@pytest.mark.spark
def test_before_its_corruption_every_scenario_is_clean(
    scenarios: dict[str, Scenario], tmp_path: Path, spark: Any
) -> None:
    rows = [(scenario, scenario.healthy) for scenario in with_result(scenarios)]
    request = CheckRequest(catalog=write_together(rows, "parquet", tmp_path))
    result = run_check(request, spark=spark)
    assert {outcome.status for outcome in result.outcomes} == {Status.CLEAN}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    "name", [n for n in NAMES if "error" in read_scenario(FOLDERS / n).expected]
)
def test_what_cannot_be_checked_is_refused(
    name: str, store: str, scenarios: dict[str, Scenario], tmp_path: Path
) -> None:
    scenario = scenarios[name]
    rows = corrupted(scenario.healthy, scenario.steps)
    catalog = write_lake(scenario, rows, store, tmp_path)
    with pytest.raises(ScrubError) as refusal:
        run_check(CheckRequest(catalog=catalog))
    assert refusal.value.exit_code == scenario.expected["exit_code"]
    assert str(refusal.value).splitlines() == scenario.expected["error"]


def found(scenario: Scenario, result: RunResult) -> dict[str, Any]:
    """What a run says of one scenario, in the words of `expected.json`."""
    names = {together_name(scenario, table): table for table in scenario.tables}
    tables = [table for table in result.tables if table.table in names]
    checks = {
        f"{names[table.table]}.{outcome.index}": {
            "status": outcome.status.value,
            "rows": outcome.rows,
            "entries": outcome.entries,
            "notes": list(outcome.notes),
        }
        for table in tables
        for outcome in table.checks
    }
    defects = [defect for defect in result.defects if defect.table in names]
    assert len(defects) == sum(outcome.defects for t in tables for outcome in t.checks)
    return {
        "exit_code": EXIT_CODES[worst([outcome for t in tables for outcome in t.checks])],
        "checks": checks,
        "defects": sorted((_described(defect) for defect in defects), key=json.dumps),
    }


def _described(defect: Defect) -> dict[str, Any]:
    return {
        "kind": defect.kind.value,
        "index": defect.index,
        "primary_key": defect.primary_key,
        "index_key": defect.index_key,
        "expected": defect.expected,
        "actual": defect.actual,
    }
