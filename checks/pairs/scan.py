# SPDX-License-Identifier: Apache-2.0
"""What tasks do with pairs: judge every one, and add up the entries they ask for and hold.

An entry of the key-value layout is its key's bytes, the row it belongs to, and its value's tag and
data; so the index check is the one of other tables, over three columns. A value that reads well but
is spelled wrongly counts as what it should be: the physical check reports it. A key counts as it
is, since whoever looks for an entry looks for its bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checks.pairs.report import Report
from checks.task_rows import arrow_schema
from checks.task_sums import pieces, sums_batch
from scrub.codec import xxh64
from scrub.codec.digest import RowDigests, Salt, verify_digest
from scrub.codec.kv.sides import ACTUAL, DOUBTFUL
from scrub.model.kv import KvTable

if TYPE_CHECKING:
    from scrub.codec.kv.entries import Entries
    from scrub.codec.kv.layouts import Layout

ENTRY_SCHEMA = "slot int, side int, key binary, value binary, row binary"
"""Entries of both sides; rows that prove nothing have no key. See scrub.codec.kv.entries."""

ENTRY_ARROW_SCHEMA = arrow_schema(ENTRY_SCHEMA)
_EVERY_ROW = np.empty(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class PairSpec:
    """What a task must know of a table; plain values that travel to executors."""

    table: KvTable
    indexes: tuple[str, ...]  # their positions are the slots
    salt: Salt
    bucket_bits: int
    limit: int  # bad pairs to name, of each task
    by_row: bool  # whether pairs of a row come together, and must be read together
    sorted: bool = False  # whether pairs of a split must come in the order of their keys


class PairScan:
    """What a task adds up: the entries of both sides, for each index and bucket."""

    def __init__(self, spec: PairSpec) -> None:
        verify_digest()
        self.spec = spec
        self.layout, self.wanted = layout_and_indexes(spec)
        self.sums = {
            slot: np.zeros((1 << spec.bucket_bits, 4), dtype=np.uint64)
            for slot in range(len(spec.indexes))
        }

    def add(self, batch: pa.RecordBatch, report: Report) -> None:
        """Judge a batch of pairs, and add up its entries."""
        if self.spec.by_row:
            batch, copies = split_copies(batch)
            self._judge_copies(copies, report)
        found = _entries(self.layout, self.wanted, batch)
        report.add(self.layout, found, batch)
        for slot, number in enumerate(self.wanted):
            for expected, of_side in ((True, found.expected), (False, found.sides == ACTUAL)):
                chosen = np.flatnonzero((found.indexes == number) & of_side)
                if len(chosen):
                    self._add_entries(slot, expected, found, chosen)

    def _judge_copies(self, copies: pa.RecordBatch, report: Report) -> None:
        """What is wrong with pairs of a key that already exists, whatever they say."""
        from scrub.codec.kv.judging import judge
        from scrub.codec.kv.pairs import INVALID

        if not copies.num_rows:
            return
        bad = judge(self.layout, copies.column("key"), copies.column("value"))
        report.pairs += copies.num_rows
        report.add_bad(self.layout, bad, copies)
        primary = self.layout.primary(0)
        lost = any(one.verdict == INVALID and one.index == primary for one in bad)
        report.lost = report.lost or lost

    def _add_entries(
        self, slot: int, expected: bool, found: "Entries", chosen: NDArray[np.int64]
    ) -> None:
        keys, values = (c.take(pa.array(chosen)) for c in (found.keys, found.values))
        key, entry = entry_digests(keys, values, self.spec.salt)
        xxh64.add_to_buckets(
            key.first,
            64 - self.spec.bucket_bits,
            _EVERY_ROW,
            entry.first,
            entry.second,
            expected,
            self.sums[slot],
        )


def fingerprint_pairs(
    batches: Iterator[pa.RecordBatch], spec: PairSpec
) -> Iterator[pa.RecordBatch]:
    """Sums for each index and a report on what is wrong with pairs, as SUMS_SCHEMA."""
    scan, report = PairScan(spec), Report(spec.limit)
    for batch in whole_rows(batches) if spec.by_row else batches:
        scan.add(batch, report)
    yield sums_batch(pieces(scan.sums), [(0, report.as_json())])


def bad_pairs(batches: Iterator[pa.RecordBatch], spec: PairSpec) -> Iterator[pa.RecordBatch]:
    """Some pairs that are wrong by themselves, as BAD_SCHEMA."""
    scan, room = PairScan(spec), spec.limit
    for batch in whole_rows(batches) if spec.by_row else batches:
        report = Report(room)
        scan.add(batch, report)
        room -= len(report.shown)
        if report.shown:
            yield report.as_rows()


def entries_in_buckets(
    batches: Iterator[pa.RecordBatch],
    spec: PairSpec,
    wanted_buckets: Mapping[int, NDArray[np.uint8]],
) -> Iterator[pa.RecordBatch]:
    """The entries of both sides in the chosen buckets of each slot, as ENTRY_SCHEMA."""
    verify_digest()
    layout, wanted = layout_and_indexes(spec)
    for batch in whole_rows(batches) if spec.by_row else batches:
        found = _entries(layout, wanted, split_copies(batch)[0] if spec.by_row else batch)
        for slot, number in enumerate(wanted):
            if slot not in wanted_buckets:
                continue
            chosen = np.flatnonzero(found.indexes == number)
            if not len(chosen):
                continue
            key = key_digests(found.keys.take(pa.array(chosen)), spec.salt)
            shift = 64 - spec.bucket_bits
            in_bucket = xxh64.rows_in_buckets(key.first, shift, wanted_buckets[slot])
            kept = chosen[in_bucket | (found.sides[chosen] >= DOUBTFUL)]
            if len(kept):
                yield _as_rows(slot, found, kept)


def whole_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches cut so that pairs with the same `row_key` are never apart."""
    held: pa.Table | None = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        together = pa.concat_tables([held, table]) if held is not None else table
        rows = together.column("row_key")
        last, cut = rows[-1], together.num_rows
        while cut > 0 and rows[cut - 1] == last:
            cut -= 1
        held = together.slice(cut)
        if cut:
            yield from together.slice(0, cut).combine_chunks().to_batches()
    if held is not None and held.num_rows:
        yield from held.combine_chunks().to_batches()


def split_copies(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Pairs in order of keys, the first of each key, and the others."""
    keys = batch.column("key")
    same = pc.equal(keys.slice(1), keys.slice(0, max(len(keys) - 1, 0)))
    if not pc.any(same, min_count=0).as_py():
        return batch, batch.slice(0, 0)
    copies = pa.concat_arrays([pa.array([False]), same])
    return batch.filter(pc.invert(copies)), batch.filter(copies)


def layout_and_indexes(spec: PairSpec) -> "tuple[Layout, list[int]]":
    """The layout of a table, and the number in it of each slot's index."""
    from scrub.codec.kv.layouts import layout_of

    layout = layout_of([spec.table])
    return layout, [layout.secondary(0, name) for name in spec.indexes]


def _entries(layout: "Layout", wanted: Sequence[int], batch: pa.RecordBatch) -> "Entries":
    from scrub.codec.kv.entries import entries

    return entries(layout, wanted, batch.column("key"), batch.column("value"))


def key_digests(keys: pa.Array, salt: Salt) -> RowDigests:
    """Digests of entries' keys, which tell their buckets."""
    return RowDigests.start(len(keys), salt).fold([keys.cast(pa.binary())], salt)


def entry_digests(keys: pa.Array, values: pa.Array, salt: Salt) -> tuple[RowDigests, RowDigests]:
    """Digests of entries' keys, and of the whole entries."""
    key = key_digests(keys, salt)
    return key, key.fold([values.cast(pa.binary())], salt)


def _as_rows(slot: int, found: "Entries", kept: NDArray[np.int64]) -> pa.RecordBatch:
    columns = [
        pa.array(np.full(len(kept), slot, dtype=np.int32)),
        pa.array(found.sides[kept].astype(np.int32)),
        *(c.take(pa.array(kept)).cast(pa.binary()) for c in (found.keys, found.values, found.rows)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ENTRY_ARROW_SCHEMA)
