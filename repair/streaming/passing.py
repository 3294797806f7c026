# SPDX-License-Identifier: Apache-2.0
"""Places that were read are passed: changes to them are applied from now on."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from scrub.model.stream.coverage import NOTHING, Coverage, HistorySnapshot, MustCover
from scrub.model.stream.epochs import Part
from scrub.model.stream.keys import Key, Stretch
from scrub.model.stream.vnodes import Floor, Vnode


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


def still_demanded(must: MustCover, snapshot: HistorySnapshot, coverage: Coverage) -> MustCover:
    """What later snapshots of the vnode have to show, too: the next one may be an older one."""
    return coverage.settled(must, snapshot)


def has_passed(vnode: Vnode, key: Key) -> bool:
    """Whether the history of this key of the vnode was read."""
    stretch = vnode.passed
    return stretch is not None and stretch.holds(key)


def without_outdated(vnode: Vnode, outdated: Iterable[HistorySnapshot]) -> Vnode:
    """The vnode without floors that the stream is past, and without demands if it is finished."""
    gone = list(outdated)
    floors = tuple(floor for floor in vnode.floors if floor.snapshot not in gone)
    must = NOTHING if vnode.is_finished else vnode.must_cover
    if len(floors) == len(vnode.floors) and must is vnode.must_cover:
        return vnode
    return replace(vnode, floors=floors, must_cover=must)
