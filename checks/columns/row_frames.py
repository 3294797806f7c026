# SPDX-License-Identifier: Apache-2.0
"""Rows of a relation as a frame: all of them, or those in some buckets of primary keys."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.choose import ChosenBuckets
from checks.columns.entries import primary_key_of
from checks.jobs import Jobs
from checks.numbering import Relation
from checks.parts import Part, pack
from checks.read_by_spark import frame_read
from checks.scan_spec import ScanSpec
from checks.specs import scan_spec
from checks.task_sums import TASKS_PER_CORE, NumberedSplit
from checks.work import Work
from scrub.codec.arrow_types import arrow_schema_of
from scrub.codec.digest import RowDigests, Salt, verify_digest
from scrub.codec.lazily import xxh64
from scrub.spark.digest import bucket_of
from scrub.spark.lazily import F
from scrub.stores.base import ReadableStore
from scrub.stores.split_readers import read_split

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BATCH_ROWS = 16_384


def rows_frame(
    jobs: Jobs,
    relation: Relation,
    parts: Sequence[Part],
    store: ReadableStore,
    salt: Salt,
    chosen: ChosenBuckets | None,
    native: bool,
) -> "DataFrame":
    """The rows of some parts of a relation; `chosen` None means all buckets."""
    if native and relation.is_native:
        return jobs.frame(_native_rows(jobs.cores, relation, parts, salt, chosen))
    splits = [split for part in parts for split in part.splits]
    rows = frame_read(store, jobs.spark, relation.side.facts, relation.columns, splits)
    if chosen is None:
        return rows
    numbers = [(int(number),) for number in np.flatnonzero(chosen.flags)]
    wanted = F.broadcast(jobs.spark.createDataFrame(numbers, "wanted int"))
    bucket = bucket_of(primary_key_of(relation.table.table), salt, relation.table.bucket_bits)
    return rows.join(wanted, bucket == F.col("wanted"), "left_semi")


def _native_rows(
    cores: int,
    relation: Relation,
    parts: Sequence[Part],
    salt: Salt,
    chosen: ChosenBuckets | None,
) -> Work:
    spec = scan_spec(relation, frozenset(), salt)
    task = partial(_rows_of, spec=spec, wanted=None if chosen is None else chosen.bitmap)
    return Work(given=pack(parts, TASKS_PER_CORE * cores), task=task, schema=relation.columns)


def _rows_of(
    splits: Sequence[NumberedSplit], spec: ScanSpec, wanted: NDArray[np.uint8] | None
) -> Iterator[pa.RecordBatch]:
    verify_digest()
    schema = arrow_schema_of(spec.columns)
    found: list[pa.RecordBatch] = []
    rows = 0
    for numbered in splits:
        for batch in read_split(numbered.split, spec.columns, spec.storage_options):
            kept = batch if wanted is None else in_buckets(batch, spec, wanted)
            found.append(plain(kept, schema))
            rows += kept.num_rows
            if rows >= _BATCH_ROWS:
                yield from pa.Table.from_batches(found).combine_chunks().to_batches()
                found, rows = [], 0
    if rows:
        yield from pa.Table.from_batches(found).combine_chunks().to_batches()


def in_buckets(batch: pa.RecordBatch, spec: ScanSpec, wanted: NDArray[np.uint8]) -> pa.RecordBatch:
    """Those rows whose bucket's bit is set in `wanted`, and whose key is wanted."""
    keys = key_digests(batch, spec)
    chosen = xxh64.rows_in_buckets(keys.first, 64 - spec.bucket_bits, wanted)
    if spec.among is not None:
        chosen = chosen & spec.among.has_digests(keys)
    return batch.take(pa.array(np.flatnonzero(chosen)))


def key_digests(batch: pa.RecordBatch, spec: ScanSpec) -> RowDigests:
    """Digests of the rows' primary keys."""
    return RowDigests.start(batch.num_rows, spec.salt).fold(
        [batch.column(name) for name in spec.primary_key], spec.salt
    )


def plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch without dictionaries, which Spark does not take."""
    arrays = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
