# SPDX-License-Identifier: Apache-2.0
"""Which version of its table an index shows, told by a column of the index itself."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from scrub.errors import RelationMismatch
from scrub.model.relation import RelationFacts
from scrub.model.request import AsOf
from scrub.model.table import Column
from scrub.model.types import TypeName
from scrub.stores.base import ReadableStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def reflected_point(
    spark: "SparkSession", store: ReadableStore, facts: RelationFacts, column: str, index: str
) -> AsOf:
    """The highest version or latest time in the column: what the index was last made from."""
    from pyspark.sql import functions as F

    from scrub.spark.names import named

    column_type = facts.columns.get(column)
    is_time = column_type is not None and column_type.name is TypeName.TIMESTAMP
    if column_type is None or not (column_type.is_integer or is_time):
        raise RelationMismatch(
            f"index {index}: reflects names column {column} of {facts.relation}, which "
            + ("is not there" if column not in facts.columns else f"is {column_type}"),
            hint="it must hold the table's version (an integer) or a timestamp",
        )
    rows = store.frame(spark, facts, [Column(name=column, type=column_type)], facts.splits)
    value = named(column)
    newest = rows.agg(F.max(F.unix_micros(value) if is_time else value.cast("bigint"))).first()
    if newest is None or newest[0] is None:
        raise RelationMismatch(
            f"index {index}: column {column} of {facts.relation} holds no version",
            hint="the index is empty: say which version it reflects, or leave `reflects` out",
        )
    if is_time:
        return AsOf(time=_EPOCH + timedelta(microseconds=newest[0]))
    return AsOf(version=newest[0])
