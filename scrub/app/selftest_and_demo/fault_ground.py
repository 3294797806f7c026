# SPDX-License-Identifier: Apache-2.0
"""Where faults can be planted: sound rows, each used once so that faults do not overlap."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scrub.app.selftest_and_demo.fresh_values import fresh_value
from scrub.app.selftest_and_demo.key_values import DefectKey, Key, planted_key
from scrub.app.selftest_and_demo.table_copy import TableCopy, with_value
from scrub.codec.digest import RowDigests, Salt
from scrub.model.defect import DefectKind
from scrub.model.table import EntryColumn, Index
from scrub.model.types import ColumnType

Flags = NDArray[np.bool_]
_SALT = Salt(0x5EED, 0xFA17)  # digests here only pair rows with entries of one copy
_LOOKS_MAX = 64


class NoPlace(Exception):
    """A fault has no place in this data; `used_up` when other faults took every place it has."""

    def __init__(self, reason: str, *, used_up: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.used_up = reason, used_up


class Ground:
    """A copy whose rows are paired with their entries, and a note of the rows already used."""

    def __init__(self, copy: TableCopy, seed: int, avoid: Iterable[Key] = ()) -> None:
        self.copy, self.table = copy, copy.table
        self.rng = np.random.default_rng(seed)
        self.primary_key: Mapping[str, ColumnType] = {
            name: self.table.column(name).type for name in self.table.primary_key
        }
        self._avoided = frozenset(avoid)
        self._used: set[Key] = set()
        self._sound = np.ones(copy.rows.num_rows, dtype=np.bool_)
        self._entry_of_row = self._pair_up()

    def covered(self, index: Index) -> Flags:
        """The rows that have exactly one entry in this index."""
        flags: Flags = self._sound & (self._entry_of_row[index.name] >= 0)
        return flags

    def excluded(self, index: Index) -> Flags:
        """The rows that have no entry in this index, which for a sound row is right."""
        flags: Flags = self._sound & (self._entry_of_row[index.name] < 0)
        return flags

    def covered_where(self, index: Index, of_entries: Flags) -> Flags:
        """The covered rows whose entry has a flag set."""
        covered = self.covered(index)
        positions = self._entry_of_row[index.name]
        covered[covered] = of_entries[positions[covered]]
        return covered

    def take_row(self, suitable: Flags, lack: str, *, doubtful: bool = False) -> int:
        """A row for one fault alone, or NoPlace with what the data lacks.

        With `doubtful`, a row that has a defect may look suitable because of that defect only.
        """
        crowded = False
        for row in self._from_a_random_start(np.flatnonzero(suitable)):
            try:
                key = planted_key(self.row(row), self.primary_key)
            except ValueError:
                continue
            # A primary key with a NULL is a fault of its own, which no index can show.
            if None in key or key in self._avoided:
                continue
            if key not in self._used:
                self._used.add(key)
                return row
            crowded = True
        if crowded or (suitable.any() and not doubtful):
            raise NoPlace("too few rows without defects", used_up=True)
        raise NoPlace(lack)

    def take_covered(self, index: Index) -> int:
        """A row with an entry in this index, for one fault alone."""
        return self.take_row(self.covered(index), "it has no entries")

    def row(self, position: int) -> pa.Table:
        return self.copy.rows.slice(position, 1)

    def entry_position(self, index: Index, row: int) -> int:
        return int(self._entry_of_row[index.name][row])

    def entry(self, index: Index, row: int) -> pa.Table:
        return self.copy.entries[index.name].slice(self.entry_position(index, row), 1)

    def new_key_value(self, columns: Sequence[str]) -> tuple[str, pa.Scalar]:
        """A primary key column, and a value of it that no row and no entry has."""
        relations = [self.copy.rows, *self.copy.entries.values()]
        for column in reversed(columns):
            taken = [relation.column(column) for relation in relations]
            value = fresh_value(self.primary_key[column], taken, self.rng)
            if value is not None:
                return column, value
        raise NoPlace("every value that a primary key can have is taken")

    def with_other_value(self, index: Index, entry: pa.Table, column: EntryColumn) -> pa.Table:
        """The entry with another value in one column, which other entries hold if any do."""
        assert column.type is not None, "a copy knows the types of expressions"
        values = self.copy.entries[index.name].column(column.name)
        other = self._other_value(values, column.type, entry.column(column.name)[0])
        return with_value(entry, column.name, other)

    def _other_value(
        self, values: pa.ChunkedArray, of_type: ColumnType, old: pa.Scalar
    ) -> pa.Scalar:
        looks = min(_LOOKS_MAX, len(values))
        for position in self.rng.integers(0, max(len(values), 1), size=looks):
            value = values[int(position)]
            if value.is_valid and _comparable(value, of_type) != _comparable(old, of_type):
                return value
        made = fresh_value(of_type, [pa.chunked_array([pa.repeat(old, 1)])], self.rng)
        assert made is not None, "every type has more than one value"
        return made

    def defect(self, kind: DefectKind, index: Index, entry: pa.Table) -> DefectKey:
        """The defect that a check must report for an entry."""
        of_key = {c.name: c.type for c in index.key if c.type is not None}
        try:
            return DefectKey(
                kind=kind,
                table=self.table.name,
                index=index.name,
                primary_key=planted_key(entry, self.primary_key),
                index_key=planted_key(entry, of_key),
            )
        except ValueError as error:
            raise NoPlace("its keys hold times outside the years 1 to 9999") from error

    def _from_a_random_start(self, positions: NDArray[np.int64]) -> Iterator[int]:
        start = int(self.rng.integers(max(len(positions), 1)))
        return (int(positions[(start + n) % len(positions)]) for n in range(len(positions)))

    def _pair_up(self) -> dict[str, NDArray[np.int64]]:
        """For each index, where the entry of each row is, or -1; marks rows that are not alone."""
        keys = digests(self.copy.rows, self.table.primary_key)
        order = np.argsort(keys)
        ordered = keys[order]
        repeated = ordered[1:] == ordered[:-1]
        self._sound[order[1:][repeated]] = False
        self._sound[order[:-1][repeated]] = False
        entry_of_row: dict[str, NDArray[np.int64]] = {}
        for name, entries in self.copy.entries.items():
            positions = np.full(len(keys), -1, dtype=np.int64)
            of_entries = digests(entries, self.table.primary_key)
            if len(keys) and len(of_entries):
                found = np.minimum(np.searchsorted(ordered, of_entries), len(keys) - 1)
                owned = np.flatnonzero(ordered[found] == of_entries)
                rows = order[found[owned]]
                positions[rows] = owned
                self._sound &= np.bincount(rows, minlength=len(keys)) <= 1
            entry_of_row[name] = positions
        return entry_of_row


def digests(relation: pa.Table, columns: Iterable[str]) -> NDArray[np.uint64]:
    """One number for each row, equal where the columns are equal as a check sees it."""
    arrays = [relation.column(name).combine_chunks() for name in columns]
    return RowDigests.start(relation.num_rows, _SALT).fold(arrays, _SALT).first


def _comparable(value: pa.Scalar, of_type: ColumnType) -> Key | None:
    try:
        return planted_key(pa.table({"value": pa.repeat(value, 1)}), {"value": of_type})
    except ValueError:
        return None
