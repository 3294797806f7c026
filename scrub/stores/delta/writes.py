# SPDX-License-Identifier: Apache-2.0
"""Conditional writes to Delta tables, under optimistic concurrency.

A write reads what its keys hold in the latest version, judges each entry, writes the files that
change, and commits them as the version that follows the one it has read. If anybody committed in
between, whatever it was, the commit fails, and everything is read and judged again. So each call is
judged and written at one moment, and there is no plain append, which would never conflict.

Files are rewritten one by one, and new entries go to a file of their own in the order of their
keys. delta-rs' own MERGE puts what is left of several files into one, which soon covers all keys,
so that no file can be skipped any more.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from scrub.errors import UsageError
from scrub.model.entry_shape import EntryShape, Tombstones
from scrub.model.table import Store
from scrub.stores.delta.commit import Mark, until_committed
from scrub.stores.delta.entries import EntriesInFiles, entry_schema, find_entries, in_key_order
from scrub.stores.delta.files import NewFiles
from scrub.stores.delta.snapshot import DeltaSnapshot, open_snapshot, require_writable
from scrub.stores.entry_states import EntryStates, comparable
from scrub.stores.locations import normalise


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedCounts:
    """What a counted change did to a relation."""

    taken: int = 0
    added: int = 0
    absent: int = 0  # entries that should have been taken and were not there


class DeltaWriter:
    """A store of Delta tables opened for writing; there is no way to write without a condition."""

    def __init__(self, store: Store, sleep: Callable[[float], None] = time.sleep) -> None:
        self.root = normalise(store.path or ".")
        self.options = dict(store.options)
        self._sleep = sleep

    def apply(
        self,
        shape: EntryShape,
        taken: pa.Table,
        added: pa.Table,
        mark: Mark,
        still_wanted: Callable[[DeltaSnapshot], bool],
    ) -> AppliedCounts | None:
        """Take some entries away and add others, copies counted, in one commit with a mark.

        For those who know what the relation holds by the mark it carries: `still_wanted` says of
        the version to be changed whether it carries the right one. None: it does not any more.
        """
        given = _given(shape, added)
        leaving, coming = comparable(_given(shape, taken)), comparable(given)
        keys = pa.concat_tables([_given(shape, taken), given])
        applied: list[AppliedCounts] = []

        def attempt(snapshot: DeltaSnapshot, new: NewFiles) -> bool:
            applied.clear()
            if not still_wanted(snapshot):
                return True
            found = find_entries(snapshot, shape, keys)
            states = EntryStates.of(shape, comparable(found.entries))
            there = sum([states.take(values) for values in leaving])
            for number, values in enumerate(coming):
                states.add(values, number)
            applied.append(
                AppliedCounts(taken=there, added=len(coming), absent=len(leaving) - there)
            )
            return commit_states(new, shape, found, states, given, mark)

        self.until_committed(shape.relation, attempt)
        return applied[0] if applied else None

    def until_committed(
        self, relation: str, attempt: Callable[[DeltaSnapshot, NewFiles], bool]
    ) -> None:
        def in_latest() -> bool:
            with (
                open_snapshot(self.root, relation, self.options) as snapshot,
                NewFiles(snapshot) as new,
            ):
                require_writable(snapshot)
                return attempt(snapshot, new)

        hint = "write when fewer others do, or in larger batches"
        until_committed(relation, in_latest, self._sleep, hint)


def commit_states(
    new: NewFiles,
    shape: EntryShape,
    found: EntriesInFiles,
    states: EntryStates,
    given: pa.Table,
    mark: Mark | None,
) -> bool:
    """Commit the difference as the next version; False if somebody else took it."""
    removed = new.write_without(found.places[number] for number in states.gone)
    new.write(in_key_order(_new_entries(shape, given, states), shape))
    return new.commit(removed, mark)


def _new_entries(shape: EntryShape, given: pa.Table, states: EntryStates) -> pa.Table:
    numbers = [number for number, _ in states.new]
    entries = given.take(pa.array(numbers, pa.int64()))
    if shape.tombstones is not Tombstones.NULL_VALUE:
        return entries
    living = pa.array([not is_tombstone for _, is_tombstone in states.new], pa.bool_())
    for column in shape.stored:
        position = entries.schema.get_field_index(column.name)
        masked = pc.if_else(living, entries.column(position), None)
        entries = entries.set_column(position, entries.schema.field(position), masked)
    return entries


def _given(shape: EntryShape, entries: pa.Table) -> pa.Table:
    """Entries with exactly the shape's columns, in its types."""
    if missing := [name for name in shape.names if name not in entries.column_names]:
        raise UsageError(f"entries for {shape.relation} lack the column {', '.join(missing)}")
    return entries.select(list(shape.names)).cast(entry_schema(shape.columns))
