# SPDX-License-Identifier: Apache-2.0
"""An exported suite, run by Great Expectations, agrees with our own check of random tables."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scrub.app import run_check
from scrub.catalog import load_catalog
from scrub.gx.suite_export import export_suite
from scrub.model.constraint import ConstraintKind
from scrub.model.defect import Defect
from scrub.model.request import CheckRequest
from scrub.model.result import RunResult, Status
from tests.checks.constraints.oracle import ConstraintTrial
from tests.checks.constraints.trials import collect_trials
from tests.checks.constraints.written_trials import described, with_parents, write_rows
from tests.scrub.gx.validating import a_context, batch_of

TABLES = int(os.environ.get("SCRUB_TRIALS", "7"))  # of eight sections each
FAILING_TYPES = {
    "expect_column_values_to_not_be_null",
    "expect_compound_columns_to_be_unique",
    "unexpected_rows_expectation",
}
SHARED_KEY = ConstraintTrial(  # for few random tables have a key of several columns that fails
    types={"section": "bigint", "number": "int", "code": "int"},
    primary_key=["section", "number"],
    rows=[
        {"section": 1, "number": number, "code": code} for number, code in ((1, 7), (2, 7), (3, 8))
    ],
    unique={"code": ["section", "code"]},
)
WORDS = {
    "null_violation": ConstraintKind.NOT_NULL,
    "check_violation": ConstraintKind.CHECK,
    "unique_violation": ConstraintKind.UNIQUE,
    "duplicate_primary_key": ConstraintKind.PRIMARY_KEY,
    "foreign_key_violation": ConstraintKind.FOREIGN_KEY,
}


def write_lake(trials: list[ConstraintTrial], directory: Path) -> Path:
    """Each trial with its parents, as t0, t1, ..."""
    tables: dict[str, Any] = {}
    for number, trial in enumerate(trials):
        for name, of_table in with_parents(f"t{number}", trial).items():
            write_rows(directory / name, of_table.types, of_table.rows)
            tables[name] = described(of_table, name)
    stores = {"lake": {"kind": "spark", "format": "parquet", "path": "."}}
    catalog = directory / "scrub.yaml"
    catalog.write_text(json.dumps({"version": 1, "stores": stores, "tables": tables}))
    return catalog


def own_counts(result: RunResult, table: str) -> Counter[str]:
    """How many defects there are of each part that a suite states."""
    return Counter(_part(defect) for defect in result.defects if defect.table == table)


def _part(defect: Defect) -> str:
    name = defect.column if defect.kind.value == "null_violation" else defect.constraint
    return f"{WORDS[defect.kind.value]} {name}"


def their_results(catalog: Path, table: str, spark: Any) -> dict[str, Any]:
    """What Great Expectations says of each expectation of the exported suite."""
    from great_expectations.core import ExpectationSuite

    from scrub.gx import expectations

    assert expectations
    suite = export_suite(load_catalog(catalog), table, catalog).document
    context = a_context()
    added = context.suites.add(
        ExpectationSuite(name=suite["name"], expectations=suite["expectations"])
    )
    assert len(added.expectations) == len(suite["expectations"])
    frame = spark.read.parquet(str(catalog.parent / table))
    found = batch_of(context, frame).validate(added, result_format="COMPLETE")
    assert len(found.results) == len(suite["expectations"])
    return {one.expectation_config.meta["scrub"]: one for one in found.results}


def disagreement(part: str, theirs: Any, ours: Counter[str]) -> str | None:
    """How the two differ about one part, if they do."""
    success, result = theirs.success, theirs.result
    if not result:
        return f"{part} raised {theirs.exception_info}"
    if part == "constraints":
        right = success == (not ours) and result["unexpected_count"] == ours.total()
    elif part.startswith(str(ConstraintKind.UNIQUE)):
        # To them a copy of a row is one more row; we report its primary key instead.
        copies = f"{ConstraintKind.PRIMARY_KEY} primary_key" in ours
        right = success == (not ours[part]) or (not success and copies)
    elif part.startswith(str(ConstraintKind.PRIMARY_KEY)):
        right = success == (not ours[part])
    else:
        # Of a table without rows, they count None.
        count = result.get("unexpected_count", result.get("observed_value")) or 0
        right = success == (not ours[part]) and count == ours[part]
    return None if right else f"{part}: {ours[part]} of ours, theirs {success} {result}"


@pytest.mark.slow
@pytest.mark.spark
def test_an_exported_suite_agrees_with_our_own_check(light_spark: Any, tmp_path: Path) -> None:
    trials = [*collect_trials(TABLES, TABLES), SHARED_KEY]
    catalog = write_lake(trials, tmp_path)
    for relation in tmp_path.glob("*_parent*"):
        light_spark.read.parquet(str(relation)).createOrReplaceTempView(relation.name)
    names = [f"t{number}" for number in range(len(trials))]
    request = CheckRequest(catalog=catalog, tables=tuple(names), limit=1_000_000)
    result = run_check(request, spark=light_spark)
    assert not [o for o in result.outcomes if o.status is Status.INCOMPLETE]
    said: Counter[str] = Counter()
    for name in names:
        ours, theirs = own_counts(result, name), their_results(catalog, name, light_spark)
        assert not [told for part in theirs if (told := disagreement(part, theirs[part], ours))]
        left = {part for part in ours if part not in theirs}
        assert not left or "constraints" in theirs, left
        said.update(one.expectation_config.type for one in theirs.values() if not one.success)
    assert set(said) >= FAILING_TYPES, said
