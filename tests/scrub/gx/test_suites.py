# SPDX-License-Identifier: Apache-2.0
"""A suite that is loaded without some of its expectations is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

MAKE = """
import scrub.gx.expectations as ours
import great_expectations as gx
import great_expectations.expectations as gxe

context = gx.get_context(mode="file", project_root_dir=".")
suite = context.suites.add(gx.ExpectationSuite(name="orders"))
suite.add_expectation(ours.ExpectSecondaryIndexToMatchPrimary(table="orders"))
suite.add_expectation(ours.ExpectEncodingsToBeCanonical(table="orders"))
suite.add_expectation(gxe.ExpectColumnValuesToNotBeNull(column="id"))
"""
LOAD_AS_GREAT_EXPECTATIONS_DOES = """
import great_expectations as gx

context = gx.get_context(mode="file", project_root_dir=".")
print("loaded", len(context.suites.get("orders").expectations))
"""
LOAD_WITHOUT_OUR_MODULE = """
import great_expectations as gx
from scrub.errors import ScrubError
from scrub.gx.suites import load_suite

context = gx.get_context(mode="file", project_root_dir=".")
try:
    load_suite(context, "orders")
except ScrubError as error:
    print("refused:", error.with_hint)
"""
LOAD_WITH_OUR_MODULE = """
import great_expectations as gx
import scrub.gx.expectations
from scrub.gx.suites import load_suite

context = gx.get_context(mode="file", project_root_dir=".")
print("loaded", len(load_suite(context, "orders").expectations))
"""


def run(program: str, directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_suite_that_silently_loses_expectations_is_refused(tmp_path: Path) -> None:
    """Each load is in a process of its own: what one imports, the others do not know."""
    run(MAKE, tmp_path)
    assert "loaded 1" in run(LOAD_AS_GREAT_EXPECTATIONS_DOES, tmp_path), "nothing is lost any more"
    told = run(LOAD_WITHOUT_OUR_MODULE, tmp_path)
    assert "refused: suite orders: expect_encodings_to_be_canonical, " in told
    assert "expect_secondary_index_to_match_primary could not be loaded" in told
    assert "import the module that defines them" in told
    assert "loaded 3" in run(LOAD_WITH_OUR_MODULE, tmp_path)
