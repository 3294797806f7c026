# SPDX-License-Identifier: Apache-2.0
"""Every defect of random trials is found once with its exact key, and nothing else is reported."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from scrub.app import run_check
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.result import RunResult, Status
from tests.checks.trials import TRIALS_PER_TABLE, Trial, oracle, trials, write_trials
from tests.ways import demand_made, way_of

ENGINES = (Engine.AUTO, Engine.SQL)
STRATEGIES = (Strategy.FINGERPRINT, Strategy.MERGE)
EVERY_TRIAL_EVERY_WAY = "SCRUB_EVERY_TRIAL" in os.environ
TABLES = 40 if EVERY_TRIAL_EVERY_WAY else 12  # of eight trials each; make torture asks for more
TABLES_PER_RUN = TABLES // 4
QUARTERS = {
    (Engine.AUTO, Strategy.MERGE): 0,
    (Engine.SQL, Strategy.FINGERPRINT): 1,
    (Engine.SQL, Strategy.MERGE): 2,
}
"""Which quarter of the trials a way runs; the first way runs them all, in minutes less than if all
ways did."""


def collect_trials(count: int) -> list[Trial]:
    """As many trials as hypothesis draws; run together, since each Spark job costs its start."""
    collected: list[Trial] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(trials())
    def draw(trial: Trial) -> None:
        collected.append(trial)

    draw()
    return collected[:count]


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, list[Trial]]]:
    collected = collect_trials(TABLES)
    assert len(collected) == TABLES
    assert sum(len(oracle(trial)) for trial in collected) > TABLES * TRIALS_PER_TABLE, "no defects"
    batches = [
        collected[at : at + TABLES_PER_RUN] for at in range(0, len(collected), TABLES_PER_RUN)
    ]
    return [(write_trials(batch, tmp_path_factory.mktemp("trials")), batch) for batch in batches]


def found_in(result: RunResult, table: str) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for defect in result.defects:
        if defect.table == table:
            is_of_table = defect.kind == "duplicate_primary_key"
            index_key: Any = {} if is_of_table else dict(defect.index_key or {})
            keys = json.dumps([dict(defect.primary_key or {}), index_key], sort_keys=True)
            found[defect.kind.value, "*" if is_of_table else str(defect.index), keys] += 1
    return found


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_defect_is_found_once_and_nothing_else(
    catalogs: list[tuple[Path, list[Trial]]],
    engine: Engine,
    strategy: Strategy,
    light_spark: Any,
) -> None:
    quarter = None if EVERY_TRIAL_EVERY_WAY else QUARTERS.get((engine, strategy))
    for catalog, batch in catalogs if quarter is None else [catalogs[quarter]]:
        result = run_check(
            CheckRequest(catalog=catalog, engine=engine, strategy=strategy, limit=1_000_000),
            spark=light_spark,
        )
        demand_made(result, way_of(engine, strategy))
        assert not [o for o in result.outcomes if o.status is Status.INCOMPLETE]
        for number, trial in enumerate(batch):
            assert found_in(result, f"t{number}") == oracle(trial), trial
        assert result.defects_total == len(result.defects)
