# SPDX-License-Identifier: Apache-2.0
"""Damages pairs at random and holds every verdict of the compiled codec against the reference's.

Rows of random tables are written once; then batches of their pairs are damaged, judged at once, and
every pair is judged again by the reference.

    python -m tests.scrub.codec.kv.fuzz --pairs 1000000 --seed 1
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from scrub.codec.kv import entries, judging, pairs
from scrub.model.kv import KvTable
from tests.scrub.codec.kv import fast
from tests.scrub.codec.kv.reference_pairs import (
    CHECKSUM_LENGTH,
    Pair,
    classify_pair,
    encode_mvcc,
    encode_value,
)
from tests.scrub.codec.kv.strategies import (
    ENTRIES,
    MEANINGFUL_BYTES,
    all_pairs,
    respellings,
    rows,
    tables,
)

BATCH = 250


@dataclass(frozen=True)
class Sample:
    """A table and pairs of it, in order and without checksums."""

    table: KvTable
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Disagreement(Exception):
    table: KvTable
    key: bytes
    value: bytes
    found: str
    expected: str

    def __str__(self) -> str:
        return (
            f"compiled: {self.found}\nreference: {self.expected}\ntable: {self.table}\n"
            f"key: {self.key.hex()}\nvalue: {self.value.hex()}"
        )


def samples(number: int, of: int) -> list[Sample]:
    """The same for the same numbers, so that a campaign can be repeated."""
    found: list[Sample] = []

    @seed(number)
    @settings(
        max_examples=of,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(tables().flatmap(lambda one: st.tuples(st.just(one), st.lists(rows(one), min_size=3))))
    def collect(sample: tuple[KvTable, list[dict[int, object]]]) -> None:
        table, some_rows = sample
        some = [pair for row in some_rows for pair in all_pairs(table, row)]
        found.append(Sample(table, tuple(dict.fromkeys(some))))

    collect()
    return found


# ----------------------------------------------------------------------------- damage


class Damage:
    """One of many ways to spoil bytes, by chance."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._edits: list[Callable[[bytes, bytes, int], bytes]] = [
            *[self._respell] * 4,
            *[self._append] * 2,
            self._flip,
            self._overwrite,
            self._cut,
            self._insert,
            self._delete,
            self._repeat,
            self._splice,
        ]

    def pair(self, pair: Pair, other: Pair) -> Pair:
        """The checksum is mostly that of the damaged pair, or nothing else would be looked at."""
        chance = self._chance
        key, data = pair
        stored = encode_value(key, data)[:CHECKSUM_LENGTH]
        for _ in range(chance.choice((1, 1, 1, 1, 2, 3))):
            match chance.randrange(8):
                case 0 | 1 | 2:
                    key = self._edit(key, other[0], first=2)
                case 3:
                    data = other[1]
                case _:
                    data = self._edit(data, other[1], first=1)
        luck = chance.random()
        value = encode_value(key, data)
        if luck < 0.1:
            value = bytes(CHECKSUM_LENGTH) + data
        elif luck < 0.15:
            value = stored + data
        elif luck < 0.2:
            header = chance.randbytes(chance.randrange(4))
            value = encode_mvcc(header, value)
            if luck < 0.17:
                value = self._edit(value, stored, first=0)
        return key, value

    def _edit(self, data: bytes, other: bytes, first: int) -> bytes:
        chance = self._chance
        if chance.random() < 0.1:
            first = 0
        near = chance.random() < 0.5
        place = first + chance.randrange(4) if near else chance.randint(first, len(data) + first)
        place = min(place, max(len(data) - 1, 0))
        return chance.choice(self._edits)(data, other, place) if data else self._run()

    def _run(self) -> bytes:
        chance = self._chance
        if chance.random() < 0.5:
            return bytes([chance.choice(MEANINGFUL_BYTES)])
        return chance.randbytes(chance.randint(1, 3))

    def _respell(self, data: bytes, _: bytes, place: int) -> bytes:
        spelled = self._chance.choice(respellings(data[place]))
        return data[:place] + spelled + data[place + 1 :]

    def _append(self, data: bytes, _: bytes, __: int) -> bytes:
        return data + self._chance.choice(ENTRIES)

    def _flip(self, data: bytes, _: bytes, place: int) -> bytes:
        flipped = data[place] ^ 1 << self._chance.randrange(8)
        return data[:place] + bytes([flipped]) + data[place + 1 :]

    def _overwrite(self, data: bytes, _: bytes, place: int) -> bytes:
        run = self._run()
        return data[:place] + run + data[place + len(run) :]

    def _cut(self, data: bytes, _: bytes, place: int) -> bytes:
        return data[:place]

    def _insert(self, data: bytes, _: bytes, place: int) -> bytes:
        return data[:place] + self._run() + data[place:]

    def _delete(self, data: bytes, _: bytes, place: int) -> bytes:
        return data[:place] + data[place + self._chance.randint(1, 3) :]

    def _repeat(self, data: bytes, _: bytes, place: int) -> bytes:
        end = place + self._chance.randint(1, 9)
        return data[:end] + data[place:end] * self._chance.randint(1, 4) + data[end:]

    def _splice(self, data: bytes, other: bytes, place: int) -> bytes:
        return data[:place] + other[self._chance.randint(0, len(other)) :]


# ----------------------------------------------------------------------------- comparing


def compare(table: KvTable, stored: Sequence[Pair]) -> Counter[str]:
    """The number of each verdict, if all of them are the reference's."""
    bad = fast.judge(table, stored)
    found: list[str | None] = [None] * len(stored)
    for one in bad:
        found[one.number] = fast.VERDICTS[one.verdict]
        source = stored[one.number][1 if one.in_value else 0]
        if not (0 <= one.position <= len(source) and one.expected):
            raise Disagreement(
                table,
                *stored[one.number],
                found=str(one),
                expected="a place and what belongs there",
            )
    for (key, value), verdict in zip(stored, found, strict=True):
        expected = classify_pair(table, key, value)
        if verdict != expected:
            raise Disagreement(table, key, value, str(verdict), str(expected))
    compare_with_entries(table, stored, bad)
    return Counter(str(verdict) for verdict in found)


def compare_with_entries(
    table: KvTable, stored: Sequence[Pair], bad: Sequence[judging.BadPair]
) -> None:
    """Reading pairs for their entries, whole rows at a time, must find the same faults."""
    layout = fast.layout_for(table)
    wanted = [layout.secondary(0, index.name) for index in table.indexes]
    read = entries.entries(layout, wanted, *fast.arrays_of(stored))
    again = [one for one in read.bad if one.verdict != pairs.MISSING]
    for one, other in zip(bad, again, strict=False):
        if one != other:
            raise Disagreement(table, *stored[one.number], str(other), str(one))
    if len(bad) != len(again):
        raise Disagreement(table, b"", b"", f"{len(again)} bad pairs", f"{len(bad)} of them")


def campaign(number: int, pairs_to_try: int) -> Iterator[Counter[str]]:
    """The verdicts of one batch after the other."""
    chance = random.Random(number)
    damage = Damage(chance)
    some = samples(number, of=max(20, min(400, pairs_to_try // BATCH)))
    while pairs_to_try > 0:
        sample = chance.choice(some)
        size = min(BATCH, pairs_to_try)
        stored = [
            damage.pair(chance.choice(sample.pairs), chance.choice(sample.pairs))
            for _ in range(size)
        ]
        yield compare(sample.table, sorted(stored))
        pairs_to_try -= size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    begin = reported = time.monotonic()
    try:
        for verdicts in campaign(arguments.seed, arguments.pairs):
            seen += verdicts
            if time.monotonic() > reported + 5:
                reported = time.monotonic()
                sys.stdout.write(f"{seen.total()} pairs, {dict(seen)}\n")
                sys.stdout.flush()
    except Disagreement as disagreement:
        sys.stdout.write(f"after {seen.total()} pairs with seed {arguments.seed}\n{disagreement}\n")
        return 1
    seconds = time.monotonic() - begin
    sys.stdout.write(f"{seen.total()} pairs in {seconds:.0f} s, all agree: {dict(seen)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
