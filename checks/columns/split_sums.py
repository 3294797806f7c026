# SPDX-License-Identifier: Apache-2.0
"""Sums of splits that a task of the native engine opens itself.

Runs in Spark's Python workers. A split that cannot be read leaves no trace in the sums and is
reported by number; the task continues with its other splits.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.part_faults import PartFaults
from checks.scan_spec import EXPECTED, EntrySpec, ScanSpec
from checks.table_look import Tally
from checks.task_sums import IN_DOUBT, BucketSums, NumberedSplit, pieces, sums_batch
from scrub.codec.digest import RowDigests, verify_digest
from scrub.codec.functions.doubt import InDoubt
from scrub.codec.lazily import xxh64
from scrub.codec.predicate import evaluate_coded, evaluate_where, truth
from scrub.model.relation import Split
from scrub.stores.files.parquet_scan import SplitReader, StoredBatch
from scrub.stores.split_readers import open_split
from scrub.stores.unreadable import UnreadableSplit

_EVERY_ROW = np.empty(0, dtype=np.bool_)

Report = dict[str, object]  # on a split


def fingerprint_splits(
    splits: Sequence[NumberedSplit], specs: Mapping[int, ScanSpec]
) -> Iterator[pa.RecordBatch]:
    """Sums per index and bucket over all readable splits, and a report on each split."""
    verify_digest()
    sums: dict[int, BucketSums] = {}
    reports: list[tuple[int, str]] = []
    for numbered in splits:
        spec = specs[numbered.relation]
        scan = _look_at_split if spec.looks else _scan_split
        try:
            report = scan(numbered.split, spec, sums)
        except InDoubt as error:
            # The run starts again with Spark, whatever the other splits hold.
            reports.append((numbered.number, json.dumps({IN_DOUBT: str(error)})))
            break
        reports.append((numbered.number, json.dumps(report)))
    yield sums_batch(pieces(sums), reports)


def _scan_split(split: Split, spec: ScanSpec, sums: dict[int, BucketSums]) -> Report:
    restore = _restorer(spec, sums)
    reader = open_split(split, spec.columns, spec.storage_options)
    try:
        rows = sum(_add_batch(batch, spec, sums) for batch in reader.batches())
    except UnreadableSplit as error:
        restore()
        return {"rows": 0, "bytes": 0, "error": error.reason}
    return {"rows": rows, "bytes": reader.bytes_read}


def _look_at_split(split: Split, spec: ScanSpec, sums: dict[int, BucketSums]) -> Report:
    """The same with a look at every row, which neither helps nor harms the sums.

    A column that is not what the catalog says spoils the sums only if an entry is made from it.
    """
    restore = _restorer(spec, sums)
    tallies, lost, rows = {name: Tally(look) for name, look in spec.looks.items()}, None, 0
    also = {column.name: column for look in spec.looks.values() for column in look.columns}
    also |= {column.name: column for column in spec.looked_at.columns if column.name not in also}
    reader = SplitReader(split, spec.columns, spec.storage_options, also=tuple(also.values()))
    try:
        for stored in reader.stored_batches():
            looked_at = spec.looked_at.of(stored, reader)
            rows += looked_at.rows
            for tally in tallies.values():
                tally.add(looked_at, reader)
            if lost is None and spec.entries:
                lost = _add_stored(stored, reader, spec, sums)
    except UnreadableSplit as error:
        restore()
        # The columns that entries are made from may be whole.
        report = _scan_split(split, spec, sums) if spec.entries else {"rows": 0, "bytes": 0}
        unread = PartFaults(error=error.reason).as_report()
        return report | {"riding": dict.fromkeys(spec.looks, unread)}
    report = {"rows": rows, "bytes": reader.bytes_read}
    if spec.entries and lost is None:
        misfits = [reader.misfits[c.name] for c in spec.columns if c.name in reader.misfits]
        lost = next(iter(misfits), None)  # of a file without rows, none was added
    if lost is not None:
        restore()
        report = {"rows": 0, "bytes": 0, "error": lost}
    faults = {name: tally.faults(reader.misfits) for name, tally in tallies.items()}
    return report | {"riding": {name: of.as_report() for name, of in faults.items()}}


def _add_stored(
    stored: StoredBatch, reader: SplitReader, spec: ScanSpec, sums: dict[int, BucketSums]
) -> str | None:
    """Add a batch to the sums, or say why it cannot be."""
    try:
        _add_batch(reader.converted(stored, spec.columns), spec, sums)
    except UnreadableSplit as error:
        return error.reason
    return None


def _restorer(spec: ScanSpec, sums: dict[int, BucketSums]) -> Callable[[], None]:
    """What brings back the sums as they are now."""
    slots = [entry.slot for entry in spec.entries]
    before = {slot: sums[slot].copy() for slot in slots if slot in sums}

    def restore() -> None:
        for slot in slots:
            sums.pop(slot, None)
        sums.update(before)

    return restore


def _add_batch(batch: pa.RecordBatch, spec: ScanSpec, sums: dict[int, BucketSums]) -> int:
    if not spec.entries:
        return int(batch.num_rows)  # the key may not have been read
    key = RowDigests.start(batch.num_rows, spec.salt).fold(
        [batch.column(name) for name in spec.primary_key], spec.salt
    )
    for entry in spec.entries:
        if entry.slot not in sums:
            sums[entry.slot] = np.zeros((1 << spec.bucket_bits, 4), dtype=np.uint64)
        counted = rows_that_count(entry, batch, key)
        digests = key.fold(columns_of(entry, batch, counted), spec.salt)
        xxh64.add_to_buckets(
            key.first,
            64 - spec.bucket_bits,
            counted,
            digests.first,
            digests.second,
            entry.sign == EXPECTED,
            sums[entry.slot],
        )
    return int(batch.num_rows)


def columns_of(
    entry: EntrySpec, batch: pa.RecordBatch, counted: NDArray[np.bool_]
) -> list[pa.Array]:
    """An entry's columns for the rows that count; a plain column comes as it was read."""
    if not len(counted):
        return [evaluate_coded(node, batch) for node in entry.beside_primary_key]
    return [evaluate_where(node, batch, counted) for node in entry.beside_primary_key]


def rows_that_count(entry: EntrySpec, batch: pa.RecordBatch, keys: RowDigests) -> NDArray[np.bool_]:
    """Which rows have an entry, given the digests of their keys; empty stands for all of them."""
    chosen = _EVERY_ROW if entry.among is None else entry.among.has_digests(keys)
    for condition in entry.conditions:
        holds = truth(condition, batch)
        chosen = chosen & holds if len(chosen) else holds
    return chosen
