# SPDX-License-Identifier: Apache-2.0
"""JDBC tables and tables of Spark's own catalog, which offer no snapshot."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scrub.errors import RelationMismatch
from scrub.model.relation import RelationFacts, Snapshot
from scrub.model.table import Column
from scrub.spark.types import from_spark, to_spark
from scrub.stores.base import SessionProvider

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def pin(
    store: str, format_: str, relation: str, options: Mapping[str, str], session: SessionProvider
) -> RelationFacts:
    """The source as it is now; two readings may differ, and the snapshot says so."""
    from pyspark.errors import PySparkException

    try:
        schema = _load(session(), format_, relation, options).schema
    except PySparkException as error:
        reason = next(iter(str(error).splitlines()), "")
        raise RelationMismatch(f"{format_} relation {relation}: {reason}") from error
    return RelationFacts(
        store=store,
        relation=relation,
        snapshot=Snapshot(label="as of reading (no snapshot)", pinned=False),
        columns={field.name: from_spark(field.dataType) for field in schema.fields},
        splits=(),
        rows=None,
        native=False,
        native_reason=f"only Spark reads {format_}",
    )


def frame(
    spark: "SparkSession",
    format_: str,
    relation: str,
    options: Mapping[str, str],
    columns: Sequence[Column],
) -> "DataFrame":
    """The columns, as they are now, in the catalog's types."""
    from scrub.spark.names import named

    source = _load(spark, format_, relation, options)
    return source.select(*[named(c.name).cast(to_spark(c.type)).alias(c.name) for c in columns])


def _load(
    spark: "SparkSession", format_: str, relation: str, options: Mapping[str, str]
) -> "DataFrame":
    if format_ == "table":
        return spark.table(relation)
    return spark.read.format("jdbc").options(**{**options, "dbtable": relation}).load()
