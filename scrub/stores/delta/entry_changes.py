# SPDX-License-Identifier: Apache-2.0
"""Batches of changes to the entries of one Delta index, and their undo.

A batch is one commit of the index: the rows are read, each change is judged, the journal is
committed, and then the index as the version that follows the one that was judged. If anybody
commits to the index in between, everything is read and judged again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from scrub.codec.json_values import from_table, to_table
from scrub.model.journal import JournalRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome
from scrub.model.table import Index, Table
from scrub.stores.delta.entries import Expected
from scrub.stores.delta.files import NewFiles
from scrub.stores.delta.images import WholeEntries
from scrub.stores.delta.journal import EventKind
from scrub.stores.delta.journalled import (
    BatchContents,
    Decided,
    commit_journalled,
    undone_contents,
)
from scrub.stores.delta.repair_hindrances import require_staying
from scrub.stores.delta.row_demands import Demanded, DemandSource
from scrub.stores.delta.rows import require_columns
from scrub.stores.delta.runs import DeltaRuns
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.delta.undo import Undo
from scrub.stores.entry_states import DAMAGED, Values, with_zeros_of
from scrub.stores.repairing import Applied, Change, changes_of_actions, entry_of, judge


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a batch, and what decided it."""

    applied: list[Applied]
    demanded: Demanded


@dataclass(frozen=True, slots=True)
class EntryChanges:
    """Changes indexes of one lake, as `demands` says that they should be."""

    runs: DeltaRuns
    demands: DemandSource

    def change(self, run: str, table: Table, index: Index, batch: Sequence[Action]) -> Judged:
        """Judge, journal and commit a batch."""
        shape = self.demands.shape(table, index)
        order = sorted(range(len(batch)), key=lambda place: batch[place].kind.turn)
        actions = [batch[place] for place in order]
        changes = changes_of_actions(shape, actions)
        given = to_table([entry_of(a.after, a.before) for a in actions], shape.columns)
        judged: list[Judged] = []

        def decide(snapshot: DeltaSnapshot, new: NewFiles) -> Decided:
            require_staying(snapshot)
            require_columns(snapshot, shape.columns)
            # The index was opened first: rows that its writers committed before are seen here.
            demanded = self.demands.demanded(snapshot, table, index, actions)
            asked = [_is_open(c, now) for c, now in zip(changes, demanded.entries, strict=True)]
            keys = given.filter(pa.array(asked, pa.bool_()))
            removed = Expected(new, _removed(changes, demanded.entries), len(shape.columns))
            found = WholeEntries.find(snapshot, shape, keys, removed)
            applied = judge(changes, demanded.entries, found.states)
            judged[:] = [Judged(applied, demanded)]
            gone = found.removed_by(changes, applied)
            exact = with_zeros_of(demanded.entries, given)
            rows = found.in_place_of(exact, gone)
            words = BatchContents(shape, found, found.images(), from_table(exact, shape.columns))
            contents = [
                words.of(action, changes[number], result, gone[number])
                for number, (action, result) in enumerate(zip(actions, applied, strict=True))
                if result.outcome is ActionOutcome.DONE
            ]
            return Decided(found, rows, contents)

        commit_journalled(self.runs, run, EventKind.REPAIR, index, decide)
        of_places = dict(zip(order, judged[0].applied, strict=True))
        return replace(judged[0], applied=[of_places[place] for place in range(len(batch))])

    def take_back(
        self, run: str, table: Table, index: Index, records: Sequence[JournalRecord]
    ) -> list[Applied]:
        """Undo changes of another run, in one commit."""
        shape = self.demands.shape(table, index)
        known = {
            (one.record.run, one.record.number): one
            for of in {record.run for record in records}
            for one in self.runs.changes(of)
            if one.record.index == index.name
        }
        undo = Undo(
            shape,
            [known[record.run, record.number] for record in records],
            [one for one in known.values() if one.record.undone_by is not None],
        )
        keys = undo.rows(shape.columns)
        applied: list[Applied] = []

        def decide(snapshot: DeltaSnapshot, _: NewFiles) -> Decided:
            require_staying(snapshot)
            found = WholeEntries.find(snapshot, shape, keys)
            applied[:] = undo.judge(found.states)
            rows = undo.rows(found.whole.columns)
            return Decided(found, rows, undone_contents(records, applied))

        commit_journalled(self.runs, run, EventKind.UNDO, index, decide)
        return applied


def _is_open(change: Change, demanded: Sequence[Values]) -> bool:
    """Whether what the index holds matters: no entry is put that its row does not demand."""
    return change.kind is not ActionKind.PUT or list(demanded) == [change.after]


def _removed(changes: Sequence[Change], demanded: Sequence[Sequence[Values]]) -> set[Values]:
    """What changes are meant to remove, and no row demands."""
    return {
        change.before
        for change, now in zip(changes, demanded, strict=True)
        if change.before is not None
        and change.before not in now
        and DAMAGED not in now
        and change.kind in (ActionKind.DELETE, ActionKind.REPLACE)
    }
