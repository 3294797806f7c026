# SPDX-License-Identifier: Apache-2.0
"""Repairing index tables in PostgreSQL, while they are written to.

A batch is one transaction. It locks the rows concerned, so that nobody changes them meanwhile,
reads what entries they should have, locks the entries, changes those that still call for it, and
writes the journal. A row that is not there cannot be locked; so after a delete, whoever writes at
that moment is waited for, and `repair` looks at the row again.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from scrub.codec.json_values import from_table, to_table
from scrub.errors import RelationMismatch, StoreUnavailable, UsageError
from scrub.model.index_shape import shape_of
from scrub.model.repair import Action, ActionKind, ActionOutcome, Entry
from scrub.model.table import Index, Store, Table
from scrub.stores.building import GaveWay
from scrub.stores.entry_states import Values, comparable, with_zeros_of
from scrub.stores.postgres.building.blocking import blockers_of
from scrub.stores.postgres.building.briefly import Brief, briefly, patience
from scrub.stores.postgres.building.entry_sql import entry_sql
from scrub.stores.postgres.connections import connect, conninfo_of, first_line, require_psycopg
from scrub.stores.postgres.entry_writing import Written, write_entries
from scrub.stores.postgres.equality import equalities_of
from scrub.stores.postgres.hindered_actions import hindered, hindrances_of, unlockable
from scrub.stores.postgres.index_hindrances import IndexHindrances
from scrub.stores.postgres.index_table import IndexTable, lists_of
from scrub.stores.postgres.journal import PostgresJournal
from scrub.stores.postgres.quoting import beside_parameters
from scrub.stores.postgres.received import hand_over_all_times, received
from scrub.stores.postgres.relations import columns_of, find_relation, leaves_of
from scrub.stores.postgres.row_demands import among, expected_entries, key_columns, value_in
from scrub.stores.postgres.session_locks import holder_of, try_lock, unlock_all
from scrub.stores.postgres.write_batches import together_or_alone
from scrub.stores.recovering import by_key, key_names, plain_shape
from scrub.stores.repairing import (
    Applied,
    JournalRecord,
    Reason,
    RowImages,
    RunRecord,
    changes_of,
    entry_of,
    is_in_order,
    judge,
    judge_undo,
)

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

_ATTEMPTS_MAX = 60
_POLL_SECONDS = 0.05
_LOCK_ATTEMPTS_MAX = 20
_PINNED = "SET LOCAL search_path = pg_catalog, pg_temp"  # names mean what the catalog says


class PostgresRepairs:
    """The repairs of one schema, through one session, which holds the table's lock."""

    batch_actions_max = 200  # so that a transaction is short

    def __init__(self, store: Store, sleep: Callable[[float], None] = time.sleep) -> None:
        self.schema = store.schema or "public"
        self._conninfo = conninfo_of(store.url, store.options)
        self._sleep = sleep
        self._journal = PostgresJournal(self.schema)
        self._run: str | None = None  # for which this session holds the table

    @cached_property
    def connection(self) -> "psycopg.Connection[Any]":
        connection = connect(self._conninfo)
        connection.autocommit = True
        # Whatever the server's default: each statement must see what was committed before it.
        connection.isolation_level = require_psycopg().IsolationLevel.READ_COMMITTED
        hand_over_all_times(connection)
        return connection

    def close(self) -> None:
        if "connection" in self.__dict__:
            self.connection.close()

    def rows_there(self, table: Table, keys: Sequence[Entry]) -> list[bool]:
        columns = key_columns(table)
        wanted = to_table(keys, columns)
        relation = find_relation(self.connection, self.schema, table.relation)
        if (why := unlockable(relation)) is not None:
            raise UsageError(why[0], hint=why[1])
        described = columns_of(self.connection, relation)
        names = ", ".join(value_in("r", described[c.name], c) for c in columns)
        with told_in_words():
            found = self.connection.execute(
                beside_parameters(f"SELECT {names} FROM {relation.sql} AS r WHERE ")
                + among(columns, described, equalities_of(self.connection, relation.oid)),
                lists_of(wanted),
            ).fetchall()
        there = set(comparable(received(found, columns)))
        return [key in there for key in comparable(wanted)]

    def entries_of(self, table: Table, index: Index, keys: Sequence[Entry]) -> list[list[Entry]]:
        shape = plain_shape(table, index)
        wanted = to_table(keys, key_columns(table)).rename_columns(key_names(table, index))
        with told_in_words(), self.connection.transaction():
            self.connection.execute(_PINNED)
            brief = Brief(self.connection)
            relation = IndexTable.of(brief, self.schema, shape)
            if relation.relation.is_filtered:
                raise StoreUnavailable(
                    f"row-level security hides entries of {relation.relation.label} from this role"
                )
            found = relation.find(brief, wanted, lock=False).entries
        of = comparable(found.select([column.name for column in shape.indexed]))
        entries: list[Entry] = list(from_table(found, shape.columns))
        return by_key(comparable(wanted), of, entries)

    def begin(self, record: RunRecord) -> None:
        name = f"scrub repair {self.schema}.{record.table}"
        if not self._held_soon(name):
            holder = holder_of(self.connection, name) or "it has just begun"
            raise StoreUnavailable(
                f"another repair of table {record.table} is at work: {holder}",
                hint="wait for it to end, or end it: its lock goes with its session",
            )
        with told_in_words(), self.connection.transaction():
            self._journal.begin(self.connection, record)
        self._run = record.run

    def _held_soon(self, name: str) -> bool:
        """A session that has just ended lets go of its lock a moment later: that is no holder."""
        for _ in range(_LOCK_ATTEMPTS_MAX):
            if try_lock(self.connection, name):
                return True
            self._sleep(_POLL_SECONDS)
        return False

    def apply(
        self, run: str, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[Applied]:
        shape = shape_of(table, index)
        given = to_table([entry_of(a.after, a.before) for a in actions], shape.columns)
        changes = changes_of(shape, [(a.kind, a.before, a.after, 0) for a in actions])

        def work(brief: Brief) -> list[Applied]:
            relation = IndexTable.of(brief, self.schema, shape)
            relation.lock(brief)
            hindrances = IndexHindrances.of(brief.connection, relation.relation)
            expected = self._expected(brief, table, index, actions)
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
            return self._applied(brief, whys, attempt)

        return self._insistently(work)

    def hindrances(
        self, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[Reason | None]:
        shape = shape_of(table, index)
        with told_in_words(), self.connection.transaction():
            self.connection.execute(_PINNED)
            rows = find_relation(self.connection, self.schema, table.relation)
            if (why := unlockable(rows)) is not None:
                return [why] * len(actions)
            return hindrances_of(Brief(self.connection), self.schema, shape, actions)

    def _applied(
        self,
        brief: Brief,
        whys: Sequence[Reason | None],
        attempt: Callable[[Sequence[int]], list[Applied]],
    ) -> list[Applied]:
        """What is hindered is told so; the others are attempted."""
        free = [number for number, why in enumerate(whys) if why is None]
        applied = dict(zip(free, together_or_alone(brief.connection, free, attempt), strict=True))
        return [
            applied[number]
            if why is None
            else Applied(ActionOutcome.REFUSED, reason=f"{why[0]}; {why[1]}")
            for number, why in enumerate(whys)
        ]

    def in_order(self, table: Table, index: Index, actions: Sequence[Action]) -> list[bool]:
        shape = shape_of(table, index)
        changes = changes_of(shape, [(a.kind, a.before, a.after, 0) for a in actions])
        places = [entry for a in actions for entry in (a.before, a.after) if entry is not None]

        def work(brief: Brief) -> list[bool]:
            relation = IndexTable.of(brief, self.schema, shape)
            expected = self._expected(brief, table, index, actions)
            found = comparable(
                relation.find(brief, to_table(places, shape.columns), lock=False).entries
            )
            return [
                is_in_order(change, rows, found, shape)
                for change, rows in zip(changes, expected, strict=True)
            ]

        return self._insistently(work)

    def take_back(
        self, run: str, table: Table, index: Index, records: Sequence[JournalRecord]
    ) -> list[Applied]:
        shape = shape_of(table, index)
        given = to_table([entry_of(r.before, r.after) for r in records], shape.columns)
        changes = changes_of(shape, [(r.kind, r.before, r.after, r.copies) for r in records])

        def work(brief: Brief) -> list[Applied]:
            relation = IndexTable.of(brief, self.schema, shape)
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

            return self._applied(brief, [hindrances.unfit] * len(records), attempt)

        return self._insistently(work)

    def wait_for_writers(self, table: Table, seconds: float) -> None:
        oids = self._written_by_writers(table)
        waiting = {blocker.identity for blocker in blockers_of(self.connection, oids)}
        deadline = time.monotonic() + seconds
        while waiting:
            left = [b for b in blockers_of(self.connection, oids) if b.identity in waiting]
            waiting = {blocker.identity for blocker in left}
            if waiting and time.monotonic() > deadline:
                raise StoreUnavailable(
                    "rows whose entries were deleted could not be looked at again, because of "
                    + "; ".join(blocker.description for blocker in left[:5]),
                    hint="end them, and run the same again: it looks at those rows first",
                )
            if waiting:
                self._sleep(_POLL_SECONDS)

    def _written_by_writers(self, table: Table) -> list[int]:
        """The table and its indexes: a writer may begin with either."""
        names = [table.relation, *(i.relation for i in table.indexes if not i.native)]
        oids: list[int] = []
        for name in names:
            try:
                relation = find_relation(self.connection, self.schema, name)
            except RelationMismatch:
                continue  # an index that is not there is written by nobody
            leaves = leaves_of(self.connection, relation)
            oids += [relation.oid, *(leaf.oid for leaf in leaves)]
        return oids

    def reindex(self, statement: str) -> None:
        """Rebuild an index of the database's own; readers and writers go on."""
        with told_in_words():
            self.connection.execute(statement)

    def end(self, run: str) -> None:
        """Another run than this session's is one that was cut off: the table stays held."""
        with told_in_words():
            self._journal.end(self.connection, run)
            if run == self._run:
                unlock_all(self.connection)
                self._run = None

    def runs(self) -> list[RunRecord]:
        with told_in_words():
            return self._journal.runs(self.connection)

    def journal(self, run: str) -> list[JournalRecord]:
        with told_in_words():
            return self._journal.records(self.connection, run)

    def forget(self, before: datetime) -> int:
        with told_in_words():
            return self._journal.forget(self.connection, before)

    def _expected(
        self, brief: Brief, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[list[Values]]:
        """For each action, the entries that its rows should have; they stay as they are now."""
        entry = entry_sql(brief.connection, self.schema, table, index)
        keys = to_table([action.primary_key or {} for action in actions], key_columns(table))
        return expected_entries(brief, entry, self.schema, table, index, keys)

    def _insistently(self, work: Callable[[Brief], list[T]]) -> list[T]:
        reason = ""
        for number in range(_ATTEMPTS_MAX):
            try:
                with told_in_words(), briefly(self.connection, patience(self.connection)) as brief:
                    brief.execute(_PINNED)
                    return work(brief)
            except GaveWay as error:
                reason = str(error)
            self._sleep(random.uniform(0, min(1.0, 0.02 * 2**number)))
        raise StoreUnavailable(
            f"other writers were in the way, {_ATTEMPTS_MAX} times in a row ({reason})",
            hint="run the same again: what is repaired is left alone",
        )


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


@contextmanager
def told_in_words() -> Iterator[None]:
    """What the server refuses, in words for people."""
    psycopg = require_psycopg()
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise UsageError(
            f"the database refuses it: {first_line(error)}",
            hint="the role needs SELECT and UPDATE on the table (its rows are locked), SELECT, "
            "INSERT, UPDATE and DELETE on the index, for the journal CREATE on the schema, and to "
            "put lost rows back INSERT on the table (DELETE to undo that)",
        ) from error
    except psycopg.errors.UndefinedFunction as error:
        raise UsageError(
            f"the database does not know what the catalog says: {first_line(error)}",
            hint="functions and operators of expressions are looked up in pg_catalog only: write "
            "the others with their schema in the catalog, as shop.shout(v)",
        ) from error
    except psycopg.DataError as error:
        raise UsageError(
            f"the database does not take a value that a defect tells: {first_line(error)}",
            hint="the type of the column may have changed since the check: check again, and repair "
            "from that; what was done is in the journal",
        ) from error
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"the database did not do it: {first_line(error)}",
            hint="what was done is in the journal; run the same again",
        ) from error
