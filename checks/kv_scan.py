# SPDX-License-Identifier: Apache-2.0
"""What tasks do with pairs: judge every one, and add up the entries they ask for and hold.

An entry of the key-value layout is its key's bytes and its value's tag and data; so the index check
is the one of other tables, over two columns. A pair that reads well but is spelled wrongly counts
as what it should be: the physical check reports it, and it is not missing.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.kv_order import OUT_OF_ORDER
from checks.native_fingerprint import as_batch, pieces
from scrub.codec import xxh64
from scrub.codec.digest import RowDigests, Salt, verify_digest
from scrub.model.kv import KvTable

if TYPE_CHECKING:
    from scrub.codec.kv.entries import Entries
    from scrub.codec.kv.judging import BadPair
    from scrub.codec.kv.layouts import Layout

ENTRY_SCHEMA = "slot int, expected boolean, key binary, value binary, row binary"

ENTRY_ARROW_SCHEMA = pa.schema(
    [
        ("slot", pa.int32()),
        ("expected", pa.bool_()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("row", pa.binary()),
    ]
)
_EVERY_ROW = np.empty(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class KvSpec:
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

    def __init__(self, spec: KvSpec) -> None:
        verify_digest()
        self.spec = spec
        self.layout, self.wanted = layout_and_indexes(spec)
        self.sums = {
            slot: np.zeros((1 << spec.bucket_bits, 4), dtype=np.uint64)
            for slot in range(len(spec.indexes))
        }

    def add(self, batch: pa.RecordBatch, report: "Report") -> None:
        """Judge a batch of pairs, and add up its entries."""
        found = _entries(self.layout, self.wanted, batch)
        report.add(self.layout, found, batch)
        for slot, number in enumerate(self.wanted):
            for expected in (True, False):
                chosen = np.flatnonzero((found.indexes == number) & (found.expected == expected))
                if len(chosen):
                    self._add_entries(slot, expected, found, chosen)

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


def fingerprint_pairs(batches: Iterator[pa.RecordBatch], spec: KvSpec) -> Iterator[pa.RecordBatch]:
    """Sums for each index and a report on what is wrong with pairs, as SUMS_SCHEMA."""
    scan, report = PairScan(spec), Report(spec.limit)
    for batch in whole_rows(batches) if spec.by_row else batches:
        scan.add(batch, report)
    yield as_batch(pieces(scan.sums), [(0, report.as_json())])


def entries_in_buckets(
    batches: Iterator[pa.RecordBatch], spec: KvSpec, wanted_buckets: Mapping[int, NDArray[np.uint8]]
) -> Iterator[pa.RecordBatch]:
    """The entries of both sides in the chosen buckets of each slot, as ENTRY_SCHEMA."""
    verify_digest()
    layout, wanted = layout_and_indexes(spec)
    for batch in whole_rows(batches) if spec.by_row else batches:
        found = _entries(layout, wanted, batch)
        for slot, number in enumerate(wanted):
            if slot not in wanted_buckets:
                continue
            chosen = np.flatnonzero(found.indexes == number)
            if not len(chosen):
                continue
            key = key_digests(found.keys.take(pa.array(chosen)), spec.salt)
            shift = 64 - spec.bucket_bits
            kept = chosen[xxh64.rows_in_buckets(key.first, shift, wanted_buckets[slot])]
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


def layout_and_indexes(spec: KvSpec) -> "tuple[Layout, list[int]]":
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
        pa.array(found.expected[kept]),
        *(c.take(pa.array(kept)).cast(pa.binary()) for c in (found.keys, found.values, found.rows)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ENTRY_ARROW_SCHEMA)


@dataclass(slots=True)
class Report:
    """What a task found wrong with single pairs: how many of each kind and where, and some."""

    limit: int
    pairs: int = 0
    lost: bool = False
    bytes_read: int = 0
    counts: Counter[tuple[int, int]] = field(default_factory=Counter)  # verdict and index
    shown: list[dict[str, Any]] = field(default_factory=list)

    def add(self, layout: "Layout", found: "Entries", batch: pa.RecordBatch) -> None:
        self.pairs += batch.num_rows
        self.lost = self.lost or found.lost
        for bad in found.bad:
            self.counts[bad.verdict, -1 if bad.index is None else bad.index] += 1
            if len(self.shown) < self.limit:
                self.shown.append(_shown(layout, bad, batch))

    def add_misplaced(self, batch: pa.RecordBatch, misplaced: Sequence[tuple[int, bytes]]) -> None:
        """Pairs that come behind a key they should come before."""
        self.counts[OUT_OF_ORDER, -1] += len(misplaced)
        for number, before in misplaced[: max(self.limit - len(self.shown), 0)]:
            shown = {"verdict": OUT_OF_ORDER, "before": before.hex()}
            self.shown.append(shown | _hex(batch, number))

    def as_json(self) -> str:
        return json.dumps(
            {
                "pairs": self.pairs,
                "lost": self.lost,
                "bytes": self.bytes_read,
                "counts": [[*of, count] for of, count in self.counts.items() if count],
                "shown": self.shown,
            }
        )


def _shown(layout: "Layout", bad: "BadPair", batch: pa.RecordBatch) -> dict[str, Any]:
    return {
        "verdict": bad.verdict,
        "index": None if bad.index is None else layout.names[bad.index],
        "expected": bad.expected,
        "position": bad.position,
        "in_value": bad.in_value,
        **_hex(batch, bad.number),
    }


def _hex(batch: pa.RecordBatch, number: int) -> dict[str, str | None]:
    key, value = (batch.column(name)[number].as_py() for name in ("key", "value"))
    return {"key": key.hex(), "value": None if value is None else value.hex()}
