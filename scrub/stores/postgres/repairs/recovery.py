# SPDX-License-Identifier: Apache-2.0
"""Putting lost rows back into PostgreSQL tables, and removing them again for an undo.

Each row is one short transaction. It locks the entries that tell of the row, inserts it if no row
has its key, reads it back as the table took it, puts the entries that it demands where an index has
none, and writes the journal. If anything is not as it should be, all of it is rolled back.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from scrub.codec.json_values import from_table, to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.index_shape import shape_of
from scrub.model.journal import JournalRecord, RowImages
from scrub.model.repair import Action, ActionOutcome, Entry
from scrub.model.table import Index, Table
from scrub.stores.entry_states import EntryStates, Outcome, comparable
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.connections import require_psycopg
from scrub.stores.postgres.repairs.entry_writing import write_entries
from scrub.stores.postgres.repairs.index_repairs import PostgresRepairs
from scrub.stores.postgres.repairs.index_table import IndexTable
from scrub.stores.postgres.repairs.lost_rows import settle_rows
from scrub.stores.postgres.repairs.planned_writes import NotWritten
from scrub.stores.postgres.repairs.row_demands import entries_due
from scrub.stores.postgres.repairs.row_place import LeftAlone, RowPlace
from scrub.stores.postgres.repairs.session import in_words
from scrub.stores.postgres.repairs.write_batches import refusal_of
from scrub.stores.recovering import kept_indexes, put_of
from scrub.stores.repairing import Applied, Reason


class RecoveringPostgres(PostgresRepairs):
    """Repairs that put rows back, too."""

    def settle(self, table: Table, actions: Sequence[Action]) -> list[Action | Reason]:
        with in_words():
            return settle_rows(self.connection, self._schema, table, actions)

    def recover(self, run: str, table: Table, actions: Sequence[Action]) -> list[Applied]:
        return [self._recover(run, table, action) for action in actions]

    def take_back_rows(
        self, run: str, table: Table, records: Sequence[JournalRecord]
    ) -> list[Applied]:
        return [self._take_back(run, table, record) for record in records]

    def _recover(self, run: str, table: Table, action: Action) -> Applied:
        told = {one.index: one.entry for one in action.lost.told} if action.lost else {}

        def work(brief: Brief) -> list[Applied]:
            place = RowPlace.of(brief, self._schema, table, action.primary_key or {})
            place.demand_absent(action.after or {})
            for index in kept_indexes(table):
                if index.name in told:
                    self._demand_told(brief, table, index, told[index.name])
            place.insert(action)
            row = place.taken_as(action)
            puts = [
                (put_of(action, index.name, entry), images)
                for index in kept_indexes(table)
                for entry, images in self._put(brief, table, index, place.key, told.get(index.name))
            ]
            done = [(replace(action, after=row), RowImages()), *puts]
            applied = Applied(ActionOutcome.DONE)
            self._journal.add(
                brief.connection, run, [(one, applied, images) for one, images in done]
            )
            return [applied]

        return self._unless_left(work)

    def _demand_told(self, brief: Brief, table: Table, index: Index, entry: Entry) -> None:
        """The entry that tells of the row must be there, once, and stays as it is."""
        shape = shape_of(table, index)
        given = to_table([entry], shape.columns)
        found = IndexTable.of(brief, self._schema, shape).find(brief, given, lock=True)
        states = EntryStates.of(shape, comparable(found.entries), found.marks)
        if states.copies(comparable(given)[0]) != 1:
            raise LeftAlone(
                ActionOutcome.CONFLICT,
                f"index {index.name} no longer holds the entry that the row was derived from",
            )

    def _put(
        self, brief: Brief, table: Table, index: Index, key: pa.Table, told: Entry | None
    ) -> list[tuple[Entry, RowImages]]:
        """The entry that a row demands of an index, put where there is none; what was put."""
        shape = shape_of(table, index)
        given = entries_due(brief, self._schema, table, index, key)
        due = comparable(given)
        if told is not None and due != comparable(to_table([told], shape.columns)):
            raise LeftAlone(
                ActionOutcome.CONFLICT,
                f"the row does not give the entry that index {index.name} holds",
            )
        if not due:
            return []
        relation = IndexTable.of(brief, self._schema, shape)

        def judged(states: EntryStates) -> list[Outcome]:
            return [states.init_put(v, n, fail_on_tombstones=False) for n, v in enumerate(due)]

        written = write_entries(brief, relation, given, judged)
        if Outcome.CONFLICT in written.outcomes:
            raise LeftAlone(
                ActionOutcome.CONFLICT, f"another row has the place of its entry in {index.name}"
            )
        entries = from_table(given, shape.columns)
        return [
            (entries[number], written.images[number])
            for number, one in enumerate(written.outcomes)
            if one is Outcome.WRITTEN
        ]

    def _take_back(self, run: str, table: Table, record: JournalRecord) -> Applied:
        def work(brief: Brief) -> list[Applied]:
            place = RowPlace.of(brief, self._schema, table, record.primary_key or {})
            applied = Applied(ActionOutcome.ALREADY_RIGHT)
            if place.find(lock=True).num_rows:
                place.demand_untouched(record.after or {})
                held = [
                    (shape_of(table, index), *entries)
                    for index in kept_indexes(table)
                    for entries in self._held(brief, table, index, place.key)
                ]
                place.delete()
                for shape, entry, images in held:
                    self._restore(brief, shape, entry, images)
                applied = Applied(ActionOutcome.DONE)
            self._journal.mark_undone(brief.connection, run, [record])
            return [applied]

        return self._unless_left(work)

    def _held(
        self, brief: Brief, table: Table, index: Index, key: pa.Table
    ) -> Iterator[tuple[pa.Table, RowImages]]:
        """The row's entry, if the index holds it, with all columns."""
        due = entries_due(brief, self._schema, table, index, key)
        held = IndexTable.of(brief, self._schema, shape_of(table, index))
        found = held.find(brief, due, lock=True, whole=True)
        values = comparable(found.entries)
        there = [n for n, v in enumerate(values) if v in comparable(due)]
        if there:
            yield due, RowImages(before=[found.images[there[0]]])

    def _restore(
        self, brief: Brief, shape: EntryShape, entries: pa.Table, images: RowImages
    ) -> None:
        """Triggers may have deleted the entry with its row: without the row, it is as before."""
        values = comparable(entries)
        write_entries(
            brief,
            IndexTable.of(brief, self._schema, shape),
            entries,
            lambda states: [states.init_put(v, n, False) for n, v in enumerate(values)],
            undone=[images],
        )

    def _unless_left(self, work: Callable[[Brief], list[Applied]]) -> Applied:
        def told(brief: Brief) -> list[Applied]:
            try:
                return work(brief)
            except (NotWritten, require_psycopg().Error) as error:
                reason = refusal_of(error)
                if reason is None:
                    raise
                raise LeftAlone(ActionOutcome.REFUSED, reason) from error

        try:
            return self._session.insistently(told)[0]
        except LeftAlone as left:
            return left.applied
