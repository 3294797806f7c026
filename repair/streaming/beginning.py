# SPDX-License-Identifier: Apache-2.0
"""The first state of a stream."""

from collections.abc import Sequence
from dataclasses import replace

from scrub.model.stream.coverage import MustCover
from scrub.model.stream.state import Start, StreamIdentity, StreamState
from scrub.model.stream.vnodes import Vnode


def first_state(
    identity: StreamIdentity, vnodes: Sequence[Vnode], start: Start, runner: str = ""
) -> StreamState:
    """The state before the first epoch, when the source is open and nothing was read."""
    demanding = tuple(replace(vnode, must_cover=demanded_by_the_start(start)) for vnode in vnodes)
    return StreamState(
        identity=identity,
        vnodes=demanding,
        heard=start.heard,
        resume=start.resume,
        runner=runner,
        unseen=start.before,
    )


def demanded_by_the_start(start: Start) -> MustCover:
    """What every snapshot has to show: changes before the start come from nowhere else."""
    return start.before
