# SPDX-License-Identifier: Apache-2.0
"""Rows that share the key of a unique index, found by digests or by a database, and held here.

It finds what `checks.columns.shared_keys` finds in Spark, and names it alike.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from checks.jobs import Jobs
from checks.keys.among_held import Named, sharing
from checks.keys.repeated_keys import RepeatableKey, find_repeated
from checks.keys.split_rows import ComputedColumn, Key, SplitRows
from checks.named_defects import HeldDefect
from checks.numbering import Relation, Slot
from checks.parts import Part
from checks.scan_spec import entry_type
from checks.table_look import RowChoice
from scrub.catalog.expressions import columns_used
from scrub.catalog.native_terms import native_conditions, native_value
from scrub.codec.digest import Salt
from scrub.model.defect import DefectKind
from scrub.model.table import Column, EntryColumn, Nulls
from scrub.stores.unreadable import UnreadableSplit


def held_rows_sharing(
    jobs: Jobs, slot: Slot, relation: Relation, parts: Sequence[Part], salt: Salt
) -> list[HeldDefect] | None:
    """The rows of a table that tasks open; None where Spark has to look for them."""
    if not relation.is_native:
        return None
    key, chosen = _key_of(slot), _rows_with_entries(slot)
    if chosen is None:
        return None
    of_table = [part for part in parts if part.relation.number == relation.number]
    splits = tuple(split for part in of_table for split in part.splits)
    rows = SplitRows(
        splits=splits,
        looked_at=chosen,
        computed=tuple(_computed(slot)),
        storage_options=relation.side.facts.storage_options,
    )
    table = slot.table.table
    primary_key = tuple(map(table.column, table.primary_key))
    (found,) = find_repeated(jobs, rows, [RepeatableKey(columns=key)], primary_key, salt)
    for lost in found.unread:  # it was readable when it was scanned
        raise UnreadableSplit(splits[lost.number].name, lost.reason)
    named = found.held
    if found.frame is not None:
        named = tuple(row.asDict() for row in jobs.rows(found.frame))
        found.release()
    return list(_as_defects(slot, named))


def entries_sharing(slot: Slot, entries: pa.Table, names: Sequence[str]) -> Iterator[HeldDefect]:
    """Of entries that a database found to share their key, with the names of an entry's columns."""
    table, index = slot.table.table, slot.index
    place = {column.name: name for column, name in zip(index.entry, names, strict=True)}
    columns = {f"k{n}": entries.column(place[c.name]) for n, c in enumerate(index.key)}
    columns |= {f"p{n}": entries.column(place[name]) for n, name in enumerate(table.primary_key)}
    key = tuple(Column(name=column.name, type=entry_type(column)) for column in index.key)
    primary_key = tuple(map(table.column, table.primary_key))
    yield from _as_defects(slot, sharing(pa.table(columns), key, primary_key))


def _key_of(slot: Slot) -> Key:
    """The columns of the table that the key is made of; those of expressions are computed."""
    return tuple(
        Column(name=_name_of(column), type=entry_type(column))
        if column.is_expression
        else slot.table.table.column(column.source)
        for column in slot.index.key
    )


def _name_of(column: EntryColumn) -> str:
    """What a computed column is called among those of the table, whose names never begin so."""
    return f"__scrub_key_{column.name}"


def _computed(slot: Slot) -> Iterator[ComputedColumn]:
    table = slot.table.table
    for column in slot.index.key:
        if column.is_expression:
            node = native_value(column, table)
            assert node is not None, "the plan gave tasks what only Spark evaluates"
            names = columns_used(column.source, table.types)
            yield ComputedColumn(
                name=_name_of(column), node=node, reads=tuple(map(table.column, names))
            )


def _rows_with_entries(slot: Slot) -> RowChoice | None:
    """Which rows have an entry."""
    table, where = slot.table.table, slot.table.where
    conditions = native_conditions(slot.index, table, where)
    if conditions is None:
        return None
    texts = [text for text in (where, slot.index.where) if text]
    names = {name: None for text in texts for name in columns_used(text, table.types)}
    names |= {column.source: None for column in slot.index.key if not column.is_expression}
    if slot.index.nulls is Nulls.SKIP:
        texts = [column.source for column in slot.index.key if column.is_expression]
        names |= {name: None for text in texts for name in columns_used(text, table.types)}
    return RowChoice(conditions=conditions, columns=tuple(map(table.column, names)))


def _as_defects(slot: Slot, named: "Sequence[Named] | Iterator[Named]") -> Iterator[HeldDefect]:
    for one in named:
        yield {
            "slot": slot.number,
            "kind": DefectKind.UNIQUE_VIOLATION.value,
            "expected_copies": 1,
            "actual_copies": 1,
            "primary_key": one["primary_key"],
            "index_key": one["key"],
            "expected": None,
            "actual": None,
        }
