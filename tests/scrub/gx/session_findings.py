# SPDX-License-Identifier: Apache-2.0
"""What the expectations say of small lakes in a session, which may be one of Spark Connect."""

import json
import sys
from pathlib import Path
from typing import Any

from scrub.gx.expectations import (
    ExpectConstraintsToHold,
    ExpectEncodingsToBeCanonical,
    ExpectSecondaryIndexToMatchPrimary,
)
from tests.builders import delta_lake, entries_of, orders
from tests.scrub.gx.validating import a_context, batch_of

ROWS = 12
EXPECTATIONS = (
    ExpectSecondaryIndexToMatchPrimary,
    ExpectConstraintsToHold,
    ExpectEncodingsToBeCanonical,
)


def write_lakes(directory: Path) -> None:
    """One whose index lacks a row, one whose index is empty, and one whose table is."""
    rows = orders(ROWS)
    sides = {
        "damaged": (rows, rows.slice(1)),
        "no_entries": (rows, rows.slice(0, 0)),
        "no_rows": (rows.slice(0, 0), rows),
    }
    for name, (table, of_index) in sides.items():
        (directory / name).mkdir()
        delta_lake(directory / name, table, entries_of(of_index))


def findings(spark: Any, directory: Path) -> dict[str, Any]:
    """For each lake and expectation: its success, how much is unexpected, and which keys."""
    context, found = a_context(), {}
    for lake in sorted(directory.iterdir()):
        batch = batch_of(context, spark.createDataFrame(orders(ROWS).to_pandas()), lake.name)
        chosen = {"catalog": str(lake / "scrub.yaml"), "table": "orders"}
        for kind in EXPECTATIONS:
            found[f"{lake.name} {kind.__name__}"] = _told(batch.validate(kind(**chosen)))
        whole = ExpectSecondaryIndexToMatchPrimary(use_batch=True, **chosen)
        found[f"{lake.name} batch"] = _told(batch.validate(whole))
    return found


def _told(validated: Any) -> list[Any]:
    result = validated.result
    if not result:
        return ["raised", str(validated.exception_info)]
    keys = sorted(one["primary_key"]["id"] for one in result["partial_unexpected_list"])
    return [validated.success, result["unexpected_count"], result["unexpected_percent"], keys]


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    remote = SparkSession.builder.remote("local[2]").getOrCreate()
    assert "connect" in type(remote).__module__
    sys.stdout.write(json.dumps(findings(remote, Path(sys.argv[1]))))
    sys.stdout.flush()
    remote.stop()
