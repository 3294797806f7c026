# SPDX-License-Identifier: Apache-2.0
"""Places that were read are passed: changes to them are applied from now on."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from scrub.model.stream.coverage import NOTHING, Coverage, HistorySnapshot, MustCover
from scrub.model.stream.epochs import Part, Reread
from scrub.model.stream.keys import Key, Stretch
from scrub.model.stream.state import StreamState
from scrub.model.stream.vnodes import Floor, Vnode


def pass_rows(
    state: StreamState,
    parts: Iterable[Part],
    reread: Reread | None,
    snapshot: HistorySnapshot,
    coverage: Coverage,
) -> StreamState:
    """The state after these parts and these single rows were read at the snapshot."""
    # Where snapshots never go back, what any of them shows is shown by the next one of every vnode.
    settled = [_settled(vnode, snapshot, coverage) for vnode in state.vnodes]
    vnodes = pass_parts(settled, parts, snapshot, coverage)
    keys = () if reread is None else reread.keys
    return replace(
        state,
        vnodes=tuple(vnodes),
        unseen=coverage.settled(state.unseen, snapshot),
        rereads={
            key: coverage.settled(must, snapshot)
            for key, must in state.rereads.items()
            if key not in keys
        },
        reread_at={**state.reread_at, **dict.fromkeys(keys, snapshot)},
    )


def pass_parts(
    vnodes: Sequence[Vnode], parts: Iterable[Part], snapshot: HistorySnapshot, coverage: Coverage
) -> list[Vnode]:
    """The vnodes after these parts of them were read at the snapshot."""
    passed = list(vnodes)
    for part in parts:
        before = passed[part.vnode]
        assert part.after == before.passed_to, "parts follow each other without gaps"
        if part.last is None and not part.is_end:
            continue  # nothing was read
        up_to = None if part.is_end else part.last
        floor = Floor(Stretch(before.passed_to, up_to), snapshot)
        passed[part.vnode] = replace(
            before,
            passed_to=before.passed_to if part.last is None else part.last,
            is_finished=part.is_end,
            floors=(*before.floors, floor),
            must_cover=still_demanded(before.must_cover, snapshot, coverage),
            rows_read=before.rows_read + part.rows,
        )
    return passed


def _settled(vnode: Vnode, snapshot: HistorySnapshot, coverage: Coverage) -> Vnode:
    must = coverage.settled(vnode.must_cover, snapshot)
    return vnode if must is vnode.must_cover else replace(vnode, must_cover=must)


def still_demanded(must: MustCover, snapshot: HistorySnapshot, coverage: Coverage) -> MustCover:
    """What later snapshots of the vnode have to show, too: the next one may be an older one."""
    return coverage.settled(must, snapshot)


def has_passed(vnode: Vnode, key: Key) -> bool:
    """Whether the history of this key of the vnode was read."""
    stretch = vnode.passed
    return stretch is not None and stretch.holds(key)


def without_outdated(vnode: Vnode, passed: frozenset[str]) -> Vnode:
    """The vnode without floors that the stream is past, and without demands if it is finished."""
    floors = tuple(floor for floor in vnode.floors if floor.snapshot.token not in passed)
    must = NOTHING if vnode.is_finished else vnode.must_cover
    if len(floors) == len(vnode.floors) and must is vnode.must_cover:
        return vnode
    return replace(vnode, floors=floors, must_cover=must)
