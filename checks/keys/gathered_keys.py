# SPDX-License-Identifier: Apache-2.0
"""The keys of a parent, gathered so that they can travel to the tasks that read its children."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from checks.jobs import Jobs
from checks.keys.findings import UnreadSplit
from checks.keys.held_keys import HeldKeys
from checks.keys.packed_ranges import (
    Divided,
    brought_together,
    in_ranges,
    pairs_in,
    unpacked,
)
from checks.keys.range_places import places_of
from checks.keys.split_rows import Key, SplitRows
from checks.keys.suspicion import FOUND_SCHEMA, Found, found_in, found_rows, report_rows
from scrub.codec import digest_sets
from scrub.codec.digest import Salt
from scrub.codec.digest_sets import Pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredKeys:
    """The keys of a parent. Nothing may be called unmatched unless they are whole."""

    held: HeldKeys | None  # each key once; None: there are too many to travel
    rows: int = 0  # that were read
    unread: tuple[UnreadSplit, ...] = ()

    @property
    def are_whole(self) -> bool:
        """Whether these are the keys of all rows."""
        return self.held is not None and not self.unread


def gather_keys(
    spark: SparkSession,
    jobs: Jobs,
    parent: SplitRows,
    key: Key,
    salt: Salt,
    keys_max: int,
) -> GatheredKeys:
    """The digests of a parent's keys, made by tasks; rows with a NULL in the key have none.

    A key takes 16 bytes on its way to tasks, and about twice as many in each worker.
    """
    rows = parent.rows_known
    if rows is not None and rows > keys_max:
        # Nearly all rows have a key of their own, for it is their primary key.
        return GatheredKeys(held=None)
    if not parent.splits:
        return GatheredKeys(held=HeldKeys(pairs_in([]), salt))
    if rows is None:
        pairs, found = _gather_at_most(spark, jobs, parent, key, salt, keys_max)
    else:
        pairs, found = _gather(spark, jobs, parent, key, salt)
    held = None if pairs is None or len(pairs) > keys_max else HeldKeys(pairs, salt)
    return GatheredKeys(held=held, rows=found.rows(0), unread=found.unread(0))


def _gather(
    spark: SparkSession, jobs: Jobs, parent: SplitRows, key: Key, salt: Salt
) -> tuple[Pairs, Found]:
    """The keys of rows that are known to be few: what tasks read, the driver makes distinct."""
    undivided = Divided(
        sides=(parent,), keys=((key,),), salt=salt, ranges=1, places=places_of(1), pairs=True
    )
    gathering, reports = unpacked(jobs.arrow(in_ranges(spark, undivided)).to_batches())
    pairs = digest_sets.distinct(pairs_in(gathering.get((0, 0), [])))
    return pairs, found_in(pa.Table.from_batches([report_rows(reports)]))


def _gather_at_most(
    spark: SparkSession, jobs: Jobs, parent: SplitRows, key: Key, salt: Salt, keys_max: int
) -> tuple[Pairs | None, Found]:
    """The keys of rows that nobody has counted: tasks make them distinct, and may give up."""
    found = found_in(
        jobs.arrow(
            brought_together(
                spark,
                [parent],
                [[key]],
                salt,
                distinct_in,
                FOUND_SCHEMA,
                keys_max=keys_max,
                pairs=True,
            )
        )
    )
    words = found.of_key(0)
    return (None if words is None else pairs_in([words])), found


def distinct_in(batches: Iterator[pa.RecordBatch], keys_max: int) -> Iterator[pa.RecordBatch]:
    """Each key of a range once; runs in a Spark task."""
    gathering, reports = unpacked(batches)
    for (number, _), digests in gathering.items():
        yield found_rows(number, digest_sets.distinct(pairs_in(digests)), keys_max)
    yield report_rows(reports)
