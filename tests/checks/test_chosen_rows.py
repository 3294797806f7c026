# SPDX-License-Identifier: Apache-2.0
"""Conditions that choose rows by columns which entries do not show, in every way of running."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from checks.chosen_rows import TOO_MANY
from checks.columns import chosen_keys
from scrub.app import run_check
from scrub.model.defect import DefectKind
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.result import RunResult, Status
from tests.checks.chosen_trials import SOME, SOME_FOR_SPARK, chosen_trials
from tests.checks.test_detection import EVERY_TRIAL_EVERY_WAY, found_in
from tests.checks.trials import Condition, Trial, oracle_of_chosen, write_trials
from tests.in_process import check_here, runs_here

TABLES = 12  # of eight trials each
TABLES_PER_WAY = TABLES if EVERY_TRIAL_EVERY_WAY else 3  # on Spark, where each costs its jobs
WAYS = {
    "native": (Engine.NATIVE, Strategy.FINGERPRINT, SOME),
    "too many keys": (Engine.NATIVE, Strategy.FINGERPRINT, SOME),
    "sql": (Engine.SQL, Strategy.FINGERPRINT, SOME),
    "merge": (Engine.AUTO, Strategy.MERGE, SOME),
    "for Spark": (Engine.AUTO, Strategy.AUTO, SOME_FOR_SPARK),
}


def drawn(count: int) -> list[Trial]:
    collected: list[Trial] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(chosen_trials())
    def draw(trial: Trial) -> None:
        collected.append(trial)

    draw()
    return collected[:count]


@pytest.fixture(scope="module")
def trials() -> list[Trial]:
    found = drawn(TABLES)
    assert sum(len(oracle_of_chosen(trial, SOME)) for trial in found) > TABLES, "few defects"
    return found


@pytest.fixture(scope="module")
def catalog(trials: list[Trial], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trials(trials, tmp_path_factory.mktemp("chosen"))


def assert_found(result: RunResult, tables: dict[str, Trial], condition: Condition) -> None:
    assert not [o for o in result.outcomes if o.status is Status.INCOMPLETE], result.outcomes
    for name, trial in tables.items():
        assert found_in(result, name) == oracle_of_chosen(trial, condition), (trial, condition)
    assert {o.not_looked_for for o in result.outcomes} == {(DefectKind.DANGLING,)}


@pytest.mark.slow
def test_in_this_process_every_defect_of_chosen_rows_is_found(
    trials: list[Trial], catalog: Path
) -> None:
    judged = 0
    for number, trial in enumerate(trials):
        name = f"t{number}"
        request = CheckRequest(catalog=catalog, tables=(name,), where=SOME.sql, limit=1_000_000)
        if runs_here(request):
            assert_found(check_here(request), {name: trial}, SOME)
            judged += 1
    assert judged >= TABLES // 4, "hardly any trial ran here"


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("way", WAYS)
def test_on_spark_every_defect_of_chosen_rows_is_found(
    trials: list[Trial],
    catalog: Path,
    light_spark: Any,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine, strategy, condition = WAYS[way]
    monkeypatch.setattr(chosen_keys, "BYTES_MAX", 64 if way == "too many keys" else 1 << 20)
    tables = {f"t{number}": trial for number, trial in enumerate(trials)}
    if engine is Engine.NATIVE:
        tables = {name: trial for name, trial in tables.items() if needs_no_spark(catalog, name)}
        assert tables, "hardly any trial ran natively"
    begin = list(WAYS).index(way) * TABLES_PER_WAY % len(tables)
    tables = dict([*tables.items()][begin:][:TABLES_PER_WAY])
    request = CheckRequest(
        catalog=catalog,
        tables=tuple(tables),
        where=condition.sql,
        engine=engine,
        strategy=strategy,
        limit=1_000_000,
    )
    result = run_check(request, spark=light_spark)
    assert_found(result, tables, condition)
    joined = [TOO_MANY in outcome.notes for outcome in result.outcomes]
    assert any(joined) == (way == "too many keys")


def needs_no_spark(catalog: Path, table: str) -> bool:
    return runs_here(CheckRequest(catalog=catalog, tables=(table,), where=SOME.sql))
