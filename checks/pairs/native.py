# SPDX-License-Identifier: Apache-2.0
"""Pairs in files that tasks open themselves: fingerprints of splits, and entries of some buckets.

A split that cannot be read leaves no trace in the sums and is reported by number.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.columns.sifting import BYTES_MAX, PACKED_SCHEMA, packed
from checks.finer_sums import FinerSums
from checks.pairs.copies import DIGESTS_SCHEMA, digests_of, is_among, packed_digests
from checks.pairs.keys import chosen_pairs
from checks.pairs.order import KeyOrder
from checks.pairs.plan import PAIR
from checks.pairs.report import BAD_SCHEMA, Report
from checks.pairs.scan import (
    ENTRY_ARROW_SCHEMA,
    ENTRY_SCHEMA,
    PairScan,
    PairSpec,
    entries_in_buckets,
    entry_digests,
    layout_and_indexes,
)
from checks.pairs.table import PairTable
from checks.parts import spread
from checks.scan_spec import ACTUAL, EXPECTED
from checks.task_sums import (
    SUMS_SCHEMA,
    TASKS_PER_CORE,
    NumberedSplit,
    added_up,
    pieces,
    sums_batch,
)
from checks.work import Work
from scrub.codec.digest import Salt
from scrub.codec.kv import sides as kv_sides
from scrub.model.kv import KeyChoice
from scrub.model.table import Column
from scrub.stores.files.parquet_scan import SplitReader
from scrub.stores.unreadable import UnreadableSplit

Bitmaps = Mapping[int, NDArray[np.uint8]]  # by slot, the buckets to look into

_BATCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Source:
    """What a task must know to open the splits of one relation."""

    keys: KeyChoice
    storage_options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PairTasks:
    """What tasks are given: all of it, and each task its number."""

    spec: PairSpec
    tasks: Sequence[Sequence[NumberedSplit]]
    sources: Sequence[_Source]  # by relation

    def reader(self, numbered: NumberedSplit) -> SplitReader:
        options = self.sources[numbered.relation].storage_options
        return SplitReader(numbered.split, PAIR, options)

    def pairs(self, numbered: NumberedSplit, reader: SplitReader) -> Iterator[pa.RecordBatch]:
        choice = self.sources[numbered.relation].keys
        for batch in reader.batches():
            if (chosen := chosen_pairs(choice, batch)).num_rows:
                yield chosen


class NativePairs:
    """Some splits of a table of pairs, and the jobs that read them."""

    def __init__(
        self,
        cores: int,
        plan: PairTable,
        splits: Sequence[NumberedSplit],
        spec: PairSpec,
    ) -> None:
        self.cores = cores
        self.work = PairTasks(
            spec,
            spread(splits, TASKS_PER_CORE * cores),
            [_Source(of.keys, of.facts.storage_options) for of in plan.relations],
        )

    def fingerprints(self) -> Work:
        """Sums over the splits and a report on each, as SUMS_SCHEMA."""
        size = len(self.work.tasks) * bytes_of_sums(self.work.spec)
        return added_up(self.run(_fingerprint, SUMS_SCHEMA), self.cores, size)

    def bad_pairs(self) -> Work:
        """The pairs that are wrong by themselves, as BAD_SCHEMA; each task shows so many."""
        return self.run(_bad_pairs, BAD_SCHEMA)

    def order(self) -> Work:
        """A report on the order of keys in each split, as SUMS_SCHEMA."""
        return self.run(_order, SUMS_SCHEMA)

    def key_digests(self) -> Work:
        """Digests of all keys, as DIGESTS_SCHEMA."""
        return self.run(_key_digests, DIGESTS_SCHEMA)

    def pairs_of(self, digests: NDArray[np.uint64]) -> Work:
        """The pairs whose keys have some digests."""
        return self.run(_pairs_of_digests, "key binary, value binary", digests=digests)

    def entries(self, bitmaps: Bitmaps) -> Work:
        """All entries of the chosen buckets, as ENTRY_SCHEMA."""
        return self.run(_entries, ENTRY_SCHEMA, bitmaps=bitmaps)

    def gathered_entries(self, bitmaps: Bitmaps) -> Work:
        """The same, packed for the driver, which sifts them; NULL where they are too many."""
        share = BYTES_MAX // len(self.work.tasks)
        return self.run(_gather, PACKED_SCHEMA, bitmaps=bitmaps, bytes_max=share)

    def run(
        self,
        task: Callable[..., Iterator[pa.RecordBatch]],
        schema: str | tuple[Column, ...],
        **given: object,
    ) -> Work:
        """What a task yields for its number, when it is also told the work and what is given."""
        of_number = partial(task, work=self.work, **given)
        return Work(given=range(len(self.work.tasks)), task=of_number, schema=schema)


def bytes_of_sums(spec: PairSpec) -> int:
    """At most what one task returns."""
    return 32 * len(spec.indexes) << spec.bucket_bits


def _fingerprint(number: int, work: PairTasks) -> Iterator[pa.RecordBatch]:
    scan, reports, room = PairScan(work.spec), [], work.spec.limit
    for numbered in work.tasks[number]:
        before = {slot: sums.copy() for slot, sums in scan.sums.items()}
        report, reader, order = Report(room), work.reader(numbered), KeyOrder(scan.layout)
        try:
            for batch in work.pairs(numbered, reader):
                scan.add(batch, report)
                if work.spec.sorted:
                    report.add_misplaced(batch, order.misplaced(batch.column("key")))
        except UnreadableSplit as error:
            scan.sums = before
            reports.append((numbered.number, json.dumps({"error": error.reason})))
            continue
        room -= len(report.shown)
        report.bytes_read = reader.bytes_read
        reports.append((numbered.number, report.as_json()))
    yield sums_batch(pieces(scan.sums), reports)


def _bad_pairs(number: int, work: PairTasks) -> Iterator[pa.RecordBatch]:
    scan, room = PairScan(work.spec), work.spec.limit
    for numbered in work.tasks[number]:
        order = KeyOrder(scan.layout)
        for batch in work.pairs(numbered, work.reader(numbered)):
            report = Report(room)
            scan.add(batch, report)
            if work.spec.sorted:
                report.add_misplaced(batch, order.misplaced(batch.column("key")))
            room -= len(report.shown)
            if report.shown:
                yield report.as_rows()


def _order(number: int, work: PairTasks) -> Iterator[pa.RecordBatch]:
    reports, room, (layout, _) = [], work.spec.limit, layout_and_indexes(work.spec)
    for numbered in work.tasks[number]:
        report, order = Report(room), KeyOrder(layout)
        try:
            for batch in work.pairs(numbered, work.reader(numbered)):
                report.add_misplaced(batch, order.misplaced(batch.column("key")))
        except UnreadableSplit as error:
            reports.append((numbered.number, json.dumps({"error": error.reason})))
            continue
        room -= len(report.shown)
        reports.append((numbered.number, report.as_json()))
    yield sums_batch(pieces({}), reports)


def _key_digests(number: int, work: PairTasks) -> Iterator[pa.RecordBatch]:
    for numbered in work.tasks[number]:
        batches = work.pairs(numbered, work.reader(numbered))
        digests = [digests_of(batch.column("key"), work.spec) for batch in batches]
        if digests:
            yield from packed_digests(np.concatenate(digests))


def _pairs_of_digests(
    number: int, work: PairTasks, digests: NDArray[np.uint64]
) -> Iterator[pa.RecordBatch]:
    for numbered in work.tasks[number]:
        for batch in work.pairs(numbered, work.reader(numbered)):
            found = batch.filter(is_among(batch.column("key"), digests, work.spec))
            if found.num_rows:
                columns = [found.column(name).cast(pa.binary()) for name in ("key", "value")]
                yield pa.RecordBatch.from_arrays(columns, ["key", "value"])


def sift(gathered: pa.Table, salt: Salt, slots: Sequence[int]) -> dict[int, pa.Table] | None:
    """By slot the entries of keys that disagree; None if there were too many to be held here."""
    if gathered.column("rows").null_count:
        return None
    batches: dict[int, list[pa.RecordBatch]] = defaultdict(list)
    for row in gathered.to_pylist():
        with pa.ipc.open_stream(row["rows"]) as stream:
            batches[row["relation"]] += list(stream)
    return {
        slot: _sifted(pa.Table.from_batches(batches[slot], ENTRY_ARROW_SCHEMA), salt)
        for slot in slots
    }


def _sifted(entries: pa.Table, salt: Salt) -> pa.Table:
    entries = entries.combine_chunks()
    if not entries.num_rows:
        return entries
    keys, values = (entries.column(name).combine_chunks() for name in ("key", "value"))
    key, entry = entry_digests(keys, values, salt)
    side_of = entries.column("side").to_numpy()
    is_mark, actual = side_of >= kv_sides.DOUBTFUL, side_of == kv_sides.ACTUAL
    sums = FinerSums.of_rows(entries.num_rows)
    for side, sign in ((~is_mark & ~actual, EXPECTED), (actual, ACTUAL)):
        sums.add(key.first, entry, sign, side)
    return entries.filter(pa.array(is_mark | sums.disagree(key.first)))


def _entries(number: int, work: PairTasks, bitmaps: Bitmaps) -> Iterator[pa.RecordBatch]:
    found: list[pa.RecordBatch] = []
    size = 0
    for numbered in work.tasks[number]:
        pairs = work.pairs(numbered, work.reader(numbered))
        for batch in entries_in_buckets(pairs, work.spec, bitmaps):
            found.append(batch)
            size += batch.nbytes
            if size > _BATCH_BYTES:
                yield pa.concat_batches(found)
                found, size = [], 0
    if found:
        yield pa.concat_batches(found)


def _gather(
    number: int, work: PairTasks, bitmaps: Bitmaps, bytes_max: int
) -> Iterator[pa.RecordBatch]:
    kept: dict[int, list[pa.RecordBatch]] = defaultdict(list)
    size = 0
    for batch in _entries(number, work, bitmaps):
        size += batch.nbytes
        if size > bytes_max:
            yield packed(0, None)
            return
        slots = batch.column("slot").to_numpy()
        for slot in np.unique(slots):
            kept[int(slot)].append(batch.filter(pa.array(slots == slot)))
    for slot, batches in kept.items():
        yield packed(slot, pa.concat_batches(batches))
