# SPDX-License-Identifier: Apache-2.0
"""Hostile names and values, and NULLs, as Great Expectations itself handles them."""

import json
from pathlib import Path
from typing import Any

import pytest

from scrub.gx.expectations import ExpectConstraintsToHold, ExpectEncodingsToBeCanonical
from tests.checks.constraints.lakes import a_table, write_catalog, write_table
from tests.scrub.gx.test_export_trials import their_results
from tests.scrub.gx.validating import validate

ODD = "we`ird.{x} 'q\" }{batch}"
TYPES = {"id": "bigint", ODD: "string", "{batch}": "bigint"}
QUOTED = "`" + ODD.replace("`", "``") + "`"
CHECKS = {
    "braces": f"{QUOTED} <> '{{x}}'",
    "quotes": f"{QUOTED} <> 'it''s' AND {QUOTED} <> \"{{a\"",
    "batch": "`{batch}` > 0 -- {batch}",
}
ROWS = [(1, "{x}", 1), (2, "it's", 1), (3, "{a", 1), (4, None, None), (5, "good", 0), (6, "a", 6)]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("hostile")
    write_table(directory, "odd", TYPES, *ROWS)
    table = a_table(TYPES, checks=CHECKS, unique={"alone": [ODD], "two": [ODD, "{batch}"]})
    table["columns"][ODD]["nullable"] = False
    return write_catalog(directory, {"odd": table})


@pytest.mark.spark
def test_braces_quotes_and_backticks_are_executed_as_they_are(catalog: Path, spark: Any) -> None:
    theirs = their_results(catalog, "odd", spark)
    assert not [one.exception_info for one in theirs.values() if not one.result]
    failed = {part: one.result["observed_value"] for part, one in theirs.items() if not one.success}
    assert failed == {
        f"not null {ODD}": 1,
        "check braces": 1,
        "check quotes": 2,
        "check batch": 1,
    }
    ours = ExpectConstraintsToHold(catalog=str(catalog), table="odd")
    found = validate(spark.createDataFrame([(1,)], "id bigint"), ours)
    assert found.result["unexpected_count"] == sum(failed.values())


@pytest.mark.spark
def test_a_null_of_encodings_is_an_example_with_its_column(catalog: Path, spark: Any) -> None:
    expectation = ExpectEncodingsToBeCanonical(catalog=str(catalog), table="odd")
    found = validate(spark.createDataFrame([(1,)], "id bigint"), expectation, "COMPLETE")
    assert not found.success
    (example,) = found.result["partial_unexpected_list"]
    assert example["kind"] == "null_violation"
    assert example["primary_key"] == {"id": 4}
    assert example["column"] == ODD
    assert found.result["unexpected_index_list"] == [{"id": 4}]
    assert found.result["details"]["failing"]["rows"][0][0] == "null_violation"
    json.dumps(found.to_json_dict(), allow_nan=False)
