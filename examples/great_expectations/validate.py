# SPDX-License-Identifier: Apache-2.0
"""Validates the orders of ./scrub.yaml with Great Expectations, and writes Data Docs.

The first run makes the project, later runs use it. The exit code is 1 if an expectation failed, and
0 otherwise.
"""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

# Before great_expectations, because it switches the analytics of Great Expectations off.
from scrub.gx.actions import UpdateSelfContainedDataDocs
from scrub.gx.expectations import (
    ExpectConstraintsToHold,
    ExpectEncodingsToBeCanonical,
    ExpectSecondaryIndexToMatchPrimary,
)
from scrub.gx.suites import load_suite

import great_expectations as gx  # isort: skip
import great_expectations.expectations as gxe  # isort: skip

SUITE = "orders"


def make_suite(context):
    """The expectations: three of scrub, and one of Great Expectations itself."""
    suite = context.suites.add(gx.ExpectationSuite(name=SUITE))
    suite.add_expectation(ExpectSecondaryIndexToMatchPrimary(table="orders"))
    suite.add_expectation(ExpectConstraintsToHold(table="orders"))
    suite.add_expectation(ExpectEncodingsToBeCanonical(table="orders"))
    suite.add_expectation(gxe.ExpectColumnValuesToNotBeNull(column="status"))


def make_checkpoint(context):
    """A checkpoint for the rows as a DataFrame.

    `persist=False` is important: without it, Great Expectations caches the whole table.
    """
    source = context.data_sources.add_or_update_spark("lake", persist=False)
    batch = source.add_dataframe_asset("orders").add_batch_definition_whole_dataframe("all")
    validation = context.validation_definitions.add_or_update(
        # load_suite, and not context.suites.get, which silently loses what it cannot load.
        gx.ValidationDefinition(name="orders", data=batch, suite=load_suite(context, SUITE))
    )
    return context.checkpoints.add_or_update(
        gx.Checkpoint(
            name="orders",
            validation_definitions=[validation],
            actions=[UpdateSelfContainedDataDocs(name="data docs")],
            result_format="COMPLETE",
        )
    )


def main():
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
    orders = spark.read.parquet(*parquet_files("orders"))
    context = gx.get_context(mode="file", project_root_dir=Path.cwd())
    context.enable_analytics(False)
    if SUITE not in [suite["name"] for suite in stored_suites(context)]:
        make_suite(context)
    result = make_checkpoint(context).run(batch_parameters={"dataframe": orders})
    for one in (one for run in result.run_results.values() for one in run.results):
        raised = one.exception_info.get("exception_message") if one.exception_info else None
        status = "succeeded" if one.success else "raised: " + raised if raised else "failed"
        print(f"{one.expectation_config.type}: {status}")  # noqa: T201 - it is a script
    print("Data Docs:", context.get_docs_sites_urls()[0]["site_url"])  # noqa: T201
    sys.exit(0 if result.success else 1)


def parquet_files(table):
    """The files of the newest version of a Delta table; with Delta's jar, read it with that."""
    from deltalake import DeltaTable

    return DeltaTable(Path("lake", table)).file_uris()


def stored_suites(context):
    """The suites as they are stored, whether or not their expectations are known."""
    store = context.expectations_store
    return [store.get(key) for key in store.list_keys()]


if __name__ == "__main__":
    main()
