# SPDX-License-Identifier: Apache-2.0
"""Which changes are news, in the order that they arrive.

An ordered source needs one high-water mark for each partition. A source without order needs the
last positions of the keys that were changed lately, deletions included, for exactly as long as an
earlier change of the same key may still come.
"""

from collections import deque
from collections.abc import Iterator
from typing import Protocol

from repair.streaming.effects import Effect
from scrub.errors import ScrubError
from scrub.model.stream.changes import Change, Position, Positions
from scrub.model.stream.coverage import HistorySnapshot
from scrub.model.stream.epochs import Verdict
from scrub.model.stream.heard import Heard, InOrder, LastChange, OutOfOrder, Window
from scrub.model.stream.keys import Key


class UnorderedTruncate(ScrubError):
    """A source without order says that a table was emptied, which cannot be put in its place."""


class Hearing(Protocol):
    """What was heard so far; it is asked about each change as it arrives."""

    def arrives(self, change: Change) -> Verdict | None:
        """Take note of a change. DUPLICATE if nothing of it is news."""

    def stale(self, effect: Effect) -> Verdict | None:
        """DUPLICATE or LATE if the key's row is, or may be, newer than this effect."""

    def applied(self, effect: Effect) -> None:
        """Take note of what was applied."""

    def is_past(self, snapshot: HistorySnapshot) -> bool:
        """Whether everything that the snapshot may show has arrived."""

    def heard(self) -> Heard:
        """The same as a value."""


def hearing_of(heard: Heard, heard_to: Positions) -> Hearing:
    """`heard_to` is how far the source itself says that it has come, after the changes."""
    if isinstance(heard, InOrder):
        return HearingInOrder(heard, heard_to)
    return HearingOutOfOrder(heard)


class HearingInOrder:
    """Of an ordered source."""

    def __init__(self, heard: InOrder, heard_to: Positions) -> None:
        self._marks = dict(heard.marks)
        self._heard_to = heard_to

    def arrives(self, change: Change) -> Verdict | None:
        mark = self._marks.get(change.partition)
        if is_below_the_mark(change, mark):
            return Verdict.DUPLICATE
        self._marks[change.partition] = max(change.position, mark or change.position)
        return None

    def stale(self, effect: Effect) -> Verdict | None:  # noqa: ARG002
        return None

    def applied(self, effect: Effect) -> None:
        pass

    def is_past(self, snapshot: HistorySnapshot) -> bool:
        marks = self.heard().marks
        return all(
            partition in marks and marks[partition] >= position
            for partition, position in snapshot.ceiling.items()
        )

    def heard(self) -> InOrder:
        marks = dict(self._marks)
        for partition, position in self._heard_to.items():
            marks[partition] = max(position, marks.get(partition, position))
        return InOrder(marks)


def is_below_the_mark(change: Change, mark: Position | None) -> bool:
    """Whether an ordered source has said this before."""
    return mark is not None and change.position <= mark


class HearingOutOfOrder:
    """Of a source that delivers a change at most `disorder` changes after one that follows it."""

    def __init__(self, heard: OutOfOrder) -> None:
        self._disorder = heard.disorder
        self._partitions = {
            name: _Arrivals(window, heard.disorder) for name, window in heard.windows.items()
        }

    def arrives(self, change: Change) -> Verdict | None:
        if change.is_truncate:
            raise UnorderedTruncate(
                f"the table was truncated at {change.position}, and its source has no order",
                hint="drop the stream and build the index again",
            )
        self._of(change).arrives(change.position)
        return None

    def stale(self, effect: Effect) -> Verdict | None:
        arrivals, position = self._of(effect.change), effect.change.position
        last = arrivals.last.get(effect.key)
        if last is not None and position <= last.position:
            return Verdict.DUPLICATE
        return Verdict.LATE if is_late(position, arrivals.horizon) else None

    def applied(self, effect: Effect) -> None:
        note_last(self._of(effect.change).last, effect)

    def is_past(self, snapshot: HistorySnapshot) -> bool:
        return all(
            self._horizon(partition) >= position for partition, position in snapshot.ceiling.items()
        )

    def heard(self) -> OutOfOrder:
        windows = {name: arrivals.window() for name, arrivals in self._partitions.items()}
        return OutOfOrder(self._disorder, windows)

    def _horizon(self, partition: str) -> Position:
        arrivals = self._partitions.get(partition)
        return () if arrivals is None or arrivals.horizon is None else arrivals.horizon

    def _of(self, change: Change) -> "_Arrivals":
        found = self._partitions.get(change.partition)
        if found is None:
            found = self._partitions[change.partition] = _Arrivals(Window(), self._disorder)
        return found


class _Arrivals:
    """The window of one partition."""

    def __init__(self, window: Window, disorder: int) -> None:
        self.number = window.arrivals
        self.horizon = window.horizon
        self.last = dict(window.last)
        self._recent = deque(window.recent)
        self._disorder = disorder

    def arrives(self, position: Position) -> None:
        self.number += 1
        while self._recent and self._recent[0][0] < self.number - self._disorder:
            left = self._recent.popleft()[1]
            self.horizon = left if self.horizon is None else max(self.horizon, left)
        # Below an earlier arrival, it would leave the window after that one: it changes nothing.
        if not self._recent or position > self._recent[-1][1]:
            self._recent.append((self.number, position))

    def window(self) -> Window:
        last = dict(self._kept())
        return Window(self.number, self.horizon, tuple(self._recent), last)

    def _kept(self) -> Iterator[tuple[Key, LastChange]]:
        for key, change in self.last.items():
            if may_be_followed_by_earlier(change.position, self.horizon):
                yield key, change


def note_last(last: dict[Key, LastChange], effect: Effect) -> None:
    """Keep the position of what was applied, of a deletion as a tombstone."""
    last[effect.key] = LastChange(effect.change.position, effect.is_deletion)


def is_late(position: Position, horizon: Position | None) -> bool:
    """Whether a change comes later than its source promises.

    What is known about its key may be gone, so whether it is news cannot be told.
    """
    return horizon is not None and position < horizon


def may_be_followed_by_earlier(position: Position, horizon: Position | None) -> bool:
    """Whether an earlier change of the same key may still come and not be late."""
    return horizon is None or position > horizon
