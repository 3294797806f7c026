# SPDX-License-Identifier: Apache-2.0
"""Tables as numbers: what compiled code must know of an index, its key and the values of its pairs.

A `Layout` holds the pairs of one or several tables. A column's slot is its position in its table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scrub.codec.kv import field
from scrub.codec.kv.compiled import Numbers, inlined
from scrub.codec.kv.kinds import kind_number
from scrub.model.kv import Family, KeyPart, KvColumn, KvIndex, KvTable


class Tables(NamedTuple):
    """What compiled code gets; rows of one array refer to ranges of the next."""

    indexes: Numbers
    keys: Numbers
    families: Numbers
    columns: Numbers
    domains: Numbers


@inlined
def key_columns(index: int, tables: Tables) -> tuple[int, int]:
    """The rows of `keys` with an index's own columns, which its suffix follows."""
    return tables.indexes[index, field.KEY_FROM], tables.indexes[index, field.SUFFIX_FROM]


@inlined
def suffix_columns(index: int, tables: Tables) -> tuple[int, int]:
    """The rows of `keys` with what tells equal entries of an index apart."""
    return tables.indexes[index, field.SUFFIX_FROM], tables.indexes[index, field.SUFFIX_TO]


@inlined
def families_of(index: int, tables: Tables) -> tuple[int, int]:
    """The rows of `families` with the pairs that a row has in an index."""
    return tables.indexes[index, field.FAMILIES_FROM], tables.indexes[index, field.FAMILIES_TO]


@inlined
def columns_of(family: int, tables: Tables) -> tuple[int, int]:
    """The rows of `columns` with those in the value of a pair."""
    return tables.families[family, field.COLUMNS_FROM], tables.families[family, field.COLUMNS_TO]


@dataclass(frozen=True, slots=True)
class Layout:
    """Every index of some tables, as numbers."""

    tables: tuple[KvTable, ...]
    indexes: Numbers
    keys: Numbers
    families: Numbers
    columns: Numbers
    domains: Numbers
    slots: int
    names: tuple[str | None, ...]  # of the indexes; None is the primary one

    def numbers(self) -> Tables:
        return Tables(self.indexes, self.keys, self.families, self.columns, self.domains)

    def primary(self, table: int) -> int:
        """The number of a table's primary index."""
        return self._of(table, None)

    def secondary(self, table: int, name: str) -> int:
        """The number of one of a table's secondary indexes."""
        return self._of(table, name)

    def _of(self, table: int, name: str | None) -> int:
        owners = self.indexes[:, field.OWNER]
        return next(n for n, of in enumerate(owners) if of == table and self.names[n] == name)


def layout_of(tables: Sequence[KvTable]) -> Layout:
    """The numbers of some tables that may share a relation."""
    maker = _Maker()
    for number, table in enumerate(tables):
        maker.add(number, table)
    return Layout(
        tables=tuple(tables),
        indexes=_array(maker.indexes, 12),
        keys=_array(maker.keys, 4),
        families=_array(maker.families, 4),
        columns=_array(maker.columns, 4),
        domains=_array(maker.domains, 5),
        slots=max(len(table.columns) for table in tables),
        names=tuple(maker.names),
    )


def _array(rows: list[tuple[int, ...]], width: int) -> Numbers:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


class _Maker:
    def __init__(self) -> None:
        self.indexes: list[tuple[int, ...]] = []
        self.keys: list[tuple[int, ...]] = []
        self.families: list[tuple[int, ...]] = []
        self.columns: list[tuple[int, ...]] = []
        self.domains: list[tuple[int, ...]] = []
        self.names: list[str | None] = []

    def add(self, number: int, table: KvTable) -> None:
        families = table.families
        if all(family.id != 0 for family in families):
            families = (Family(0, ()), *families)  # it is written whether it has columns or not
        self._add_domains(table)
        primary = KvIndex(table.primary_index_id, "", table.primary_key, suffix=())
        of_primary = [(f.id, _form(f), _kept(table, f)) for f in families]
        self._add_index(number, table, primary, of_primary, None)
        for index in table.indexes:
            self._add_index(number, table, index, list(_entries(table, index)), index.name)

    def _add_domains(self, table: KvTable) -> None:
        in_primary_key = {part.column for part in table.primary_key}
        for column in table.columns:
            domain = column.type.domain
            # A key without a column of the primary key cannot be read at all.
            never_null = not column.nullable and column.id not in in_primary_key
            kind = kind_number(column.type)
            self.domains.append((domain.rule, domain.low, domain.high, never_null, kind))

    def _add_index(
        self,
        owner: int,
        table: KvTable,
        index: KvIndex,
        families: Sequence[tuple[int, int, list[tuple[int, int]]]],
        name: str | None,
    ) -> None:
        """Note an index; the primary one has no name."""
        key_from, families_from = len(self.keys), len(self.families)
        in_primary_key = {part.column for part in table.primary_key}
        for part in (*index.parts, *(KeyPart(column) for column in index.suffix)):
            column = table.by_id[part.column]
            identifies = column.id in in_primary_key
            self.keys.append(
                (_slot(table, column), kind_number(column.type), part.descending, identifies)
            )
        for family_id, form, kept in families:
            columns_from = len(self.columns)
            for column_id, role in kept:
                column = table.by_id[column_id]
                slot, kind = _slot(table, column), kind_number(column.type)
                self.columns.append((column_id, slot, kind, role))
            self.families.append((family_id, form, columns_from, len(self.columns)))
        self.indexes.append(
            (
                table.id,
                index.id,
                key_from,
                key_from + len(index.parts),
                len(self.keys),
                index.unique,
                name is None,
                families_from,
                len(self.families),
                owner,
                len(self.domains) - len(table.columns),
                len(self.domains),
            )
        )
        self.names.append(name)


def _slot(table: KvTable, column: KvColumn) -> int:
    return table.columns.index(column)


def _form(family: Family) -> int:
    is_bare = family.id != 0 and len(family.columns) == 1 and family.default == family.columns[0]
    return field.BARE if is_bare else field.TUPLE


def _kept(table: KvTable, family: Family) -> list[tuple[int, int]]:
    """The columns in a primary pair's value, by id, and why they are there."""
    in_key = {part.column for part in table.primary_key}
    kept = [(column, field.STORED) for column in family.columns if column not in in_key]
    if family.id == 0:
        kept += _parts(table, sorted(in_key))
    return sorted(kept)


def _parts(table: KvTable, columns: Sequence[int]) -> list[tuple[int, int]]:
    return [(c, field.COMPLETING) for c in columns if table.by_id[c].type.may_be_composite]


def _entries(table: KvTable, index: KvIndex) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    in_key = [part.column for part in index.parts] + list(index.suffix)
    stored = [column for column in index.stored if column not in in_key]
    of_family = {column: f.id for f in table.families for column in f.columns}
    apart = index.by_family and any(family.id != 0 for family in table.families)
    first = [c for c in stored if not apart or of_family.get(c, 0) == 0]
    kept = [(column, field.STORED) for column in first] + _parts(table, in_key)
    yield 0, field.ENTRY, sorted(kept)
    if apart:
        for family in sorted(table.families, key=lambda family: family.id):
            of = sorted(column for column in stored if of_family.get(column) == family.id)
            if family.id != 0 and of:
                yield family.id, field.TUPLE, [(column, field.STORED) for column in of]
