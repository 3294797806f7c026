# SPDX-License-Identifier: Apache-2.0
"""Judging batches of pairs: which of them are not the canonical spelling of anything."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from scrub.codec.kv.batches import batch_of, longer, room_for
from scrub.codec.kv.compiled import Fault, Numbers, allocating, compiled, loop
from scrub.codec.kv.faults import Code
from scrub.codec.kv.held_rows import Room
from scrub.codec.kv.layouts import Layout, Tables
from scrub.codec.kv.pairs import FINE, Batch, examine

# What is reported of a pair that is not fine
PAIR, VERDICT, INDEX, FAULT, POSITION, IN_VALUE = range(6)


@dataclass(frozen=True, slots=True)
class BadPair:
    """A pair that is not what it should be; `index` is a number of the layout, or None."""

    number: int
    verdict: int
    index: int | None
    code: Code
    position: int
    in_value: bool

    @property
    def expected(self) -> str:
        return self.code.text


def judge(layout: Layout, keys: pa.Array, values: pa.Array) -> list[BadPair]:
    """The pairs of a batch that are not the canonical spelling of a row or an entry."""
    batch = batch_of(keys, values)
    found = _judge(batch, layout.numbers(), room_for(layout, batch))
    return [bad_pair(row) for row in found.tolist()]


def bad_pair(row: Sequence[int]) -> BadPair:
    """A pair that was noted."""
    number, verdict, index, code, position, in_value = row
    return BadPair(
        number, verdict, index if index >= 0 else None, Code(code), position, bool(in_value)
    )


@allocating
def noted(
    bad: Numbers, count: int, pair: int, verdict: int, index: int, fault: Fault, in_value: bool
) -> Numbers:
    """The bad pairs with one more."""
    if count == len(bad):
        bad = longer(bad)
    bad[count, PAIR] = pair
    bad[count, VERDICT] = verdict
    bad[count, INDEX] = index
    bad[count, FAULT] = fault[0]
    bad[count, POSITION] = fault[1]
    bad[count, IN_VALUE] = in_value
    return bad


@compiled
def _next_bad(batch: Batch, pair: int, tables: Tables, room: Room) -> tuple[int, int, int, bool]:
    """The first bad pair from here on, with verdict, index and if the value is at fault."""
    pairs = len(batch.key_offsets) - 1
    while pair < pairs:
        verdict, index, _, in_value, _ = examine(batch, pair, 0, tables, room)
        if verdict != FINE:
            return pair, verdict, index, in_value
        pair += 1
    return pair, FINE, -1, False


@loop
def _judge(batch: Batch, tables: Tables, room: Room) -> Numbers:
    bad, count = np.empty((0, 6), dtype=np.int64), 0
    pair, verdict, index, in_value = _next_bad(batch, 0, tables, room)
    while verdict != FINE:
        bad = noted(bad, count, pair, verdict, index, room.fault, in_value)
        count += 1
        pair, verdict, index, in_value = _next_bad(batch, pair + 1, tables, room)
    return bad[:count]
