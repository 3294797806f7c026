# SPDX-License-Identifier: Apache-2.0
"""Naming the faults of splits that tasks open themselves: rows of whole tables, with their keys.

Runs in Spark's Python workers. What a look counted in a split, it finds again here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa

from checks.table_look import RowChoice, TableLook
from checks.task_rows import as_batch
from scrub.codec.arrow_text import text_of
from scrub.model.defect import DefectKind
from scrub.model.relation import Split
from scrub.model.table import Column, Table
from scrub.stores.files.parquet_scan import SplitReader, StoredBatch
from scrub.stores.unreadable import UnreadableSplit

FAULT_SCHEMA = (
    "part int, place bigint, kind string, column string, primary_key array<string>, "
    "detail string, value_hex string, stored_type string, row array<string>, shown array<string>"
)
"""A row for each fault: `place` is the row within the part, and -1 for what concerns all of it. A
row without a kind says in `detail` why the part could not be read a second time. `stored_type` is
set for a column that a whole file holds in another type, and `row` (all of `row_columns`) where the
key does not tell which row it is."""

_BATCH_FAULTS = 10_000
_WHOLE_PART = -1


@dataclass(frozen=True, slots=True)
class FaultySplit:
    """A split to be read again."""

    number: int
    split: Split
    names_misfits: bool  # a file's splits share its schema, and one of them tells


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingSpec:
    """What tasks look for a second time, to name it."""

    look: TableLook
    looked_at: RowChoice
    key: tuple[Column, ...]  # the table's primary key
    shown: tuple[Column, ...] = ()  # what else of a row is told
    row: tuple[Column, ...] = ()  # what identifies a row whose key does not: `row_columns`
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        """What is read."""
        of_rows = (*self.looked_at.columns, *self.key, *self.shown, *self.look.columns, *self.row)
        return tuple({column.name: column for column in of_rows}.values())


def row_columns(table: Table) -> tuple[Column, ...]:
    """The columns that identify a row whose key does not; their order is not the catalog's."""
    stored = (column for column in table.columns if column.computed is None)
    return tuple(sorted(stored, key=lambda column: column.name))


def name_faults(
    splits: Sequence[FaultySplit], spec: NamingSpec, limit: int | None
) -> Iterator[pa.RecordBatch]:
    """Every fault of the splits, at most so many of each, as FAULT_SCHEMA."""
    rows: list[tuple[object, ...]] = []
    for faulty in splits:
        for fault in islice(_faults_of(faulty, spec), limit):
            rows.append(fault)
            if len(rows) >= _BATCH_FAULTS:
                yield as_batch(rows, FAULT_SCHEMA)
                rows = []
    yield as_batch(rows, FAULT_SCHEMA)


def _faults_of(faulty: FaultySplit, spec: NamingSpec) -> Iterator[tuple[object, ...]]:
    reader = SplitReader(faulty.split, (), spec.storage_options, also=spec.columns)
    told, place, number = False, 0, faulty.number
    try:
        for stored in reader.stored_batches():
            if faulty.names_misfits and not told:
                yield from _misfits(reader, number)
                told = True
            for at, *fault in _in_batch(stored, reader, spec):
                yield (number, place + at, *fault)
            place += stored.rows
        if faulty.names_misfits and not told:
            yield from _misfits(reader, number)
    except UnreadableSplit as error:
        yield (number, _WHOLE_PART, None, None, None, str(error), None, None, None, None)


def _misfits(reader: SplitReader, number: int) -> Iterator[tuple[object, ...]]:
    for column, reason in sorted(reader.misfits.items()):
        kind = DefectKind.INVALID_ENCODING.value
        stored = reader.stored_types.get(column)
        yield (number, _WHOLE_PART, kind, column, None, reason, None, stored, None, None)


def _in_batch(
    stored: StoredBatch, reader: SplitReader, spec: NamingSpec
) -> Iterator[tuple[Any, ...]]:
    """Faults of a batch by row, with the row's primary key."""
    faults = list(spec.look.faults(stored, reader))
    if not faults:
        return
    chosen = spec.looked_at.mask(stored, reader)
    faults = sorted((f for f in faults if chosen[f.row]), key=lambda fault: fault.row)
    rows = list(dict.fromkeys(fault.row for fault in faults))
    key_of = _by_row(spec.key, stored, rows, reader)
    shown_of = _by_row(spec.shown, stored, rows, reader)
    keyless = [row for row in rows if None in key_of[row]]
    row_of = _by_row(spec.row, stored, keyless, reader)
    for fault in faults:
        key, row = key_of[fault.row], row_of.get(fault.row)
        what = (fault.kind.value, fault.subject, key, fault.detail, fault.value_hex)
        yield (fault.row, *what, None, row, shown_of[fault.row])


def _by_row(
    columns: Sequence[Column], stored: StoredBatch, rows: Sequence[int], reader: SplitReader
) -> dict[int, list[str | None]]:
    """The texts of some columns, for each of these rows."""
    texts = [_texts(column, stored, rows, reader) for column in columns]
    return {row: [of_column[at] for of_column in texts] for at, row in enumerate(rows)}


def _texts(
    column: Column, stored: StoredBatch, rows: Sequence[int], reader: SplitReader
) -> list[str | None]:
    """One column of some rows; None for what cannot be read in the catalog's type."""
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
