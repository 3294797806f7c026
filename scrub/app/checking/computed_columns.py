# SPDX-License-Identifier: Apache-2.0
"""Expressions that the table's own database evaluates, made columns of the table.

Engines differ on what an expression means. One in the database's dialect is left to the database:
to everything else, its value is a column like any other.
"""

from dataclasses import replace

from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName

_PREFIX = "__scrub_computed_"  # no column of a catalog may begin so


def with_computed_columns(table: Table) -> Table:
    """The table with a column for each such expression, and indexes that refer to it."""
    if all(index.dialect == "spark" for index in table.indexes):
        return table
    maker = _Maker()
    indexes = tuple(map(maker.rewritten, table.indexes))
    return replace(table, columns=(*table.columns, *maker.columns), indexes=indexes)


class _Maker:
    def __init__(self) -> None:
        self.columns: list[Column] = []

    def rewritten(self, index: Index) -> Index:
        if index.dialect == "spark":
            return index
        where = index.where
        if where is not None:
            where = f"`{self._computed(where, ColumnType(TypeName.BOOLEAN))}`"
        return replace(
            index,
            key=tuple(map(self._column, index.key)),
            stored=tuple(map(self._column, index.stored)),
            where=where,
            dialect="spark",
        )

    def _column(self, column: EntryColumn) -> EntryColumn:
        if not column.is_expression:
            return column
        assert column.type is not None, "the catalog demands a type in this dialect"
        source = self._computed(column.source, column.type)
        return replace(column, source=source, is_expression=False)

    def _computed(self, text: str, of_type: ColumnType) -> str:
        name = f"{_PREFIX}{len(self.columns)}"
        self.columns.append(Column(name=name, type=of_type, computed=text))
        return name
