# SPDX-License-Identifier: Apache-2.0
"""Which changes a snapshot shows: the source is asked, positions are never compared with a guess.

In PostgreSQL a commit is in the log before snapshots see it, for long if a synchronous standby is
behind. So "everything up to the log's position before the snapshot" is not what a snapshot shows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from scrub.model.stream.changes import Change, Positions


@dataclass(frozen=True, slots=True)
class HistorySnapshot:
    """A snapshot that history is read at."""

    token: str  # what the source needs to tell what it shows
    ceiling: Positions = field(default_factory=dict)  # it shows nothing that comes after this


@dataclass(frozen=True, slots=True)
class MustCover:
    """What a snapshot has to show before more of a vnode may be read at it.

    A source whose snapshots show a prefix of its changes needs one position for each partition,
    others need the transactions.
    """

    positions: Positions = field(default_factory=dict)
    transactions: frozenset[int] = frozenset()
    snapshot: str | None = None  # everything that the snapshot with this token shows


NOTHING = MustCover()


class Coverage(Protocol):
    """What a source knows about its snapshots and its changes. Methods are pure."""

    def covers(self, snapshot: HistorySnapshot, change: Change) -> bool:
        """Whether the snapshot shows what this change did."""

    def with_changes(self, must: MustCover, changes: Iterable[Change]) -> MustCover:
        """The demand, and these changes with it."""

    def meets(self, snapshot: HistorySnapshot, must: MustCover) -> bool:
        """Whether the snapshot shows everything that is demanded."""

    def settled(self, must: MustCover, snapshot: HistorySnapshot) -> MustCover:
        """The demand without what every snapshot from this one on shows; itself if that is all."""
