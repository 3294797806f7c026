# SPDX-License-Identifier: Apache-2.0
"""What was heard of a change source: what makes changes that come again or late harmless."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from scrub.model.stream.changes import Position, Positions
from scrub.model.stream.keys import Key


@dataclass(frozen=True, slots=True)
class InOrder:
    """Of a source that delivers changes in the order of their positions."""

    marks: Positions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last change of a key that was applied; of a deletion it is the tombstone."""

    position: Position
    is_deletion: bool


@dataclass(frozen=True, slots=True)
class Window:
    """The last arrivals in a partition without order."""

    arrivals: int = 0
    horizon: Position | None = None  # what is below it and has not arrived is late
    recent: tuple[tuple[int, Position], ...] = ()  # arrivals above all before, by number
    last: Mapping[Key, LastChange] = field(
        default_factory=dict
    )  # of keys changed above the horizon


@dataclass(frozen=True, slots=True)
class OutOfOrder:
    """Of a source that delivers a change at most `disorder` changes after one that follows it."""

    disorder: int
    windows: Mapping[str, Window] = field(default_factory=dict)


Heard: TypeAlias = InOrder | OutOfOrder
