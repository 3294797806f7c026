# SPDX-License-Identifier: Apache-2.0
"""A data file's rows on their way into the file that takes its place, except those that leave.

Whoever looks for rows and whoever writes the others again share one reading: each batch is shown
in the catalog's types, and passed on as it is stored.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.stores.delta.snapshot import DeltaSnapshot, SnapshotFile
from scrub.stores.files.key_bounds import Numbers
from scrub.stores.files.parquet_scan import SplitReader
from scrub.stores.unreadable import UnreadableSplit

ROW_GROUP_ROWS = 65_536
_GAPS_MAX = 1_000  # in a batch, of rows that leave
_HELD_BYTES_MAX = 64 * 1024 * 1024

Leaving = Callable[[pa.RecordBatch, range], Numbers]
"""Given some rows in the catalog's types and their numbers in the file, the numbers that leave."""


class Rows:
    """The rows of an opened file, read once; `left` has the numbers of those that left so far."""

    def __init__(
        self,
        parquet: pq.ParquetFile,
        file: SnapshotFile,
        snapshot: DeltaSnapshot,
        columns: Sequence[Column],
        leaving: Leaving,
    ) -> None:
        split = Split(uri=file.uri, bytes=file.bytes, partition=file.partition)
        self._reader = SplitReader(split, columns, snapshot.options, ROW_GROUP_ROWS)
        self._parquet = parquet
        self._leaving = leaving
        self._batches = self._read()
        self.left: list[int] = []

    def staying(self) -> Iterator[pa.Table]:
        """What stays of each batch, if anything does."""
        return (kept for kept in self._batches if kept.num_rows)

    def staying_if_some_leave(self) -> Iterator[pa.Table] | None:
        """The same, where a row leaves early on; else None, and all rows were shown."""
        held: list[pa.Table] = []
        size = 0
        for kept in self._batches:
            held.append(kept)
            if self.left:
                return (one for one in chain(held, self._batches) if one.num_rows)
            size += kept.nbytes
            if size > _HELD_BYTES_MAX:
                held.clear()
                deque(self._batches, maxlen=0)
        return None

    def _read(self) -> Iterator[pa.Table]:
        first = 0
        for batch, stored in self._reader.whole_batches(self._parquet):
            shown = self._reader.converted(stored, self._reader.columns)
            leaving = self._leaving(shown, range(first, first + stored.rows))
            self.left += leaving.tolist()
            yield _without(batch, leaving - first)
            first += stored.rows
        if first != self._parquet.metadata.num_rows:
            reason = "it does not hold as many rows as its footer says"
            raise UnreadableSplit(self._reader.split.name, reason)


def these(numbers: Numbers) -> Leaving:
    """The rows that leave are known, and in order."""

    def leaving(_: pa.RecordBatch, rows: range) -> Numbers:
        start, end = np.searchsorted(numbers, [rows.start, rows.stop])
        return numbers[start:end]

    return leaving


def _without(batch: pa.RecordBatch, rows: Numbers) -> pa.Table:
    """A batch except some rows. What lies between a few of them need not be copied."""
    if rows.size > _GAPS_MAX:
        return pa.Table.from_batches([batch.filter(pa.array(_all_but(batch.num_rows, rows)))])
    starts, ends = [0, *(rows + 1)], [*rows, batch.num_rows]
    stretches = [batch.slice(start, end - start) for start, end in zip(starts, ends, strict=True)]
    return pa.Table.from_batches([one for one in stretches if one.num_rows], batch.schema)


def _all_but(length: int, rows: Numbers) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    kept = np.ones(length, np.bool_)
    kept[rows] = False
    return kept
