# SPDX-License-Identifier: Apache-2.0
"""Faults that other checkers shipped with, each a test by name. Digest collisions are in
tests/scrub/codec/test_digest.py."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from scrub.app import run_check
from scrub.model.defect import DefectKind
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.result import RunResult, Status
from tests.builders import delta_lake, entries_of, found, orders, write_catalog

pytestmark = pytest.mark.spark


def check(catalog: Path, spark: Any, **request: Any) -> RunResult:
    return run_check(CheckRequest(catalog=catalog, tables=("orders",), **request), spark=spark)


@pytest.mark.parametrize("engine", [Engine.AUTO, Engine.SQL])
@pytest.mark.parametrize("strategy", [Strategy.FINGERPRINT, Strategy.MERGE])
def test_entries_that_mix_null_and_values_are_compared(
    tmp_path: Path, spark: Any, engine: Engine, strategy: Strategy
) -> None:
    """A checker that joins all-NULL rows and no-NULL rows apart never looks at these."""
    schema = pa.schema([("id", pa.int64()), ("customer_id", pa.int64()), ("status", pa.string())])
    rows = pa.table(
        {
            "id": [1, 2, 3, 4, 5],
            "customer_id": [7, None, None, 7, None],
            "status": [None, "x", None, "y", "z"],
        },
        schema=schema,
    )
    entries = pa.table(
        {
            "id": [1, 2, 3, 4, 6],
            "customer_id": [7, None, None, None, None],
            "status": ["x", None, None, "y", "z"],
        },
        schema=schema,
    )
    result = check(delta_lake(tmp_path, rows, entries), spark, engine=engine, strategy=strategy)
    assert found(result) == [
        ("dangling_secondary_index", 4),
        ("dangling_secondary_index", 6),
        ("missing_secondary_index", 4),
        ("missing_secondary_index", 5),
        ("wrong_stored_value", 1),
        ("wrong_stored_value", 2),
    ]


def test_a_range_without_rows_is_clean_and_does_not_become_the_whole_table(
    tmp_path: Path, spark: Any
) -> None:
    """An empty span whose predicate got lost once compared everything with nothing."""
    rows = orders(50)
    catalog = delta_lake(tmp_path, rows, entries_of(rows))
    result = check(catalog, spark, where="id < 0")
    assert result.status is Status.CLEAN
    (outcome,) = result.outcomes
    assert (outcome.rows, outcome.entries) == (0, 0)
    assert any("id < 0" in note for note in outcome.notes)


def test_every_bad_row_is_listed_not_only_the_first(tmp_path: Path, spark: Any) -> None:
    rows = orders(500)
    entries = entries_of(rows)
    kept = entries.filter(pa.compute.greater_equal(entries.column("id"), 40))
    result = check(delta_lake(tmp_path, rows, kept), spark, limit=1000)
    assert found(result) == [("missing_secondary_index", number) for number in range(40)]


def test_a_pair_of_dangling_entries_does_not_cancel_out(tmp_path: Path, spark: Any) -> None:
    """Under XOR two equal extra entries vanish; the count alone is fooled by two lost ones."""
    rows = orders(50)
    entries = entries_of(rows).slice(2)
    extra = pa.table({"customer_id": [3, 3], "id": [999, 999], "status": ["open", "open"]})
    result = check(delta_lake(tmp_path, rows, pa.concat_tables([entries, extra])), spark)
    assert [kind for kind, _ in found(result)] == [
        "dangling_secondary_index",
        "duplicate_index_entry",
        "missing_secondary_index",
        "missing_secondary_index",
    ]


def check_while_written(catalog: Path, spark: Any, more: pa.Table) -> RunResult:
    """A check during whose scan rows are appended to the table."""
    written = []

    def write_once(progress: Any) -> None:
        if progress.phase == "comparing fingerprints" and not written:
            target = str(catalog.parent / "orders")
            write_deltalake(target, more, mode="append", schema_mode="merge")
            written.append(more)

    request = CheckRequest(catalog=catalog, tables=("orders",))
    result = run_check(request, spark=spark, on_progress=write_once)
    assert written
    return result


def test_writes_during_a_run_are_not_findings(tmp_path: Path, spark: Any) -> None:
    """Both sides are read at the versions pinned at the start, whatever is committed meanwhile."""
    rows = orders(200)
    catalog = delta_lake(tmp_path, rows, entries_of(rows))
    result = check_while_written(catalog, spark, orders(300).slice(200))
    assert result.status is Status.CLEAN
    assert result.outcomes[0].rows == 200


def test_a_schema_change_during_a_run_is_not_seen(tmp_path: Path, spark: Any) -> None:
    rows = orders(200)
    catalog = delta_lake(tmp_path, rows, entries_of(rows))
    wider = orders(300).slice(200).append_column("note", pa.array(["n"] * 100))
    assert check_while_written(catalog, spark, wider).status is Status.CLEAN
    # A later run sees the new rows, and old files that lack the new column.
    assert check(catalog, spark).outcomes[0].defects == 100


def test_entries_for_rows_outside_a_partial_index_are_dangling(tmp_path: Path, spark: Any) -> None:
    """One repair tool wrote such entries, and its checker did not mind them."""
    rows = orders(30)
    write_deltalake(str(tmp_path / "orders"), rows)
    write_deltalake(str(tmp_path / "orders__open"), rows.select(["customer_id", "id"]))
    index = {"columns": ["customer_id"], "where": "status = 'open'"}
    result = check(write_catalog(tmp_path, {"open": index}), spark)
    assert found(result) == [
        ("dangling_secondary_index", number) for number in range(30) if number % 3
    ]


def test_an_unknown_or_skipped_index_is_never_silent(tmp_path: Path, spark: Any) -> None:
    """Where others skip what they cannot limit, the result says what it did not look for."""
    rows = orders(10)
    catalog = delta_lake(tmp_path, rows, entries_of(rows))
    result = check(catalog, spark, where="status = 'open'")
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.not_looked_for) == (Status.CLEAN, (DefectKind.DANGLING,))
    assert any("dangling entries not looked for" in note for note in outcome.notes)
    assert result.exit_code == 0


def test_an_expression_means_what_it_means_in_spark(tmp_path: Path, spark: Any) -> None:
    """Engines differ on lower(): the one that owns the expression decides."""
    rows = pa.table({"id": [1, 2], "customer_id": [1, 2], "status": ["ΑΣ", "Ab"]})
    write_deltalake(str(tmp_path / "orders"), rows)
    entries = pa.table({"status_lower": ["ας", "AB"], "id": [1, 2]})
    write_deltalake(str(tmp_path / "orders__by_status"), entries)
    index = {"columns": [{"expr": "lower(status)", "as": "status_lower"}]}
    result = check(write_catalog(tmp_path, {"by_status": index}), spark)
    lowered = spark.sql("select lower('ΑΣ')").first()[0]
    of_greek = [] if lowered == "ας" else ["dangling_secondary_index", "missing_secondary_index"]
    kinds = [kind for kind, key in found(result) if key == 1]
    assert kinds == of_greek
    assert [kind for kind, key in found(result) if key == 2] == [
        "dangling_secondary_index",
        "missing_secondary_index",
    ]
