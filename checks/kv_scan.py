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

from checks.native_fingerprint import as_batch, pieces
from scrub.codec import xxh64
from scrub.codec.digest import RowDigests, Salt, verify_digest
from scrub.model.kv import KvTable

if TYPE_CHECKING:
    from scrub.codec.kv.batches import BadPair, Entries
    from scrub.codec.kv.layouts import Layout

ENTRY_SCHEMA = "slot int, expected boolean, key binary, value binary, row binary"

_ARROW_SCHEMA = pa.schema(
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


def fingerprint_pairs(batches: Iterator[pa.RecordBatch], spec: KvSpec) -> Iterator[pa.RecordBatch]:
    """Sums for each index and a report on what is wrong with pairs, as SUMS_SCHEMA."""
    verify_digest()
    sums = {
        slot: np.zeros((1 << spec.bucket_bits, 4), dtype=np.uint64)
        for slot in range(len(spec.indexes))
    }
    report = _Report(spec.limit)
    layout, wanted = _layout(spec)
    for batch in whole_rows(batches) if spec.by_row else batches:
        found = _entries(layout, wanted, batch)
        report.add(layout, found, batch)
        for slot, number in enumerate(wanted):
            for expected in (True, False):
                chosen = np.flatnonzero((found.indexes == number) & (found.expected == expected))
                if len(chosen):
                    key, entry = _digests(found, chosen, spec.salt)
                    shift = 64 - spec.bucket_bits
                    xxh64.add_to_buckets(
                        key.first,
                        shift,
                        _EVERY_ROW,
                        entry.first,
                        entry.second,
                        expected,
                        sums[slot],
                    )
    yield as_batch(pieces(sums), [(0, report.as_json())])


def entries_in_buckets(
    batches: Iterator[pa.RecordBatch], spec: KvSpec, wanted_buckets: Mapping[int, NDArray[np.uint8]]
) -> Iterator[pa.RecordBatch]:
    """The entries of both sides in the chosen buckets of each slot, as ENTRY_SCHEMA."""
    verify_digest()
    layout, wanted = _layout(spec)
    for batch in whole_rows(batches) if spec.by_row else batches:
        found = _entries(layout, wanted, batch)
        for slot, number in enumerate(wanted):
            if slot not in wanted_buckets:
                continue
            chosen = np.flatnonzero(found.indexes == number)
            if not len(chosen):
                continue
            key, _ = _digests(found, chosen, spec.salt)
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


def _layout(spec: KvSpec) -> "tuple[Layout, list[int]]":
    from scrub.codec.kv.layouts import layout_of

    layout = layout_of([spec.table])
    return layout, [layout.secondary(0, name) for name in spec.indexes]


def _entries(layout: "Layout", wanted: Sequence[int], batch: pa.RecordBatch) -> "Entries":
    from scrub.codec.kv.batches import entries

    return entries(layout, wanted, batch.column("key"), batch.column("value"))


def _digests(
    found: "Entries", chosen: NDArray[np.int64], salt: Salt
) -> tuple[RowDigests, RowDigests]:
    keys, values = (c.take(pa.array(chosen)).cast(pa.binary()) for c in (found.keys, found.values))
    key = RowDigests.start(len(chosen), salt).fold([keys], salt)
    return key, key.fold([values], salt)


def _as_rows(slot: int, found: "Entries", kept: NDArray[np.int64]) -> pa.RecordBatch:
    columns = [
        pa.array(np.full(len(kept), slot, dtype=np.int32)),
        pa.array(found.expected[kept]),
        *(c.take(pa.array(kept)).cast(pa.binary()) for c in (found.keys, found.values, found.rows)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_ARROW_SCHEMA)


@dataclass(slots=True)
class _Report:
    """What a task found wrong with single pairs: how many of each kind and where, and some."""

    limit: int
    pairs: int = 0
    lost: bool = False
    counts: Counter[tuple[int, int]] = field(default_factory=Counter)  # verdict and index
    shown: list[dict[str, Any]] = field(default_factory=list)

    def add(self, layout: "Layout", found: "Entries", batch: pa.RecordBatch) -> None:
        self.pairs += batch.num_rows
        self.lost = self.lost or found.lost
        for bad in found.bad:
            self.counts[bad.verdict, -1 if bad.index is None else bad.index] += 1
            if len(self.shown) < self.limit:
                self.shown.append(_shown(layout, bad, batch))

    def as_json(self) -> str:
        return json.dumps(
            {
                "pairs": self.pairs,
                "lost": self.lost,
                "counts": [[*of, count] for of, count in self.counts.items()],
                "shown": self.shown,
            }
        )


def _shown(layout: "Layout", bad: "BadPair", batch: pa.RecordBatch) -> dict[str, Any]:
    value = batch.column("value")[bad.number].as_py()
    return {
        "verdict": bad.verdict,
        "index": None if bad.index is None else layout.names[bad.index],
        "in_index": bad.index is not None and layout.names[bad.index] is not None,
        "expected": bad.expected,
        "position": bad.position,
        "in_value": bad.in_value,
        "key": batch.column("key")[bad.number].as_py().hex(),
        "value": None if value is None else value.hex(),
    }
