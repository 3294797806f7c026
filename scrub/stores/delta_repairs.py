# SPDX-License-Identifier: Apache-2.0
"""Repairing indexes in Delta, while they and their tables are written to.

A batch is one commit of the index: the rows are read, each change is judged, the journal is
committed, and then the index as the version that follows the one that was judged. Whoever commits
to the index in between makes everything be read and judged again.

An index that follows its table is judged by the version it shows, which its own log tells, so that
nothing can come in between. Any other index is judged by the latest version of the table, and the
table may move on before the index is committed. So the rows are looked at again after that, until
the table stood still, and what no longer follows from them is taken back. That is enough for
writers that commit a row before they look for its entry: what such a writer found was there before
the commit, and then its row is seen, or is what the commit left.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from scrub.codec.json_values import from_table, to_table
from scrub.errors import RelationMismatch, UsageError
from scrub.model.entry_shape import EntryShape
from scrub.model.index_shape import shape_of
from scrub.model.repair import Action, ActionKind, ActionOutcome, Entry
from scrub.model.table import Column, Index, Store, Table
from scrub.stores.delta_commit import Mark
from scrub.stores.delta_entries import Expected, find_entries
from scrub.stores.delta_files import NewFiles
from scrub.stores.delta_holders import Holder
from scrub.stores.delta_images import WholeEntries, demanding_columns
from scrub.stores.delta_journal import DeltaJournal, EventKind
from scrub.stores.delta_marks import TABLE_ID, BuildState, build_state, followed_version
from scrub.stores.delta_partitions import not_in_a_partition
from scrub.stores.delta_rows import Demands, find_rows, key_columns, require_columns
from scrub.stores.delta_runs import DeltaRuns, last_committed, repair_mark
from scrub.stores.delta_snapshot import DeltaSnapshot, open_snapshot, require_writable
from scrub.stores.delta_undo import Undo, values_of
from scrub.stores.delta_writes import DeltaWriter, commit_states
from scrub.stores.entry_states import DAMAGED, Values, comparable, identity, with_zeros_of
from scrub.stores.locations import normalise
from scrub.stores.recovering import by_key, key_names, plain_shape
from scrub.stores.repairing import (
    Applied,
    Change,
    JournalRecord,
    Reason,
    RunRecord,
    changes_of,
    entry_of,
    is_in_order,
    judge,
)
from scrub.stores.row_entries import RowEntries, native_row_entries, with_evident_types

EntriesOf = Callable[[Table, Index], RowEntries]
_LOOKS_MAX = 10
_WRITE_BY_HAND = "build the index again, or write to it with the system that owns it"
# What is deleted makes room for what is put: in a unique index, both can have one place.
_TURNS = (ActionKind.DELETE, ActionKind.KEEP_ONE, ActionKind.REPLACE, ActionKind.PUT)


def entries_without_spark(table: Table, index: Index) -> RowEntries:
    """What makes entries where every engine agrees on the index's expressions; else a refusal."""
    made = native_row_entries(table, with_evident_types(table, index))
    if made is None:
        texts = ", ".join(f"'{text}'" for text in index.expressions)
        raise UsageError(
            f"index {index.name} is not repaired: only Spark can evaluate {texts}",
            hint="build the index anew: scrub backfill",
        )
    return made


@dataclass(frozen=True, slots=True)
class Demanded:
    """The entries that rows should have, for each key, in one version of the table."""

    entries: list[list[Values]]
    version: int
    is_latest: bool  # the table may have moved on since


@dataclass(frozen=True, slots=True)
class _Judged:
    """What became of a batch, and what decided it."""

    applied: list[Applied]
    demanded: Demanded


class DeltaRepairs:
    """The repairs of tables in one lake, whose journal it keeps; `others` may hold indexes."""

    batch_actions_max = 10_000
    """Each commit rewrites the files that lose entries: the fewer commits, the better."""

    def __init__(
        self,
        store: Store,
        *others: Store,
        entries_of: EntriesOf = entries_without_spark,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._stores = {one.name: one for one in (*others, store)}
        self._entries_of = entries_of
        self._sleep = sleep
        self._holder: Holder | None = None
        self._demands = Demands()
        journal = DeltaJournal(normalise(store.path or "."), dict(store.options), sleep)
        self._runs = DeltaRuns(journal, self._open)

    def close(self) -> None:
        """Let others have the table, also when the run did not come to its end."""
        self._holder = None

    def rows_there(self, table: Table, keys: Sequence[Entry]) -> list[bool]:
        columns = key_columns(table)
        wanted = to_table(keys, columns)
        with self._open(table.store, table.relation) as snapshot:
            there = set(comparable(find_rows(snapshot, table, columns, wanted)))
        return [key in there for key in comparable(wanted)]

    def entries_of(self, table: Table, index: Index, keys: Sequence[Entry]) -> list[list[Entry]]:
        shape = plain_shape(table, index)
        wanted = to_table(keys, key_columns(table)).rename_columns(key_names(table, index))
        with self._open(index.store, index.relation) as snapshot:
            require_columns(snapshot, shape.columns)
            found = find_entries(snapshot, shape, wanted).entries
        of = comparable(found.select([column.name for column in shape.indexed]))
        entries: list[Entry] = list(from_table(found, shape.columns))
        return by_key(comparable(wanted), of, entries)

    def begin(self, record: RunRecord) -> None:
        if self._holder is None:
            self._holder = Holder.here()
        self._runs.begin(record, self._holder)

    def apply(
        self, run: str, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[Applied]:
        """One commit, and then another look at the rows if the table has moved on meanwhile."""
        judged = self._change(run, table, index, actions)
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
            judged = self._change(run, table, index, opposites)
            for place, opposite, result in zip(places, opposites, judged.applied, strict=True):
                if result.outcome is ActionOutcome.DONE:
                    written[place] = opposite
                    applied[place] = Applied(_told(actions[place], opposite))
        return applied

    def hindrances(
        self,
        table: Table,  # noqa: ARG002 it is the index that is asked
        index: Index,
        actions: Sequence[Action],
    ) -> list[Reason | None]:
        try:
            with self._open(index.store, index.relation) as snapshot:
                require_writable(snapshot)
                require_staying(snapshot)
                _require_removable(snapshot)
                # Types that only Spark can tell do not matter here, so it need not start.
                known = [Column(name=c.name, type=c.type) for c in index.entry if c.type]
                require_columns(snapshot, known)
                demanding = demanding_columns(snapshot, [c.name for c in index.entry])
                outside = [not_in_a_partition(snapshot, a.after or {}) for a in actions]
        except RelationMismatch as error:
            return [(str(error), error.hint or _WRITE_BY_HAND) for _ in actions]
        why = _never_null(index.relation, demanding[0]) if demanding else None
        return [
            (why if action.kind is ActionKind.PUT else None) or unwritable
            for action, unwritable in zip(actions, outside, strict=True)
        ]

    def in_order(self, table: Table, index: Index, actions: Sequence[Action]) -> list[bool]:
        shape = self._shape(table, index)
        changes = changes_of(shape, [(a.kind, a.before, a.after, 0) for a in actions])
        places = [entry for a in actions for entry in (a.before, a.after) if entry is not None]
        with self._open(index.store, index.relation) as snapshot:
            require_columns(snapshot, shape.columns)
            demanded = self._demanded(snapshot, table, index, actions)
            entries = find_entries(snapshot, shape, to_table(places, shape.columns)).entries
        found: dict[Values, list[Values]] = {}
        for entry in comparable(entries):
            found.setdefault(identity(shape, entry), []).append(entry)
        return [
            is_in_order(
                change, rows, [e for p in _places(shape, change) for e in found.get(p, ())], shape
            )
            for change, rows in zip(changes, demanded.entries, strict=True)
        ]

    def take_back(
        self, run: str, table: Table, index: Index, records: Sequence[JournalRecord]
    ) -> list[Applied]:
        shape = self._shape(table, index)
        known = {
            (one.record.run, one.record.number): one
            for of in {record.run for record in records}
            for one in self._runs.changes(of)
            if one.record.index == index.name
        }
        undo = Undo(
            shape,
            [known[record.run, record.number] for record in records],
            [one for one in known.values() if one.record.undone_by is not None],
        )
        keys = undo.rows(shape.columns)
        applied: list[Applied] = []

        def attempt(snapshot: DeltaSnapshot, new: NewFiles) -> bool:
            require_staying(snapshot)
            found = WholeEntries.find(snapshot, shape, keys)
            applied[:] = undo.judge(found.states)
            contents: list[Mapping[str, Any]] = [
                {"of": record.run, "number": record.number}
                for record, result in zip(records, applied, strict=True)
                if result.outcome in (ActionOutcome.DONE, ActionOutcome.ALREADY_RIGHT)
            ]
            rows = undo.rows(found.whole.columns)
            return self._commit(run, EventKind.UNDO, index, new, found, rows, contents)

        self._writer(index).until_committed(index.relation, attempt)
        return applied

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

    def _change(self, run: str, table: Table, index: Index, batch: Sequence[Action]) -> _Judged:
        """Judge, journal and commit a batch, again and again until nobody is in the way."""
        shape = self._shape(table, index)
        order = sorted(range(len(batch)), key=lambda place: _turn(batch[place]))
        actions = [batch[place] for place in order]
        changes = changes_of(shape, [(a.kind, a.before, a.after, 0) for a in actions])
        given = to_table([entry_of(a.after, a.before) for a in actions], shape.columns)
        judged: list[_Judged] = []

        def attempt(snapshot: DeltaSnapshot, new: NewFiles) -> bool:
            require_staying(snapshot)
            require_columns(snapshot, shape.columns)
            # The index was opened first: rows that its writers committed before are seen here.
            demanded = self._demanded(snapshot, table, index, actions)
            asked = [_is_open(c, now) for c, now in zip(changes, demanded.entries, strict=True)]
            keys = given.filter(pa.array(asked, pa.bool_()))
            removed = Expected(new, _removed(changes, demanded.entries), len(shape.columns))
            found = WholeEntries.find(snapshot, shape, keys, removed)
            applied = judge(changes, demanded.entries, found.states)
            judged[:] = [_Judged(applied, demanded)]
            gone = found.removed_by(changes, applied)
            exact = with_zeros_of(demanded.entries, given)
            rows = found.in_place_of(exact, gone)
            told = _Told(shape, found, found.images(), from_table(exact, shape.columns))
            contents = [
                told.content(action, changes[number], result, gone[number])
                for number, (action, result) in enumerate(zip(actions, applied, strict=True))
                if result.outcome is ActionOutcome.DONE
            ]
            return self._commit(run, EventKind.REPAIR, index, new, found, rows, contents)

        self._writer(index).until_committed(index.relation, attempt)
        of_places = dict(zip(order, judged[0].applied, strict=True))
        return replace(judged[0], applied=[of_places[place] for place in range(len(batch))])

    def _commit(
        self,
        run: str,
        kind: EventKind,
        of: Index | Table,
        new: NewFiles,
        found: WholeEntries,
        rows: pa.Table,
        contents: Sequence[Mapping[str, Any]],
    ) -> bool:
        """Journal first: a record without a write is harmless, a write without one is not."""
        if not contents:
            return True
        place = {
            "store": of.store,
            "relation": of.relation if found.has_changed else None,
            "follows": last_committed(new.snapshot, run),
        }
        number = self._runs.journal.add(run, kind, [{**place, **one} for one in contents])
        if not found.has_changed:
            return True
        mark = Mark(repair_mark(run), number)
        return commit_states(new, found.whole, found.found, found.states, rows, mark)

    def _demanded(
        self, snapshot: DeltaSnapshot, table: Table, index: Index, actions: Sequence[Action]
    ) -> Demanded:
        """What the rows that some actions concern demand of a version of the index."""
        maker = self._entries_of(table, index)
        version = _version_shown(snapshot, table, maker.index)
        with self._open(table.store, table.relation, version) as of_table:
            known = snapshot.configuration.get(TABLE_ID)
            if known is not None and known != str(of_table.table.metadata().id):
                raise RelationMismatch(
                    f"{table.relation} is another table than the one that index "
                    f"{maker.index.name} was built from: it was made anew",
                    hint="build the index anew",
                )
            entries = self._demands.of(of_table, table, maker, _keys(table, actions))
            return Demanded(entries, of_table.version, version is None)

    def _has_moved_on(self, table: Table, demanded: Demanded) -> bool:
        if not demanded.is_latest:
            return False
        with self._open(table.store, table.relation) as snapshot:
            return snapshot.version != demanded.version

    def _shape(self, table: Table, index: Index) -> EntryShape:
        return shape_of(table, self._entries_of(table, index).index)

    def _open(
        self, store: str, relation: str, version: int | None = None
    ) -> AbstractContextManager[DeltaSnapshot]:
        found = self._store(store)
        return open_snapshot(normalise(found.path or "."), relation, found.options, version)

    def _writer(self, of: Index | Table) -> DeltaWriter:
        return DeltaWriter(self._store(of.store), self._sleep)

    def _store(self, name: str) -> Store:
        found = self._stores.get(name)
        if found is None or found.kind != "delta":
            raise UsageError(
                f"store {name} is no lake that these repairs were given",
                hint="an index is repaired where its table is in a lake, too",
            )
        return found


def _require_removable(snapshot: DeltaSnapshot) -> None:
    """What is put must be removable: for an undo, if for nothing else."""
    if snapshot.configuration.get("delta.appendOnly", "false").lower() == "true":
        raise RelationMismatch(
            f"Delta table {snapshot.relation} has the property delta.appendOnly, so nothing can "
            "be removed from it or replaced in it",
            hint="unset the property for the repair, or build the index again",
        )


def _never_null(relation: str, column: str) -> Reason:
    return (
        f"column {column} of Delta table {relation} is never NULL, and no row tells its value",
        "let the column be NULL, or put the entry by hand",
    )


def _version_shown(snapshot: DeltaSnapshot, table: Table, index: Index) -> int | None:
    """The version of the table that an index is judged by; None for the latest."""
    followed = followed_version(snapshot, table.relation)
    if followed is not None or index.reflects is None:
        return followed
    if index.reflects.version is None:
        raise UsageError(
            f"index {index.name} is not repaired: it reflects the table with a lag that only a "
            "check resolves",
            hint="name the version (reflects: {version: N}), or have the index follow: "
            f"scrub index follow {table.name} {index.name} --from VERSION",
        )
    return index.reflects.version


def require_staying(snapshot: DeltaSnapshot) -> None:
    """Refuse an index that somebody else is making or removing as a whole."""
    state = build_state(snapshot)
    if state is not BuildState.PUBLIC:
        raise RelationMismatch(
            f"Delta table {snapshot.relation} is {state}: it is not repaired meanwhile",
            hint="let the build end, or cancel it: scrub backfill status TABLE shows it",
        )


@dataclass(frozen=True, slots=True)
class _Told:
    """The entries of a batch in the words of the journal: those found and those given."""

    shape: EntryShape
    found: WholeEntries
    images: Sequence[Entry]
    given: Sequence[Entry]

    def content(
        self, action: Action, change: Change, applied: Applied, removed: Sequence[int]
    ) -> dict[str, Any]:
        """What the journal tells of a change: what it removed, exactly, and what it left."""
        kind = ActionKind.DELETE if applied.beside else action.kind
        left = self.found.left_in_place(values_of(change))
        return {
            "index": action.index,
            "kind": kind.value,
            "defect": action.defect,
            "primary_key": None if action.primary_key is None else dict(action.primary_key),
            "before": self._trimmed(self.images[removed[0]]) if removed else None,
            "after": None if action.after is None else dict(action.after),
            "removed": [self.images[number] for number in removed],
            "left": [self._entry(found, given) for found, given in left],
        }

    def _entry(self, found: int | None, given: int | None) -> Entry:
        if found is not None:
            return self._trimmed(self.images[found])
        assert given is not None, "an entry was found or given"
        return self.given[given]

    def _trimmed(self, image: Entry) -> Entry:
        """The columns of an image that the catalog knows."""
        return {name: image[name] for name in self.shape.names}


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


def _places(shape: EntryShape, change: Change) -> set[Values]:
    return {identity(shape, entry) for entry in (change.before, change.after) if entry is not None}


def _turn(action: Action) -> int:
    return _TURNS.index(action.kind) if action.kind in _TURNS else len(_TURNS)


def _opposite(action: Action) -> Action:
    """What to do if rows no longer demand what was written; it is judged by them again."""
    if action.kind is ActionKind.DELETE:
        return replace(action, kind=ActionKind.PUT, before=None, after=action.before)
    return replace(action, kind=ActionKind.DELETE, before=action.after, after=None)


def _told(asked: Action, done_last: Action) -> ActionOutcome:
    """How an action ended whose row changed before the index was committed."""
    if asked.kind is done_last.kind:
        return ActionOutcome.DONE
    is_back = asked.kind is ActionKind.DELETE
    return ActionOutcome.PUT_BACK if is_back else ActionOutcome.ROW_CHANGED


def _keys(table: Table, actions: Sequence[Action]) -> pa.Table:
    return to_table([action.primary_key or {} for action in actions], key_columns(table))
