# SPDX-License-Identifier: Apache-2.0
"""Rows that tasks open themselves, and the digests of their keys.

Runs in Spark's Python workers, apart from the packing of splits into tasks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.parts import BYTES_PER_ROW_GUESSED, spread
from checks.table_look import EVERY_ROW, RowChoice
from checks.task_sums import TASKS_PER_CORE, NumberedSplit
from scrub.codec.digest import RowDigests, Salt, is_told_by_first_digest
from scrub.codec.predicate import evaluate_where, truth
from scrub.model.predicate import Node
from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.stores.split_readers import read_split

Key = tuple[Column, ...]
"""The columns of a key, in order and in the catalog's types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedColumn:
    """A column of keys that rows do not hold: an expression gives its value."""

    name: str
    node: Node
    reads: tuple[Column, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRows:
    """Some rows of one relation: its splits, and which rows of them are looked at."""

    splits: tuple[Split, ...]
    looked_at: RowChoice = EVERY_ROW
    computed: tuple[ComputedColumn, ...] = ()
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def rows_about(self) -> int:
        """How many rows the splits have, as far as anybody knows."""
        return sum(
            split.bytes // BYTES_PER_ROW_GUESSED if split.rows is None else split.rows
            for split in self.splits
        )

    @property
    def rows_known(self) -> int | None:
        """How many rows the splits have, if all of them tell."""
        rows = [split.rows for split in self.splits]
        return None if None in rows else sum(n for n in rows if n is not None)

    def without(self, numbers: frozenset[int]) -> "SplitRows":
        """The same without splits of these positions."""
        left = tuple(s for number, s in enumerate(self.splits) if number not in numbers)
        return replace(self, splits=left)


Given = tuple[NumberedSplit, ...]
"""The splits of one task; `relation` tells which of the sides of a job a split belongs to."""


def in_tasks(cores: int, *sides: SplitRows) -> tuple[Given, ...]:
    """The splits of one or two sides, spread over tasks; numbers are positions in a side."""
    splits = [
        NumberedSplit(number, side, split)
        for side, rows in enumerate(sides)
        for number, split in enumerate(rows.splits)
    ]
    return spread(splits, TASKS_PER_CORE * cores)


def batches_of(
    split: Split, rows: SplitRows, columns: Sequence[Column]
) -> Iterator[pa.RecordBatch]:
    """The rows of a split that are looked at, with at least these columns."""
    computed = {column.name: column for column in rows.computed}
    stored = [column for column in columns if column.name not in computed]
    read = (*stored, *rows.looked_at.columns, *(of for one in rows.computed for of in one.reads))
    wanted = {column.name: column for column in read}
    for batch in read_split(split, tuple(wanted.values()), rows.storage_options):
        yield _with_computed(_chosen(batch, rows.looked_at), rows.computed)


def _with_computed(batch: pa.RecordBatch, computed: Sequence[ComputedColumn]) -> pa.RecordBatch:
    if not computed:
        return batch
    every = np.ones(batch.num_rows, np.bool_)
    values = [evaluate_where(column.node, batch, every) for column in computed]
    names = [*batch.schema.names, *(column.name for column in computed)]
    return pa.RecordBatch.from_arrays([*batch.columns, *values], names)


def _chosen(batch: pa.RecordBatch, looked_at: RowChoice) -> pa.RecordBatch:
    if not looked_at.conditions:
        return batch
    chosen = np.ones(batch.num_rows, dtype=np.bool_)
    for condition in looked_at.conditions:
        chosen &= truth(condition, batch)
    return batch.take(pa.array(np.flatnonzero(chosen)))


@dataclass(frozen=True, slots=True)
class KeyDigests:
    """The digests of the complete keys of a batch, and which rows have one."""

    digests: RowDigests
    complete: NDArray[np.bool_] | None  # one flag per row of the batch; None: all are

    def of_rows(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Flags of complete keys as flags of rows; a row without a key has none."""
        if self.complete is None:
            return flags
        of_rows = np.zeros(len(self.complete), dtype=np.bool_)
        of_rows[self.complete] = flags
        return of_rows


def is_word(*keys: Key) -> bool:
    """Whether the first digest alone tells these keys apart, as it does for most: one number."""
    return all(is_told_by_first_digest([column.type for column in key]) for key in keys)


def key_digests(batch: pa.RecordBatch, key: Key, salt: Salt) -> KeyDigests:
    """Digests of the keys without a NULL.

    Integers of different width have one digest, as have equal floats and doubles: see
    `scrub.codec.digest`.
    """
    arrays = [batch.column(column.name) for column in key]
    digests = RowDigests.start(batch.num_rows, salt).fold(arrays, salt)
    with_null = [array for array in arrays if array.null_count]
    if not with_null:
        return KeyDigests(digests, None)
    complete = np.ones(batch.num_rows, dtype=np.bool_)
    for array in with_null:
        complete &= array.is_valid().to_numpy(zero_copy_only=False)
    few = RowDigests(digests.first[complete], digests.second[complete])
    return KeyDigests(few, complete)
