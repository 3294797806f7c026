# SPDX-License-Identifier: Apache-2.0
"""The entries of some keys in a version of a Delta table, each with the place it was found in.

What is read follows the keys, not the table: files and row groups whose bounds rule out every key
are passed over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scrub.codec.arrow_types import to_arrow
from scrub.errors import StoreUnavailable
from scrub.model.entry_shape import EntryShape
from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.stores.delta_snapshot import DeltaSnapshot, SnapshotFile
from scrub.stores.entry_states import comparable, identity
from scrub.stores.in_parallel import in_parallel
from scrub.stores.key_bounds import KeyBounds
from scrub.stores.locations import open_file
from scrub.stores.native_scan import BATCH_ROWS, SplitReader, describe
from scrub.stores.unreadable import UnreadableSplit


@dataclass(frozen=True, slots=True)
class FoundEntries:
    """Entries with the shape's columns, and for each its file and its row there."""

    entries: pa.Table
    places: Sequence[tuple[SnapshotFile, int]]


def entry_schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([(column.name, to_arrow(column.type)) for column in columns])


def find_entries(snapshot: DeltaSnapshot, shape: EntryShape, keys: pa.Table) -> FoundEntries:
    """Every entry that has the identity of one of the keys."""
    schema = entry_schema(shape.columns)
    wanted = {identity(shape, values) for values in comparable(keys)}
    bounds = KeyBounds(_telling(shape, keys))
    files = [
        file
        for file in (snapshot.files() if wanted else ())
        if bounds.may_hold(file.lowest, file.highest)
    ]

    def find(file: SnapshotFile) -> FoundEntries:
        tables: list[pa.Table] = [schema.empty_table()]
        places: list[tuple[SnapshotFile, int]] = []
        for batch, rows in _candidates(snapshot, file, shape, bounds):
            found = [
                number
                for number, values in enumerate(comparable(pa.Table.from_batches([batch])))
                if identity(shape, values) in wanted
            ]
            tables.append(pa.Table.from_batches([batch.take(pa.array(found, pa.int64()))]))
            places += [(file, int(rows[number])) for number in found]
        return FoundEntries(pa.concat_tables(tables), places)

    found = in_parallel(find, files)
    entries = pa.concat_tables([schema.empty_table(), *(one.entries for one in found)])
    return FoundEntries(entries, [place for one in found for place in one.places])


def _telling(shape: EntryShape, keys: pa.Table) -> pa.Table:
    """The columns by which an entry can be ruled out; in a unique index those of its key."""
    columns = shape.indexed if shape.unique else shape.indexed + shape.suffix
    return keys.select([column.name for column in columns])


def _candidates(
    snapshot: DeltaSnapshot, file: SnapshotFile, shape: EntryShape, bounds: KeyBounds
) -> Iterator[tuple[pa.RecordBatch, "np.ndarray[tuple[int], np.dtype[np.int64]]"]]:
    """Rows of one file that may be among the keys, with their numbers in the file."""
    schema = entry_schema(shape.columns)
    groups, numbers = _groups(snapshot, file, bounds)
    if not groups:
        return
    split = Split(
        uri=file.uri, bytes=file.bytes, partition=file.partition, row_groups=tuple(groups)
    )
    first = 0
    try:
        for batch in SplitReader(split, shape.columns, snapshot.options, BATCH_ROWS).batches():
            plain = _plain(batch, schema)
            chosen = bounds.mask(plain)
            rows = numbers[first : first + batch.num_rows]
            first += batch.num_rows
            flags = chosen.to_numpy(zero_copy_only=False)
            if flags.any():
                yield plain.filter(chosen), rows[flags]
    except UnreadableSplit as error:
        raise _unreadable(snapshot, file, error.reason) from error


def _groups(
    snapshot: DeltaSnapshot, file: SnapshotFile, bounds: KeyBounds
) -> tuple[list[int], "np.ndarray[tuple[int], np.dtype[np.int64]]"]:
    try:
        with open_file(file.uri, snapshot.options) as opened:
            metadata = pq.read_metadata(opened)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(snapshot, file, describe(error)) from error
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    starts = np.cumsum([0, *sizes])
    groups = bounds.row_groups(metadata)
    numbers = [np.arange(starts[number], starts[number + 1]) for number in groups]
    return groups, np.concatenate([np.empty(0, np.int64), *numbers])


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _unreadable(snapshot: DeltaSnapshot, file: SnapshotFile, reason: str) -> StoreUnavailable:
    return StoreUnavailable(f"Delta table {snapshot.relation}: {file.uri}: {reason}")


def in_key_order(entries: pa.Table, shape: EntryShape) -> pa.Table:
    """Sorted by indexed columns and primary key, so that bounds of files say much."""
    keys = [(column.name, "ascending") for column in shape.indexed + shape.suffix]
    return entries.take(pc.sort_indices(entries, sort_keys=keys))
