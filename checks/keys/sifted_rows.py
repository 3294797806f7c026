# SPDX-License-Identifier: Apache-2.0
"""Rows that tasks choose by their keys while they read splits, as a keyed frame.

See `checks.keys.by_sql` for what a keyed frame is.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.keys.split_rows import Given, Key, SplitRows, batches_of, in_tasks
from checks.work import Work
from scrub.codec.arrow_types import to_arrow
from scrub.codec.digest import verify_digest
from scrub.model.table import Column

Choice = Callable[[pa.RecordBatch, Key], NDArray[np.bool_]]
"""Which rows of a batch to keep, by their keys; it travels to tasks."""


def sifted(cores: int, rows: SplitRows, key: Key, primary_key: Key, choice: Choice) -> Work:
    """The chosen rows; a split that cannot be read fails the job."""
    task = partial(sift, rows=rows, key=key, primary_key=primary_key, choice=choice)
    schema = tuple(_keyed_columns(key, primary_key))
    return Work(given=in_tasks(cores, rows), task=task, schema=schema)


def sift(
    given: Given, rows: SplitRows, key: Key, primary_key: Key, choice: Choice
) -> Iterator[pa.RecordBatch]:
    """The chosen rows of some splits; runs in a Spark task."""
    verify_digest()
    columns = _keyed_columns(key, primary_key)
    for numbered in given:
        for batch in batches_of(numbered.split, rows, (*key, *primary_key)):
            chosen = choice(batch, key)
            if not chosen.any():
                continue
            few = batch.take(pa.array(np.flatnonzero(chosen)))
            arrays = [_plain(few.column(c.name), c) for c in (*key, *primary_key)]
            yield pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])


def every_complete(batch: pa.RecordBatch, key: Key) -> NDArray[np.bool_]:
    """All rows without a NULL in the key."""
    complete = np.ones(batch.num_rows, dtype=np.bool_)
    for column in key:
        complete &= batch.column(column.name).is_valid().to_numpy(zero_copy_only=False)
    return complete


def _plain(array: pa.Array, column: Column) -> pa.Array:
    """The array without a dictionary, which Spark does not take."""
    decoded = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    return decoded.cast(to_arrow(column.type))


def _keyed_columns(key: Key, primary_key: Key) -> list[Column]:
    return [
        Column(name=f"{prefix}{number}", type=column.type)
        for prefix, columns in (("k", key), ("p", primary_key))
        for number, column in enumerate(columns)
    ]
