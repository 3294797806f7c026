# SPDX-License-Identifier: Apache-2.0
"""Indexes of expressions are checked without Spark, unless a row turns up that only Spark decides.

That the values are Spark's is shown in `tests/meaning/test_equal_to_spark.py`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scrub.app import explain_check, run_check
from scrub.errors import UsageError
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.result import RunResult, Status
from tests.builders import found, write_catalog
from tests.in_process import HERE, check_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {"id": "bigint", "email": "string", "amount": "int", "at": "timestamp"}
BY_EMAIL = {"columns": [{"expr": "lower(trim(email))", "as": "email_lower"}], "unique": True}
BY_DAY = {
    "columns": [{"expr": "to_date(at)", "as": "day"}, {"expr": "amount % 3", "as": "rest"}],
    "where": "amount + 1 > 0 AND email LIKE '%@%'",
    "nulls": "skip",
}
PARQUET = {"kind": "spark", "format": "parquet", "path": "."}


def rows_of(emails: list[str | None], amounts: list[int | None] | None = None) -> pa.Table:
    numbers = range(len(emails))
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "email": pa.array(emails, pa.string()),
            "amount": pa.array(amounts or [number * 7 for number in numbers], pa.int32()),
            "at": pa.array(
                [number * 40_000_000_000 for number in numbers], pa.timestamp("us", "UTC")
            ),
        }
    )


def lake(directory: Path, rows: pa.Table, **indexes: tuple[dict[str, Any], pa.Table]) -> Path:
    """The table in two files, and its indexes with the entries that they hold."""
    half = rows.num_rows // 2
    for name, part in (("0", rows.slice(0, half)), ("1", rows.slice(half))):
        (directory / "orders").mkdir(exist_ok=True)
        pq.write_table(part, directory / "orders" / f"{name}.parquet")
    for name, (_, entries) in indexes.items():
        (directory / f"orders__{name}").mkdir()
        pq.write_table(entries, directory / f"orders__{name}" / "0.parquet")
    described = {name: index for name, (index, _) in indexes.items()}
    return write_catalog(directory, described, COLUMNS, PARQUET)


def by_email(rows: pa.Table) -> tuple[dict[str, Any], pa.Table]:
    emails = [e and e.strip(" ").lower() for e in rows["email"].to_pylist()]
    return BY_EMAIL, pa.table({"email_lower": pa.array(emails, pa.string()), "id": rows["id"]})


def test_expressions_run_in_this_process_and_every_defect_is_named(tmp_path: Path) -> None:
    rows = rows_of([" Ä@X ", "b@x", "B@x ", None, "C@X", "d@x", "none"])
    index, entries = by_email(rows)
    wrong = entries.set_column(
        0, "email_lower", [["ä@x", "b@x", "b@x", None, "C@X", "d@x", "none"]]
    )
    entered = [row for row in range(7) if row not in (3, 6)]
    days = pa.table(
        {
            "day": rows["at"].cast(pa.timestamp("us")).cast(pa.date32()).take(entered),
            "rest": pa.array([row * 7 % 3 for row in entered], pa.int32()),
            "id": rows["id"].take(entered),
        }
    )
    catalog = lake(tmp_path, rows, by_email=(index, wrong), by_day=(BY_DAY, days.slice(1)))
    result = check_here(CheckRequest(catalog=catalog))
    assert found(result) == [
        ("dangling_secondary_index", 4),
        ("missing_secondary_index", 0),
        ("missing_secondary_index", 4),
        ("unique_violation", 1),
        ("unique_violation", 2),
    ]
    assert {o.index: (o.rows, o.entries) for o in result.outcomes} == {
        "by_email": (7, 7),
        "by_day": (5, 4),
    }


@pytest.mark.spark
@pytest.mark.parametrize(
    ("emails", "why"),
    [
        (["a", "ΑΣ.", "b"], "only Spark evaluates letters whose case depends on the version"),
        (["a", "\ua7cb", "b"], "only Spark evaluates letters whose case depends on the version"),
    ],
)
def test_a_row_that_only_spark_decides_makes_the_run_start_again_with_spark(
    emails: list[str | None], why: str, tmp_path: Path, spark: "SparkSession"
) -> None:
    rows = rows_of(emails)
    lowered = spark.createDataFrame([(e,) for e in emails], "e string").selectExpr("lower(e) AS l")
    entries = pa.table({"email_lower": [r["l"] for r in lowered.collect()], "id": rows["id"]})
    catalog = lake(tmp_path, rows, by_email=(BY_EMAIL, entries.slice(1)))
    request = CheckRequest(catalog=catalog)
    place = explain_check(request, spark_options=HERE).place
    assert place is not None
    assert place.in_process
    result = run_check(request, spark=spark, spark_options=HERE)
    assert found(result) == [("missing_secondary_index", 0)]
    assert f"on Spark, Spark reads orders: {why}" in str(result.ran)
    with pytest.raises(UsageError, match=f"--engine native cannot read orders: {why}"):
        run_check(CheckRequest(catalog=catalog, engine=Engine.NATIVE), spark=spark)


def raising(
    directory: Path,
    engine: Engine,
    spark: "SparkSession",
    strategy: Strategy = Strategy.AUTO,
) -> RunResult:
    directory.mkdir()
    rows = rows_of(["a", "b", "c"], [2**31 - 1, 5, -(2**31)])
    more = {"columns": [{"expr": "amount + 1", "as": "more", "type": "int"}]}
    entries = pa.table({"more": pa.array([0, 6, 1 - 2**31], pa.int32()), "id": rows["id"]})
    catalog = lake(directory, rows, by_more=(more, entries), by_email=by_email(rows))
    options = HERE if engine is Engine.AUTO else None
    request = CheckRequest(catalog=catalog, engine=engine, strategy=strategy)
    return run_check(request, spark=spark, spark_options=options)


@pytest.mark.spark
def test_a_row_that_raises_is_named_in_every_way(tmp_path: Path, spark: "SparkSession") -> None:
    results = [raising(tmp_path / e.value, e, spark) for e in (Engine.AUTO, Engine.SQL)]
    results.append(raising(tmp_path / "merge", Engine.AUTO, spark, Strategy.MERGE))
    for result in results:
        of_index = {outcome.index: outcome for outcome in result.outcomes}
        assert of_index["by_more"].status is Status.INCOMPLETE
        told = "an expression of orders.by_more raises ARITHMETIC_OVERFLOW for the row id=0"
        assert of_index["by_more"].reason == told
        assert of_index["by_email"].status is Status.CLEAN
