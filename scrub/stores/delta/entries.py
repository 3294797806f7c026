# SPDX-License-Identifier: Apache-2.0
"""The entries of some keys in a version of a Delta table, each with the place it was found in.

What is read follows the keys, not the table: files and row groups whose bounds rule out every key
are passed over.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
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
from scrub.stores.delta.files import NewFiles
from scrub.stores.delta.rewriting import Leaving
from scrub.stores.delta.snapshot import DeltaSnapshot, SnapshotFile
from scrub.stores.entry_states import Values, comparable, identity
from scrub.stores.files.key_bounds import KeyBounds, Numbers
from scrub.stores.files.parquet_scan import SplitReader, problem_with_file
from scrub.stores.in_parallel import in_parallel
from scrub.stores.locations import open_file
from scrub.stores.unreadable import UnreadableSplit

_BATCH_ROWS = 262_144  # of few columns, in most of which nothing is found


@dataclass(frozen=True, slots=True)
class EntriesInFiles:
    """Entries that a snapshot's files hold, and for each the file and the row there."""

    entries: pa.Table
    places: Sequence[tuple[SnapshotFile, int]]


def entry_schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([(column.name, to_arrow(column.type)) for column in columns])


@dataclass(frozen=True, slots=True)
class Expected:
    """Entries, by their first columns, that will likely be removed by the next commit.

    A file in which one comes early on is written again in the same reading that finds it.
    """

    new: NewFiles
    entries: AbstractSet[Values]
    width: int  # in columns

    def __contains__(self, values: Values) -> bool:
        return values[: self.width] in self.entries


def find_entries(
    snapshot: DeltaSnapshot, shape: EntryShape, keys: pa.Table, removed: Expected | None = None
) -> EntriesInFiles:
    """Every entry that has the identity of one of the keys."""
    wanted = {identity(shape, values) for values in comparable(keys)}
    bounds = KeyBounds(_telling(shape, keys))
    files = [
        file
        for file in (snapshot.files() if wanted else ())
        if bounds.may_hold(file.lowest, file.highest)
    ]

    def find(file: SnapshotFile) -> EntriesInFiles:
        search = _Search(file, shape, bounds, wanted)
        groups = _groups(snapshot, file, bounds)
        if removed is not None and removed.entries and groups.are_most:
            removed.new.draft(file, shape.columns, search.leaving(removed))
        elif groups.numbers:
            search.read(snapshot, groups)
        return search.found

    found = in_parallel(find, files)
    schema = entry_schema(shape.columns)
    entries = pa.concat_tables([schema.empty_table(), *(one.entries for one in found)])
    return EntriesInFiles(entries, [place for one in found for place in one.places])


def _telling(shape: EntryShape, keys: pa.Table) -> pa.Table:
    """The columns by which an entry can be ruled out; in a unique index those of its key."""
    columns = shape.indexed if shape.unique else shape.indexed + shape.suffix
    return keys.select([column.name for column in columns])


class _Search:
    """The search for some keys in one file, batch by batch."""

    def __init__(
        self, file: SnapshotFile, shape: EntryShape, bounds: KeyBounds, wanted: AbstractSet[Values]
    ) -> None:
        self._file = file
        self._shape = shape
        self._bounds = bounds
        self._wanted = wanted
        self._schema = entry_schema(shape.columns)
        self._tables = [self._schema.empty_table()]
        self._places: list[tuple[SnapshotFile, int]] = []

    @property
    def found(self) -> EntriesInFiles:
        return EntriesInFiles(pa.concat_tables(self._tables), self._places)

    def read(self, snapshot: DeltaSnapshot, groups: "_Groups") -> None:
        """Look through some row groups."""
        file, first = self._file, 0
        split = Split(
            uri=file.uri, bytes=file.bytes, partition=file.partition, row_groups=groups.numbers
        )
        reader = SplitReader(split, self._shape.columns, snapshot.options, _BATCH_ROWS)
        try:
            for batch in reader.batches():
                self._look(batch, first, groups.in_file)
                first += batch.num_rows
        except UnreadableSplit as error:
            raise _unreadable(snapshot, file, error.reason) from error

    def leaving(self, removed: Expected) -> Leaving:
        """Look through the rows that are shown, and tell which of them will leave."""

        def leaving(batch: pa.RecordBatch, rows: range) -> Numbers:
            found = self._look(batch, rows.start, lambda numbers: numbers)
            return np.array([row for row, values in found if values in removed], np.int64)

        return leaving

    def _look(
        self, batch: pa.RecordBatch, first: int, in_file: Callable[[Numbers], Numbers]
    ) -> list[tuple[int, Values]]:
        """Keep what is found in a batch: rows by their numbers in the file, and their values."""
        chosen = self._bounds.candidates(batch)
        if not chosen.size:
            return []
        candidates = pa.Table.from_batches([_plain(batch.take(pa.array(chosen)), self._schema)])
        values = comparable(candidates)
        found = [n for n, v in enumerate(values) if identity(self._shape, v) in self._wanted]
        rows = in_file(first + chosen[found]).tolist()
        self._tables.append(candidates.take(pa.array(found, pa.int64())))
        self._places += [(self._file, row) for row in rows]
        return [(row, values[n]) for row, n in zip(rows, found, strict=True)]


@dataclass(frozen=True, slots=True)
class _Groups:
    """Some row groups of a file, which are read as if nothing were between them."""

    numbers: tuple[int, ...]
    ends: Numbers  # of each, among the rows that are read
    skipped: Numbers  # rows before each that are not
    rows: int  # of the whole file

    @property
    def are_most(self) -> bool:
        return bool(self.numbers) and 2 * int(self.ends[-1]) >= self.rows

    def in_file(self, rows: Numbers) -> Numbers:
        """The numbers that rows have in the whole file."""
        found: Numbers = rows + self.skipped[np.searchsorted(self.ends, rows, side="right")]
        return found


def _groups(snapshot: DeltaSnapshot, file: SnapshotFile, bounds: KeyBounds) -> _Groups:
    try:
        with open_file(file.uri, snapshot.options) as opened:
            metadata = pq.read_metadata(opened)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(snapshot, file, problem_with_file(error)) from error
    sizes = np.array([metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)], int)
    chosen = bounds.row_groups(metadata)
    ends = np.cumsum(sizes[chosen])
    return _Groups(tuple(chosen), ends, np.cumsum(sizes)[chosen] - ends, metadata.num_rows)


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
