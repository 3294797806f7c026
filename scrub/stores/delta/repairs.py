# SPDX-License-Identifier: Apache-2.0
"""Repairing indexes in Delta, while they and their tables are written to.

An index that follows its table is judged by the version that it shows. Any other index is judged by
the latest version of the table, and the table may move on before the index is committed. So the
rows are looked at again after that, until the table stood still, and what no longer follows from
them is taken back. That is enough for writers that commit a row before they look for its entry:
either the entry they found was there before the commit, and then the commit saw their row, or it is
what the commit left.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from scrub.codec.json_values import to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.journal import JournalRecord, RunRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, Entry
from scrub.model.table import Index, Store, Table
from scrub.stores.delta.entries import find_entries
from scrub.stores.delta.entry_changes import EntryChanges
from scrub.stores.delta.holders import Holder
from scrub.stores.delta.journal import DeltaJournal
from scrub.stores.delta.lake import Lake
from scrub.stores.delta.repair_hindrances import hindrances_of
from scrub.stores.delta.row_demands import (
    Demanded,
    DemandSource,
    EntriesOf,
    RowDemands,
    entries_without_spark,
)
from scrub.stores.delta.rows import find_rows, require_columns
from scrub.stores.delta.runs import DeltaRuns
from scrub.stores.entry_states import EntryStates, Values, comparable, identity
from scrub.stores.locations import normalise
from scrub.stores.recovering import entries_by_key, key_columns, key_names, plain_shape
from scrub.stores.repairing import Applied, Change, Reason, changes_of_actions, is_in_order

_LOOKS_MAX = 10


class DeltaRepairs:
    """The repairs of tables in one lake, whose journal it keeps.

    `others` may hold indexes. What rows demand of an index is what `demands` says: by default what
    rows in columns do, whose entries `entries_of` makes.
    """

    batch_actions_max = 10_000
    """Each commit rewrites the files that lose entries: the fewer commits, the better."""

    def __init__(
        self,
        store: Store,
        *others: Store,
        entries_of: EntriesOf = entries_without_spark,
        demands: Callable[[Lake], DemandSource] | None = None,
    ) -> None:
        self._lake = Lake(store, *others)
        self._holder: Holder | None = None
        journal = DeltaJournal(normalise(store.path or "."), dict(store.options))
        self._runs = DeltaRuns(journal, self._lake)
        self._maker = entries_of
        self._demands = demands(self._lake) if demands else RowDemands(self._lake, entries_of)
        self._changes = EntryChanges(self._runs, self._demands)

    def close(self) -> None:
        """Release the table, also when the run was cut off."""
        self._holder = None

    def rows_there(self, table: Table, keys: Sequence[Entry]) -> list[bool]:
        columns = key_columns(table)
        wanted = to_table(keys, columns)
        with self._lake.latest(table) as snapshot:
            there = set(comparable(find_rows(snapshot, table, columns, wanted)))
        return [key in there for key in comparable(wanted)]

    def entries_of(self, table: Table, index: Index, keys: Sequence[Entry]) -> list[list[Entry]]:
        shape = plain_shape(table, index)
        wanted = to_table(keys, key_columns(table)).rename_columns(key_names(table, index))
        with self._lake.latest(index) as snapshot:
            require_columns(snapshot, shape.columns)
            found = find_entries(snapshot, shape, wanted).entries
        return entries_by_key(shape, wanted, found)

    def begin(self, record: RunRecord) -> None:
        if self._holder is None:
            self._holder = Holder.here()
        self._runs.begin(record, self._holder)

    def apply(
        self, run: str, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[Applied]:
        """One commit, and then another look at the rows if the table has moved on meanwhile."""
        judged = self._changes.change(run, table, index, actions)
        applied = list(judged.applied)
        # By their places: what is there now, which another look may have to take back.
        written = {
            place: action
            for place, action in enumerate(actions)
            if applied[place].outcome is ActionOutcome.DONE
            and action.kind is not ActionKind.KEEP_ONE
        }
        for _ in range(_LOOKS_MAX):
            if not written or not self._has_moved_on(table, judged.demanded):
                break
            places = list(written)
            opposites = [_opposite(written[place]) for place in places]
            judged = self._changes.change(run, table, index, opposites)
            for place, opposite, result in zip(places, opposites, judged.applied, strict=True):
                if result.outcome is ActionOutcome.DONE:
                    written[place] = opposite
                    applied[place] = Applied(_ended_as(actions[place], opposite))
        return applied

    def hindrances(
        self,
        table: Table,  # noqa: ARG002 it is the index that is asked
        index: Index,
        actions: Sequence[Action],
    ) -> list[Reason | None]:
        return hindrances_of(self._lake, index, actions)

    def in_order(self, table: Table, index: Index, actions: Sequence[Action]) -> list[bool]:
        shape = self._demands.shape(table, index)
        changes = changes_of_actions(shape, actions)
        places = [entry for a in actions for entry in (a.before, a.after) if entry is not None]
        with self._lake.latest(index) as snapshot:
            require_columns(snapshot, shape.columns)
            demanded = self._demands.demanded(snapshot, table, index, actions)
            entries = find_entries(snapshot, shape, to_table(places, shape.columns)).entries
        held = EntryStates.of(shape, comparable(entries)).held
        return [
            is_in_order(
                change,
                rows,
                [one.values for place in _places(shape, change) for one in held.get(place, ())],
                shape,
            )
            for change, rows in zip(changes, demanded.entries, strict=True)
        ]

    def take_back(
        self, run: str, table: Table, index: Index, records: Sequence[JournalRecord]
    ) -> list[Applied]:
        return self._changes.take_back(run, table, index, records)

    def wait_for_writers(self, table: Table, seconds: float) -> None:
        """Nobody can be waited for: a log tells of writers only when they have committed."""

    def end(self, run: str) -> None:
        self._runs.end(run)

    def runs(self) -> list[RunRecord]:
        return self._runs.runs()

    def journal(self, run: str) -> list[JournalRecord]:
        return [change.record for change in self._runs.changes(run)]

    def forget(self, before: datetime) -> int:
        return self._runs.forget(before)

    def _has_moved_on(self, table: Table, demanded: Demanded) -> bool:
        if not demanded.is_latest:
            return False
        with self._lake.latest(table) as snapshot:
            return snapshot.version != demanded.version


def _places(shape: EntryShape, change: Change) -> set[Values]:
    return {identity(shape, entry) for entry in (change.before, change.after) if entry is not None}


def _opposite(action: Action) -> Action:
    """What to do if rows no longer demand what was written; it is judged by them again."""
    if action.kind is ActionKind.DELETE:
        return replace(action, kind=ActionKind.PUT, before=None, after=action.before)
    return replace(action, kind=ActionKind.DELETE, before=action.after, after=None)


def _ended_as(asked: Action, done_last: Action) -> ActionOutcome:
    """How an action ended whose row changed before the index was committed."""
    if asked.kind is done_last.kind:
        return ActionOutcome.DONE
    is_back = asked.kind is ActionKind.DELETE
    return ActionOutcome.PUT_BACK if is_back else ActionOutcome.ROW_CHANGED
