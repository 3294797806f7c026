# SPDX-License-Identifier: Apache-2.0
"""Putting lost rows back, looking at their entries afterwards, and taking the rows out again.

A recovered row may have brought entries with it. They go with the row: where the row has to stay,
so have they.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from scrub.model.defect import Value
from scrub.model.journal import JournalRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, DoneAction, Entry
from scrub.model.table import Table
from scrub.stores.recovering import RecoveringStore, kept_indexes, put_of
from scrub.stores.repairing import Applied, RepairingStore

AppliedBatch = tuple[Sequence[Action], Sequence[Applied]]
"""Some actions, and what became of each."""

_TAKEN_BACK = (ActionOutcome.DONE, ActionOutcome.ALREADY_RIGHT)


@dataclass(frozen=True, slots=True)
class RowRecovery:
    """The rows of one table, under the journal of one run."""

    store: RepairingStore
    table: Table
    run: str

    def recover(self, actions: Sequence[Action]) -> Iterator[AppliedBatch]:
        """Every recovery, batch by batch."""
        size = self.store.batch_actions_max
        for begin in range(0, len(actions), size):
            batch = actions[begin : begin + size]
            yield batch, self._rows.recover(self.run, self.table, batch)

    def looked_over(self, done: Sequence[DoneAction]) -> list[DoneAction]:
        """Whether every index agrees with the table about each row now."""
        wrong: set[int] = set()
        for index in kept_indexes(self.table):
            places = [
                (number, put_of(one.action, index.name, entry))
                for number, one in enumerate(done)
                for entry in _entries(one.action, index.name)
            ]
            if places:
                puts = [put for _, put in places]
                found = self.store.in_order(self.table, index, puts)
                in_order = zip(places, found, strict=True)
                wrong |= {number for (number, _), is_right in in_order if not is_right}
        return [replace(one, in_order=n not in wrong) for n, one in enumerate(done)]

    def take_back(
        self, records: Sequence[JournalRecord]
    ) -> tuple[list[tuple[JournalRecord, Applied]], list[JournalRecord]]:
        """Remove the rows among what a run did; what became of them, and what is left to do.

        Entries of a row that has to stay are not left to do, but refused.
        """
        rows = [record for record in records if record.kind is ActionKind.RECOVER]
        others = [record for record in records if record.kind is not ActionKind.RECOVER]
        if not rows:
            return [], others
        applied = self._rows.take_back_rows(self.run, self.table, rows)
        found = list(zip(rows, applied, strict=True))
        staying = {_key(record) for record, a in found if a.outcome not in _TAKEN_BACK}
        refused = Applied(ActionOutcome.CONFLICT, reason="its row stays")
        found += [(record, refused) for record in others if _key(record) in staying]
        return found, [record for record in others if _key(record) not in staying]

    @property
    def _rows(self) -> RecoveringStore:
        assert isinstance(self.store, RecoveringStore), "rows are recovered by stores that can"
        return cast(RecoveringStore, self.store)


def _key(record: JournalRecord) -> frozenset[tuple[str, Value]]:
    return frozenset((record.primary_key or {}).items())


def _entries(action: Action, index: str) -> Iterator[Entry]:
    """What an index should hold of a recovered row."""
    if action.lost is not None:
        yield from (told.entry for told in action.lost.told if told.index == index)
    yield from (entry for name, entry in action.puts if name == index)
