# SPDX-License-Identifier: Apache-2.0
"""The places that defects of pairs name: what is there now, and in the rows that this tells of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from repair.planning import plan_repair
from repair.refusals import refuse
from scrub.codec.kv.readable import columns_of
from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import Entry, RepairPlan
from scrub.model.table import Table
from scrub.stores.pair_demands import PairStore, pair_table
from scrub.stores.pair_rows import TABLE, Pair, PairRows, has_no_value


@dataclass(slots=True)
class Place:
    """What a defect is about: the pair it names, and the keys that it may have."""

    index: str
    pair: Pair
    keys: tuple[bytes, ...]
    rows: set[bytes] = field(default_factory=set)


class PairPlaces:
    """The places of some defects of one table, read all at once."""

    def __init__(self, table: Table, store: PairStore, defects: Sequence[Defect]) -> None:
        assert table.kv is not None, "only tables in key-value layout come here"
        self.table = table
        self.rows = PairRows(table.kv)
        self._places: dict[tuple[str, str | None], Place] = {}
        for defect in defects:
            if (place := self._located(defect)) is not None:
                self._places[_named(defect)] = place
        self._there = self._read_places(store)
        self._row_pairs = self._read_rows(store)

    def of(self, defect: Defect) -> Place | None:
        """None: the defect does not say, or says what the catalog does not have."""
        return self._places.get(_named(defect))

    def pairs_at(self, index: str, key: bytes) -> list[Pair]:
        """What is there now."""
        return self._there.get((index, key), [])

    def demanded(self, place: Place) -> list[Pair] | None:
        """The pairs that the rows of a place ask for; None if one of them cannot be read."""
        of_rows = [self.rows.demanded(place.index, self._row_pairs[row]) for row in place.rows]
        if any(demanded is None for demanded in of_rows):
            return None
        return [pair for demanded in of_rows for pair in demanded or ()]

    def primary_key(self, place: Place, pair: Pair | None) -> Entry | None:
        """The primary key that a pair of a place tells."""
        if pair is None or has_no_value(pair):
            return None
        layout = self.rows.layout
        number = layout.primary(0) if place.index == TABLE else layout.secondary(0, place.index)
        columns = columns_of(layout, number, pair[0], pair[1] or b"", self.table.types)
        key = {name: (columns or {}).get(name) for name in self.table.primary_key}
        return None if None in key.values() else key

    def lost_rows(self, defects: Sequence[Defect]) -> RepairPlan:
        """Rows that several indexes agree on, with the refusal of every entry that tells them."""
        located = [(defect, place) for defect in defects if (place := self.of(defect)) is not None]
        present = [
            (defect.table, defect.primary_key)
            for defect, place in located
            if defect.primary_key is not None and any(map(self._row_pairs.get, place.rows))
        ]
        entries: dict[tuple[DefectKind, str, bytes], list[Defect]] = {}
        for defect, place in sorted(located, key=lambda one: one[0].key_hex or ""):
            stem = self.rows.without_family(place.index, place.pair[0])
            entries.setdefault((defect.kind, place.index, stem), []).append(defect)
        families = {found[0].id: found for found in entries.values()}
        told = [_told_together(found) for found in entries.values()]
        plan = plan_repair(told, {self.table.name: self.table}, present)
        keys = [row.primary_key for row in plan.lost_rows]
        of_lost = [
            refuse(defect, (refusal.reason, refusal.remedy))
            for refusal in plan.refusals
            if refusal.defect_kind is DefectKind.DANGLING and refusal.primary_key in keys
            for defect in families[refusal.defect]
        ]
        return replace(plan, actions=(), refusals=tuple(of_lost))

    def _located(self, defect: Defect) -> Place | None:
        index = defect.index or TABLE
        known = index == TABLE or any(index == of.name for of in self.table.indexes)
        if not known or defect.key_hex is None or is_left_to_people(defect):
            return None
        try:
            pair = bytes.fromhex(defect.key_hex), bytes.fromhex(defect.value_hex or "")
        except ValueError:
            return None
        if not self.rows.is_key_of(index, pair[0]):
            return (
                None  # the catalog has given the index another number since, or the file is wrong
            )
        spelled = None if index == TABLE else self.rows.canonical(index, pair)
        keys = dict.fromkeys([pair[0], *([] if spelled is None else [spelled[0]])])
        return Place(index, pair, tuple(keys))

    def _read_places(self, store: PairStore) -> Mapping[tuple[str, bytes], list[Pair]]:
        """What is in the places; each gets to know the rows that this tells of."""
        seen = pair_table(self.table)
        there: dict[tuple[str, bytes], list[Pair]] = {}
        for index in {place.index for place in self._places.values()}:
            of_index = [place for place in self._places.values() if place.index == index]
            keys = dict.fromkeys(key for place in of_index for key in place.keys)
            for pair in store.pairs_at(seen, index, list(keys)):
                there.setdefault((index, pair[0]), []).append(pair)
            for place in of_index if index != TABLE else ():
                pairs = [pair for key in place.keys for pair in there.get((index, key), ())]
                for pair in (place.pair, *pairs):
                    place.rows |= self.rows.rows_told(index, pair)
        return there

    def _read_rows(self, store: PairStore) -> Mapping[bytes, list[Pair]]:
        found: dict[bytes, list[Pair]] = {
            row: [] for place in self._places.values() for row in place.rows
        }
        of_keys = {key: row for row in found for key in self.rows.row_keys(row)}
        for pair in store.pairs_at(pair_table(self.table), TABLE, list(of_keys)) if of_keys else ():
            found[of_keys[pair[0]]].append(pair)
        return found


_SPELLING = (
    DefectKind.INVALID_ENCODING,
    DefectKind.INVALID_COMPOSITE,
    DefectKind.NONCANONICAL,
    DefectKind.NULL_VIOLATION,
)
PLACED = (
    DefectKind.MISSING,
    DefectKind.DANGLING,
    DefectKind.WRONG_STORED_VALUE,
    DefectKind.DUPLICATE_ENTRY,
)


def is_left_to_people(defect: Defect) -> bool:
    """Kinds that nobody but a person can decide."""
    if defect.index is None:
        return defect.kind is not DefectKind.NONCANONICAL
    return defect.kind not in (*_SPELLING, *PLACED)


def _named(defect: Defect) -> tuple[str, str | None]:
    """Entries of several families of one row have the same id."""
    return defect.id, defect.key_hex


def _told_together(families: Sequence[Defect]) -> Defect:
    """One defect of an entry; what its first family says of a column is the whole of it."""
    columns = {n: v for one in reversed(families) for n, v in (one.actual or {}).items()}
    return replace(families[0], actual=columns or None)
