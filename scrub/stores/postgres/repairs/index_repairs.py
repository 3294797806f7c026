# SPDX-License-Identifier: Apache-2.0
"""Repairing index tables in PostgreSQL, while they are written to.

A batch is one transaction. It locks the rows concerned, so that nobody changes them meanwhile,
reads what entries they should have, locks the entries, changes those that still call for it, and
writes the journal. A row that is not there cannot be locked. So after a delete the repair waits for
open writers, and `repair` looks at the row again.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import pyarrow as pa

from scrub.codec.json_values import to_table
from scrub.errors import StoreUnavailable, UsageError
from scrub.model.index_shape import shape_of
from scrub.model.journal import JournalRecord, RowImages, RunRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, Entry
from scrub.model.table import Index, Store, Table
from scrub.stores.entry_states import comparable, with_zeros_of
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.relations import find_relation
from scrub.stores.postgres.repairs.entry_writing import Written, write_entries
from scrub.stores.postgres.repairs.hindered_actions import hindered, hindrances_of, unlockable
from scrub.stores.postgres.repairs.hindrances import IndexHindrances
from scrub.stores.postgres.repairs.index_table import IndexTable
from scrub.stores.postgres.repairs.journal import PostgresJournal
from scrub.stores.postgres.repairs.row_demands import Demands, demands_of_rows
from scrub.stores.postgres.repairs.session import RepairSession, in_words
from scrub.stores.postgres.repairs.table_rows import TableRows, key_columns
from scrub.stores.postgres.repairs.write_batches import attempted
from scrub.stores.postgres.session_locks import unlock_all
from scrub.stores.recovering import entries_by_key, key_names, plain_shape
from scrub.stores.repairing import (
    Applied,
    Reason,
    changes_of,
    changes_of_actions,
    entry_of,
    is_in_order,
    judge,
    judge_undo,
)


class PostgresRepairs:
    """The repairs of one schema, through one session, which holds the table's lock.

    `demands` says what rows demand of an index; by default what rows in columns do.
    """

    batch_actions_max = 200  # so that a transaction is short

    def __init__(
        self,
        store: Store,
        sleep: Callable[[float], None] = time.sleep,
        demands: Demands = demands_of_rows,
    ) -> None:
        self._session = RepairSession(store, sleep)
        self._schema = self._session.schema
        self._demands = demands
        self._journal = PostgresJournal(self._schema)
        self._run: str | None = None  # for which this session holds the table

    @property
    def connection(self) -> Connection:
        return self._session.connection

    def close(self) -> None:
        self._session.close()

    def rows_there(self, table: Table, keys: Sequence[Entry]) -> list[bool]:
        wanted = to_table(keys, key_columns(table))
        brief = Brief(self.connection)
        rows = TableRows.of(brief, self._schema, table)
        if (why := unlockable(rows.relation)) is not None:
            raise UsageError(why[0], hint=why[1])
        with in_words():
            there = set(rows.keys_there(brief, wanted))
        return [key in there for key in comparable(wanted)]

    def entries_of(self, table: Table, index: Index, keys: Sequence[Entry]) -> list[list[Entry]]:
        shape = plain_shape(table, index)
        wanted = to_table(keys, key_columns(table)).rename_columns(key_names(table, index))
        with self._session.reading() as brief:
            relation = IndexTable.of(brief, self._schema, shape)
            if relation.relation.is_filtered:
                raise StoreUnavailable(
                    f"row-level security hides entries of {relation.relation.label} from this role"
                )
            found = relation.find(brief, wanted, lock=False).entries
        return entries_by_key(shape, wanted, found)

    def begin(self, record: RunRecord) -> None:
        self._session.demand_alone(record.table)
        with in_words(), self.connection.transaction():
            self._journal.begin(self.connection, record)
        self._run = record.run

    def apply(
        self, run: str, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[Applied]:
        shape = shape_of(table, index)
        given = to_table([entry_of(a.after, a.before) for a in actions], shape.columns)
        changes = changes_of_actions(shape, actions)

        def work(brief: Brief) -> list[Applied]:
            relation = IndexTable.of(brief, self._schema, shape)
            relation.lock(brief)
            hindrances = IndexHindrances.of(brief.connection, relation.relation)
            expected = self._demands(brief, self._schema, table, index, actions)
            exact = with_zeros_of(expected, given)

            def attempt(numbers: Sequence[int]) -> list[Applied]:
                some = [changes[number] for number in numbers]
                now = [expected[number] for number in numbers]
                written = write_entries(
                    brief,
                    relation,
                    exact.take(pa.array(numbers, pa.int64())),
                    lambda states: judge(some, now, states),
                    hindrances,
                )
                self._journal.add(
                    brief.connection, run, _done([actions[n] for n in numbers], written)
                )
                return written.outcomes

            whys = [hindered(hindrances, shape, action) for action in actions]
            return attempted(brief.connection, whys, attempt)

        return self._session.insistently(work)

    def hindrances(
        self, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[Reason | None]:
        shape = shape_of(table, index)
        with self._session.reading() as brief:
            rows = find_relation(self.connection, self._schema, table.relation)
            if (why := unlockable(rows)) is not None:
                return [why] * len(actions)
            return hindrances_of(brief, self._schema, shape, actions)

    def in_order(self, table: Table, index: Index, actions: Sequence[Action]) -> list[bool]:
        shape = shape_of(table, index)
        changes = changes_of_actions(shape, actions)
        places = [entry for a in actions for entry in (a.before, a.after) if entry is not None]

        def work(brief: Brief) -> list[bool]:
            relation = IndexTable.of(brief, self._schema, shape)
            expected = self._demands(brief, self._schema, table, index, actions)
            found = comparable(
                relation.find(brief, to_table(places, shape.columns), lock=False).entries
            )
            return [
                is_in_order(change, rows, found, shape)
                for change, rows in zip(changes, expected, strict=True)
            ]

        return self._session.insistently(work)

    def take_back(
        self, run: str, table: Table, index: Index, records: Sequence[JournalRecord]
    ) -> list[Applied]:
        shape = shape_of(table, index)
        given = to_table([entry_of(r.before, r.after) for r in records], shape.columns)
        changes = changes_of(shape, [(r.kind, r.before, r.after, r.copies) for r in records])

        def work(brief: Brief) -> list[Applied]:
            relation = IndexTable.of(brief, self._schema, shape)
            relation.lock(brief)
            hindrances = IndexHindrances.of(brief.connection, relation.relation)

            def attempt(numbers: Sequence[int]) -> list[Applied]:
                some = [changes[number] for number in numbers]
                applied = write_entries(
                    brief,
                    relation,
                    given.take(pa.array(numbers, pa.int64())),
                    lambda states: judge_undo(some, states),
                    hindrances,
                    [records[number].images or RowImages() for number in numbers],
                ).outcomes
                done = [
                    records[number]
                    for number, result in zip(numbers, applied, strict=True)
                    if result.outcome in (ActionOutcome.DONE, ActionOutcome.ALREADY_RIGHT)
                ]
                self._journal.mark_undone(brief.connection, run, done)
                return applied

            return attempted(brief.connection, [hindrances.unfit] * len(records), attempt)

        return self._session.insistently(work)

    def wait_for_writers(self, table: Table, seconds: float) -> None:
        self._session.wait_for_writers(table, seconds)

    def reindex(self, statement: str) -> None:
        """Rebuild an own index of the database; readers and writers continue."""
        with in_words():
            self.connection.execute(statement)

    def end(self, run: str) -> None:
        """Another run than this session's is one that was cut off, so the table stays held."""
        with in_words():
            self._journal.end(self.connection, run)
            if run == self._run:
                unlock_all(self.connection)
                self._run = None

    def runs(self) -> list[RunRecord]:
        with in_words():
            return self._journal.runs(self.connection)

    def journal(self, run: str) -> list[JournalRecord]:
        with in_words():
            return self._journal.records(self.connection, run)

    def forget(self, before: datetime) -> int:
        with in_words():
            return self._journal.forget(self.connection, before)


def _done(
    actions: Sequence[Action], written: Written[Applied]
) -> list[tuple[Action, Applied, RowImages]]:
    """What the journal tells of a batch."""
    return [
        (_as_deleted(action) if result.beside else action, result, images)
        for action, result, images in zip(actions, written.outcomes, written.images, strict=True)
        if result.outcome is ActionOutcome.DONE
    ]


def _as_deleted(action: Action) -> Action:
    """A delete of one of several entries of a place: see `Applied`."""
    after = action.after if action.after is not None else action.before
    return replace(action, kind=ActionKind.DELETE, after=after)
