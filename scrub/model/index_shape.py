# SPDX-License-Identifier: Apache-2.0
"""The shape of an index's entries, for those who write them."""

from scrub.model.entry_shape import EntryShape
from scrub.model.table import Column, EntryColumn, Index, Table


def shape_of(table: Table, index: Index) -> EntryShape:
    """The entries of an index whose types are all known; NULL is allowed where the table has it."""

    def columns(parts: tuple[EntryColumn, ...]) -> tuple[Column, ...]:
        return tuple(_column(table, part) for part in parts)

    return EntryShape(
        relation=index.relation,
        indexed=columns(index.key),
        suffix=columns(index.suffix),
        stored=columns(index.stored),
        unique=index.unique,
    )


def _column(table: Table, part: EntryColumn) -> Column:
    assert part.type is not None, f"the type of {part.name} is not known"
    known = not part.is_expression and (
        part.source in table.primary_key or not table.column(part.source).nullable
    )
    return Column(name=part.name, type=part.type, nullable=not known)
