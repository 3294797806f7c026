# SPDX-License-Identifier: Apache-2.0
"""The first state of a stream."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrub.model.stream.coverage import MustCover
from scrub.model.stream.heard import Heard
from scrub.model.stream.state import StreamIdentity, StreamState
from scrub.model.stream.vnodes import Vnode


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a source begins: what it will not report, snapshots have to show."""

    heard: Heard
    resume: str
    before: MustCover  # everything before the first change that the source will report


def first_state(
    identity: StreamIdentity, vnodes: Sequence[Vnode], start: Start, runner: str = ""
) -> StreamState:
    """The state before the first epoch, when the source is open and nothing was read."""
    demanding = tuple(replace(vnode, must_cover=demanded_by_the_start(start)) for vnode in vnodes)
    return StreamState(
        identity=identity, vnodes=demanding, heard=start.heard, resume=start.resume, runner=runner
    )


def demanded_by_the_start(start: Start) -> MustCover:
    """What every snapshot has to show: changes before the start come from nowhere else."""
    return start.before
