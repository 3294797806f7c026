# SPDX-License-Identifier: Apache-2.0
"""What is left of the changes of an epoch when each key is written once."""

from collections.abc import Sequence

from repair.streaming.effects import Effect
from scrub.model.stream.changes import UNCHANGED, Change
from scrub.model.stream.epochs import Cleared, Part, Put, Reread, Writes
from scrub.model.stream.keys import Key


class WritesOfAnEpoch:
    """Gathers what is applied; the last change of a key is the one that is written."""

    def __init__(self, parts: Sequence[Part | Reread]) -> None:
        self._parts = tuple(part for part in parts if part.rows)
        self._cleared: list[Cleared] = []
        self._changes: dict[Key, Put | None] = {}

    def change(self, change: Change, applied: Sequence[Effect]) -> None:
        """The effects of one change that are applied."""
        put = self._row_of(change)
        for effect in applied:
            self._changes[effect.key] = None if effect.is_deletion else put

    def clear(self, cleared: Sequence[Cleared]) -> None:
        """Everything in these places is removed, also what was changed there before."""
        self._cleared += cleared
        for key in list(self._changes):
            if any(one.slice.holds(key) and one.stretch.holds(key) for one in cleared):
                del self._changes[key]

    def done(self) -> Writes:
        return Writes(parts=self._parts, cleared=tuple(self._cleared), changes=dict(self._changes))

    def _row_of(self, change: Change) -> Put | None:
        """The row that was put, with unchanged values from earlier changes of the epoch."""
        if change.put is None:
            return None
        before = change.put if change.removed is None else change.removed
        earlier = self._changes.get(before)
        if earlier is None or UNCHANGED not in change.values:
            return Put(change.values, before)
        values = tuple(
            old if new is UNCHANGED else new
            for new, old in zip(change.values, earlier.values, strict=True)
        )
        return Put(values, earlier.take_from)
