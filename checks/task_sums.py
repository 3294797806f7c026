# SPDX-License-Identifier: Apache-2.0
"""What tasks are given and return, whatever the entries are made of: numbered splits, and sums."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.task_rows import as_batch
from checks.work import SecondTasks, Work
from scrub.model.relation import Split

TASKS_PER_CORE = 3  # enough to even out splits of different size, few enough to share sums
DRIVER_ROOM = 128 << 20
"""Sums of more bytes than this are added up by tasks before the driver gets them; below it, the
second stage would cost more than it saves."""

REPORT_SLOT = -1
IN_DOUBT = "in_doubt"  # in a report: what only Spark can evaluate
CHUNK_BUCKETS = 4096
SUMS_SCHEMA = "slot int, chunk int, sums binary, report string"
"""Sums travel as the bytes of a piece of `BucketSums`: a row is CHUNK_BUCKETS buckets of one index,
from bucket chunk * CHUNK_BUCKETS on. A row with slot -1 is the report on the split whose number is
in `chunk`."""

BucketSums = NDArray[np.uint64]  # (buckets, 4): see scrub.codec.xxh64.add_to_buckets
Piece = tuple[int, int]  # slot and chunk


@dataclass(frozen=True, slots=True)
class NumberedSplit:
    """A split, its number in the run, and which relation it belongs to."""

    number: int
    relation: int
    split: Split


def added_up(sums: Work, partitions: int, size: int) -> Work:
    """Sums of so many bytes, added up by tasks if the driver has no room for them."""
    if size <= DRIVER_ROOM:
        return sums
    second = SecondTasks(
        place=("slot", "chunk"), partitions=partitions, task=add_up, schema=SUMS_SCHEMA
    )
    return replace(sums, second=second)


def sums_of(octets: bytes) -> BucketSums:
    """The sums in a row of SUMS_SCHEMA."""
    return np.frombuffer(octets, dtype=np.uint64).reshape(-1, 4)


def add_up(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of SUMS_SCHEMA with each piece once; reports pass through. Runs in a Spark task."""
    sums: dict[Piece, BucketSums] = {}
    reports: list[tuple[int, str]] = []
    for batch in batches:
        for row in batch.to_pylist():
            piece = (row["slot"], row["chunk"])
            if row["slot"] == REPORT_SLOT:
                reports.append((row["chunk"], row["report"]))
            elif piece in sums:
                sums[piece] += sums_of(row["sums"])
            else:
                sums[piece] = sums_of(row["sums"]).copy()
    yield sums_batch(sums, reports)


def pieces(sums: Mapping[int, BucketSums]) -> dict[Piece, BucketSums]:
    """The sums cut into chunks, without those in which nothing was counted."""
    return {
        (slot, start // CHUNK_BUCKETS): piece
        for slot, buckets in sums.items()
        for start in range(0, len(buckets), CHUNK_BUCKETS)
        if (piece := buckets[start : start + CHUNK_BUCKETS])[:, :2].any()
    }


def sums_batch(
    sums: Mapping[Piece, BucketSums], reports: Sequence[tuple[int, str]]
) -> pa.RecordBatch:
    """Pieces and reports on splits as SUMS_SCHEMA."""
    rows: list[tuple[object, ...]] = [
        (slot, chunk, piece.tobytes(), None) for (slot, chunk), piece in sums.items()
    ]
    rows += [(REPORT_SLOT, number, None, report) for number, report in reports]
    return as_batch(rows, SUMS_SCHEMA)
