# SPDX-License-Identifier: Apache-2.0
"""What single pairs of a table tell: whose an entry is, what a row asks for, how it is spelled.

For repair, which looks at few pairs at a time. Everything is computed from bytes by the codec that
checks use.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from scrub.codec.kv.anydatum import skip_tagged
from scrub.codec.kv.batches import batch_of, room_for
from scrub.codec.kv.entries import entries
from scrub.codec.kv.field import (
    BARE,
    COLUMN_ID,
    COLUMNS_FROM,
    COLUMNS_TO,
    ENTRY,
    FAMILIES_FROM,
    FAMILIES_TO,
    FAMILY_ID,
    FORM,
    HELD,
    SUFFIX_FROM,
    SUFFIX_TO,
    UNIQUE,
)
from scrub.codec.kv.integers import put_uvarint
from scrub.codec.kv.judging import BadPair, judge
from scrub.codec.kv.layouts import Layout, layout_of
from scrub.codec.kv.pair_reading import payload, read_columns
from scrub.codec.kv.pair_writing import put_checksum
from scrub.codec.kv.pairs import INVALID, MISSING, NONCANONICAL
from scrub.codec.kv.rows import decode, encode
from scrub.codec.kv.tags import read_tag
from scrub.model.kv import DatumKind, KvIndex, KvTable

Pair = tuple[bytes, bytes | None]

TABLE = ""
"""The name of the index that stands for the pairs of the table itself; no other is called that."""

_CHECKSUM_BYTES = 4
_EMPTY_ENTRY = bytes(_CHECKSUM_BYTES) + b"\x03"


def has_no_value(pair: Pair) -> bool:
    """Whether the value is NULL or empty: such an entry is none, such a row cannot be read."""
    return not pair[1]


class PairRows:
    """Rows and entries of one table, in single pairs."""

    def __init__(self, table: KvTable) -> None:
        self.table = table
        self.layout = layout_of([table])
        self.primary = self.layout.primary(0)

    def obstacle(self, index: str) -> str | None:
        """Why nobody can tell which entries of an index belong to which row."""
        of = self._index(index)
        in_row = {part.column for part in self.table.primary_key}
        for part in of.parts:
            kind = self.table.by_id[part.column].type.kind
            if kind is DatumKind.COLLATED and part.column not in in_row:
                return "its collation keys are not in the rows, and cannot be computed here"
        number = self._number(index)
        families = (
            self.layout.indexes[number, FAMILIES_TO] - self.layout.indexes[number, FAMILIES_FROM]
        )
        if of.unique and families > 1:
            return (
                "it is unique and has entries of several families, which do not identify their row"
            )
        return None

    def is_key_of(self, index: str, key: bytes) -> bool:
        """Whether a key begins as those of an index do, or of the table itself."""
        number = self.table.primary_index_id if index == TABLE else self._index(index).id
        return key.startswith(_uvarint(self.table.id) + _uvarint(number))

    def without_family(self, index: str, key: bytes) -> bytes:
        """What the keys of all families of an entry, or of a row, have in common."""
        number = self.primary if index == TABLE else self._number(index)
        ending = next((one for one in self._endings(number) if key.endswith(one)), b"")
        return key[: len(key) - len(ending)]

    def trouble(self, pair: Pair) -> BadPair | None:
        """What is wrong with the bytes of a pair."""
        bad = judge(self.layout, _array(pair[0]), _array(pair[1] or b""))
        return bad[0] if bad else None

    def is_owner_known(self, index: str, pair: Pair) -> bool:
        """Whether all rows that an entry could belong to are among those it tells.

        No row has an entry under a key that cannot be read. Where only the value cannot, the key
        alone must tell the row: what is left of the value may be wrong.
        """
        bad = self.trouble(pair)
        if bad is None or bad.verdict != INVALID:
            return len(self.rows_told(index, pair)) == 1
        return not bad.in_value or self._row_by_key(index, pair[0]) is not None

    def rows_told(self, index: str, pair: Pair) -> set[bytes]:
        """The rows that an entry may belong to, as `row_keys` takes them; its bytes may be bad."""
        key, value = pair[0], pair[1] or b""
        unset = bytes(_CHECKSUM_BYTES) + value[_CHECKSUM_BYTES:]
        number = self._number(index)
        by_value = self._row(self.layout, number, key, value)
        if by_value is None:  # then a checksum may be all that is wrong
            by_value = self._row(self.layout, number, key, unset)
        return {row for row in (by_value, self._row_by_key(index, key)) if row is not None}

    def row_keys(self, row: bytes) -> list[bytes]:
        """The keys of all pairs that a row can have."""
        return [row + ending for ending in dict.fromkeys(self._endings(self.primary))]

    def demanded(self, index: str, pairs: Iterable[Pair]) -> list[Pair] | None:
        """The entries that the row of some pairs asks for; None if nobody can tell.

        A row of which not all can be read may ask for anything; so may one that has a value that
        cannot be, in a column that the index uses.
        """
        there = sorted((key, value or b"") for key, value in pairs)
        if not there:
            return []
        keys, values = zip(*there, strict=True)
        found = entries(
            self.layout,
            [self._number(index)],
            pa.array(keys, pa.binary()),
            pa.array(values, pa.binary()),
        )
        is_cut = any(bad.verdict in (INVALID, MISSING) for bad in found.bad)
        if found.lost or is_cut or found.doubtful.any() or self.obstacle(index):
            return None
        if len(set(keys)) < len(keys):
            return None
        return [
            (key, _with_checksum(key, value))
            for key, value in zip(found.keys.to_pylist(), found.values.to_pylist(), strict=True)
        ]

    def canonical(self, index: str, pair: Pair) -> Pair | None:
        """What an entry that can be read should be spelled like."""
        number = self._number(index)
        datums, _ = decode(self.layout, number, _array(pair[0]), _array(pair[1] or b""))
        if (datums.spans[0, :, HELD] < 0).all():
            return None
        made = list(
            zip(*(of.to_pylist() for of in encode(self.layout, number, datums)), strict=True)
        )
        if len(made) == 1:
            return made[0]
        ending = next((one for one in self._endings(number) if pair[0].endswith(one)), b"?")
        return next((one for one in made if one[0].endswith(ending)), None)

    def rewritten(self, pair: Pair) -> Pair | None:
        """A pair of the table with the same columns in their one spelling, under the same key.

        None where there is none, or where the value tells more than the catalog knows.
        """
        key, value = pair
        if not value or self.strange_columns(TABLE, pair) != []:
            return None
        datums, bad = decode(self.layout, self.primary, _array(key), _array(value))
        if any(one.verdict != NONCANONICAL for one in bad):
            return None
        keys, values = encode(self.layout, self.primary, datums)
        spelled = dict(zip(keys.to_pylist(), values.to_pylist(), strict=True)).get(key)
        if spelled is None:
            return None
        octets, fault = _octets(value), np.zeros(2, dtype=np.int64)
        header = payload(octets, 0, len(octets), fault) - _CHECKSUM_BYTES
        made = key, value[:header] + spelled
        return made if self.trouble(made) is None else None

    def strange_columns(self, index: str, pair: Pair) -> list[int] | None:
        """Columns of a value that a reader passes over, or reads twice; None if nobody can tell."""
        number = self.primary if index == TABLE else self._number(index)
        of_index = self.layout.indexes[number]
        families = [
            self.layout.families[n]
            for n in range(int(of_index[FAMILIES_FROM]), int(of_index[FAMILIES_TO]))
            if pair[0].endswith(_family(int(self.layout.families[n, FAMILY_ID])))
        ]
        if len(families) != 1:
            return None
        (family,) = families
        if family[FORM] == BARE:
            return []
        octets, fault = _octets(pair[1] or b""), np.zeros(2, dtype=np.int64)
        end = len(octets)
        at = payload(octets, 0, end, fault) + 1
        if at <= 0:
            return None
        if family[FORM] == ENTRY and of_index[UNIQUE]:
            first, last = int(of_index[SUFFIX_FROM]), int(of_index[SUFFIX_TO])
            room = room_for(self.layout, batch_of(_array(pair[0]), _array(pair[1] or b"")))
            at, _, _ = read_columns(
                octets, at, end, self.layout.keys, first, last, False, room.row, 0, fault
            )
        columns = self.layout.columns[
            int(family[COLUMNS_FROM]) : int(family[COLUMNS_TO]), COLUMN_ID
        ]
        left, strange, column = {int(c) for c in columns}, [], 0
        while 0 <= at < end:
            step, kind, at = read_tag(octets, at, end, fault)
            column += step
            if at >= 0:
                at = skip_tagged(kind, octets, at, end, fault)
            if column not in left:
                strange.append(column)
            left.discard(column)
        return strange if at >= 0 else None

    @cached_property
    def _keys_only(self) -> Layout:
        """Indexes whose entries are read by their keys alone, which must tell the row."""
        indexes = [
            replace(index, stored=(), unique=False, by_family=False) for index in self.table.indexes
        ]
        return layout_of([replace(self.table, indexes=tuple(indexes))])

    def _row_by_key(self, index: str, key: bytes) -> bytes | None:
        layout = self._keys_only
        return self._row(layout, layout.secondary(0, index), key, _EMPTY_ENTRY)

    def _row(self, layout: Layout, index: int, key: bytes, value: bytes) -> bytes | None:
        datums, _ = decode(layout, index, _array(key), _array(value))
        columns = [self.table.by_id[part.column] for part in self.table.primary_key]
        slots = [self.table.columns.index(column) for column in columns]
        if (datums.spans[0, slots, HELD] < 0).any():
            return None  # a key of another index, or one that cannot be read
        keys, _ = encode(self.layout, self.primary, datums)
        end = len(_family(0))
        rows = [found[:-end] for found in keys.to_pylist() if found.endswith(_family(0))]
        return rows[0] if rows else None

    def _endings(self, number: int) -> list[bytes]:
        """What keys of an index end with, by family."""
        first, last = self.layout.indexes[number, [FAMILIES_FROM, FAMILIES_TO]]
        return [_family(int(family)) for family in self.layout.families[first:last, FAMILY_ID]]

    def _number(self, index: str) -> int:
        return self.layout.secondary(0, index)

    def _index(self, name: str) -> KvIndex:
        return next(index for index in self.table.indexes if index.name == name)


def _array(octets: bytes) -> pa.Array:
    return pa.array([octets], pa.binary())


def _octets(data: bytes) -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
    return np.frombuffer(data, dtype=np.uint8).copy()


def _family(number: int) -> bytes:
    """What a key of a family ends with."""
    written = _uvarint(number)
    return written + _uvarint(len(written)) if number else written


def _uvarint(number: int) -> bytes:
    room = np.zeros(32, dtype=np.uint8)
    return room[: put_uvarint(np.uint64(number), False, room, 0)].tobytes()


def _with_checksum(key: bytes, data: bytes) -> bytes:
    octets, value = _octets(key), _octets(bytes(_CHECKSUM_BYTES) + data)
    put_checksum(octets, 0, len(octets), value, 0, len(value))
    return value.tobytes()
