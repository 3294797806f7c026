# SPDX-License-Identifier: Apache-2.0
"""Evaluating an index's expressions so that they mean what the catalog says, wherever they run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrub.catalog.dependence import cased_expressions, zoned_in_spark
from scrub.errors import StoreUnavailable
from scrub.model.table import Index, Table
from scrub.spark.casing import OF_A_LANGUAGE, WHAT_TO_DO, goes_by_a_language
from scrub.spark.time_zone import in_time_zone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def evaluating(spark: "SparkSession", table: Table, index: Index) -> "Iterator[SparkSession]":
    """A session for what rows of the table put into the index; StoreUnavailable if there is none.

    The session given is left as it is.
    """
    if cased_expressions(index) and goes_by_a_language(spark):
        raise StoreUnavailable(f"{table.name}.{index.name}: {OF_A_LANGUAGE}", hint=WHAT_TO_DO)
    with in_time_zone(spark, table.time_zone, zoned_in_spark(table, index)) as session:
        yield session
