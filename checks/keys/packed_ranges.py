# SPDX-License-Identifier: Apache-2.0
"""Digests of keys brought together by range: few large rows go through Spark's shuffle.

Tasks divide the digests of their rows into ranges by leading bits, and return each range as one
binary row. Spark brings the rows of a range into one partition, where a second task sees every
occurrence of a key. The number of ranges follows from the number of rows, so that neither task
holds more than its share; a key that very many rows have is not sent again and again. Nothing but
the second tasks' findings reaches the driver, and of these not more than fit.

The first half runs in Spark's Python workers.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.keys.range_places import places_of
from checks.keys.split_rows import Given, Key, SplitRows, batches_of, in_tasks, key_digests
from checks.task_rows import as_batch
from checks.work import Batches, SecondTasks, Work
from scrub.codec.digest import RowDigests, Salt, verify_digest
from scrub.codec.lazily import digest_sets
from scrub.codec.words import Pairs
from scrub.stores.unreadable import UnreadableSplit

RANGE_KEYS = 4 << 20  # about as many as the second task of a range holds
CHUNK_KEYS = 1 << 20  # as many as the first task gathers before it divides them
PIECE_KEYS = 1 << 14  # as many as a row holds: Java's collector takes trouble over large arrays

PACKED_SCHEMA = "place int, key int, side int, digests binary, report string"
"""Digests of one range of one key, `side` telling whose; or, with `key` -1, a report on a split."""
REPORT = -1

SecondTask = Callable[[Iterator[pa.RecordBatch], int], Iterator[pa.RecordBatch]]
"""Given whole ranges as PACKED_SCHEMA, and how many keys it may return for each range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """What first tasks do: which keys of which side's rows they divide, and how finely."""

    sides: tuple[SplitRows, ...]
    keys: tuple[tuple[Key, ...], ...]  # by side
    salt: Salt
    ranges: int
    places: tuple[int, ...]  # for each key and range; see `checks.keys.range_places`
    pairs: tuple[bool, ...]  # by side: whether both digests are needed, or the first alone
    times_max: int  # a key that many rows have is sent at least so often, and hardly more


def brought_together(
    cores: int,
    sides: Sequence[SplitRows],
    keys: Sequence[Sequence[Key]],
    salt: Salt,
    second: SecondTask,
    schema: str,
    *,
    keys_max: int,
    pairs: bool,
    times_max: int = 1,
) -> Work:
    """What second tasks yield; of a key's digests they return all if these are at most so many.

    Once tells that a key is there; twice, that it is repeated.
    """
    rows = sum(side.rows_about for side in sides)
    ranges = max(cores, -(-rows // RANGE_KEYS))
    partitions = ranges * max(map(len, keys))
    packed = in_ranges(
        cores,
        Divided(
            sides=tuple(sides),
            keys=tuple(map(tuple, keys)),
            salt=salt,
            ranges=ranges,
            places=places_of(partitions),
            pairs=(pairs,) * len(sides),
            times_max=times_max,
        ),
    )
    # Digests are even: a range has about its share of them, and hardly ever twice as many.
    range_keys_max = 2 * -(-keys_max // ranges)

    def run(batches: Batches) -> Batches:
        yield from second(batches, range_keys_max)

    return replace(
        packed,
        second=SecondTasks(place=("place",), partitions=partitions, task=run, schema=schema),
    )


def in_ranges(cores: int, divided: Divided) -> Work:
    """What first tasks return, as PACKED_SCHEMA."""
    task = partial(divide, divided=divided)
    return Work(given=in_tasks(cores, *divided.sides), task=task, schema=PACKED_SCHEMA)


def divide(given: Given, divided: Divided) -> Iterator[pa.RecordBatch]:
    """The digests of the splits' keys by range, and a report on each split."""
    verify_digest()
    gathered = {
        (side, number): _Gathered(divided, side, number)
        for side, keys in enumerate(divided.keys)
        for number in range(len(keys))
    }
    reports: list[tuple[object, ...]] = []
    for numbered in given:
        side = numbered.relation
        keys, rows = divided.keys[side], 0
        columns = [column for key in keys for column in key]
        error = None
        try:
            for batch in batches_of(numbered.split, divided.sides[side], columns):
                rows += batch.num_rows
                for number, key in enumerate(keys):
                    digests = key_digests(batch, key, divided.salt).digests
                    yield from gathered[side, number].add(digests)
        except UnreadableSplit as unreadable:
            # What was gathered of it stays: who names violations does not read it again.
            rows, error = 0, unreadable.reason
        report = json.dumps({"number": numbered.number, "rows": rows, "error": error})
        reports.append((divided.places[0], REPORT, side, None, report))
    for of_key in gathered.values():
        yield from of_key.flush()
    yield as_batch(reports, PACKED_SCHEMA)


class _Gathered:
    """Digests of one key that a task has gathered and not returned yet."""

    def __init__(self, divided: Divided, side: int, number: int) -> None:
        self.divided, self.side, self.number = divided, side, number
        self.digests: list[RowDigests] = []
        self.rows = 0
        self.recent = digest_sets.nothing_recent()

    def add(self, digests: RowDigests) -> Iterator[pa.RecordBatch]:
        kept = digest_sets.without_recent(
            self.recent, digests.first, digests.second, self.divided.times_max
        )
        self.digests.append(RowDigests(*kept))
        self.rows += len(kept[0])
        if self.rows >= CHUNK_KEYS:
            yield from self.flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        if not self.rows:
            return
        first = np.concatenate([one.first for one in self.digests])
        ends = digest_sets.range_ends(first, self.divided.ranges)
        if self.divided.pairs[self.side]:
            second = np.concatenate([one.second for one in self.digests])
            laid_out = digest_sets.pairs_by_range(first, second, ends)
        else:
            laid_out = digest_sets.firsts_by_range(first, ends)
        self.digests, self.rows = [], 0
        places = self.divided.places[self.number * self.divided.ranges :]
        begin = 0
        for place, end in zip(places, ends.tolist(), strict=False):
            for start in range(begin, end, PIECE_KEYS):
                octets = laid_out[start : min(start + PIECE_KEYS, end)].tobytes()
                yield as_batch([(place, self.number, self.side, octets, None)], PACKED_SCHEMA)
            begin = end


Words = NDArray[np.uint64]
Gathering = Mapping[tuple[int, int], list[Words]]
"""What a second task was given: digests by key and side."""


def words_in(some: Sequence[Words]) -> Words:
    """Digests that travelled in pieces, as one array; there may be none."""
    return np.concatenate([np.empty(0, dtype=np.uint64), *some])


def pairs_in(some: Sequence[Words]) -> Pairs:
    """The same as the pairs that they are of."""
    return words_in(some).reshape(-1, 2)


def unpacked(batches: Iterable[pa.RecordBatch]) -> tuple[Gathering, list[tuple[int, str]]]:
    """The digests of a partition by key and side, and the reports that came with them."""
    gathering: dict[tuple[int, int], list[Words]] = {}
    reports: list[tuple[int, str]] = []
    for batch in batches:
        keys, sides = batch.column("key").to_pylist(), batch.column("side").to_pylist()
        for row, of in enumerate(zip(keys, sides, strict=True)):
            if of[0] == REPORT:
                reports.append((of[1], batch.column("report")[row].as_py()))
            else:
                octets = batch.column("digests")[row].as_buffer()
                gathering.setdefault(of, []).append(np.frombuffer(octets, dtype=np.uint64))
    return gathering, reports
