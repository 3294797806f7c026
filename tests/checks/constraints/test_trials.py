# SPDX-License-Identifier: Apache-2.0
"""Every violation of random constraints is reported once, and nothing else, by every engine."""

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrub.app import explain_check, run_check
from scrub.model.defect import Defect
from scrub.model.plan import Way
from scrub.model.request import CheckRequest, Engine
from scrub.model.result import RunResult, Status
from tests.checks.constraints.oracle import ConstraintTrial, Found, oracle
from tests.checks.constraints.pair_trials import as_pairs
from tests.checks.constraints.trials import collect_trials
from tests.checks.constraints.written_trials import write_trials
from tests.in_process import HERE, check_here
from tests.postgres_server import Database

TABLES = int(os.environ.get("SCRUB_TRIALS", "5"))  # of eight sections each
TABLES_PER_RUN = 5
EVERY_DEFECT = 1_000_000


@pytest.fixture(scope="module")
def trials() -> list[ConstraintTrial]:
    collected = collect_trials(TABLES, TABLES_PER_RUN)
    kinds = Counter(kind for trial in collected for kind, *_ in oracle(trial).elements())
    assert len(kinds) == 5, kinds
    assert min(kinds.values()) > TABLES, f"hardly anything is violated: {kinds}"
    return collected


def found_in(result: RunResult, table: str) -> Found:
    return Counter(_as_found(defect) for defect in result.defects if defect.table == table)


def _as_found(defect: Defect) -> tuple[str, str, str, str]:
    key = "" if defect.index_key is None else json.dumps(dict(defect.index_key), sort_keys=True)
    primary_key = json.dumps(dict(defect.primary_key or {}), sort_keys=True)
    return defect.kind.value, str(defect.constraint), primary_key, defect.column or key


def identities(result: RunResult, table: str) -> Counter[tuple[str, str]]:
    """What a gate knows the defects of a table by, as if it had another name."""
    named = (replace(d, table="t") for d in result.defects if d.table == table)
    return Counter((defect.id, defect.content()) for defect in named)


def ids_in(result: RunResult, table: str) -> set[str]:
    """Ids as if the table had another name; also of a NULL that a decoded pair shows."""
    return {replace(d, table="t").id for d in result.defects if d.table == table}


def run(catalog: Path, spark: Any, engine: Engine, *tables: str) -> RunResult:
    request = CheckRequest(catalog=catalog, tables=tables, engine=engine, limit=EVERY_DEFECT)
    result = run_check(request, spark=spark)
    lost = [(o.constraint, o.reason) for o in result.outcomes if o.status is Status.INCOMPLETE]
    assert not lost
    assert result.defects_total == len(result.defects)
    return result


def run_here(catalog: Path, table: str) -> tuple[RunResult, set[str]]:
    """What this process finds of the constraints that take no Spark, and their names."""
    request = CheckRequest(catalog=catalog, tables=(table,), checks=("constraint",))
    (plan,) = explain_check(request, spark_options=HERE).tables
    names = tuple(one.constraint.name for one in plan.constraints if one.way is not Way.SQL)
    assert names, "every constraint takes Spark"
    return check_here(replace(request, constraints=names, limit=EVERY_DEFECT)), set(names)


@pytest.mark.slow
@pytest.mark.spark
def test_every_violation_is_reported_once_and_nothing_else(
    trials: list[ConstraintTrial], light_spark: Any, postgres_url: str, tmp_path: Path
) -> None:
    from tests.postgres_server import new_database

    for at in range(0, TABLES, TABLES_PER_RUN):
        batch, directory = trials[at : at + TABLES_PER_RUN], tmp_path / str(at)
        with new_database(postgres_url) as database:
            _compare(batch, directory, database, light_spark)


def _compare(batch: list[ConstraintTrial], directory: Path, database: Database, spark: Any) -> None:
    catalog = write_trials(batch, directory, database)
    numbers = range(len(batch))
    in_lake, in_server, in_pairs = ([f"{letter}{n}" for n in numbers] for letter in "tpk")
    by_tasks = run(catalog, spark, Engine.AUTO, *in_lake, *in_server, *in_pairs)
    by_spark = run(catalog, spark, Engine.SQL, *in_lake)
    for trial, lake, server, pairs in zip(batch, in_lake, in_server, in_pairs, strict=True):
        expected = oracle(trial)
        assert found_in(by_tasks, lake) == expected, trial
        assert found_in(by_spark, lake) == expected, trial
        assert found_in(by_tasks, server) == expected, trial
        known = identities(by_tasks, lake)
        assert identities(by_spark, lake) == known, trial
        assert identities(by_tasks, server) == known, trial
        in_process, names = run_here(catalog, lake)
        wanted = Counter({key: n for key, n in expected.items() if key[1] in names})
        assert found_in(in_process, lake) == wanted, trial
        assert identities(in_process, lake) <= known, trial
        assert found_in(by_tasks, pairs) == oracle(as_pairs(trial)), trial
        assert ids_in(by_tasks, pairs) <= ids_in(by_tasks, lake), trial
