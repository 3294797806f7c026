# SPDX-License-Identifier: Apache-2.0
"""Frames of what Spark reads itself, which nobody can slow down while it does.

So what it will read is noted, and whoever told it to read waits afterwards: see `checks.jobs`.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from checks.parts import BYTES_PER_ROW_GUESSED
from scrub.model.relation import RelationFacts, Split, SplitKind
from scrub.model.table import Column
from scrub.pacing import current
from scrub.stores.base import ReadableStore
from scrub.stores.needed_bytes import needed_share


def frame_read(
    store: ReadableStore,
    spark: SparkSession,
    facts: RelationFacts,
    columns: Sequence[Column],
    splits: Sequence[Split],
) -> DataFrame:
    """Some splits of a relation as its store gives them to Spark."""
    pace = current()
    if pace is not None and pace.limits.has_rate:
        pace.owe(*_size(facts, columns, splits))
    return store.frame(spark, facts, columns, splits)


def _size(
    facts: RelationFacts, columns: Sequence[Column], splits: Sequence[Split]
) -> tuple[float, float]:
    """About how many rows and bytes that are; none if tasks read them, which keep to their pace."""
    if any(split.kind is SplitKind.POSTGRES for split in splits):
        return 0, 0
    octets = sum(split.bytes for split in splits) or facts.bytes or 0
    known = [split.rows for split in splits if split.rows is not None]
    rows = sum(known) if splits and len(known) == len(splits) else facts.rows
    if rows is None or (not known and len(splits) < len(facts.splits)):
        rows = octets // BYTES_PER_ROW_GUESSED
    return rows, octets * needed_share(facts, [column.name for column in columns])
