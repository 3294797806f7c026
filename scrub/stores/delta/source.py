# SPDX-License-Identifier: Apache-2.0
"""Delta tables read through Spark's `delta` source, when their files alone are not enough."""

from typing import TYPE_CHECKING

from scrub.errors import RelationMismatch, SparkUnavailable
from scrub.model.relation import RelationFacts, Snapshot
from scrub.spark.types import from_spark
from scrub.stores.base import SessionProvider
from scrub.stores.locations import for_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def load_delta(spark: "SparkSession", uri: str, version: int) -> "DataFrame":
    return spark.read.format("delta").option("versionAsOf", version).load(for_spark(uri))


def pin_delta_source(
    store: str, relation: str, uri: str, version: int, reason: str, session: SessionProvider
) -> RelationFacts:
    """Facts for a table that only Spark's source can read; an error if the source is missing."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        schema = load_delta(session(), uri, version).schema
    except (PySparkException, Py4JJavaError, SparkUnavailable) as error:
        raise RelationMismatch(
            f"Delta table {relation} {reason}",
            hint="let Spark's own delta source read it: put Delta's jars on its class path, "
            "--conf spark.jars.packages=io.delta:delta-spark_2.13:VERSION",
        ) from error
    return RelationFacts(
        store=store,
        relation=relation,
        snapshot=Snapshot(label=f"version {version}", version=version),
        columns={field.name: from_spark(field.dataType) for field in schema.fields},
        splits=(),
        rows=None,
        native=False,
        native_reason=f"the table {reason}; Spark's delta source reads it",
    )
