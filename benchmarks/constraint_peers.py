# SPDX-License-Identifier: Apache-2.0
"""Other ways to check constraints, each giving the number of violations it sees."""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks import data
from benchmarks.constrained_lake import CUSTOMERS, PRODUCTS, TABLE, ConstrainedLake


def spark_anti_join(spark: SparkSession, lake: ConstrainedLake) -> int:
    """What a person writes in Spark for a foreign key: the sales of products that do not exist."""
    sales = _frame(spark, lake, TABLE).where("product_id IS NOT NULL")
    products = _frame(spark, lake, PRODUCTS)
    return sales.join(products, sales["product_id"] == products["id"], "left_anti").count()


def spark_group_by(spark: SparkSession, lake: ConstrainedLake) -> int:
    """What a person writes in Spark for a unique key: the keys that more than one row has."""
    sales = _frame(spark, lake, TABLE).where("reference IS NOT NULL")
    return sales.groupBy("reference").agg(F.count("*").alias("n")).where("n > 1").count()


def exported_suite(spark: SparkSession, lake: ConstrainedLake) -> Mapping[str, int]:
    """The suite of `scrub gx export`, run by Great Expectations; violations by expectation.

    Everything that is the same in each run is left out of it: the import, the context.
    """
    from scrub.catalog import load_catalog
    from scrub.gx.suite_export import export_suite

    path = lake.catalog_of_constraints
    document = export_suite(load_catalog(path), TABLE, path).document
    for parent in (CUSTOMERS, PRODUCTS):
        _frame(spark, lake, parent).createOrReplaceTempView(parent)
    batch = _batch(_frame(spark, lake, TABLE))
    result = batch.validate(_suite(document), result_format="SUMMARY")
    return {one.expectation_config.meta["scrub"]: _unexpected(one) for one in result.results}


def _frame(spark: SparkSession, lake: ConstrainedLake, name: str) -> DataFrame:
    return spark.read.parquet(*data.files(lake.relation(name)))


def _batch(frame: DataFrame) -> Any:
    import scrub.gx  # noqa: F401 - it switches analytics off before Great Expectations is imported

    import great_expectations as gx  # isort: skip

    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = {"globally": False}
    source = context.data_sources.add_or_update_spark("lake", persist=False)
    definition = source.add_dataframe_asset(TABLE).add_batch_definition_whole_dataframe("all")
    return definition.get_batch(batch_parameters={"dataframe": frame})


def _suite(document: Mapping[str, Any]) -> Any:
    import great_expectations as gx

    return gx.ExpectationSuite(**json.loads(json.dumps(document)))


def _unexpected(one: Any) -> int:
    """How many rows one expectation calls unexpected."""
    found = one.result
    if "unexpected_count" in found:
        return int(found["unexpected_count"])
    return int(found["observed_value"])
