# SPDX-License-Identifier: Apache-2.0
"""Actions as entries to put and entries to delete, in the columns and types of the index: pure."""

from collections.abc import Sequence

import pyarrow as pa

from scrub.codec.json_values import to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.repair import Action, ActionKind, Entry
from scrub.stores.entry_states import Values, comparable

KEEP = "__scrub_keep"
"""The column that says how many of the entries equal to this one are to stay: none, or one."""


def entries_to_insert(actions: Sequence[Action], shape: EntryShape) -> pa.Table:
    """What is to be there and is not, each entry once."""
    kinds = (ActionKind.PUT, ActionKind.REPLACE)
    entries = [a.after for a in actions if a.kind in kinds and a.after is not None]
    table = to_table(entries, shape.columns)
    first = _firsts(comparable(table))
    return table.take(pa.array(list(first.values()), pa.int64()))


def entries_to_delete(actions: Sequence[Action], shape: EntryShape) -> pa.Table:
    """What is there and is not to be, each entry once, with how many equal ones are to stay."""
    given: list[tuple[Entry, int]] = [
        (action.before, 1 if action.kind is ActionKind.KEEP_ONE else 0)
        for action in actions
        if action.before is not None
    ]
    table = to_table([entry for entry, _ in given], shape.columns)
    values = comparable(table)
    first = _firsts(values)
    # An entry that must go altogether may also be told to be there too often.
    keep = dict.fromkeys(first, 1)
    for value, (_, number) in zip(values, given, strict=True):
        keep[value] = min(keep[value], number)
    chosen = table.take(pa.array(list(first.values()), pa.int64()))
    return chosen.append_column(KEEP, pa.array([keep[value] for value in first], pa.int32()))


def _firsts(values: Sequence[Values]) -> dict[Values, int]:
    """Where each value comes first."""
    first: dict[Values, int] = {}
    for number, value in enumerate(values):
        first.setdefault(value, number)
    return first
