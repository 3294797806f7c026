# SPDX-License-Identifier: Apache-2.0
"""What becomes of each change at the barrier.

A change to a place whose history was read is applied, unless the history shows it already. A change
to a place that was not read is dropped, because the history will show it: every snapshot that the
vnode is read at from then on must cover it.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from repair.streaming.effects import Effect, effects_of
from repair.streaming.hearing import Hearing
from repair.streaming.passing import has_passed
from repair.streaming.writes import WritesOfAnEpoch
from scrub.model.stream.changes import UNCHANGED, Change
from scrub.model.stream.coverage import NOTHING, Coverage, HistorySnapshot, MustCover
from scrub.model.stream.epochs import Cleared, Verdict
from scrub.model.stream.keys import Key, Stretch
from scrub.model.stream.state import StreamState
from scrub.model.stream.vnodes import Floor, Vnode


class Barrier:
    """The end of an epoch: its parts were read, and now its changes are judged in order."""

    def __init__(
        self,
        state: StreamState,
        hearing: Hearing,
        coverage: Coverage,
        writes: WritesOfAnEpoch,
    ) -> None:
        self.counts: Counter[Verdict] = Counter()
        self.late: list[Change] = []
        self.news: list[Change] = []
        self.rereads = dict(state.rereads)
        self.reread_at = dict(state.reread_at)
        self._vnodes = vnodes = state.vnodes
        self._hearing = hearing
        self._coverage = coverage
        self._writes = writes
        self._lows = [low for vnode in vnodes if (low := vnode.slice.low) is not None]
        self._dropped: dict[int, list[Change]] = {}

    def judge(self, change: Change) -> None:
        verdict = self._hearing.arrives(change)
        if verdict is not None:
            self.counts[verdict] += 1
            return
        self.news.append(change)
        if change.is_truncate:
            self.counts[self._truncate(change)] += 1
        else:
            self._judge_effects(change)

    def vnodes(self) -> tuple[Vnode, ...]:
        """With what was dropped in their must-cover."""
        vnodes = list(self._vnodes)
        for number, changes in self._dropped.items():
            must = with_dropped(vnodes[number].must_cover, changes, self._coverage)
            vnodes[number] = replace(vnodes[number], must_cover=must)
        return tuple(vnodes)

    def snapshots(self) -> Iterator[HistorySnapshot]:
        """Those that changes are compared with, some of them often."""
        yield from self.reread_at.values()
        for vnode in self._vnodes:
            yield from (floor.snapshot for floor in vnode.floors)

    def _judge_effects(self, change: Change) -> None:
        applied: list[Effect] = []
        for effect in effects_of(change):
            verdict = self._verdict(effect)
            if verdict is Verdict.APPLIED and lacks_values(effect, applied):
                verdict = self._read_again(effect)
            self.counts[verdict] += 1
            if verdict is Verdict.APPLIED:
                applied.append(effect)
            elif verdict is Verdict.LATE:
                self.late.append(change)
        self._writes.change(change, applied)

    def _verdict(self, effect: Effect) -> Verdict:
        key, change = effect.key, effect.change
        if key in self.rereads:
            self.rereads[key] = with_dropped(self.rereads[key], [change], self._coverage)
            return Verdict.DROPPED
        number = bisect_right(self._lows, key)
        vnode = self._vnodes[number]
        if not has_passed(vnode, key):
            self._drop(number, change)
            return Verdict.DROPPED
        floor = self.reread_at.get(key) or floor_at(vnode, key)
        if floor is not None and self._coverage.covers(floor, change):
            return Verdict.COVERED
        stale = self._hearing.stale(effect)
        if stale is None:
            self._hearing.applied(effect)
        return stale or Verdict.APPLIED

    def _read_again(self, effect: Effect) -> Verdict:
        """The place counts as not passed until its row was read; until then, nothing is there."""
        self._writes.change(effect.change, [replace(effect, is_deletion=True)])
        self._await_row(effect.key, effect.change)
        return Verdict.DROPPED

    def _await_row(self, key: Key, change: Change) -> None:
        self.rereads[key] = with_dropped(NOTHING, [change], self._coverage)
        self.reread_at.pop(key, None)

    def _drop(self, number: int, change: Change) -> None:
        self._dropped.setdefault(number, []).append(change)

    def _truncate(self, change: Change) -> Verdict:
        """Empty every place that was passed, except where the history shows it already."""
        cleared: list[Cleared] = []
        for number, vnode in enumerate(self._vnodes):
            if not vnode.is_finished:
                self._drop(number, change)
            stretches = _uncovered(vnode, change, self._coverage)
            cleared += [Cleared(vnode.slice, stretch) for stretch in stretches]
        self._writes.clear(cleared)
        for key, must in self.rereads.items():
            self.rereads[key] = with_dropped(must, [change], self._coverage)
        for key in [key for key in self.reread_at if any(map(_holding(key), cleared))]:
            self._await_row(key, change)  # the snapshot of its own may show it, or may not
        if cleared:
            return Verdict.APPLIED
        is_read = all(vnode.is_finished for vnode in self._vnodes)
        return Verdict.COVERED if is_read else Verdict.DROPPED


def with_dropped(must: MustCover, changes: Iterable[Change], coverage: Coverage) -> MustCover:
    """What later snapshots must show, now that these changes were dropped."""
    return coverage.with_changes(must, changes)


def lacks_values(effect: Effect, applied: Sequence[Effect]) -> bool:
    """Whether the row has values that were left out, and its old entry does not have them.

    Where the deletion of the old key was not applied, its place is empty or has a later row.
    """
    change = effect.change
    if effect.is_deletion or change.removed is None or UNCHANGED not in change.values:
        return False
    return not any(other.is_deletion for other in applied)


def _holding(key: Key) -> Callable[[Cleared], bool]:
    return lambda cleared: cleared.slice.holds(key) and cleared.stretch.holds(key)


def floor_at(vnode: Vnode, key: Key) -> HistorySnapshot | None:
    """The snapshot that the key was read at, as long as it matters."""
    floors = vnode.floors
    # Only the last one may have no upper end: it was read when the vnode was finished.
    bounded = len(floors) - bool(floors and floors[-1].stretch.up_to is None)
    number = bisect_left(floors, key, hi=bounded, key=_end)
    if number < len(floors) and floors[number].stretch.holds(key):
        return floors[number].snapshot
    return None


def _end(floor: Floor) -> Key:
    assert floor.stretch.up_to is not None
    return floor.stretch.up_to


def _uncovered(vnode: Vnode, change: Change, coverage: Coverage) -> Iterator[Stretch]:
    """The passed stretches of a vnode that were not read at a snapshot which shows the change."""
    passed = vnode.passed
    if passed is None:
        return
    after = None
    for floor in vnode.floors:
        if not coverage.covers(floor.snapshot, change):
            continue
        if floor.stretch.after is not None and floor.stretch.after != after:
            yield Stretch(after, floor.stretch.after)
        after = floor.stretch.up_to
        if after is None:
            return
    if after is None or after != passed.up_to:
        yield Stretch(after, passed.up_to)
