# SPDX-License-Identifier: Apache-2.0
"""One epoch: a state, rows read at a snapshot and changes lead to another state and its output."""

from collections.abc import Sequence
from dataclasses import replace

from repair.streaming.hearing import Hearing, hearing_of
from repair.streaming.judging import Barrier
from repair.streaming.passing import pass_parts, without_outdated
from repair.streaming.progress import progress
from repair.streaming.writes import WritesOfAnEpoch
from scrub.model.stream.changes import Changes
from scrub.model.stream.coverage import Coverage, HistorySnapshot
from scrub.model.stream.epochs import Epoch, Part
from scrub.model.stream.state import StreamState
from scrub.model.stream.vnodes import Vnode


def end_epoch(
    state: StreamState,
    changes: Changes,
    coverage: Coverage,
    *,
    snapshot: HistorySnapshot | None = None,
    parts: Sequence[Part] = (),
) -> Epoch:
    """What the epoch writes, and the state that becomes true with it.

    The parts were read at the snapshot, and the changes after it was taken. At the barrier the
    parts count as passed, so that no change falls between the two.
    """
    assert snapshot is not None or not parts, "parts are read at a snapshot"
    vnodes = list(state.vnodes)
    if snapshot is not None:
        vnodes = pass_parts(vnodes, parts, snapshot, coverage)
    hearing = hearing_of(state.heard, changes.heard_to)
    writes = WritesOfAnEpoch(parts)
    barrier = Barrier(vnodes, hearing, coverage, writes)
    for change in changes.changes:
        barrier.judge(change)
    vnodes_after = _tidied(barrier.vnodes(), hearing)
    after = replace(
        state,
        vnodes=vnodes_after,
        heard=hearing.heard(),
        resume=changes.resume or state.resume,
        epoch=state.epoch + 1,
        progress_shown=max(state.progress_shown, progress(vnodes_after)),
    )
    return Epoch(state=after, writes=writes.done(), counts=barrier.counts, late=tuple(barrier.late))


def _tidied(vnodes: Sequence[Vnode], hearing: Hearing) -> tuple[Vnode, ...]:
    """Without what no later change or snapshot is compared with."""
    snapshots: dict[str, HistorySnapshot] = {}
    for vnode in vnodes:
        snapshots.update((floor.snapshot.token, floor.snapshot) for floor in vnode.floors)
    outdated = [snapshot for snapshot in snapshots.values() if hearing.is_past(snapshot)]
    return tuple(without_outdated(vnode, outdated) for vnode in vnodes)
