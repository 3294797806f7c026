# SPDX-License-Identifier: Apache-2.0
"""Rows of a Delta table by primary key, and the entries that they should have.

Files and row groups whose bounds rule out every key are skipped.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from scrub.errors import RelationMismatch
from scrub.model.table import Column, Table
from scrub.model.types import widens
from scrub.stores.delta.entries import find_entries
from scrub.stores.delta.features import unsupported
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.delta.store import column_type
from scrub.stores.entry_states import DAMAGED, Values, comparable, shape_by
from scrub.stores.recovering import key_columns
from scrub.stores.row_entries import RowEntries, columns_believed, mask_of_damaged


def find_rows(
    snapshot: DeltaSnapshot, table: Table, columns: Sequence[Column], keys: pa.Table
) -> pa.Table:
    """Every row that has one of the keys, with its key and some columns."""
    wanted = (*key_columns(table), *columns)
    require_columns(snapshot, wanted)
    shape = shape_by(table.primary_key, wanted, table.relation)
    return find_entries(snapshot, shape, keys).entries


class DemandCache:
    """The entries that rows should have; rows of one version never change, so are read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[object, dict[Values, list[Values]]]] = {}

    def of(
        self, snapshot: DeltaSnapshot, table: Table, maker: RowEntries, keys: pa.Table
    ) -> list[list[Values]]:
        """For each key, the entries that its rows should have in this version."""
        place = table.relation, maker.index.name
        version = snapshot.id, snapshot.version
        known = self._known.get(place)
        if known is None or known[0] != version:
            known = self._known[place] = version, {}
        demanded, wanted = known[1], comparable(keys)
        numbers = [number for number, key in enumerate(wanted) if key not in demanded]
        if numbers:
            # Nothing is remembered before all is read: an absent row would look like one.
            fresh: dict[Values, list[Values]] = {wanted[number]: [] for number in numbers}
            found = find_rows(snapshot, table, maker.columns, keys.take(pa.array(numbers)))
            damaged = mask_of_damaged(found, columns_believed(table, maker.index))
            for key in comparable(found.filter(pa.array(damaged)).select(list(table.primary_key))):
                fresh[key].append(DAMAGED)
            rows, entries = maker.of(found.filter(pa.array(~damaged)))
            of_rows = comparable(rows.select(list(table.primary_key)))
            for key, entry in zip(of_rows, comparable(entries), strict=True):
                fresh[key].append(entry)
            demanded.update(fresh)
        return [demanded[key] for key in wanted]


def require_columns(snapshot: DeltaSnapshot, columns: Sequence[Column]) -> None:
    """Refuse by name a relation whose files do not tell its rows, or that lacks a column."""
    if reason := unsupported(snapshot.table):
        raise RelationMismatch(f"Delta table {snapshot.relation} cannot be read: it {reason}")
    for column, stored in misfits(snapshot, columns):
        raise RelationMismatch(
            f"Delta table {snapshot.relation} "
            + (
                f"has no column {column.name}"
                if stored is None
                else f"stores {column.name} as {stored}, the catalog says {column.type}"
            ),
            hint="correct the catalog, or the relation",
        )


def misfits(
    snapshot: DeltaSnapshot, columns: Sequence[Column]
) -> Iterator[tuple[Column, str | None]]:
    """Columns that a relation lacks (None), or stores in a type that is not the catalog's."""
    types = {field.name: column_type(field.type) for field in snapshot.table.schema().fields}
    for column in columns:
        there = types.get(column.name)
        if column.name not in types:
            yield column, None
        elif there is None or not widens(there, column.type):
            yield column, str(there or "a type scrub cannot compare")
