# SPDX-License-Identifier: Apache-2.0
"""Finds the reader for a split; runs in Python workers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from scrub.model.relation import Split, SplitKind
from scrub.model.table import Column
from scrub.stores.files.parquet_scan import BATCH_ROWS, SplitReader


class Reader(Protocol):
    """Reads one split once, in the catalog's types; raises UnreadableSplit."""

    bytes_read: int

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The split's rows: exactly the wanted columns, in order; strings may be dictionaries."""


def open_split(
    split: Split,
    columns: Sequence[Column],
    storage_options: Mapping[str, str],
    batch_rows: int = BATCH_ROWS,
) -> Reader:
    """The reader for this kind of split; nothing is opened yet."""
    if split.kind is SplitKind.POSTGRES:
        from scrub.stores.postgres.reader import PostgresSplitReader

        return PostgresSplitReader(split, columns, storage_options)
    return SplitReader(split, columns, storage_options, batch_rows)


def read_split(
    split: Split,
    columns: Sequence[Column],
    storage_options: Mapping[str, str],
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """The rows of a split, for callers that do not count bytes."""
    return open_split(split, columns, storage_options, batch_rows).batches()
