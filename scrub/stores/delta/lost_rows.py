# SPDX-License-Identifier: Apache-2.0
"""What a lake says of rows that were lost: whether they could be there, and what would follow.

Only read. Each index is read through once, because nothing finds entries by primary key alone.
"""

from collections.abc import Sequence

import pyarrow as pa

from scrub.codec.json_values import from_table, to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.repair import Action, Entry
from scrub.model.table import Table
from scrub.stores.delta.entries import find_entries
from scrub.stores.delta.partitions import not_in_a_partition
from scrub.stores.delta.rows import key_columns
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.delta.store import column_type
from scrub.stores.entry_states import Values, comparable, identity
from scrub.stores.recovering import BY_HAND, IndexView, by_key_shape, key_names
from scrub.stores.repairing import Reason
from scrub.stores.row_entries import RowEntries


def hindrance(snapshot: DeltaSnapshot, action: Action) -> Reason | None:
    """What the table itself has against a row."""
    told = action.lost.columns if action.lost else {}
    for field in snapshot.table.schema().fields:
        if not field.nullable and told.get(field.name) is None:
            return (
                f"no index holds the row's {field.name}, which Delta table {snapshot.relation} "
                "never lets be NULL",
                BY_HAND,
            )
        if column_type(field.type) is None:
            return (
                f"column {field.name} has a type that scrub cannot compare, so the row could not "
                "be taken out again exactly",
                BY_HAND,
            )
    return not_in_a_partition(snapshot, action.after or {})


def index_view(
    snapshot: DeltaSnapshot,
    of_index: DeltaSnapshot,
    table: Table,
    maker: RowEntries,
    shape: EntryShape,
    actions: Sequence[Action],
    follows: bool,
) -> IndexView:
    """What one index has to do with some lost rows."""
    demanded = _demanded(table, maker, shape, actions)
    return IndexView(
        shape=shape,
        demanded=demanded,
        held=_held(of_index, table, maker, shape, actions),
        taken=_taken(snapshot, of_index, table, maker, shape, demanded),
        follows=follows,
    )


def _demanded(
    table: Table, maker: RowEntries, shape: EntryShape, actions: Sequence[Action]
) -> list[Entry | None]:
    rows, entries = maker.of(to_table([action.after or {} for action in actions], table.columns))
    keys = comparable(rows.select(list(table.primary_key)))
    found = dict(zip(keys, from_table(entries, shape.columns), strict=True))
    return [found.get(key) for key in comparable(_keys(table, actions))]


def _held(
    of_index: DeltaSnapshot,
    table: Table,
    maker: RowEntries,
    shape: EntryShape,
    actions: Sequence[Action],
) -> list[list[Values]]:
    keys = _keys(table, actions)
    by_key = by_key_shape(table, maker.index, shape)
    names = key_names(table, maker.index)
    found = find_entries(of_index, by_key, keys.rename_columns(names)).entries
    of_keys: dict[Values, list[Values]] = {}
    entries = comparable(found.select(list(shape.names)))
    for key, values in zip(comparable(found.select(names)), entries, strict=True):
        of_keys.setdefault(key, []).append(values)
    return [of_keys.get(key, []) for key in comparable(keys)]


def _taken(
    snapshot: DeltaSnapshot,
    of_index: DeltaSnapshot,
    table: Table,
    maker: RowEntries,
    shape: EntryShape,
    demanded: Sequence[Entry | None],
) -> list[bool]:
    """Whether an entry or a row that is there has the place of one in a unique index."""
    due = to_table([one for one in demanded if one is not None], shape.columns)
    if not shape.unique or not due.num_rows:
        return [False] * len(demanded)
    others = set(comparable(find_entries(of_index, shape, due).entries))
    others |= set(comparable(_entries_of_rows(snapshot, table, maker, due)))
    places = {identity(shape, values) for values in others - set(comparable(due))}
    wanted = iter(identity(shape, values) for values in comparable(due))
    return [one is not None and next(wanted) in places for one in demanded]


def _entries_of_rows(
    snapshot: DeltaSnapshot, table: Table, maker: RowEntries, due: pa.Table
) -> pa.Table:
    """Entries of the rows that have the same values in indexed columns; expressions aside."""
    plain = [column for column in maker.index.key if not column.is_expression]
    if not plain:
        return due.slice(0, 0)
    sources = [column.source for column in plain]
    shape = EntryShape(
        relation=table.relation,
        indexed=tuple(table.column(name) for name in sources),
        suffix=(),
        stored=tuple(column for column in maker.columns if column.name not in sources),
    )
    keys = due.select([column.name for column in plain]).rename_columns(sources)
    return maker.of(find_entries(snapshot, shape, keys).entries)[1]


def _keys(table: Table, actions: Sequence[Action]) -> pa.Table:
    return to_table([action.primary_key or {} for action in actions], key_columns(table))
