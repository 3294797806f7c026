# SPDX-License-Identifier: Apache-2.0
"""Columns of a frame that Spark already has, in the catalog's types and without loss."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrub.errors import RelationMismatch
from scrub.model.relation import RelationFacts
from scrub.model.table import Column
from scrub.model.types import widens
from scrub.spark.types import to_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def typed_frame(
    source: "DataFrame", facts: RelationFacts, columns: Sequence[Column]
) -> "DataFrame":
    """The columns, widened; a column that is absent or of another type raises RelationMismatch."""
    from scrub.spark.names import named

    types = {name.lower(): stored for name, stored in facts.columns.items()}
    for column in columns:
        stored = types.get(column.name.lower())
        if stored is None or not widens(stored, column.type):
            raise RelationMismatch(
                f"{facts.relation}: column {column.name} is "
                f"{stored or 'not there, or of a type that cannot be compared'}, not {column.type}"
            )
    return source.select(*[named(c.name).cast(to_spark(c.type)).alias(c.name) for c in columns])
