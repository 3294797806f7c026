# SPDX-License-Identifier: Apache-2.0
"""Taking back what a run did to the entries of a Delta index, place by place. Pure.

Several entries can have been in one place. If the place holds exactly what the run left there, it
gets back exactly what it held before. If somebody has changed it since, each change of the run is
judged by itself.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, islice

import pyarrow as pa

from scrub.codec.json_values import to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.journal import JournalRecord
from scrub.model.repair import ActionKind, ActionOutcome, Entry
from scrub.model.table import Column
from scrub.stores.entry_states import EntryStates, Values, comparable, identity
from scrub.stores.repairing import Applied, Change, changes_of, entry_of, judge_undo

_ADDING = (ActionKind.PUT, ActionKind.REPLACE)
_NOTHING = Change(ActionKind.PUT, None, None)
"""A change of nothing, in the turn of one that was judged already."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A change as the journal knows it: what it removed, and what it left in its place."""

    record: JournalRecord
    batch: int  # the same for changes that were done at one moment
    removed: Sequence[Entry]  # with every column that they had
    left: Sequence[Entry]


@dataclass(slots=True)
class Undo:
    """The changes that are to be taken back, in this order; `earlier` ones have been already."""

    shape: EntryShape
    changes: Sequence[Recorded]
    earlier: Sequence[Recorded] = ()
    _values: list[Change] = field(init=False)
    _places: dict[tuple[int, Values], list[int]] = field(init=False)  # with numbers of changes
    _behind: list[int] = field(init=False)  # where the further entries of each change begin

    def __post_init__(self) -> None:
        self._values = _in_values(self.shape, self.changes)
        self._places = {}
        others = (max(0, len(one.removed) - 1) for one in self.changes)
        self._behind = list(accumulate(others, initial=len(self.changes)))
        for number, (one, change) in enumerate(zip(self.changes, self._values, strict=True)):
            place = one.batch, identity(self.shape, entry_of(change.before, change.after))
            self._places.setdefault(place, []).append(number)

    def rows(self, columns: Sequence[Column]) -> pa.Table:
        """Everything that may have to be written: for each change its first entry, then others."""
        firsts = [
            one.removed[0] if one.removed else entry_of(one.record.before, one.record.after)
            for one in self.changes
        ]
        others = [entry for one in self.changes for entry in one.removed[1:]]
        return filled_table([*firsts, *others], columns)

    def judge(self, states: EntryStates) -> list[Applied]:
        """What becomes of each change; the entries to be written are numbers of `rows`."""
        left = self._left()
        exact: set[int] = set()
        for place, numbers in self._places.items():
            there = Counter(held.values for held in states.held.get(place[1], ()))
            if there == left[place]:
                exact.update(numbers)
                for number in numbers:
                    self._restore(number, states)
        applied = judge_undo(
            [_NOTHING if n in exact else change for n, change in enumerate(self._values)], states
        )
        for number, (change, result) in enumerate(zip(self._values, applied, strict=True)):
            if result.outcome is ActionOutcome.DONE and change.before is not None:
                skipped = 0 if change.kind is ActionKind.KEEP_ONE else 1
                for row in self._rows_of(number)[skipped:]:
                    states.add(change.before, row)
        return [
            Applied(ActionOutcome.DONE) if number in exact else result
            for number, result in enumerate(applied)
        ]

    def _restore(self, number: int, states: EntryStates) -> None:
        change = self._values[number]
        if change.kind in _ADDING and change.after is not None:
            states.take(change.after)
        if change.before is not None:
            for row in self._rows_of(number):
                states.add(change.before, row)

    def _left(self) -> dict[tuple[int, Values], Counter[Values]]:
        """What each place should hold: what the run left, less what was taken back since then."""
        found: dict[tuple[int, Values], Counter[Values]] = {}
        told = [self.changes[numbers[0]].left for numbers in self._places.values()]
        values = iter(comparable(to_table(chain.from_iterable(told), self.shape.columns)))
        for place, left in zip(self._places, told, strict=True):
            found[place] = Counter(islice(values, len(left)))
        for one, change in zip(self.earlier, _in_values(self.shape, self.earlier), strict=True):
            place = one.batch, identity(self.shape, entry_of(change.before, change.after))
            if place in found:
                if change.kind in _ADDING and change.after is not None:
                    found[place][change.after] -= 1
                if change.before is not None:
                    found[place][change.before] += len(one.removed)
        return {place: +entries for place, entries in found.items()}

    def _rows_of(self, number: int) -> list[int]:
        """The numbers of the rows that bring back what a change removed."""
        others = len(self.changes[number].removed) - 1
        behind = self._behind[number]
        return [number, *range(behind, behind + others)] if others >= 0 else []


def _in_values(shape: EntryShape, changes: Sequence[Recorded]) -> list[Change]:
    records = [one.record for one in changes]
    # Copies are put back by their images, each as it was.
    return changes_of(shape, [(r.kind, r.before, r.after, 0) for r in records])


def filled_table(rows: Sequence[Entry], columns: Sequence[Column]) -> pa.Table:
    """Journalled rows; a column that the relation got since then is NULL."""
    return to_table([{c.name: row.get(c.name) for c in columns} for row in rows], columns)
