# SPDX-License-Identifier: Apache-2.0
"""Every violation of random constraints is reported once, and nothing else, by every engine."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scrub.app import run_check
from scrub.model.defect import Defect
from scrub.model.request import CheckRequest, Engine
from scrub.model.result import RunResult, Status
from tests.checks.constraints.oracle import ConstraintTrial, Found, oracle
from tests.checks.constraints.trials import constraint_trials, write_trials

TABLES = 60 if "SCRUB_EVERY_TRIAL" in os.environ else 6  # of eight sections each
TABLES_PER_RUN = 6

Batch = tuple[Path, list[ConstraintTrial]]


def collect_trials(count: int) -> list[ConstraintTrial]:
    """As many trials as hypothesis draws; run together, since each Spark job costs its start."""
    collected: list[ConstraintTrial] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        collected.append(data.draw(constraint_trials(len(collected))))

    draw()
    return collected[:count]


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> list[Batch]:
    collected = collect_trials(TABLES)
    assert len(collected) == TABLES
    kinds = Counter(kind for trial in collected for kind, *_ in oracle(trial).elements())
    assert len(kinds) == 5, kinds
    assert min(kinds.values()) > TABLES, f"hardly anything is violated: {kinds}"
    return [
        (write_trials(batch, tmp_path_factory.mktemp("trials")), batch)
        for at in range(0, TABLES, TABLES_PER_RUN)
        if (batch := collected[at : at + TABLES_PER_RUN])
    ]


@pytest.fixture
def light_spark(spark: Any) -> Iterator[Any]:
    """Plans of tiny tables run once: adapting them costs more than running them."""
    settings_for_tiny_tables = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
    }
    before = {key: spark.conf.get(key) for key in settings_for_tiny_tables}
    for key, value in settings_for_tiny_tables.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        spark.conf.set(key, value)


def found_in(result: RunResult, table: str) -> Found:
    return Counter(_as_found(defect) for defect in result.defects if defect.table == table)


def _as_found(defect: Defect) -> tuple[str, str, str, str]:
    key = "" if defect.index_key is None else json.dumps(dict(defect.index_key), sort_keys=True)
    primary_key = json.dumps(dict(defect.primary_key or {}), sort_keys=True)
    return defect.kind.value, str(defect.constraint), primary_key, defect.column or key


@pytest.mark.slow
@pytest.mark.spark
def test_every_violation_is_reported_once_and_nothing_else(
    batches: list[Batch], light_spark: Any
) -> None:
    for catalog, batch in batches:
        tables = tuple(f"t{number}" for number in range(len(batch)))
        ids = []
        for engine in (Engine.AUTO, Engine.SQL):
            request = CheckRequest(catalog=catalog, tables=tables, engine=engine, limit=1_000_000)
            result = run_check(request, spark=light_spark)
            assert not [o for o in result.outcomes if o.status is Status.INCOMPLETE]
            for table, trial in zip(tables, batch, strict=True):
                assert found_in(result, table) == oracle(trial), (engine, trial)
            assert result.defects_total == len(result.defects)
            ids.append(Counter((defect.id, defect.detail) for defect in result.defects))
        assert ids[0] == ids[1]
