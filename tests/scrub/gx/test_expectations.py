# SPDX-License-Identifier: Apache-2.0
"""The checks of scrub as expectations, run by Great Expectations in Spark."""

import json
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scrub.gx.expectations import (
    ExpectEncodingsToBeCanonical,
    ExpectSecondaryIndexToMatchPrimary,
)
from scrub.gx.judging import EXAMPLES_MAX
from scrub.stores.frames import UNPINNED
from tests.builders import delta_lake, entries_of, orders
from tests.scrub.gx.validating import validate

LOST = 30  # entries


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return orders(50)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory, rows: pa.Table) -> str:
    """A lake whose index lacks many entries."""
    return str(delta_lake(tmp_path_factory.mktemp("lake"), rows, entries_of(rows).slice(LOST)))


@pytest.fixture(scope="module")
def frame(spark: Any, rows: pa.Table) -> Any:
    return spark.createDataFrame(rows)


def raised(result: Any) -> str:
    """The message of the exception that a result holds."""
    info = result.exception_info
    nested = [one for one in info.values() if isinstance(one, dict)] or [info]
    return "; ".join(str(one["exception_message"]) for one in nested if one["raised_exception"])


@pytest.mark.spark
@pytest.mark.parametrize("name", ["BOOLEAN_ONLY", "BASIC", "SUMMARY", "COMPLETE"])
def test_every_result_format_is_served(catalog: str, frame: Any, name: str) -> None:
    found = validate(
        frame, ExpectSecondaryIndexToMatchPrimary(catalog=catalog, table="orders"), name
    )
    assert not found.success
    assert not raised(found)
    result = found.result
    json.dumps(found.to_json_dict(), allow_nan=False)
    if name == "BOOLEAN_ONLY":
        assert result == {}
        return
    assert result["unexpected_count"] == LOST
    assert result["element_count"] == 50
    assert result["unexpected_percent"] == 60.0
    assert len(result["partial_unexpected_list"]) == EXAMPLES_MAX
    assert ("partial_unexpected_counts" in result) == (name in ("SUMMARY", "COMPLETE"))
    assert ("unexpected_list" in result) == (name == "COMPLETE")


@pytest.mark.spark
def test_details_say_what_was_looked_at_and_when(catalog: str, frame: Any) -> None:
    expectation = ExpectSecondaryIndexToMatchPrimary(
        catalog=catalog, table="orders", indexes=["by_customer"], as_of="0"
    )
    details = validate(frame, expectation).result["details"]
    assert details["snapshots"] == {"orders": "version 0", "orders.by_customer": "version 0"}
    assert len(details["run_id"]) == 12
    (coverage,) = details["coverage"]
    assert coverage["index"] == "by_customer"
    assert coverage["rows"] == 50
    assert coverage["entries"] == 50 - LOST
    assert details["counts"] == {"missing_secondary_index": LOST}
    assert len(details["failing"]["rows"]) == EXAMPLES_MAX


@pytest.mark.spark
def test_fewer_examples_and_redacted_ones(catalog: str, frame: Any) -> None:
    expectation = ExpectSecondaryIndexToMatchPrimary(catalog=catalog, table="orders", redact=True)
    wanted = {"result_format": "COMPLETE", "partial_unexpected_count": 2}
    result = validate(frame, expectation, wanted).result
    assert len(result["partial_unexpected_list"]) == 2
    for example in result["partial_unexpected_list"]:
        assert example["expected"]["status"] == "[redacted]"
        assert isinstance(example["primary_key"]["id"], int)


@pytest.mark.spark
def test_a_clean_table_succeeds_with_a_percent_that_is_a_number(catalog: str, frame: Any) -> None:
    found = validate(frame, ExpectEncodingsToBeCanonical(catalog=catalog, table="orders"))
    assert found.success
    assert found.result["unexpected_percent"] == 0.0
    assert found.result["partial_unexpected_list"] == []


@pytest.mark.spark
def test_the_batch_stands_for_the_table(tmp_path: Path, spark: Any, rows: pa.Table) -> None:
    """The table of the lake is damaged, the batch is not; and the other way round."""
    catalog = str(delta_lake(tmp_path, rows.slice(1), entries_of(rows)))
    stored = ExpectSecondaryIndexToMatchPrimary(catalog=catalog, table="orders")
    batch = ExpectSecondaryIndexToMatchPrimary(catalog=catalog, table="orders", use_batch=True)
    whole, part = spark.createDataFrame(rows), spark.createDataFrame(rows.slice(2))
    assert validate(whole, stored).result["unexpected_count"] == 1
    found = validate(whole, batch)
    assert found.success
    assert found.result["details"]["snapshots"]["orders"] == UNPINNED
    assert found.result["details"]["snapshots"]["orders.by_customer"] == "version 0"
    assert validate(part, batch).result["unexpected_count"] == 2


@pytest.mark.spark
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"table": "order"}, "did you mean orders"),
        ({"indexes": ["by_custmer"]}, "did you mean by_customer"),
        ({"catalog": "nowhere.yaml"}, "nowhere.yaml"),
        ({"as_of": ["7"]}, "7"),
    ],
)
def test_what_cannot_be_looked_at_raises_with_the_reason(
    catalog: str, frame: Any, changed: dict[str, Any], message: str
) -> None:
    chosen = {"catalog": catalog, "table": "orders", **changed}
    found = validate(frame, ExpectSecondaryIndexToMatchPrimary(**chosen))
    assert not found.success
    assert message in raised(found)


@pytest.mark.spark
def test_an_incomplete_look_raises_and_is_no_success(
    tmp_path: Path, frame: Any, rows: pa.Table, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = delta_lake(tmp_path, rows, entries_of(rows))
    (file,) = (tmp_path / "orders__by_customer").glob("*.parquet")
    file.write_bytes(b"not Parquet")
    caplog.set_level(logging.CRITICAL)
    expectation = ExpectSecondaryIndexToMatchPrimary(catalog=str(catalog), table="orders")
    found = validate(frame, expectation)
    assert not found.success
    assert "incomplete" in raised(found)
    assert file.name in raised(found)


def test_a_wrong_time_is_refused_when_the_expectation_is_made() -> None:
    with pytest.raises(ValueError, match="neither a version"):
        ExpectSecondaryIndexToMatchPrimary(table="orders", as_of="yesterday")


@pytest.mark.spark
def test_a_batch_of_pandas_serves_no_use_batch(catalog: str, rows: pa.Table) -> None:
    from tests.scrub.gx.validating import a_context

    source = a_context().data_sources.add_pandas("frames")
    definition = source.add_dataframe_asset("rows").add_batch_definition_whole_dataframe("all")
    batch = definition.get_batch(batch_parameters={"dataframe": rows.to_pandas()})
    expectation = ExpectSecondaryIndexToMatchPrimary(
        catalog=catalog, table="orders", use_batch=True
    )
    assert "Spark" in raised(batch.validate(expectation))
    stored = ExpectSecondaryIndexToMatchPrimary(catalog=catalog, table="orders")
    assert batch.validate(stored).result["unexpected_count"] == LOST
