# SPDX-License-Identifier: Apache-2.0
"""Where the datums of a row, or of one of its pairs, are while it is read, judged and written.

`spans` says for each slot where its datum is held:
    HELD, HELD_END      the datum, from key or value; -1 when NULL or not there
    PART, PART_END      of a composite the part that came from the value; -1 without
    SOURCE, SOURCE_END  where the column's bytes are in the key; -1 if it is not in the key
    TURNED, PROVEN      whether those bytes are descending, and are known to be canonical
    SUSPECT             1 where key and value disagree, or the value cannot be the column's
"""

from typing import NamedTuple

from scrub.codec.kv.compiled import Fault, Numbers, Octets, inlined

HELD, HELD_END, PART, PART_END, SOURCE, SOURCE_END, TURNED, PROVEN, SUSPECT = range(9)
SPAN = 9


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
        spans[slot, HELD] = spans[slot, PART] = spans[slot, SOURCE] = -1
        spans[slot, SUSPECT] = 0


@inlined
def effective(spans: Numbers, slot: int) -> tuple[int, int]:
    """Where a column's datum is: a composite's part from the value tells more than its key."""
    if spans[slot, PART] >= 0:
        return spans[slot, PART], spans[slot, PART_END]
    return spans[slot, HELD], spans[slot, HELD_END]
