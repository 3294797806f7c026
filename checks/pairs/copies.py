# SPDX-License-Identifier: Apache-2.0
"""Keys that are there more than once, where a relation keeps no versions of its pairs.

Copies may be in different files, so they are looked for among all keys. Where tasks open the files,
they hand over digests of keys, eight bytes each; only pairs of digests that occur twice are brought
together, and their keys compared: by Spark, or in the process, see `checks.pairs.held_copies`.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checks.jobs import Jobs
from checks.pairs.scan import PairSpec, key_digests, layout_and_indexes
from checks.task_rows import arrow_schema, as_batch
from scrub.codec.words import Digests

COPIES_SCHEMA = "index int, row binary, key binary, value binary, copies bigint, differ boolean"
"""A key that is there more than once: the layout's number of its index, the row it tells (empty if
it does not), one of its values, how many there are, and whether they differ."""

DIGESTS_SCHEMA = "part int, digests binary"
"""Digests of keys by their first bits, so that equal ones meet."""

_PART_BITS = 6
_ARROW_SCHEMA = arrow_schema(COPIES_SCHEMA)


def digests_of(keys: pa.Array, spec: PairSpec) -> Digests:
    return key_digests(keys, spec.salt).first


def packed_digests(digests: Digests) -> Iterator[pa.RecordBatch]:
    """As DIGESTS_SCHEMA."""
    parts = (digests >> np.uint64(64 - _PART_BITS)).astype(np.int32)
    order = np.argsort(parts, kind="stable")
    digests, parts = digests[order], parts[order]
    numbers, begins = np.unique(parts, return_index=True)
    blobs = [of.tobytes() for of in np.split(digests, begins[1:])] if len(numbers) else []
    yield as_batch(list(zip(numbers.tolist(), blobs, strict=True)), DIGESTS_SCHEMA)


def twice(gathered: pa.Table) -> Digests:
    """Digests that occur more than once among all that were gathered."""
    blobs = [blob for blob in gathered.column("digests").to_pylist() if blob]
    digests = np.frombuffer(b"".join(blobs), dtype=np.uint64)
    found, counts = np.unique(digests, return_counts=True)
    again: Digests = found[counts > 1]
    return again


def twice_in_parts(job: DataFrame) -> DataFrame:
    """The same where they are too many for the driver: part by part, as DIGESTS_SCHEMA."""
    return job.groupBy("part").applyInArrow(_again, DIGESTS_SCHEMA)


def _again(gathered: pa.Table) -> pa.Table:
    part, found = gathered.column("part")[0].as_py(), twice(gathered)
    # Twice, so that the driver finds what is there more than once among the parts.
    return pa.Table.from_batches([as_batch([(part, found.tobytes() * 2)], DIGESTS_SCHEMA)])


def is_among(keys: pa.Array, digests: NDArray[np.uint64], spec: PairSpec) -> pa.Array:
    """Which keys have one of some digests."""
    return pa.array(np.isin(digests_of(keys, spec), digests))


def copies_among(pairs: DataFrame, spec: PairSpec) -> DataFrame:
    """The keys that are there more than once, as COPIES_SCHEMA."""
    grouped = pairs.groupBy("key").agg(
        F.count(F.lit(1)).alias("copies"),
        F.min("value").alias("value"),
        F.max("value").alias("other"),
    )
    again = grouped.where("copies > 1").selectExpr(
        "key", "value", "copies", "value <> other AS differ"
    )
    return again.mapInArrow(partial(told_of_keys, spec=spec), COPIES_SCHEMA)


def told_of_keys(batches: Iterator[pa.RecordBatch], spec: PairSpec) -> Iterator[pa.RecordBatch]:
    """With what the keys tell; those of no index are reported as that."""
    from scrub.codec.kv.row_keys import read_keys

    layout, _ = layout_and_indexes(spec)
    for batch in batches:
        read = read_keys(layout, batch.column("key"))
        columns = {name: batch.column(name) for name in batch.schema.names}
        columns |= {
            "index": pa.array(read.indexes, pa.int32()),
            "row": read.rows.cast(pa.binary()),
        }
        arrays = [columns[field.name].cast(field.type) for field in _ARROW_SCHEMA]
        told = pa.RecordBatch.from_arrays(arrays, schema=_ARROW_SCHEMA)
        yield told.filter(pa.array(read.indexes >= 0))


def counted_copies(copies: DataFrame) -> DataFrame:
    """How many rows or entries of each index are there more than once, and how many differ."""
    return copies.groupBy("index").agg(
        F.countDistinct("row").alias("rows"),
        F.count(F.lit(1)).alias("keys"),
        F.countDistinct(F.when(F.col("differ"), F.col("row"))).alias("differing"),
    )


def first_copies(copies: DataFrame, primary: int, limit: int | None) -> DataFrame:
    """Some of them, or all, of a row only one."""
    of_rows = copies.where(f"index = {primary}").groupBy("row").agg(F.min(_struct()).alias("one"))
    others = copies.where(f"index <> {primary}")
    shown = of_rows.select("one.*").select(*others.columns).unionAll(others)
    ordered = shown.orderBy("index", "key")
    return ordered if limit is None else ordered.limit(limit)


def _struct() -> Any:
    return F.struct("key", "index", "row", "value", "copies", "differ")


def rows_that_differ(copies: DataFrame, primary: int) -> DataFrame:
    """Rows that are there more than once with different values, which therefore prove nothing."""
    return copies.where(f"index = {primary} AND differ").select("row").distinct()


def as_counts_of_copies(rows: Any, primary: int) -> Mapping[int, int]:
    """By index, from what `counted_copies` gives."""
    return {row["index"]: row["rows" if row["index"] == primary else "keys"] for row in rows}


@dataclass(frozen=True, slots=True)
class FramedCopies:
    """Keys that are there more than once, as a frame of COPIES_SCHEMA."""

    frame: DataFrame
    jobs: Jobs

    @contextmanager
    def kept(self) -> "Iterator[FramedCopies]":
        """The same, computed but once."""
        frame = self.frame.persist()
        try:
            yield FramedCopies(frame, self.jobs)
        finally:
            frame.unpersist()

    def of_indexes(self, numbers: list[int]) -> "FramedCopies":
        return FramedCopies(self.frame.where(F.col("index").isin(numbers)), self.jobs)

    def without(self, number: int) -> "FramedCopies":
        return FramedCopies(self.frame.where(F.col("index") != number), self.jobs)

    def counted(self) -> list[Any]:
        """How many rows or entries of each index are there more than once, and how many differ."""
        return self.jobs.rows(counted_copies(self.frame))

    def first(self, primary: int, limit: int | None) -> Iterable[Any]:
        """Some of them, or all, of a row only one."""
        first = first_copies(self.frame, primary, limit)
        return self.jobs.each(first) if limit is None else self.jobs.rows(first)

    def rows_that_differ(self, primary: int) -> DataFrame:
        """Rows that are there more than once with different values."""
        return self.jobs.computed(rows_that_differ(self.frame, primary))
