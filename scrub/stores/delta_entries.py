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
from scrub.stores.key_bounds import KeyBounds, Numbers
from scrub.stores.locations import open_file
from scrub.stores.native_scan import SplitReader, describe
from scrub.stores.unreadable import UnreadableSplit

_BATCH_ROWS = 262_144  # of few columns, in most of which nothing is found


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
) -> Iterator[tuple[pa.RecordBatch, Numbers]]:
    """Rows of one file that may be among the keys, with their numbers in the file."""
    schema = entry_schema(shape.columns)
    groups = _groups(snapshot, file, bounds)
    if not groups.numbers:
        return
    split = Split(
        uri=file.uri, bytes=file.bytes, partition=file.partition, row_groups=groups.numbers
    )
    first = 0
    try:
        for batch in SplitReader(split, shape.columns, snapshot.options, _BATCH_ROWS).batches():
            chosen = bounds.candidates(batch)
            if chosen.size:
                yield _plain(batch.take(pa.array(chosen)), schema), groups.in_file(first + chosen)
            first += batch.num_rows
    except UnreadableSplit as error:
        raise _unreadable(snapshot, file, error.reason) from error


@dataclass(frozen=True, slots=True)
class _Groups:
    """Some row groups of a file, which are read as if nothing were between them."""

    numbers: tuple[int, ...]
    ends: Numbers  # of each, among the rows that are read
    skipped: Numbers  # rows before each that are not

    def in_file(self, rows: Numbers) -> Numbers:
        """The numbers that rows have in the whole file."""
        found: Numbers = rows + self.skipped[np.searchsorted(self.ends, rows, side="right")]
        return found


def _groups(snapshot: DeltaSnapshot, file: SnapshotFile, bounds: KeyBounds) -> _Groups:
    try:
        with open_file(file.uri, snapshot.options) as opened:
            metadata = pq.read_metadata(opened)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(snapshot, file, describe(error)) from error
    sizes = np.array([metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)], int)
    chosen = bounds.row_groups(metadata)
    ends = np.cumsum(sizes[chosen])
    return _Groups(tuple(chosen), ends, np.cumsum(sizes)[chosen] - ends)


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
