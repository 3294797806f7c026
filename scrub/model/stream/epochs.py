# SPDX-License-Identifier: Apache-2.0
"""What one epoch reads, what it decides about each change, and what it writes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from scrub.model.stream.changes import Change, Values
from scrub.model.stream.keys import Key, Slice, Stretch
from scrub.model.stream.state import StreamState


class Verdict(StrEnum):
    """What becomes of a change at the barrier."""

    APPLIED = "applied"
    COVERED = "covered"  # the snapshot that its place was read at shows it
    DROPPED = "dropped"  # its place was not passed: a later snapshot will show it
    DUPLICATE = "duplicate"  # it came before, or something after it did
    LATE = "late"  # it came later than the source promises, and is in the quarantine


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPart:
    """Rows of a vnode that are to be read next."""

    vnode: int  # its place among the vnodes of the state
    slice: Slice
    after: Key | None
    rows_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows of a vnode as a snapshot shows them, in the order of keys."""

    vnode: int
    after: Key | None  # the rows are behind it
    last: Key | None  # the last of the rows; None if there are none
    is_end: bool  # no row of the slice is behind them
    rows: int
    data: Any = None  # the rows themselves, for the sink only


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """Rows of some keys as a snapshot shows them, as far as they are there."""

    keys: tuple[Key, ...] = ()
    rows: int = 0
    data: Any = None  # the rows themselves, for the sink only


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What an epoch reads, and the vnodes that the snapshot is too old for."""

    wanted: tuple[WantedPart, ...] = ()
    again: tuple[Key, ...] = ()
    waiting: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Put:
    """A row that is there now.

    Values that the change left out are those of the row that was at `take_from` before.
    """

    values: Values
    take_from: Key


@dataclass(frozen=True, slots=True)
class Cleared:
    """Keys whose entries are all removed."""

    slice: Slice
    stretch: Stretch


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """What an epoch writes, in this order: what was read, what is cleared, then the changes."""

    parts: tuple[Part | Reread, ...] = ()  # nothing is in the places of these rows
    cleared: tuple[Cleared, ...] = ()
    changes: Mapping[Key, Put | None] = field(default_factory=dict)  # None: the row is gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """One epoch after its barrier: the state that it leads to, and what is written with it."""

    state: StreamState
    writes: Writes
    counts: Counter[Verdict] = field(default_factory=Counter)
    late: tuple[Change, ...] = ()
