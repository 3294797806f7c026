# SPDX-License-Identifier: Apache-2.0
"""Exported suites, run by Great Expectations, find in random tables what our own check finds."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrub.app import run_check
from scrub.catalog import load_catalog
from scrub.gx.suite_export import ExportedSuite, export_suite
from scrub.model.constraint import ConstraintKind, constraints_of
from scrub.model.request import CheckRequest
from scrub.model.table import Table
from tests.checks.constraints.oracle import ConstraintTrial
from tests.checks.constraints.trials import TABLES_PER_RUN, collect_trials
from tests.checks.constraints.written_trials import described, with_parents, write_rows
from tests.scrub.gx.validating import a_context, batch_of

TABLES = int(os.environ.get("SCRUB_TRIALS", "3"))
EVERY_DEFECT = 1_000_000

Counts = dict[str, int]
"""How many rows violate something, by the part of the catalog that says it."""


def write_lake(batch: list[ConstraintTrial], directory: Path, spark: Any) -> Path:
    """Tables t0, t1, ... and their parents, each of which is a view, as the suites expect."""
    tables: dict[str, Any] = {}
    for number, trial in enumerate(batch):
        for name, of_table in with_parents(f"t{number}", trial).items():
            write_rows(directory / name, of_table.types, of_table.rows)
            tables[name] = described(of_table, name)
            spark.read.parquet(str(directory / name)).createOrReplaceTempView(name)
    stores = {"lake": {"kind": "spark", "format": "parquet", "path": "."}}
    catalog = directory / "scrub.yaml"
    catalog.write_text(json.dumps({"version": 1, "stores": stores, "tables": tables}))
    return catalog


def counted_by_us(catalog: Path, tables: list[str], spark: Any) -> dict[str, Counter[str]]:
    request = CheckRequest(
        catalog=catalog, tables=tuple(tables), checks=("constraint",), limit=EVERY_DEFECT
    )
    result = run_check(request, spark=spark)
    counts: dict[str, Counter[str]] = {name: Counter() for name in tables}
    for defect in result.defects:
        counts[defect.table][defect.column or defect.constraint or ""] += 1
    return counts


def parts_of(table: Table) -> Iterator[tuple[str, str, ConstraintKind]]:
    """What an expectation calls a part of the catalog, and what our defects call it."""
    for constraint in constraints_of(table):
        if constraint.kind is ConstraintKind.NOT_NULL:
            for column in constraint.columns:
                yield f"{constraint.kind} {column}", column, constraint.kind
        else:
            yield f"{constraint.kind} {constraint.name}", constraint.name, constraint.kind


def counted_by_great_expectations(suite: ExportedSuite, frame: Any) -> Counts:
    import great_expectations as gx

    from scrub.gx import expectations

    assert expectations, "without them the suite loses those of scrub"
    loaded = gx.ExpectationSuite(**suite.document)
    assert len(loaded.expectations) == suite.expectations
    result = batch_of(a_context(), frame).validate(loaded)
    counts = {}
    for one in result.results:
        assert not one.exception_info["raised_exception"], one.exception_info
        found = one.result.get("unexpected_count", one.result.get("observed_value"))
        found = found or 0  # None of a table without rows
        assert one.success == (not found), one
        counts[one.expectation_config.meta["scrub"]] = found
    return counts


@pytest.fixture
def views(spark: Any) -> Iterator[Any]:
    """The session, which is left without the views that a test makes."""
    before = spark.sql("SHOW VIEWS").collect()
    yield spark
    for view in spark.sql("SHOW VIEWS").collect():
        if view not in before:
            spark.catalog.dropTempView(view.viewName)


@pytest.mark.slow
@pytest.mark.spark
def test_exported_suites_agree_with_our_own_check(views: Any, tmp_path: Path) -> None:
    trials, compared = collect_trials(TABLES), 0
    for at in range(0, TABLES, TABLES_PER_RUN):
        batch, directory = trials[at : at + TABLES_PER_RUN], tmp_path / str(at)
        path = write_lake(batch, directory, views)
        names = [f"t{number}" for number in range(len(batch))]
        ours, catalog = counted_by_us(path, names, views), load_catalog(path)
        for name in names:
            frame = views.read.parquet(str(directory / name))
            suite = export_suite(catalog, name, path)
            theirs = counted_by_great_expectations(suite, frame)
            for part, subject, kind in parts_of(catalog.table(name)):
                if part not in theirs:
                    assert subject in {one.constraint for one in suite.not_said}
                elif kind is ConstraintKind.PRIMARY_KEY:
                    # They count rows, we report a key once.
                    assert bool(theirs[part]) == bool(ours[name][subject]), (name, part)
                elif kind is ConstraintKind.UNIQUE and ours[name]["primary_key"]:
                    # Copies of a row share every key: for us only the primary key is violated.
                    assert theirs[part] >= ours[name][subject], (name, part)
                else:
                    assert theirs[part] == ours[name][subject], (name, part)
                    compared += bool(theirs[part])
    assert compared > TABLES, "hardly anything was violated"
