# SPDX-License-Identifier: Apache-2.0
"""What tasks of the native engine do for the physical check: count faults, and later name them.

Counting rides in the scan that adds up fingerprints. Naming reads the splits with faults again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from checks.physical.column_faults import count_faults, faults_in
from checks.physical.part_faults import PartFaults
from checks.scan_spec import PhysicalSpec, ScanSpec
from scrub.codec.arrow_text import text_of
from scrub.codec.predicate import truth
from scrub.model.defect import DefectKind
from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.stores.files.parquet_scan import SplitReader, StoredBatch
from scrub.stores.unreadable import UnreadableSplit

FAULT_SCHEMA = (
    "part int, place bigint, kind string, column string, primary_key array<string>, "
    "detail string, value_hex string"
)
"""A row for each fault: `place` is the row within the part, and -1 for what concerns all of it. A
row without a kind says in `detail` why the part could not be read a second time."""

_ARROW_SCHEMA = pa.schema(
    [
        ("part", pa.int32()),
        ("place", pa.int64()),
        ("kind", pa.string()),
        ("column", pa.string()),
        ("primary_key", pa.list_(pa.string())),
        ("detail", pa.string()),
        ("value_hex", pa.string()),
    ]
)
_BATCH_FAULTS = 10_000
_WHOLE_PART = -1


@dataclass(slots=True)
class Tally:
    """What was counted in one split."""

    spec: PhysicalSpec
    rows: int = 0
    counts: dict[tuple[str, DefectKind], int] = field(default_factory=dict)

    def look(self, stored: StoredBatch, reader: SplitReader) -> None:
        """Count what is wrong in a batch."""
        arrays, rows = looked_at(stored, reader, self.spec)
        self.rows += rows
        for column in present(self.spec, arrays):
            for kind, number in count_faults(arrays[column.name], column).items():
                key = (column.name, kind)
                self.counts[key] = self.counts.get(key, 0) + number

    def faults(self, misfits: Mapping[str, str]) -> PartFaults:
        """What was counted, and which columns the file does not hold as the catalog says."""
        names = {column.name for column in self.spec.columns}
        found = tuple(sorted(names.intersection(misfits)))
        return PartFaults(rows=self.rows, counts=self.counts, misfits=found)


def looked_at(
    stored: StoredBatch, reader: SplitReader, spec: PhysicalSpec
) -> tuple[Mapping[str, Any], int]:
    """The stored arrays of those rows that the conditions choose, and their number."""
    if not spec.conditions:
        return stored.arrays, stored.rows
    chosen = rows_chosen(stored, reader, spec)
    positions = pa.array(np.flatnonzero(chosen))
    return {name: array.take(positions) for name, array in stored.arrays.items()}, len(positions)


def rows_chosen(stored: StoredBatch, reader: SplitReader, spec: PhysicalSpec) -> Any:
    """Which rows fulfil all conditions."""
    batch = reader.converted(stored, spec.condition_columns)
    chosen = np.ones(stored.rows, dtype=np.bool_)
    for condition in spec.conditions:
        chosen &= truth(condition, batch)
    return chosen


def present(spec: PhysicalSpec, arrays: Mapping[str, Any]) -> Iterator[Column]:
    """The columns to look at that the file holds as the catalog says."""
    return (column for column in spec.columns if column.name in arrays)


@dataclass(frozen=True, slots=True)
class FaultySplit:
    """A split to be read again."""

    number: int
    split: Split
    names_misfits: bool  # a file's splits share its schema, and one of them tells


def name_faults(
    splits: Sequence[FaultySplit], spec: ScanSpec, limit: int | None
) -> Iterator[pa.RecordBatch]:
    """Every fault of the splits, at most so many of each, as FAULT_SCHEMA."""
    rows: list[tuple[object, ...]] = []
    for faulty in splits:
        for fault in islice(_faults_of(faulty, spec), limit):
            rows.append(fault)
            if len(rows) >= _BATCH_FAULTS:
                yield _as_batch(rows)
                rows = []
    yield _as_batch(rows)


def _faults_of(faulty: FaultySplit, scan: ScanSpec) -> Iterator[tuple[object, ...]]:
    assert scan.physical is not None, "only what was looked at is named"
    spec, number = scan.physical, faulty.number
    reader = SplitReader(faulty.split, (), scan.storage_options, also=spec.columns)
    told, place = False, 0
    try:
        for stored in reader.stored_batches():
            if faulty.names_misfits and not told:
                yield from _misfits(reader, number)
                told = True
            for at, *fault in _in_batch(stored, reader, scan, spec):
                yield (number, place + at, *fault)
            place += stored.rows
        if faulty.names_misfits and not told:
            yield from _misfits(reader, number)
    except UnreadableSplit as error:
        yield (number, _WHOLE_PART, None, None, None, str(error), None)


def _misfits(reader: SplitReader, number: int) -> Iterator[tuple[object, ...]]:
    for column, reason in sorted(reader.misfits.items()):
        kind = DefectKind.INVALID_ENCODING.value
        yield (number, _WHOLE_PART, kind, column, None, reason, None)


def _in_batch(
    stored: StoredBatch, reader: SplitReader, scan: ScanSpec, spec: PhysicalSpec
) -> Iterator[tuple[Any, ...]]:
    """Faults of a batch by row, with the row's primary key."""
    arrays = stored.arrays
    faults = [
        (fault, column)
        for column in present(spec, arrays)
        if count_faults(arrays[column.name], column)
        for fault in faults_in(arrays[column.name], column)
    ]
    if not faults:
        return
    chosen = rows_chosen(stored, reader, spec)
    faults = sorted((f for f in faults if chosen[f[0].row]), key=lambda found: found[0].row)
    rows = list(dict.fromkeys(fault.row for fault, _ in faults))
    columns = {column.name: column for column in spec.columns}
    keys = [_texts(columns[name], stored, rows, reader) for name in scan.primary_key]
    key_of = dict(zip(rows, map(list, zip(*keys, strict=True)), strict=True))
    for fault, column in faults:
        key = key_of[fault.row]
        yield (fault.row, fault.kind.value, column.name, key, fault.detail, fault.value_hex)


def _texts(
    column: Column, stored: StoredBatch, rows: Sequence[int], reader: SplitReader
) -> list[str | None]:
    """One column of some rows' keys; None for what cannot be read in the catalog's type."""
    if column.name not in stored.arrays:
        return [None] * len(rows)
    array = stored.arrays[column.name].take(pa.array(rows, pa.int64()))
    try:
        batch = reader.converted(StoredBatch(len(rows), {column.name: array}), (column,))
    except UnreadableSplit:
        if len(rows) == 1:
            return [None]
        # One value that cannot be converted is no reason to leave out the others.
        return [text for row in rows for text in _texts(column, stored, [row], reader)]
    return [text_of(value, column.type) for value in batch.column(0)]


def _as_batch(rows: Sequence[tuple[object, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ((),) * len(_ARROW_SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _ARROW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW_SCHEMA)
