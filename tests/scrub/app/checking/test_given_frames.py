# SPDX-License-Identifier: Apache-2.0
"""DataFrames in the place of tables and indexes."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reports import as_text
from scrub.app import check, explain_check, run_check
from scrub.errors import RelationMismatch, UsageError
from scrub.model.request import AsOf, CheckRequest
from scrub.model.result import Status
from scrub.stores.frames import UNPINNED
from tests.builders import BY_CUSTOMER, delta_lake, entries_of, found, orders, write_catalog
from tests.checks.pairs.pair_ground import ONE_FAMILY, all_pairs, table_of, write_pairs
from tests.checks.pairs.pair_ground import write_catalog as write_pair_catalog


def without(table: pa.Table, number: int) -> pa.Table:
    return pa.concat_tables([table.slice(0, number), table.slice(number + 1)])


# Names are answered before anything is looked at, so these need no Spark.


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("order", "names order, which is no table or index", "did you mean orders"),
        ("by_custmer", "names by_custmer", "did you mean by_customer"),
        ("orders.by_custmer", "names orders.by_custmer", "did you mean orders.by_customer"),
        ("", "names ", "known names"),
    ],
)
def test_a_wrong_name_is_a_usage_error_with_a_hint(
    tmp_path: Path, name: str, message: str, hint: str
) -> None:
    catalog = write_catalog(tmp_path)
    with pytest.raises(UsageError, match=message) as raised:
        check("orders", catalog=catalog, frames={name: object()})  # type: ignore[dict-item]
    assert hint in (raised.value.hint or "")


def test_what_is_no_dataframe_of_spark_is_refused(tmp_path: Path) -> None:
    catalog = write_catalog(tmp_path)
    with pytest.raises(UsageError, match="not a DataFrame of Spark") as raised:
        check("orders", catalog=catalog, frames={"orders": orders(2)})  # type: ignore[dict-item]
    assert "createDataFrame" in (raised.value.hint or "")


def test_an_index_name_of_two_tables_must_say_which(tmp_path: Path) -> None:
    document = json.loads(write_catalog(tmp_path).read_text())
    document["tables"]["calls"] = document["tables"]["orders"]
    (tmp_path / "scrub.yaml").write_text(json.dumps(document))
    with pytest.raises(UsageError, match="several tables") as raised:
        check(catalog=tmp_path / "scrub.yaml", frames={"by_customer": object()})  # type: ignore[dict-item]
    assert "orders.by_customer, calls.by_customer" in (raised.value.hint or "")


@pytest.mark.spark
def test_a_frame_stands_for_the_table(tmp_path: Path, spark: Any) -> None:
    """The table on disk is damaged; the frame is not, and only the frame is read."""
    rows = orders(50)
    catalog = delta_lake(tmp_path, without(rows, 7), entries_of(rows))
    assert found(check("orders", catalog=catalog, spark=spark)) == [("dangling_secondary_index", 7)]
    result = check("orders", catalog=catalog, frames={"orders": spark.createDataFrame(rows)})
    assert result.status is Status.CLEAN
    assert result.tables[0].snapshot == UNPINNED
    assert result.outcomes[0].snapshot == "version 0", "the index is still pinned"
    assert result.outcomes[0].rows == 50
    text = as_text.render(result)
    assert "unpinned" in text
    assert "two readings" in text


@pytest.mark.spark
def test_frames_stand_for_table_and_index_without_any_relation(tmp_path: Path, spark: Any) -> None:
    rows = orders(50)
    frames = {
        "orders": spark.createDataFrame(rows),
        "by_customer": spark.createDataFrame(without(entries_of(rows), 3)),
    }
    result = check("orders", catalog=write_catalog(tmp_path), frames=frames)
    assert result.outcomes[0].snapshot == UNPINNED
    assert [kind for kind, _ in found(result)] == ["missing_secondary_index"]
    assert not list(tmp_path.glob("orders*")), "nothing else could have been read"
    plan = explain_check(CheckRequest(catalog=tmp_path / "scrub.yaml"), frames=frames)
    assert plan.tables[0].side.reason == "only Spark reads a DataFrame"


@pytest.mark.spark
def test_an_index_is_named_with_its_table_too_and_twice_is_refused(
    tmp_path: Path, spark: Any
) -> None:
    rows = orders(20)
    catalog = delta_lake(tmp_path, rows, entries_of(rows).slice(1))
    entries = spark.createDataFrame(entries_of(rows))
    result = check("orders", catalog=catalog, frames={"orders.by_customer": entries})
    assert result.status is Status.CLEAN
    with pytest.raises(UsageError, match="twice"):
        check(
            "orders",
            catalog=catalog,
            frames=dict.fromkeys(("by_customer", "orders.by_customer"), entries),
        )


@pytest.mark.spark
def test_a_frame_stands_for_pairs_of_a_table_and_of_its_indexes(tmp_path: Path, spark: Any) -> None:
    catalog = write_pair_catalog(tmp_path, ONE_FAMILY)
    write_pairs(tmp_path, all_pairs(table_of(catalog), 12))
    frame = spark.read.parquet(f"file://{tmp_path}/pairs").localCheckpoint()
    shutil.rmtree(tmp_path / "pairs")
    result = check("pairs", catalog=catalog, frames={"pairs": frame})
    assert result.status is Status.CLEAN
    assert {outcome.check for outcome in result.outcomes} == {"index", "physical"}


@pytest.mark.spark
def test_a_frame_has_no_versions(tmp_path: Path, spark: Any) -> None:
    rows = orders(5)
    request = CheckRequest(
        catalog=delta_lake(tmp_path, rows, entries_of(rows)), as_of=(AsOf(version=0),)
    )
    with pytest.raises(UsageError, match="orders is a DataFrame, which has no versions"):
        run_check(request, frames={"orders": spark.createDataFrame(rows)})


@pytest.mark.spark
def test_what_an_index_reflects_is_not_asked_of_a_frame(tmp_path: Path, spark: Any) -> None:
    rows = orders(5)
    catalog = delta_lake(tmp_path, rows, entries_of(rows))
    write_catalog(tmp_path, {"by_customer": {**BY_CUSTOMER, "reflects": {"version": 17}}})
    result = check("orders", catalog=catalog, frames={"orders": spark.createDataFrame(rows)})
    assert result.status is Status.CLEAN


@pytest.mark.spark
@pytest.mark.parametrize("wrong", ["two columns", "no column", "another type", "a stream"])
def test_a_frame_that_does_not_fit_is_refused_by_name(
    tmp_path: Path, spark: Any, wrong: str
) -> None:
    rows = spark.createDataFrame(orders(5))
    frame, message = {
        "two columns": (rows.join(rows.select("id"), rows.id == rows.id), "2 columns named id"),
        "no column": (rows.drop("status"), "status"),
        "another type": (rows.withColumn("id", rows.id.cast("string")), "id"),
        "a stream": (spark.readStream.format("rate").load(), "is a stream"),
    }[wrong]
    catalog = delta_lake(tmp_path, orders(5), entries_of(orders(5)))
    with pytest.raises((RelationMismatch, UsageError), match=message):
        check("orders", catalog=catalog, frames={"orders": frame})


@pytest.mark.spark
def test_frames_of_two_sessions_are_refused(tmp_path: Path, spark: Any) -> None:
    other = spark.newSession()
    frames = {
        "orders": spark.createDataFrame(orders(5)),
        "by_customer": other.createDataFrame(entries_of(orders(5))),
    }
    try:
        with pytest.raises(UsageError, match="several Spark sessions"):
            check("orders", catalog=write_catalog(tmp_path), frames=frames)
        frames.pop("by_customer")
        with pytest.raises(UsageError, match="several Spark sessions"):
            check("orders", catalog=write_catalog(tmp_path), frames=frames, spark=other)
    finally:
        spark.createDataFrame([(1,)], "n int")  # the active session is the shared one again


@pytest.mark.spark
def test_a_frame_is_judged_in_its_own_session_and_never_in_a_wrong_zone(
    tmp_path: Path, spark: Any
) -> None:
    """A copy of the session would not own the frame; what depends on the zone is incomplete."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    rows = orders(5)
    at = pa.array([1_700_000_000 + n * 40_000 for n in range(5)], pa.timestamp("s", "UTC"))
    rows = rows.append_column("at", at.cast(pa.timestamp("us", "UTC")))
    indexes = {
        "by_customer": BY_CUSTOMER,
        "by_day": {"columns": [{"expr": "date(at)", "as": "day"}]},
    }
    columns = {"id": "bigint", "customer_id": "bigint", "status": "string", "at": "timestamp"}
    catalog = write_catalog(tmp_path, indexes, columns)
    frame = session.createDataFrame(rows)
    frames = {
        "orders": frame,
        "by_customer": frame.select("customer_id", "id", "status"),
        "by_day": frame.selectExpr("date(at) AS day", "id"),
    }
    try:
        result = check("orders", catalog=catalog, frames=frames)
    finally:
        spark.createDataFrame([(1,)], "n int")
    by_index = {outcome.index: outcome for outcome in result.outcomes}
    assert by_index["by_customer"].status is Status.CLEAN
    assert by_index["by_day"].status is Status.INCOMPLETE
    assert "time zone" in (by_index["by_day"].reason or "")
