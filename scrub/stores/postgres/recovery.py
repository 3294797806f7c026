# SPDX-License-Identifier: Apache-2.0
"""Putting lost rows back into PostgreSQL tables, and taking them out again.

Each row is one short transaction. It locks the entries that tell of the row, inserts it if no row
has its key, reads it back as the table took it, puts the entries that it demands where an index has
none, and writes the journal. If anything is not as it should be, all of it is taken back.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from scrub.codec.json_values import from_table, to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.index_shape import shape_of
from scrub.model.repair import Action, ActionOutcome, Entry
from scrub.model.table import Column, Index, Table
from scrub.stores.entry_states import EntryStates, comparable
from scrub.stores.postgres.building.briefly import Brief
from scrub.stores.postgres.building.entry_sql import entry_sql
from scrub.stores.postgres.connections import require_psycopg
from scrub.stores.postgres.entry_writing import NotWritten, write_entries
from scrub.stores.postgres.index_table import IndexTable, arrays_of, lists_of
from scrub.stores.postgres.lost_rows import generated_columns, settle_rows
from scrub.stores.postgres.quoting import beside_parameters, identifier
from scrub.stores.postgres.repairs import PostgresRepairs, told_in_words
from scrub.stores.postgres.row_demands import among, entries_due, key_columns
from scrub.stores.postgres.write_batches import refusal_of
from scrub.stores.recovering import kept_indexes, put_of, row_shape
from scrub.stores.repairing import Applied, JournalRecord, Reason, RowImages
from scrub.stores.writing import Outcome

_CASCADING = """
    SELECT c.conrelid::regclass::text,
           (SELECT string_agg(format('r.%%I OPERATOR(%%I.%%s) c.%%I', parent.attname, n.nspname,
                                     o.oprname, child.attname), ' AND ')
            FROM unnest(c.conkey, c.confkey, c.conpfeqop) AS k(child, parent, operator)
            JOIN pg_operator o ON o.oid = k.operator
            JOIN pg_namespace n ON n.oid = o.oprnamespace
            JOIN pg_attribute child ON child.attrelid = c.conrelid AND child.attnum = k.child
            JOIN pg_attribute parent ON parent.attrelid = c.confrelid AND parent.attnum = k.parent)
    FROM pg_constraint c
    WHERE c.confrelid = %s AND c.contype = 'f' AND c.confdeltype IN ('c', 'n', 'd')
"""
"""Foreign keys by which deleting a row would change other tables, and their conditions."""


class _Left(Exception):
    """A row that is left as it is; whatever the transaction did so far is taken back."""

    def __init__(self, outcome: ActionOutcome, reason: str = "") -> None:
        super().__init__(reason)
        self.applied = Applied(outcome, reason=reason)


class RecoveringPostgres(PostgresRepairs):
    """Repairs that put rows back, too."""

    def settle(self, table: Table, actions: Sequence[Action]) -> list[Action | Reason]:
        with told_in_words():
            return settle_rows(self.connection, self.schema, table, actions)

    def recover(self, run: str, table: Table, actions: Sequence[Action]) -> list[Applied]:
        return [self._recover(run, table, action) for action in actions]

    def take_back_rows(
        self, run: str, table: Table, records: Sequence[JournalRecord]
    ) -> list[Applied]:
        return [self._take_back(run, table, record) for record in records]

    def _recover(self, run: str, table: Table, action: Action) -> Applied:
        told = {one.index: one.entry for one in action.lost.told} if action.lost else {}

        def work(brief: Brief) -> list[Applied]:
            place = _Place.of(brief, self.schema, table, action.primary_key or {})
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
        found = IndexTable.of(brief, self.schema, shape).find(brief, given, lock=True)
        states = EntryStates.of(shape, comparable(found.entries), found.marks)
        if states.copies(comparable(given)[0]) != 1:
            raise _Left(
                ActionOutcome.CONFLICT, f"index {index.name} no longer holds what told of the row"
            )

    def _put(
        self, brief: Brief, table: Table, index: Index, key: pa.Table, told: Entry | None
    ) -> list[tuple[Entry, RowImages]]:
        """The entry that a row demands of an index, put where there is none; what was put."""
        shape = shape_of(table, index)
        entry = entry_sql(brief.connection, self.schema, table, index)
        _, given = entries_due(brief, entry, self.schema, table, shape, key)
        due = comparable(given)
        if told is not None and due != comparable(to_table([told], shape.columns)):
            raise _Left(
                ActionOutcome.CONFLICT,
                f"the row does not give the entry that index {index.name} holds",
            )
        if not due:
            return []
        relation = IndexTable.of(brief, self.schema, shape)

        def judged(states: EntryStates) -> list[Outcome]:
            return [states.init_put(v, n, fail_on_tombstones=False) for n, v in enumerate(due)]

        written = write_entries(brief, relation, given, judged)
        if Outcome.CONFLICT in written.outcomes:
            raise _Left(
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
            place = _Place.of(brief, self.schema, table, record.primary_key or {})
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
        shape = shape_of(table, index)
        entry = entry_sql(brief.connection, self.schema, table, index)
        _, due = entries_due(brief, entry, self.schema, table, shape, key)
        found = IndexTable.of(brief, self.schema, shape).find(brief, due, lock=True, whole=True)
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
            IndexTable.of(brief, self.schema, shape),
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
                raise _Left(ActionOutcome.REFUSED, reason) from error

        try:
            return self._insistently(told)[0]
        except _Left as left:
            return left.applied


@dataclass(slots=True)
class _Place:
    """Where a row is or could be: its table, and its key."""

    brief: Brief
    table: Table
    rows: IndexTable  # the table, whose rows are found like entries
    key: pa.Table
    generated: frozenset[str]

    @classmethod
    def of(cls, brief: Brief, schema: str, table: Table, key: Entry) -> "_Place":
        rows = IndexTable.of(brief, schema, row_shape(table))
        if not rows.is_guarded or rows.relation.has_children:
            # Nothing else keeps a second row of the key out.
            brief.execute(f"LOCK TABLE {rows.relation.sql} IN SHARE ROW EXCLUSIVE MODE")
        generated = generated_columns(brief.connection, rows.relation)
        return cls(brief, table, rows, to_table([key], key_columns(table)), generated)

    def find(self, lock: bool) -> pa.Table:
        return self.rows.find(self.brief, self.key, lock).entries

    def demand_absent(self, wanted: Entry) -> None:
        found = self.find(lock=False)
        if found.num_rows:
            is_same = comparable(found) == comparable(to_table([wanted], self.rows.shape.columns))
            same, other = ActionOutcome.ALREADY_RIGHT, ActionOutcome.ROW_CHANGED
            raise _Left(same if is_same else other)

    def insert(self, action: Action) -> None:
        """With NULL for all that nobody knows: a default would look like knowledge."""
        known = self._known(action)
        arrays, names = arrays_of(known, self.rows.columns)
        told = {column.name for column in known}
        values = {
            column.name: f"k.{identifier(column.name)}::{column.shown}"
            if column.name in told
            else "NULL"
            for column in self.rows.columns.values()
            if column.name not in self.generated
        }
        columns = ", ".join(map(identifier, values))
        done = self.brief.execute(
            beside_parameters(
                f"INSERT INTO {self.rows.relation.sql} ({columns}) OVERRIDING SYSTEM VALUE "
                f"SELECT {', '.join(values.values())} FROM "
            )
            + f"unnest({arrays}) AS k({names}) ON CONFLICT DO NOTHING",
            lists_of(to_table([action.after or {}], known)),
        )
        if done.rowcount != 1:
            self.demand_absent(action.after or {})
            raise _Left(ActionOutcome.REFUSED, "another row of the table has a unique key of it")

    def taken_as(self, action: Action) -> Entry:
        """The row as the table has it now, which must be as it was told."""
        known = self._known(action)
        found = self.find(lock=False)
        names = [column.name for column in known]
        if comparable(found.select(names)) != comparable(to_table([action.after or {}], known)):
            raise _Left(ActionOutcome.REFUSED, "the table makes another row of it")
        return from_table(found, self.rows.shape.columns)[0]

    def demand_untouched(self, left: Entry) -> None:
        """Columns that the catalog does not know must still be NULL."""
        columns = self.rows.shape.columns
        further = self.rows.columns.keys() - set(self.rows.shape.names) - self.generated
        untold = " AND ".join(
            ["true", *(f"pg_catalog.num_nulls(r.{identifier(name)}) = 1" for name in further)]
        )
        found = self.find(lock=False)
        wanted = {column.name: left.get(column.name) for column in columns}
        if comparable(found) != comparable(to_table([wanted], columns)) or not self._asked(untold):
            raise _Left(ActionOutcome.CONFLICT, "the row has changed since")
        children = self.brief.execute(_CASCADING, (self.rows.relation.oid,)).fetchall()
        for child, condition in children:
            if self._asked(f"EXISTS (SELECT FROM {child} AS c WHERE {condition})"):
                raise _Left(ActionOutcome.CONFLICT, f"rows of {child} refer to it by now")

    def delete(self) -> None:
        self.brief.execute(
            beside_parameters(f"DELETE FROM {self.rows.relation.sql} AS r WHERE ") + self._is_it,
            lists_of(self.key),
        )

    def _asked(self, condition: str) -> bool:
        """Whether something holds of the row, which is called r."""
        query = beside_parameters(f"SELECT {condition} FROM {self.rows.relation.sql} AS r WHERE ")
        (row,) = self.brief.execute(query + self._is_it, lists_of(self.key)).fetchall()
        return bool(row[0])

    @property
    def _is_it(self) -> str:
        return among(key_columns(self.table), self.rows.columns, self.rows.equalities)

    def _known(self, action: Action) -> list[Column]:
        """The catalog's columns, but for those that the database computes and nobody told."""
        told = action.lost.columns if action.lost else {}
        return [
            column
            for column in self.rows.shape.columns
            if column.name not in self.generated or column.name in told
        ]
