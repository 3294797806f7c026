# SPDX-License-Identifier: Apache-2.0
"""Whether what a defect tells can be written: the index's columns, and values they can hold."""

from collections.abc import Sequence

from scrub.codec.json_values import to_table
from scrub.codec.rejected import rejected_rows
from scrub.model.index_shape import shape_of
from scrub.model.repair import Action
from scrub.model.table import Column, Index, Table
from scrub.stores.entry_states import comparable
from scrub.stores.repairing import Reason

OUTDATED: Reason = (
    "what the defect says does not fit the index as the catalog has it",
    "check again with this catalog, and repair from that",
)


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
    except (KeyError, ValueError, TypeError, ArithmeticError, AttributeError):
        return OUTDATED


def _is_of_row(action: Action, table: Table, index: Index) -> bool:
    """Whether the entry names the row that decides about it: no other row has a say."""
    keys = [table.column(name) for name in table.primary_key]
    entry = action.after if action.after is not None else action.before
    assert entry is not None, "an action has an entry before or after it"
    own = {c.source: entry[c.name] for c in index.entry if not c.is_expression}
    named = {name: own[name] for name in table.primary_key}
    one, other = comparable(to_table([action.primary_key or {}, named], keys))
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
