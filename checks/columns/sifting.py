# SPDX-License-Identifier: Apache-2.0
"""Sifting: of all rows in differing buckets, only those of keys that disagree go into the join.

A bucket holds some hundred rows, of which one may be wrong. Tasks read the buckets of table and
indexes again; the driver adds up their digests once more, in so many places that hardly two keys
share one, and leaves out every row where they agree. What is left is about as much as there are
defects.

This holds the rows of some buckets in memory, so it is for few of them: tasks that find more than
their share of BYTES_MAX say so instead, and the join gets all rows. It copes with any number.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.choose import ChosenBuckets
from checks.columns.row_frames import in_buckets, key_digests, plain
from checks.columns.split_sums import columns_of, rows_that_count
from checks.finer_sums import FinerSums
from checks.numbering import Relation
from checks.parts import Part, pack
from checks.scan_spec import ScanSpec
from checks.specs import Among, scan_spec
from checks.task_rows import as_batch
from checks.task_sums import TASKS_PER_CORE, NumberedSplit
from checks.work import Work
from scrub.codec.arrow_types import arrow_schema_of
from scrub.codec.digest import RowDigests, Salt, verify_digest
from scrub.stores.split_readers import read_split

ROWS_MAX = 2_000_000
BYTES_MAX = 128 << 20

PACKED_SCHEMA = "relation int, rows binary"

Rows = Mapping[int, pa.RecordBatch]  # by relation


@dataclass(frozen=True, slots=True)
class _Task:
    """What all tasks are given: for each relation, what to do with its rows."""

    specs: Mapping[int, ScanSpec]
    wanted: Mapping[int, NDArray[np.uint8]]
    bytes_max: int


@dataclass(frozen=True, slots=True)
class Sifting:
    """A job that gathers the rows of some buckets, and what to do with its result."""

    gathering: Work
    specs: Mapping[int, ScanSpec]
    tables: Mapping[int, str]  # relation -> the table it belongs to

    def sift(self, gathered: pa.Table) -> Rows | None:
        """Of the gathered rows those worth joining; None if they were too many to be held here."""
        if gathered.column("rows").null_count:
            return None
        rows = {n: [_no_rows(spec)] for n, spec in self.specs.items()}
        for row in gathered.to_pylist():
            with pa.ipc.open_stream(row["rows"]) as stream:
                rows[row["relation"]] += list(stream)
        by_table: dict[str, dict[int, pa.RecordBatch]] = defaultdict(dict)
        for number, batches in rows.items():
            by_table[self.tables[number]][number] = pa.concat_batches(batches)
        kept: dict[int, pa.RecordBatch] = {}
        for family in by_table.values():
            kept |= _sift(family, self.specs)
        return kept


def sifting(
    cores: int,
    relations: Sequence[Relation],
    parts: Sequence[Part],
    chosen: Mapping[int, ChosenBuckets],
    slots: frozenset[int],
    salt: Salt,
    among: Among,
) -> Sifting:
    """For the rows of relations, all native, that are in `chosen` buckets of parts."""
    specs = {
        relation.number: scan_spec(relation, slots, salt, among=among) for relation in relations
    }
    splits = pack(parts, TASKS_PER_CORE * cores)
    task = _Task(
        specs=specs,
        wanted={number: buckets.bitmap for number, buckets in chosen.items()},
        bytes_max=BYTES_MAX // max(len(splits), 1),
    )
    gathering = Work(given=splits, task=partial(_gather, task=task), schema=PACKED_SCHEMA)
    return Sifting(gathering, specs, {r.number: r.table.table.name for r in relations})


def _gather(splits: Sequence[NumberedSplit], task: _Task) -> Iterator[pa.RecordBatch]:
    """The rows of chosen buckets, or NULL for too many."""
    verify_digest()
    kept: dict[int, list[pa.RecordBatch]] = defaultdict(list)
    size = 0
    for numbered in splits:
        spec = task.specs[numbered.relation]
        for batch in read_split(numbered.split, spec.columns, spec.storage_options):
            rows = in_buckets(batch, spec, task.wanted[numbered.relation])
            kept[numbered.relation].append(plain(rows, arrow_schema_of(spec.columns)))
            size += kept[numbered.relation][-1].nbytes
            if size > task.bytes_max:
                yield packed(numbered.relation, None)
                return
    for relation, batches in kept.items():
        yield packed(relation, pa.concat_batches(batches))


def _sift(family: Rows, specs: Mapping[int, ScanSpec]) -> dict[int, pa.RecordBatch]:
    """Of the rows of a table and its indexes, those of keys that disagree."""
    keys = {number: key_digests(batch, specs[number]) for number, batch in family.items()}
    sums = _sums_of_slots(family, keys, specs)
    kept: dict[int, pa.RecordBatch] = {}
    for number, batch in family.items():
        disagree = np.zeros(batch.num_rows, np.bool_)
        for of_slot in sums.values():
            disagree |= of_slot.disagree(keys[number].first)
        kept[number] = batch.filter(pa.array(disagree))
    return kept


def _sums_of_slots(
    family: Rows, keys: Mapping[int, RowDigests], specs: Mapping[int, ScanSpec]
) -> dict[int, FinerSums]:
    sums: dict[int, FinerSums] = {}
    rows = max(batch.num_rows for batch in family.values())
    for number, batch in family.items():
        spec, key = specs[number], keys[number]
        for entry in spec.entries:
            counted = rows_that_count(entry, batch, key)
            digests = key.fold(columns_of(entry, batch, counted), spec.salt)
            of_slot = sums.setdefault(entry.slot, FinerSums.of_rows(rows))
            of_slot.add(key.first, digests, entry.sign, counted)
    return sums


def _no_rows(spec: ScanSpec) -> pa.RecordBatch:
    """A batch to begin with: a relation without rows, or without files, has none of its own."""
    return pa.RecordBatch.from_pylist([], arrow_schema_of(spec.columns))


def packed(relation: int, rows: pa.RecordBatch | None) -> pa.RecordBatch:
    """Rows as one of PACKED_SCHEMA."""
    octets = None
    if rows is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_batch(rows)
        octets = sink.getvalue().to_pybytes()
    return as_batch([(relation, octets)], PACKED_SCHEMA)
