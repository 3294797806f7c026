# SPDX-License-Identifier: Apache-2.0
"""Columns and pairs go through one flow: what an option means does not depend on the layout."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from checks.parts import JobSize
from reports.as_text import render_plan
from scrub.app import explain_check, run_check
from scrub.errors import RelationMismatch
from scrub.model.defect import Defect
from scrub.model.progress import Progress
from scrub.model.request import AsOf, CheckRequest, Strategy
from tests.builders import write_catalog as write_columns
from tests.checks.pairs.pair_ground import (
    ONE_FAMILY,
    TWO_FAMILIES,
    all_pairs,
    table_of,
    write_catalog,
    write_pairs,
)
from tests.postgres_server import Database


def test_explain_says_how_pairs_are_read(tmp_path: Path) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    write_pairs(tmp_path, all_pairs(table_of(catalog), 20))
    plan = explain_check(CheckRequest(catalog=catalog, tables=("pairs",)))
    (table,) = plan.tables
    assert [one.index.name for one in table.indexes] == ["by_customer", "by_email"]
    assert [one.check for one in table.whole] == ["physical"]
    text = render_plan(plan)
    assert "pairs at " in text
    assert "one scan for 2 indexes and the physical check" in text
    assert "relation files/pairs" in text


def test_explain_of_pairs_names_a_relation_that_does_not_exist(tmp_path: Path) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    with pytest.raises(RelationMismatch, match="pairs"):
        explain_check(CheckRequest(catalog=catalog, tables=("pairs",)))


@pytest.mark.spark
def test_the_more_specific_as_of_wins_for_pairs_too(tmp_path: Path, spark: Any) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    catalog.write_text(
        catalog.read_text().replace('"kind": "spark", "format": "parquet"', '"kind": "delta"')
    )
    write_pairs(tmp_path, all_pairs(table_of(catalog), 5), files=1, relation="files")
    pairs = pq.read_table(tmp_path / "files")
    for _ in range(2):
        write_deltalake(str(tmp_path / "pairs"), pairs, mode="overwrite")
    moment = datetime.now(UTC) + timedelta(seconds=1)
    as_of = (AsOf(time=moment), AsOf(version=0, relation="pairs"))
    request = CheckRequest(catalog=catalog, tables=("pairs",), as_of=as_of)
    (table,) = run_check(request, spark=spark).tables
    assert table.snapshot == "version 0"


@pytest.mark.spark
def test_what_the_database_compares_says_so_in_engine_and_strategy(
    tmp_path: Path, spark: Any, database: Database
) -> None:
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, email text, status text)",
        "INSERT INTO orders SELECT n, n % 5, NULL, 'Open' FROM generate_series(1, 40) n",
        "CREATE TABLE orders__plain AS SELECT customer_id, id FROM orders",
        "CREATE TABLE orders__lowered AS SELECT lower(status) AS lowered, id FROM orders",
    )
    catalog = write_columns(
        tmp_path,
        {
            "plain": {"columns": ["customer_id"]},
            "lowered": {"columns": [{"expr": "lower(status)", "as": "lowered"}]},
        },
        store={"kind": "postgres", "url": database.url},
    )
    (plain, lowered) = run_check(CheckRequest(catalog=catalog), spark=spark).outcomes
    assert "compared inside the database" in plain.notes
    assert (plain.engine, plain.strategy) == ("native", "merge")
    assert "compared inside the database" not in lowered.notes
    assert lowered.strategy == "fingerprint"


def test_explain_says_that_where_does_not_apply_to_pairs(tmp_path: Path) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    write_pairs(tmp_path, all_pairs(table_of(catalog), 5))
    plan = explain_check(CheckRequest(catalog=catalog, tables=("pairs",), where="id > 3"))
    assert [part.index for part in plan.not_checked] == [None, "by_customer", "by_email"]
    assert {part.reason for part in plan.not_checked} == {
        "--where applies to columns, and pairs are bytes"
    }


@pytest.fixture(params=[ONE_FAMILY, TWO_FAMILIES], ids=["native", "sql"])
def damaged_pairs(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Five missing entries, three bad pairs of the table, and one entry that is there twice."""
    catalog = write_catalog(tmp_path, request.param)
    pairs = all_pairs(table_of(catalog), 60)
    del pairs["by_email"][:5]
    for number in (10, 20, 30):
        key, value = pairs["by_customer"][number]
        pairs["by_customer"][number] = (key, value[:-1] + bytes([value[-1] ^ 1]))
    pairs["by_email"].append(pairs["by_email"][20])
    write_pairs(tmp_path, pairs, files=6)
    return catalog


def ids(defects: Iterable[Defect]) -> list[str]:
    return sorted(defect.id for defect in defects)


@pytest.mark.spark
def test_all_defects_of_pairs_go_to_a_file(damaged_pairs: Path, spark: Any) -> None:
    everything = damaged_pairs.parent / "all.jsonl"
    request = CheckRequest(catalog=damaged_pairs, tables=("pairs",))
    shown = run_check(request, spark=spark)
    assert shown.defects_total == len(shown.defects) >= 9
    limited = run_check(replace(request, all_defects=everything, limit=2), spark=spark)
    assert len(limited.defects) == 2
    assert [o.counts for o in limited.outcomes] == [o.counts for o in shown.outcomes]
    written = [json.loads(line)["id"] for line in everything.read_text().splitlines()]
    assert sorted(written) == ids(shown.defects)


@pytest.mark.spark
def test_pairs_are_joined_as_a_whole_with_the_strategy_merge(
    damaged_pairs: Path, spark: Any
) -> None:
    request = CheckRequest(catalog=damaged_pairs, tables=("pairs",))
    by_sums = run_check(request, spark=spark)
    joined = run_check(replace(request, strategy=Strategy.MERGE), spark=spark)
    assert ids(joined.defects) == ids(by_sums.defects)
    assert {o.strategy for o in joined.outcomes if o.index} == {"merge"}
    assert [(o.rows, o.entries) for o in joined.outcomes] == [
        (o.rows, o.entries) for o in by_sums.outcomes
    ]


@pytest.mark.spark
def test_an_interrupted_check_of_pairs_resumes_without_keeping_a_value(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    pairs = all_pairs(table_of(catalog), 60)
    key, value = pairs["by_customer"][0]
    pairs["by_customer"][0] = (key, value[:-1] + bytes([value[-1] ^ 1]))
    write_pairs(tmp_path, pairs, files=6)
    request = CheckRequest(catalog=catalog, tables=("pairs",))
    size = JobSize(first_job_rows=1, job_seconds=0.0)
    undisturbed = run_check(request, spark=spark)

    def crash(progress: Progress) -> None:
        if list((tmp_path / "state").glob("check-*.npz")) and progress.rows_done > 100:
            raise RuntimeError("the machine went away")

    with pytest.raises(RuntimeError):
        run_check(request, spark=spark, on_progress=crash, job_size=size)
    (kept,) = (tmp_path / "state").glob("check-*.npz")
    with np.load(kept) as arrays:
        assert not any(key.hex() in str(report) for report in arrays["reports"])
    result = run_check(request, spark=spark, job_size=size)
    assert any(note.startswith("resumed: ") for note in result.outcomes[0].notes)
    assert ids(result.defects) == ids(undisturbed.defects)
    assert [o.counts for o in result.outcomes] == [o.counts for o in undisturbed.outcomes]
    assert not list((tmp_path / "state").glob("check-*.npz"))
