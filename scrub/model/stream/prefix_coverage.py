# SPDX-License-Identifier: Apache-2.0
"""Snapshots that show all changes up to a position: versions of Delta, exports with a position."""

from collections.abc import Iterable

from scrub.model.stream.changes import Change, Position
from scrub.model.stream.coverage import HistorySnapshot, MustCover

_BEFORE_ALL: Position = ()


class PrefixCoverage:
    """A snapshot shows a change if its position is at or below the snapshot's."""

    def covers(self, snapshot: HistorySnapshot, change: Change) -> bool:
        return change.position <= snapshot.ceiling.get(change.partition, _BEFORE_ALL)

    def with_changes(self, must: MustCover, changes: Iterable[Change]) -> MustCover:
        last = dict(must.positions)
        for change in changes:
            known = last.get(change.partition, _BEFORE_ALL)
            last[change.partition] = max(known, change.position)
        return MustCover(positions=last)

    def meets(self, snapshot: HistorySnapshot, must: MustCover) -> bool:
        return all(
            position <= snapshot.ceiling.get(partition, _BEFORE_ALL)
            for partition, position in must.positions.items()
        )

    def settled(self, must: MustCover, snapshot: HistorySnapshot) -> MustCover:  # noqa: ARG002
        """The same: the next snapshot may be older, and one position takes no room."""
        return must
