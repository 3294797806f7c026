# SPDX-License-Identifier: Apache-2.0
"""Rows whose keys are there more than once: every copy is a row of its own.

The second copy of a row is made of the second copies of its pairs, and of the only one of those
that are there once.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def each_copy(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Pairs in order of keys, each of them once; then those of rows that are there once more."""
    keys, rows = (batch.column(name) for name in ("key", "row_key"))
    copy = _positions_among_equals(keys)
    if not copy.any():
        yield batch
        return
    copies = _largest_among_equals(keys, copy)
    copies_of_row = _largest_among_equals(rows, copies)
    for number in range(int(copy.max()) + 1):
        only_one_left = (copies < number) & (copy == 0) & (copies_of_row >= number)
        yield batch.filter(pa.array((copy == number) | only_one_left))


def _begins(ordered: pa.Array) -> NDArray[np.int64]:
    """Where values begin that are not the one before."""
    differ = pc.not_equal(ordered.slice(1), ordered.slice(0, max(len(ordered) - 1, 0)))
    return np.flatnonzero(np.concatenate([[True], differ.to_numpy(zero_copy_only=False)]))


def _positions_among_equals(ordered: pa.Array) -> NDArray[np.int64]:
    begins = _begins(ordered)
    lengths = np.diff(np.append(begins, len(ordered)))
    return np.arange(len(ordered)) - np.repeat(begins, lengths)


def _largest_among_equals(ordered: pa.Array, of: NDArray[np.int64]) -> NDArray[np.int64]:
    begins = _begins(ordered)
    lengths = np.diff(np.append(begins, len(ordered)))
    return np.repeat(np.maximum.reduceat(of, begins), lengths)
