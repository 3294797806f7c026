# SPDX-License-Identifier: Apache-2.0
"""The native engine's fingerprint: a task opens its splits itself and returns sums.

Runs in Spark's Python workers. A split that cannot be read leaves no trace in the sums and is
reported by number; the others of the task go on.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.scan_spec import EXPECTED, EntrySpec, ScanSpec
from scrub.codec import xxh64
from scrub.codec.digest import RowDigests, verify_digest
from scrub.codec.predicate import evaluate, truth
from scrub.model.predicate import ColumnTerm, Node
from scrub.model.relation import Split
from scrub.stores.native_scan import SplitReader, UnreadableSplit

REPORT_SLOT = -1
FINGERPRINT_COLUMNS = (
    "expected",
    "actual",
    "first_high",
    "first_low",
    "second_high",
    "second_low",
)
FINGERPRINT_SCHEMA = (
    "slot int, bucket int, "
    + ", ".join(f"{name} bigint" for name in FINGERPRINT_COLUMNS)
    + ", report string"
)
"""Sums travel in halves: Spark's own sum() raises on overflow, and halves of 32 bits cannot.
A row with slot -1 is the report on the split whose number is in `bucket`."""

_ARROW_SCHEMA = pa.schema(
    [("slot", pa.int32()), ("bucket", pa.int32())]
    + [(name, pa.int64()) for name in FINGERPRINT_COLUMNS]
    + [("report", pa.string())]
)
_EVERY_ROW = np.empty(0, dtype=np.bool_)

BucketSums = NDArray[np.uint64]  # (buckets, 4): see scrub.codec.xxh64.add_to_buckets


@dataclass(frozen=True, slots=True)
class NumberedSplit:
    """A split, its number in the run, and which relation it belongs to."""

    number: int
    relation: int
    split: Split


def fingerprint_splits(
    splits: Sequence[NumberedSplit], specs: Mapping[int, ScanSpec]
) -> Iterator[pa.RecordBatch]:
    """Sums per index and bucket over all readable splits, and a report on each split."""
    verify_digest()
    sums: dict[int, BucketSums] = {}
    reports: list[tuple[int, str]] = []
    for numbered in splits:
        spec = specs[numbered.relation]
        slots = [entry.slot for entry in spec.entries]
        before = {slot: sums[slot].copy() for slot in slots if slot in sums}
        reader = SplitReader(numbered.split, spec.columns, spec.storage_options)
        try:
            rows = sum(_add_batch(batch, spec, sums) for batch in reader.batches())
            report: dict[str, object] = {"rows": rows, "bytes": reader.bytes_read}
        except UnreadableSplit as error:
            for slot in slots:
                sums.pop(slot, None)
            sums.update(before)
            report = {"rows": 0, "bytes": 0, "error": error.reason}
        reports.append((numbered.number, json.dumps(report)))
    for slot, buckets in sums.items():
        yield _as_batch(slot, buckets)
    if reports:
        yield _report_batch(reports)


def _add_batch(batch: pa.RecordBatch, spec: ScanSpec, sums: dict[int, BucketSums]) -> int:
    key = RowDigests.start(batch.num_rows, spec.salt).fold(
        [batch.column(name) for name in spec.primary_key], spec.salt
    )
    for entry in spec.entries:
        if entry.slot not in sums:
            sums[entry.slot] = np.zeros((1 << spec.bucket_bits, 4), dtype=np.uint64)
        digests = key.fold([column_of(n, batch) for n in entry.beside_primary_key], spec.salt)
        xxh64.add_to_buckets(
            key.first,
            64 - spec.bucket_bits,
            rows_that_count(entry, batch),
            digests.first,
            digests.second,
            entry.sign == EXPECTED,
            sums[entry.slot],
        )
    return int(batch.num_rows)


def column_of(node: Node, batch: pa.RecordBatch) -> pa.Array:
    """A node's value for each row; a plain column comes as it was read."""
    return batch.column(node.name) if isinstance(node, ColumnTerm) else evaluate(node, batch)


def rows_that_count(entry: EntrySpec, batch: pa.RecordBatch) -> NDArray[np.bool_]:
    """Which rows have an entry; empty stands for all of them."""
    chosen = _EVERY_ROW
    for condition in entry.conditions:
        holds = truth(condition, batch)
        chosen = chosen & holds if len(chosen) else holds
    return chosen


def _as_batch(slot: int, buckets: BucketSums) -> pa.RecordBatch:
    used = np.flatnonzero(buckets[:, 0] | buckets[:, 1])
    expected, actual, first, second = buckets[used].T
    columns = {
        "slot": np.full(len(used), slot, dtype=np.int32),
        "bucket": used.astype(np.int32),
        "expected": expected.astype(np.int64),
        "actual": actual.astype(np.int64),
    }
    for name, digests in (("first", first), ("second", second)):
        columns[f"{name}_high"] = (digests >> np.uint64(32)).astype(np.int64)
        columns[f"{name}_low"] = (digests & np.uint64(0xFFFFFFFF)).astype(np.int64)
    arrays = [pa.array(columns[name]) for name in _ARROW_SCHEMA.names[:-1]]
    return pa.RecordBatch.from_arrays(
        [*arrays, pa.nulls(len(used), pa.string())], schema=_ARROW_SCHEMA
    )


def _report_batch(reports: Sequence[tuple[int, str]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [
            {"slot": REPORT_SLOT, "bucket": number, "report": report}
            | dict.fromkeys(FINGERPRINT_COLUMNS, 0)
            for number, report in reports
        ],
        schema=_ARROW_SCHEMA,
    )
