# SPDX-License-Identifier: Apache-2.0
"""What becomes of each change at the barrier.

A change to a place whose history was read is applied, unless the history shows it already. A change
to a place that was not read is dropped, because the history will show it: every snapshot that the
vnode is read at from then on must cover it.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from repair.streaming.effects import Effect, effects_of
from repair.streaming.hearing import Hearing
from repair.streaming.passing import has_passed
from repair.streaming.writes import WritesOfAnEpoch
from scrub.model.stream.changes import Change
from scrub.model.stream.coverage import Coverage, MustCover
from scrub.model.stream.epochs import Cleared, Verdict
from scrub.model.stream.keys import Key, Stretch
from scrub.model.stream.vnodes import Floor, Vnode


class Barrier:
    """The end of an epoch: its parts were read, and now its changes are judged in order."""

    def __init__(
        self,
        vnodes: Sequence[Vnode],
        hearing: Hearing,
        coverage: Coverage,
        writes: WritesOfAnEpoch,
    ) -> None:
        self.counts: Counter[Verdict] = Counter()
        self.late: list[Change] = []
        self._vnodes = list(vnodes)
        self._hearing = hearing
        self._coverage = coverage
        self._writes = writes
        self._lows = [low for vnode in vnodes if (low := vnode.slice.low) is not None]
        self._must_cover = [vnode.must_cover for vnode in vnodes]

    def judge(self, change: Change) -> None:
        verdict = self._hearing.arrives(change)
        if verdict is not None:
            self.counts[verdict] += 1
        elif change.is_truncate:
            self.counts[self._truncate(change)] += 1
        else:
            self._judge_effects(change)

    def vnodes(self) -> tuple[Vnode, ...]:
        """With what was dropped in their must-cover."""
        return tuple(
            vnode if vnode.must_cover is must else replace(vnode, must_cover=must)
            for vnode, must in zip(self._vnodes, self._must_cover, strict=True)
        )

    def _judge_effects(self, change: Change) -> None:
        applied = []
        for effect in effects_of(change):
            verdict = self._verdict(effect)
            self.counts[verdict] += 1
            if verdict is Verdict.APPLIED:
                applied.append(effect)
            elif verdict is Verdict.LATE:
                self.late.append(change)
        self._writes.change(change, applied)

    def _verdict(self, effect: Effect) -> Verdict:
        number = bisect_right(self._lows, effect.key)
        vnode = self._vnodes[number]
        if not has_passed(vnode, effect.key):
            self._drop(number, effect.change)
            return Verdict.DROPPED
        floor = floor_at(vnode, effect.key)
        if floor is not None and self._coverage.covers(floor.snapshot, effect.change):
            return Verdict.COVERED
        stale = self._hearing.stale(effect)
        if stale is None:
            self._hearing.applied(effect)
        return stale or Verdict.APPLIED

    def _drop(self, number: int, change: Change) -> None:
        self._must_cover[number] = with_dropped(self._must_cover[number], change, self._coverage)

    def _truncate(self, change: Change) -> Verdict:
        """Empty every place that was passed, except where the history shows it already."""
        cleared: list[Cleared] = []
        for number, vnode in enumerate(self._vnodes):
            if not vnode.is_finished:
                self._drop(number, change)
            stretches = _uncovered(vnode, change, self._coverage)
            cleared += [Cleared(vnode.slice, stretch) for stretch in stretches]
        self._writes.clear(cleared)
        if cleared:
            return Verdict.APPLIED
        is_read = all(vnode.is_finished for vnode in self._vnodes)
        return Verdict.COVERED if is_read else Verdict.DROPPED


def with_dropped(must: MustCover, change: Change, coverage: Coverage) -> MustCover:
    """What the vnode's later snapshots must show, now that this change was dropped."""
    return coverage.with_change(must, change)


def floor_at(vnode: Vnode, key: Key) -> Floor | None:
    """The snapshot that the key was read at, as long as it matters."""
    floors = vnode.floors
    # Only the last one may have no upper end: it was read when the vnode was finished.
    bounded = len(floors) - bool(floors and floors[-1].stretch.up_to is None)
    number = bisect_left(floors, key, hi=bounded, key=_end)
    if number < len(floors) and floors[number].stretch.holds(key):
        return floors[number]
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
