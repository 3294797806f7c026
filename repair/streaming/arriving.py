# SPDX-License-Identifier: Apache-2.0
"""Changes between their source and the epoch that takes them in.

A commit is in the log before snapshots show it: its changes are held back until then. Values that a
change left out are filled in from the table.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from scrub.model.stream.changes import UNCHANGED, Change, Changes, Position
from scrub.model.stream.coverage import HistorySnapshot
from scrub.model.stream.epochs import WantedPart
from scrub.model.stream.keys import Key, Slice
from scrub.stores.streaming import ChangeSource, HistoryReader, NotShown, OpenSnapshot

_LOOK_SECONDS = 0.01
_PATIENCE_SECONDS = 0.2
_CHANGES_MAX = 10_000


class Arriving:
    """A change source whose changes are whole rows, and none that the table does not show yet.

    So an index is never ahead of its table, and everything that was applied is in every later
    snapshot. The history is that of one primary.
    """

    def __init__(
        self,
        source: ChangeSource,
        history: HistoryReader,
        *,
        wait_limit: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.coverage = source.coverage
        self._source = source
        self._history = history
        self._wait_limit = wait_limit
        self._sleep = sleep
        self._held_back: tuple[Change, ...] = ()

    @property
    def is_holding_back(self) -> bool:
        """Whether something was heard that the table does not show yet."""
        return bool(self._held_back)

    def open(self, resume: str) -> None:
        self._held_back = ()
        self._source.open(resume)

    def changes(self, limit: int) -> Changes:
        """The next changes that the table shows, too; the source's place is behind all of them.

        What is held back has no place of its own: after a crash, it comes again.
        """
        found = Changes() if len(self._held_back) >= limit else self._source.changes(limit)
        changes = (*self._held_back, *found.changes)
        shown = self._shown(changes)
        self._held_back = changes[len(shown) :]
        if self._held_back:
            return Changes(changes=shown)
        return replace(found, changes=shown)

    def acknowledge(self, resume: str) -> None:
        self._source.acknowledge(resume)

    def up_to(self, held: OpenSnapshot) -> Changes | None:
        """The changes that a snapshot shows, when they are all before those it does not show.

        They have no place to continue at: after a crash, those that are held back come again.
        Otherwise None: a commit is in the log that snapshots do not see yet, and one after it is.
        """
        heard = self._heard_past(held.snapshot)
        shown = tuple(takewhile(lambda one: self._shows(held.snapshot, one), heard))
        self._held_back = heard[len(shown) :]
        if any(self._shows(held.snapshot, change) for change in self._held_back):
            self._held_back = heard
            return None
        return Changes(changes=tuple(self._filled(shown, held)))

    def _heard_past(self, snapshot: HistorySnapshot) -> tuple[Change, ...]:
        """Everything up to what the snapshot may show, and a little more."""
        heard = list(self._held_back)
        deadline = time.monotonic() + self._wait_limit
        missing = dict(snapshot.ceiling)
        while missing:
            found = self._source.changes(_CHANGES_MAX)
            heard += found.changes
            missing = {
                partition: position
                for partition, position in missing.items()
                if found.heard_to.get(partition, _NOWHERE) < position
            }
            if missing and time.monotonic() > deadline:
                self._held_back = tuple(heard)
                raise NotShown(
                    f"for {self._wait_limit:g} seconds, the changes have not come as far as the "
                    "snapshot",
                    hint="try again, or give --wait-limit more seconds",
                )
        return tuple(heard)

    def _shows(self, snapshot: HistorySnapshot, change: Change) -> bool:
        return self.coverage.covers(snapshot, change)

    def _shown(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """Those before the first that snapshots do not show yet, with the values they lack.

        Commits are mostly shown a moment after they are heard of, so some moments are given.
        """
        if not changes:
            return ()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            with self._history.snapshot() as held:
                shown = tuple(takewhile(lambda one: self._shows(held.snapshot, one), changes))
                if len(shown) == len(changes) or time.monotonic() > deadline:
                    return tuple(self._filled(shown, held))
            self._sleep(_LOOK_SECONDS)

    def _filled(self, changes: Sequence[Change], held: OpenSnapshot) -> Iterable[Change]:
        for change in changes:
            yield _whole(change, held) if UNCHANGED in change.values else change


_NOWHERE: Position = ()


def _whole(change: Change, held: OpenSnapshot) -> Change:
    """The change with the values that its row has in the snapshot.

    They may be of a later change, which then comes, too. A row that is not there any more was
    deleted or moved by one that comes: until then it has no entry.
    """
    assert change.put is not None
    values = _row_at(change.put, held)
    if values is None:
        return replace(change, put=None, values=(), removed=change.removed or change.put)
    filled = tuple(
        now if given is UNCHANGED else given
        for given, now in zip(change.values, values, strict=True)
    )
    return replace(change, values=filled)


def _row_at(key: Key, held: OpenSnapshot) -> Sequence[object] | None:
    wanted = WantedPart(vnode=0, slice=Slice(low=key), after=None, rows_max=1)
    (part,) = held.read([wanted])
    if part.last != key:
        return None
    ((_, values),) = part.data
    found: Sequence[object] = values
    return found
