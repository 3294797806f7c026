# SPDX-License-Identifier: Apache-2.0
"""Small states, snapshots and changes for tests of single steps."""

from collections.abc import Sequence
from typing import Any

from repair.streaming.beginning import Start, first_state
from repair.streaming.cutting import cut
from scrub.model.stream.changes import Change, Changes, Values
from scrub.model.stream.coverage import NOTHING, HistorySnapshot
from scrub.model.stream.epochs import Part
from scrub.model.stream.heard import Heard, InOrder
from scrub.model.stream.keys import Key
from scrub.model.stream.state import StreamIdentity, StreamState

IDENTITY = StreamIdentity(table="t", source="s", index="i")


def a_state(bounds: Sequence[Key] = (), heard: Heard | None = None, rows: int = 0) -> StreamState:
    start = Start(heard=heard or InOrder(), resume="", before=NOTHING)
    return first_state(IDENTITY, cut(bounds, rows), start)


def shows(position: int) -> HistorySnapshot:
    """A snapshot that shows every change up to a position."""
    return HistorySnapshot(str(position), {"": (position,)})


def put(position: int, key: int, *values: Any, removed: int | None = None) -> Change:
    gone = None if removed is None else (removed,)
    return Change(position=(position,), put=(key,), values=values, removed=gone)


def delete(position: int, key: int) -> Change:
    return Change(position=(position,), removed=(key,))


def truncate(position: int) -> Change:
    return Change(position=(position,), is_truncate=True)


def heard(*changes: Change) -> Changes:
    return Changes(changes=changes)


def part(
    *rows: tuple[Key, Values], vnode: int = 0, after: Key | None = None, is_end: bool = False
) -> Part:
    last = rows[-1][0] if rows else None
    return Part(vnode=vnode, after=after, last=last, is_end=is_end, rows=len(rows), data=list(rows))
