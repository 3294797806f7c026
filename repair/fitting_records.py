# SPDX-License-Identifier: Apache-2.0
"""Whether what a journal tells is still of the table and the indexes that the catalog has."""

from collections.abc import Sequence

from scrub.codec.json_values import to_table
from scrub.errors import UsageError
from scrub.model.journal import JournalRecord
from scrub.model.repair import ActionKind
from scrub.model.table import Column, Table
from scrub.model.types import ColumnType


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
                f"wrote: scrub journal show {record.run}",
            )


def is_fitting(table: Table, record: JournalRecord) -> bool:
    """Whether the entries of a record have the columns of the catalog, and values for them."""
    entries = [entry for entry in (record.before, record.after) if entry is not None]
    columns = _columns(table, record)
    if columns is None:
        return False
    typed = [Column(name=name, type=type_) for name, type_ in columns.items() if type_ is not None]
    keys = [Column(name=name, type=table.column(name).type) for name in table.primary_key]
    try:
        if record.kind is not ActionKind.RECOVER and any(
            e.keys() != columns.keys() for e in entries
        ):
            return False
        to_table([{name: e.get(name) for name in columns} for e in entries], typed)
        # Pairs are found by their own key, whatever the row's is.
        if record.primary_key is not None and table.kv is None:
            to_table([record.primary_key], keys)
    except (KeyError, ValueError, TypeError, ArithmeticError, AttributeError):
        return False
    return True


def _columns(table: Table, record: JournalRecord) -> dict[str, ColumnType | None] | None:
    """By name, with types where the catalog knows them; None for an index that is not there."""
    if record.kind is ActionKind.RECOVER:
        return {column.name: column.type for column in table.columns}
    for index in table.indexes:
        if index.name == record.index:
            return {column.name: column.type for column in index.entry}
    return None
