# SPDX-License-Identifier: Apache-2.0
"""A suite that is loaded without some of its expectations is refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

STORED = ["expect_secondary_index_to_match_primary", "expect_encodings_to_be_canonical"]
LOAD_WITHOUT_OUR_EXPECTATIONS = """
import great_expectations as gx
import pandas
from scrub.errors import ScrubError
from scrub.gx.suites import load_suite

context = gx.get_context(mode="file", project_root_dir=".")
suite = context.suites.get("orders")
source = context.data_sources.add_pandas("frames")
definition = source.add_dataframe_asset("orders").add_batch_definition_whole_dataframe("all")
batch = definition.get_batch(batch_parameters={"dataframe": pandas.DataFrame({"id": [1, 2]})})
print("loaded", len(suite.expectations), "success", batch.validate(suite).success)
try:
    load_suite(context, "orders")
except ScrubError as error:
    print("refused:", error.with_hint)
"""
LOAD_WITH_OUR_EXPECTATIONS = """
import great_expectations as gx
import scrub.gx.expectations
from scrub.gx.suites import load_suite

context = gx.get_context(mode="file", project_root_dir=".")
print("loaded", len(load_suite(context, "orders").expectations))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a suite of three expectations, two of which are ours."""
    ours = [{"type": kind, "kwargs": {"table": "orders"}} for kind in STORED]
    theirs = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "id"}}
    suite = {"name": "orders", "expectations": [*ours, theirs], "meta": {}}
    stored = tmp_path / "gx" / "expectations" / "orders.json"
    stored.parent.mkdir(parents=True)
    stored.write_text(json.dumps(suite), encoding="utf-8")
    return tmp_path


def run(program: str, directory: Path) -> str:
    """Run it in a process of its own, which knows nothing that this one has imported."""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_suite_that_silently_loses_expectations_is_refused(project: Path) -> None:
    told = run(LOAD_WITHOUT_OUR_EXPECTATIONS, project)
    assert "loaded 1 success True" in told, "Great Expectations does not lose any more: say so"
    assert "refused: suite orders: expect_encodings_to_be_canonical, " in told
    assert "expect_secondary_index_to_match_primary could not be loaded" in told
    assert "import the module that defines them" in told
    assert "loaded 3" in run(LOAD_WITH_OUR_EXPECTATIONS, project)
