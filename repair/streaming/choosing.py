# SPDX-License-Identifier: Apache-2.0
"""Which rows an epoch reads."""

from collections.abc import Mapping, Sequence
from itertools import islice

from scrub.model.stream.coverage import Coverage, HistorySnapshot, MustCover
from scrub.model.stream.epochs import Choice, WantedPart
from scrub.model.stream.keys import Key
from scrub.model.stream.vnodes import Vnode


def choose_parts(
    vnodes: Sequence[Vnode],
    snapshot: HistorySnapshot,
    coverage: Coverage,
    *,
    parallel: int,
    rows_max: int,
    rereads: Mapping[Key, MustCover] | None = None,
) -> Choice:
    """The next rows of unfinished vnodes that may be read at this snapshot.

    At least one row is asked for, unless nothing may be read or no rows are allowed. A vnode that
    has to wait for a newer snapshot holds up no other.
    """
    unfinished = [number for number, vnode in enumerate(vnodes) if not vnode.is_finished]
    ready = [n for n in unfinished if may_be_read(vnodes[n], snapshot, coverage)]
    waiting = tuple(sorted(set(unfinished) - set(ready)))
    # Rows that are read again never keep the vnodes from being read.
    again = _again(rereads or {}, snapshot, coverage, rows_max // 2 if ready else rows_max)
    rows_max -= len(again)
    chosen = ready[: min(parallel, rows_max)]
    return Choice(
        wanted=tuple(
            WantedPart(
                vnode=number,
                slice=vnodes[number].slice,
                after=vnodes[number].passed_to,
                rows_max=rows_max // len(chosen),
            )
            for number in chosen
        ),
        again=again,
        waiting=waiting,
    )


def _again(
    rereads: Mapping[Key, MustCover],
    snapshot: HistorySnapshot,
    coverage: Coverage,
    rows_max: int,
) -> tuple[Key, ...]:
    ready = (key for key, must in rereads.items() if coverage.meets(snapshot, must))
    return tuple(islice(ready, rows_max))


def may_be_read(vnode: Vnode, snapshot: HistorySnapshot, coverage: Coverage) -> bool:
    """Whether the snapshot shows every change that was dropped because it came before its place."""
    return coverage.meets(snapshot, vnode.must_cover)
