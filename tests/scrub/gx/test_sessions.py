# SPDX-License-Identifier: Apache-2.0
"""The expectations say the same in a classic session and over Spark Connect."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.connect_port import alone_on_the_port
from tests.scrub.gx.session_findings import ROWS, findings, write_lakes
from tests.small_session import interpreting_plans

EVERY_ID = list(range(ROWS))
INDEX = "ExpectSecondaryIndexToMatchPrimary"
EXPECTED = {
    f"damaged {INDEX}": [False, 1, pytest.approx(100 / ROWS), [0]],
    f"no_entries {INDEX}": [False, ROWS, 100.0, EVERY_ID],
    f"no_rows {INDEX}": [False, ROWS, 100.0, EVERY_ID],
    # With the batch, which has every row, in the place of the table.
    "damaged batch": [False, 1, pytest.approx(100 / ROWS), [0]],
    "no_entries batch": [False, ROWS, 100.0, EVERY_ID],
    "no_rows batch": [True, 0, 0.0, []],
} | {
    f"{lake} {kind}": [True, 0, 0.0, []]
    for lake in ("damaged", "no_entries", "no_rows")
    for kind in ("ExpectConstraintsToHold", "ExpectEncodingsToBeCanonical")
}


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("lakes")
    write_lakes(directory)
    return directory


@pytest.mark.spark
def test_a_classic_session_also_with_an_empty_side(spark: Any, lakes: Path) -> None:
    assert findings(spark, lakes) == EXPECTED


@pytest.mark.spark
@pytest.mark.slow
def test_spark_connect_also_with_an_empty_side(lakes: Path) -> None:
    program = [sys.executable, "-m", "tests.scrub.gx.session_findings", str(lakes)]
    with alone_on_the_port():
        done = subprocess.run(
            program,
            cwd=Path(__file__).parents[3],
            env=os.environ | interpreting_plans() | {"PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout, done.stderr
    assert json.loads(done.stdout) == EXPECTED
