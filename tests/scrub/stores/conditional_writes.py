# SPDX-License-Identifier: Apache-2.0
"""Conditional writes by themselves, made of the parts that repairs write with."""

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import pyarrow as pa

from scrub.errors import StoreUnavailable
from scrub.model.entry_shape import EntryShape
from scrub.model.table import Column, Store
from scrub.stores.building import GaveWay
from scrub.stores.delta.entries import entry_schema, find_entries
from scrub.stores.delta.files import NewFiles
from scrub.stores.delta.snapshot import DeltaSnapshot, open_snapshot
from scrub.stores.delta.writes import DeltaWriter, commit_states
from scrub.stores.entry_states import EntryStates, Outcome, comparable, identity
from scrub.stores.postgres.briefly import briefly, patience
from scrub.stores.postgres.connections import connect, conninfo_of
from scrub.stores.postgres.repairs.entry_writing import write_entries
from scrub.stores.postgres.repairs.index_table import IndexTable

Judge = Callable[[EntryStates], list[Outcome]]


class ConditionalWrites(ABC):
    """A store whose entries are changed under conditions; outcomes come in the entries' order."""

    def init_put(
        self, shape: EntryShape, entries: pa.Table, *, fail_on_tombstones: bool
    ) -> list[Outcome]:
        given = _in_types(shape.columns, entries)
        values = comparable(given)

        def judge(states: EntryStates) -> list[Outcome]:
            return [states.init_put(v, n, fail_on_tombstones) for n, v in enumerate(values)]

        return self.write(shape, given, judge) if given.num_rows else []

    def delete_if_equal(self, shape: EntryShape, entries: pa.Table) -> list[Outcome]:
        given = _in_types(shape.columns, entries)
        values = comparable(given)

        def judge(states: EntryStates) -> list[Outcome]:
            return [states.delete_if_equal(v, n) for n, v in enumerate(values)]

        return self.write(shape, given, judge) if given.num_rows else []

    def replace_if_equal(
        self, shape: EntryShape, before: pa.Table, after: pa.Table
    ) -> list[Outcome]:
        given = _in_types(shape.columns, after)
        old = comparable(_in_types(shape.columns, before))
        pairs = list(zip(old, comparable(given), strict=True))

        def judge(states: EntryStates) -> list[Outcome]:
            return [states.replace_if_equal(b, a, n) for n, (b, a) in enumerate(pairs)]

        return self.write(shape, given, judge) if given.num_rows else []

    def read_entries(self, shape: EntryShape, keys: pa.Table) -> Sequence[dict[str, Any] | None]:
        """The entries that have the keys; None where there is none, or a tombstone."""
        wanted = _in_types(shape.indexed + shape.suffix, keys)
        if not wanted.num_rows:
            return []
        found, marks = self.find(shape, wanted)
        values = comparable(found)
        states = EntryStates.of(shape, values, marks)
        there = {identity(shape, v): n for n, v in enumerate(values) if states.copies(v)}
        padding = (None,) * len(shape.stored)
        numbers = [there.get(identity(shape, key + padding)) for key in comparable(wanted)]
        return [None if n is None else found.slice(n, 1).to_pylist()[0] for n in numbers]

    @abstractmethod
    def write(self, shape: EntryShape, given: pa.Table, judge: Judge) -> list[Outcome]:
        """Write what is judged, as the product does."""

    @abstractmethod
    def find(self, shape: EntryShape, keys: pa.Table) -> tuple[pa.Table, Sequence[bool] | None]:
        """The entries of some keys, and which of them are tombstones where these are kept."""


class DeltaWrites(ConditionalWrites):
    """To the Delta tables of one lake."""

    def __init__(self, store: Store, sleep: Callable[[float], None] = time.sleep) -> None:
        self.writer = DeltaWriter(store, sleep)

    def write(self, shape: EntryShape, given: pa.Table, judge: Judge) -> list[Outcome]:
        outcomes: list[Outcome] = []

        def attempt(snapshot: DeltaSnapshot, new: NewFiles) -> bool:
            found = find_entries(snapshot, shape, given)
            states = EntryStates.of(shape, comparable(found.entries))
            outcomes[:] = judge(states)
            if not states.gone and not states.new:
                return True
            return commit_states(new, shape, found, states, given, None)

        self.writer.until_committed(shape.relation, attempt)
        return outcomes

    def find(self, shape: EntryShape, keys: pa.Table) -> tuple[pa.Table, Sequence[bool] | None]:
        with open_snapshot(self.writer.root, shape.relation, self.writer.options) as snapshot:
            return find_entries(snapshot, shape, keys).entries, None


class PostgresWrites(ConditionalWrites):
    """To the index tables of one schema; each thread has a connection of its own."""

    def __init__(self, store: Store) -> None:
        self.schema = store.schema or "public"
        self._conninfo = conninfo_of(store.url, store.options)
        self._of_thread = threading.local()

    @property
    def connection(self) -> "psycopg.Connection[Any]":
        found: psycopg.Connection[Any] | None = getattr(self._of_thread, "connection", None)
        if found is None:
            found = self._of_thread.connection = connect(self._conninfo)
            found.autocommit = True
        return found

    def write(self, shape: EntryShape, given: pa.Table, judge: Judge) -> list[Outcome]:
        for number in range(60):
            try:
                with briefly(self.connection, patience(self.connection)) as brief:
                    table = IndexTable.of(brief, self.schema, shape)
                    return write_entries(brief, table, given, judge).outcomes
            except (GaveWay, psycopg.errors.UniqueViolation):  # somebody else was first: look again
                time.sleep(random.uniform(0, min(1.0, 0.02 * 2**number)))
        raise StoreUnavailable(f"{shape.relation}: other writers were in the way")

    def find(self, shape: EntryShape, keys: pa.Table) -> tuple[pa.Table, Sequence[bool] | None]:
        with briefly(self.connection, patience(self.connection)) as brief:
            found = IndexTable.of(brief, self.schema, shape).find(brief, keys, lock=False)
        return found.entries, found.marks


def _in_types(columns: Sequence[Column], entries: pa.Table) -> pa.Table:
    schema = entry_schema(columns)
    return entries.select(schema.names).cast(schema)
