# SPDX-License-Identifier: Apache-2.0
"""Where the datums of a row, or of one of its pairs, are while it is read, judged and written."""

from typing import NamedTuple

from scrub.codec.kv import field
from scrub.codec.kv.compiled import Cube, Fault, Numbers, Octets, inlined
from scrub.codec.kv.integers import copy_words


class Row(NamedTuple):
    """Datums, one after the other, and where each of them is."""

    held: Octets
    spans: Numbers


class Room(NamedTuple):
    """All that judging a pair needs besides the pair: made once for a batch."""

    row: Row
    out: Octets  # for what a pair should be
    fault: Fault
    composite: Fault  # a fault that counts only if the rest can be read


@inlined
def forget(spans: Numbers) -> None:
    """Start with a row of which nothing is known."""
    for slot in range(len(spans)):
        spans[slot, field.HELD] = spans[slot, field.PART] = spans[slot, field.SOURCE] = -1
        spans[slot, field.SUSPECT] = 0


@inlined
def keep(row: Row, kept: Octets, at: int, placed: Cube, number: int) -> int:
    """Copy a row's datums to where they stay, and note in placed[number] where that is."""
    spans = row.spans
    for slot in range(len(spans)):
        for which in range(field.HELD, field.PART_END, 2):
            if spans[slot, which] >= 0:
                end = copy_words(row.held, spans[slot, which], spans[slot, which + 1], kept, at)
                placed[number, slot, which], placed[number, slot, which + 1] = at, end
                at = end
    return at


@inlined
def effective(spans: Numbers, slot: int) -> tuple[int, int]:
    """Where a column's datum is: a composite's part from the value tells more than its key."""
    if spans[slot, field.PART] >= 0:
        return spans[slot, field.PART], spans[slot, field.PART_END]
    return spans[slot, field.HELD], spans[slot, field.HELD_END]
