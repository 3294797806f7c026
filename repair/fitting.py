# SPDX-License-Identifier: Apache-2.0
"""Whether what a defect or a journal tells is of the table and the indexes that the catalog has."""

from collections.abc import Sequence

from scrub.codec.json_values import to_table
from scrub.codec.rejected import rejected_rows
from scrub.errors import UsageError
from scrub.model.command_line import command_line
from scrub.model.index_shape import shape_of
from scrub.model.journal import JournalRecord
from scrub.model.repair import Action, ActionKind
from scrub.model.table import Column, Index, Table
from scrub.model.types import ColumnType
from scrub.stores.entry_states import comparable
from scrub.stores.recovering import key_columns
from scrub.stores.repairing import Reason, entry_of

OUTDATED: Reason = (
    "what the defect says does not fit the index as the catalog has it",
    "check again with this catalog, and repair from that",
)
_NO_VALUES = (KeyError, ValueError, TypeError, ArithmeticError, AttributeError)
"""What reading an entry raises that is none of the columns'."""


def not_fitting(action: Action, table: Table, index: Index) -> Reason | None:
    """Why an entry is not one of the index: other columns, no values, or values to be rejected."""
    entries = [entry for entry in (action.before, action.after) if entry is not None]
    columns = shape_of(table, index).columns
    names = {column.name for column in columns}
    key = action.primary_key or {}
    if any(entry.keys() != names for entry in entries) or len(key) != len(table.primary_key):
        return OUTDATED
    try:
        if not _is_of_row(action, table, index):
            return OUTDATED
        return _rejected(action, columns)
    except _NO_VALUES:
        return OUTDATED


def _is_of_row(action: Action, table: Table, index: Index) -> bool:
    """Whether the entry names the row that decides about it: no other row has a say."""
    entry = entry_of(action.after, action.before)
    own = {c.source: entry[c.name] for c in index.entry if not c.is_expression}
    named = {name: own[name] for name in table.primary_key}
    one, other = comparable(to_table([action.primary_key or {}, named], key_columns(table)))
    return one == other


def _rejected(action: Action, columns: Sequence[Column]) -> Reason | None:
    """A value that is evidence of nothing is neither written nor a reason to delete."""
    told = {"row": action.after, "entry": action.before}
    entries = {whose: entry for whose, entry in told.items() if entry is not None}
    values = to_table(entries.values(), columns)
    for column, array in zip(columns, values.columns, strict=True):
        for place in rejected_rows(array.chunk(0), column):
            whose = [*entries][place]
            if whose == "entry" and entries[whose][column.name] is None:
                continue  # NULL where it must not be: that is what a repair is for
            return (
                f"the {whose} has a value in {column.name} that the column cannot hold, which "
                "is evidence of nothing",
                f"correct the {whose} by hand, and check again",
            )
    return None


def demand_fitting(table: Table, records: Sequence[JournalRecord]) -> None:
    """Refuse records of another catalog before anything is written: no value would fit."""
    known = {index.name for index in table.indexes}
    for record in records:
        if record.kind is not ActionKind.RECOVER and record.index not in known:
            raise UsageError(
                f"run {record.run} repaired index {record.index} of {table.name}, which the "
                "catalog no longer has",
                hint="put the index back into the catalog, and undo then",
            )
        if not is_fitting(table, record):
            what = f"index {record.index}" if record.kind is not ActionKind.RECOVER else "rows"
            raise UsageError(
                f"run {record.run} repaired {what} of {table.name}, for which the catalog now "
                "has other columns or types",
                hint="undo with the catalog as it was then; the journal shows what the repair "
                f"wrote: {command_line('journal show', record.run, catalog=table.catalog)}",
            )


def is_fitting(table: Table, record: JournalRecord) -> bool:
    """Whether the entries of a record have the columns of the catalog, and values for them."""
    entries = [entry for entry in (record.before, record.after) if entry is not None]
    columns = _columns(table, record)
    if columns is None:
        return False
    typed = [Column(name=name, type=type_) for name, type_ in columns.items() if type_ is not None]
    try:
        if record.kind is not ActionKind.RECOVER and any(
            e.keys() != columns.keys() for e in entries
        ):
            return False
        to_table([{name: e.get(name) for name in columns} for e in entries], typed)
        # Pairs are found by their own key, whatever the row's is.
        if record.primary_key is not None and table.kv is None:
            to_table([record.primary_key], key_columns(table))
    except _NO_VALUES:
        return False
    return True


def _columns(table: Table, record: JournalRecord) -> dict[str, ColumnType | None] | None:
    """By name, with types where the catalog knows them; None for an index that is not there."""
    if record.kind is ActionKind.RECOVER:
        return dict(table.types)
    for index in table.indexes:
        if index.name == record.index:
            return {column.name: column.type for column in index.entry}
    return None
