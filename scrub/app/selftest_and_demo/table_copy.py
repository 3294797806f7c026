# SPDX-License-Identifier: Apache-2.0
"""A table and its indexes in memory, and changes to them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from scrub.model.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCopy:
    """Rows and entries in the catalog's types; the definition has the types of expressions too."""

    table: Table
    rows: pa.Table
    entries: Mapping[str, pa.Table]  # by index


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change to one relation; positions are those in the copy before any change."""

    index: str | None  # None: the table itself
    drop: tuple[int, ...] = ()
    add: pa.Table | None = None


def edited(copy: TableCopy, edits: Iterable[Edit]) -> TableCopy:
    """The copy with all changes made at once."""
    by_relation: dict[str | None, list[Edit]] = {}
    for edit in edits:
        by_relation.setdefault(edit.index, []).append(edit)
    entries = {
        name: _changed(relation, by_relation.get(name, ()))
        for name, relation in copy.entries.items()
    }
    return replace(copy, rows=_changed(copy.rows, by_relation.get(None, ())), entries=entries)


def _changed(relation: pa.Table, edits: Iterable[Edit]) -> pa.Table:
    kept = np.ones(relation.num_rows, dtype=np.bool_)
    added: list[pa.Table] = []
    for edit in edits:
        kept[list(edit.drop)] = False
        if edit.add is not None:
            added.append(edit.add)
    remaining = relation if kept.all() else relation.filter(pa.array(kept))
    return pa.concat_tables([remaining, *added]) if added else remaining


def with_value(row: pa.Table, column: str, value: pa.Scalar) -> pa.Table:
    """A one-row table with another value in one column."""
    position = row.schema.get_field_index(column)
    field = row.schema.field(position)
    return row.set_column(position, field, pa.repeat(value.cast(field.type), 1))


def with_null(row: pa.Table, column: str) -> pa.Table:
    """A one-row table with NULL in one column."""
    return with_value(row, column, pa.scalar(None, row.schema.field(column).type))
