# SPDX-License-Identifier: Apache-2.0
"""What a stream joins: a change source, a reader of history, and a sink.

`repair.streaming.running` decides what comes next. Each method happens completely or not at all.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from scrub.errors import StoreUnavailable
from scrub.model.stream.changes import Changes
from scrub.model.stream.coverage import Coverage, HistorySnapshot
from scrub.model.stream.epochs import Epoch, Part, Reread, WantedPart
from scrub.model.stream.keys import Key
from scrub.model.stream.state import StreamState


class TakenOver(Exception):
    """Another process has written the state of this stream since it was read."""


class NotShown(StoreUnavailable):
    """The table does not show, for too long, what its log says already."""


class ChangeSource(Protocol):
    """The changes of one table."""

    coverage: Coverage

    def open(self, resume: str) -> None:
        """Continue behind what was read up to this place."""

    def changes(self, limit: int) -> Changes:
        """The next changes, about as many as the limit, or none; a transaction is never cut."""

    def acknowledge(self, resume: str) -> None:
        """Everything up to this place is kept elsewhere: the source may forget it."""


class OpenSnapshot(Protocol):
    """One snapshot of the table while it lasts."""

    snapshot: HistorySnapshot

    def read(self, wanted: Sequence[WantedPart]) -> Sequence[Part]:
        """The next rows of some vnodes, in parallel if the store can."""

    def read_again(self, keys: Sequence[Key]) -> Reread:
        """The rows of these keys, as far as they are there."""


class HistoryReader(Protocol):
    """The rows of one table."""

    def snapshot(self) -> AbstractContextManager[OpenSnapshot]:
        """Take a snapshot that is as new as the store has one."""


class StreamSink(Protocol):
    """The index, and the state of its stream."""

    def restore(self) -> StreamState | None:
        """The state of the last commit; None if there is none."""

    def begin(self, state: StreamState) -> None:
        """Keep the first state."""

    def commit(self, epoch: Epoch) -> None:
        """Let the output and the state of an epoch become true together.

        Raises TakenOver unless the epoch follows the one that the sink has.
        """
