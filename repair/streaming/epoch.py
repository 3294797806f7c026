# SPDX-License-Identifier: Apache-2.0
"""One epoch: a state, rows read at a snapshot and changes lead to another state and its output."""

from collections.abc import Sequence
from dataclasses import replace

from repair.streaming.hearing import Hearing, hearing_of
from repair.streaming.judging import Barrier
from repair.streaming.passing import pass_rows, without_outdated
from repair.streaming.progress import progress
from repair.streaming.writes import WritesOfAnEpoch
from scrub.model.stream.changes import Changes
from scrub.model.stream.coverage import Coverage, HistorySnapshot
from scrub.model.stream.epochs import Epoch, Part, Reread
from scrub.model.stream.state import StreamState


def end_epoch(
    state: StreamState,
    changes: Changes,
    coverage: Coverage,
    *,
    snapshot: HistorySnapshot | None = None,
    parts: Sequence[Part] = (),
    reread: Reread | None = None,
) -> Epoch:
    """What the epoch writes, and the state that becomes true with it.

    The parts and the rows of single keys were read at the snapshot, and the changes after it was
    taken. At the barrier the parts count as passed, so that no change falls between the two.
    """
    assert snapshot is not None or not (parts or reread), "rows are read at a snapshot"
    if snapshot is not None:
        state = pass_rows(state, parts, reread, snapshot, coverage)
    hearing = hearing_of(state.heard, changes.heard_to)
    writes = WritesOfAnEpoch(parts if reread is None else (*parts, reread))
    barrier = Barrier(state, hearing, coverage, writes)
    for change in changes.changes:
        barrier.judge(change)
    passed = _passed(barrier, hearing)
    vnodes_after = tuple(without_outdated(vnode, passed) for vnode in barrier.vnodes())
    after = replace(
        state,
        vnodes=vnodes_after,
        unseen=coverage.with_changes(state.unseen, barrier.news),
        rereads=barrier.rereads,
        reread_at={key: at for key, at in barrier.reread_at.items() if at.token not in passed},
        heard=hearing.heard(),
        resume=changes.resume or state.resume,
        epoch=state.epoch + 1,
        progress_shown=max(state.progress_shown, progress(vnodes_after)),
    )
    return Epoch(state=after, writes=writes.done(), counts=barrier.counts, late=tuple(barrier.late))


def _passed(barrier: Barrier, hearing: Hearing) -> frozenset[str]:
    """The snapshots that no later change is compared with: the stream is past all they may show."""
    snapshots = {snapshot.token: snapshot for snapshot in barrier.snapshots()}
    return frozenset(token for token, at in snapshots.items() if hearing.is_past(at))
