# SPDX-License-Identifier: Apache-2.0
"""The state of a stream: what becomes true in one commit with its output."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scrub.errors import ScrubError
from scrub.model.stream.changes import Positions
from scrub.model.stream.coverage import NOTHING, HistorySnapshot, MustCover
from scrub.model.stream.heard import Heard, InOrder
from scrub.model.stream.keys import Key
from scrub.model.stream.vnodes import Vnode


class AnotherStream(ScrubError):
    """The state is of a table, a source or an index that has been made anew since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamIdentity:
    """What a state belongs to. Something of the same name that was made anew has another one."""

    table: str
    source: str
    index: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a source begins: what it will not report, snapshots have to show."""

    heard: Heard
    resume: str
    before: MustCover  # everything before the first change that the source will report


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """Everything that a stream needs to go on after a crash."""

    identity: StreamIdentity
    vnodes: tuple[Vnode, ...]  # in the order of keys, without gaps
    heard: Heard
    resume: str = ""  # where the source continues; only the source understands it
    epoch: int = 0
    progress_shown: int = 0  # in ten-thousandths; it never goes back
    runner: str = ""  # the process that wrote it
    # Rows whose long values nobody has: what a snapshot has to show to be read for them.
    rereads: Mapping[Key, MustCover] = field(default_factory=dict)
    # Rows that were read again, and when: floors of single keys.
    reread_at: Mapping[Key, HistorySnapshot] = field(default_factory=dict)

    # What the index shows once all is read, from history or changes, and a snapshot may not show.
    unseen: MustCover = NOTHING

    @property
    def is_read(self) -> bool:
        """Whether all of the history was read, and no row has to be read again."""
        return not self.rereads and all(vnode.is_finished for vnode in self.vnodes)

    @property
    def shown(self) -> Positions | None:
        """The positions that the output shows exactly; None while it shows none.

        A source without order never shows a position: changes before it may still be on their way.
        """
        if not isinstance(self.heard, InOrder) or not self.is_read:
            return None
        has_floors = bool(self.reread_at) or any(vnode.floors for vnode in self.vnodes)
        return None if has_floors else self.heard.marks


def demand_same(found: StreamIdentity, expected: StreamIdentity) -> None:
    """Refuse to continue a stream whose table, source or index is not the one it began with."""
    for what in ("table", "source", "index"):
        was, now = getattr(found, what), getattr(expected, what)
        if was != now:
            raise AnotherStream(
                f"the {what} is not the one that this stream began with: it was {was}, now it is "
                f"{now}",
                hint="drop the stream and build the index again",
            )
