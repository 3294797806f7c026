# SPDX-License-Identifier: Apache-2.0
"""Relations of pairs as repair sees them, and what a table's pairs demand of them now.

A pair is an entry that its key's bytes identify, and its value's bytes are what is stored. So the
repairs of a store work on pairs as on any index, once they are told what each place should hold.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import pyarrow as pa

from scrub.errors import RelationMismatch
from scrub.model.entry_shape import EntryShape
from scrub.model.repair import Action, Entry
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.entry_states import Values
from scrub.stores.pair_rows import TABLE, Pair, PairRows

_BINARY = ColumnType(TypeName.BINARY)
_KEY = Column(name="key", type=_BINARY, nullable=False)
_VALUE = Column(name="value", type=_BINARY)

ReadPairs = Callable[[Sequence[bytes]], Iterable[Pair]]


@runtime_checkable
class PairStore(Protocol):
    """Where the pairs of a table are, for whoever plans a repair."""

    def pairs_at(self, table: Table, index: str, keys: Sequence[bytes]) -> Sequence[Pair]:
        """Every pair that has one of the keys now; `TABLE` is the index of the table's own."""


def pair_table(table: Table) -> Table:
    """The table as repair sees it: relations of pairs, each identified by its key's bytes."""
    key = EntryColumn(name="key", source="key", type=_BINARY)
    value = EntryColumn(name="value", source="value", type=_BINARY)

    def pairs(name: str, of: Table | Index) -> Index:
        return Index(
            name=name,
            store=of.store,
            relation=of.relation,
            key=(key,),
            suffix=(),
            stored=(value,),
        )

    return replace(
        table,
        columns=(_KEY, _VALUE),
        primary_key=("key",),
        indexes=(pairs(TABLE, table), *(pairs(index.name, index) for index in table.indexes)),
    )


def pair_shape(relation: str) -> EntryShape:
    return EntryShape(relation=relation, indexed=(_KEY,), suffix=(), stored=(_VALUE,))


def pair_keys(keys: Iterable[bytes]) -> pa.Table:
    """Keys to look for in a relation."""
    listed = list(dict.fromkeys(keys))
    return pa.table({"key": pa.array(listed, pa.binary())})


def entry_of_pair(pair: Pair) -> Entry:
    """A pair as plans, reports and journals tell it: in hexadecimal digits."""
    return {"key": pair[0].hex(), "value": None if pair[1] is None else pair[1].hex()}


def pair_of_entry(entry: Entry) -> Pair:
    key, value = str(entry["key"]), entry["value"]
    return bytes.fromhex(key), None if value is None else bytes.fromhex(str(value))


def refuse_versions(relation: str, columns: Iterable[str]) -> None:
    """Pairs with versions are replaced by writing later ones, which is not done here."""
    if "ts" in columns:
        raise RelationMismatch(
            f"{relation} keeps several versions of a pair, in a column ts, and is not repaired",
            hint="have the system that owns the pairs write them again",
        )


def demanded_now(
    rows: PairRows, index: str, actions: Sequence[Action], read: ReadPairs
) -> list[list[Values]]:
    """For each action, what the places it concerns should hold; `read` finds the table's pairs."""
    given = [_pairs_of(action) for action in actions]
    if index == TABLE:
        found = _by_key(read([key for pairs in given for key, _ in pairs]))
        return [_rewritten(rows, pairs, found) for pairs in given]
    told = _told_by_place(rows, index, given)
    found = _by_key(read([key for of in told for row in of for key in rows.row_keys(row)]))
    demands: dict[bytes, list[Pair] | None] = {
        row: rows.demanded(index, [p for key in rows.row_keys(row) for p in found.get(key, ())])
        for row in {row for of in told for row in of}
    }
    return [
        _demanded(pairs, [demands[row] for row in of])
        for pairs, of in zip(given, told, strict=True)
    ]


def _told_by_place(rows: PairRows, index: str, given: Sequence[Sequence[Pair]]) -> list[set[bytes]]:
    """For each action the rows that its pairs tell, and those of others that concern its places.

    Where an entry makes room for that of another row, both have one key.
    """
    of_key: dict[bytes, set[bytes]] = {}
    for pairs in given:
        for pair in pairs:
            of_key.setdefault(pair[0], set()).update(rows.rows_told(index, pair))
    return [{row for key, _ in pairs for row in of_key[key]} for pairs in given]


def _rewritten(
    rows: PairRows, given: Sequence[Pair], found: Mapping[bytes, Sequence[Pair]]
) -> list[Values]:
    made = [
        rows.rewritten(pair) for key in {key for key, _ in given} for pair in found.get(key, ())
    ]
    return [pair for pair in made if pair is not None]


def _demanded(given: Sequence[Pair], of_rows: Sequence[Sequence[Pair] | None]) -> list[Values]:
    if any(demanded is None for demanded in of_rows):
        # A row that cannot be read may demand anything: what is there stays, nothing is put.
        return [*given, *given]
    places = {key for key, _ in given}
    return [
        _spelled(pair, given)
        for demanded in of_rows
        for pair in demanded or ()
        if pair[0] in places
    ]


def _spelled(pair: Pair, given: Sequence[Pair]) -> Pair:
    """As it is given, if that differs in a checksum only that nobody has set."""
    key, value = pair
    unset = key, bytes(4) + (value or b"")[4:]
    return unset if unset in given else pair


def _pairs_of(action: Action) -> list[Pair]:
    entries = [entry for entry in (action.before, action.after) if entry is not None]
    return [pair_of_entry(entry) for entry in entries]


def _by_key(pairs: Iterable[Pair]) -> dict[bytes, list[Pair]]:
    found: dict[bytes, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair[0], []).append(pair)
    return found
