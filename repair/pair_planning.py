# SPDX-License-Identifier: Apache-2.0
"""From defects of a table in key-value layout to what is done about its pairs.

A defect names a place: an index, and the bytes of a key. What is there and what the rows ask for is
read anew, since an entry that only reads well, or whose checksum is wrong, is told by its bytes
alone. What is planned here is judged once more when it is done.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from repair.pair_reasons import (
    NO_SPELLING,
    NO_VALUE,
    NOT_SAID,
    OF_ANOTHER_ROW,
    OUTDATED,
    ROW_GONE,
    ROW_UNREADABLE,
    WHOSE,
)
from repair.planning import plan_repair
from repair.refusals import REFUSED, refuse
from scrub.codec.kv.pairs import INVALID
from scrub.codec.kv.readable import columns_of
from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import Action, ActionKind, Entry, RepairPlan
from scrub.model.table import Table
from scrub.stores.pair_demands import PairStore, entry_of_pair, pair_table
from scrub.stores.pair_rows import TABLE, Pair, PairRows, has_no_value
from scrub.stores.repairing import Reason

_SPELLING = (
    DefectKind.INVALID_ENCODING,
    DefectKind.INVALID_COMPOSITE,
    DefectKind.NONCANONICAL,
    DefectKind.NULL_VIOLATION,
)
_PLACED = (
    DefectKind.MISSING,
    DefectKind.DANGLING,
    DefectKind.WRONG_STORED_VALUE,
    DefectKind.DUPLICATE_ENTRY,
)


def plan_pair_repair(
    defects: Sequence[Defect],
    table: Table,
    store: PairStore,
    siblings: Sequence[Defect] = (),
    delete_last_copies: bool = False,
) -> RepairPlan:
    """What to do about each defect of a table, as its pairs are now; reads only.

    `siblings` are entries in other indexes that nobody asked to repair: with one of them, several
    may agree on a row that is gone. Those are deleted only with `delete_last_copies`.
    """
    planning = _Planning(table, store)
    for defect in (*defects, *siblings):
        planning.locate(defect)
    planning.read()
    lost = planning.lost_rows([*defects, *siblings])
    asked = {_named(defect) for defect in defects}
    of_lost = () if delete_last_copies else lost.refusals
    told = {refusal.defect for refusal in of_lost}
    planning.make_room(defect for defect in defects if defect.id not in told)
    actions: dict[object, Action] = {}
    refusals = [refusal for refusal in of_lost if refusal.defect in {name for name, _ in asked}]
    for defect in defects:
        if defect.id in told:
            continue
        for planned in planning.planned(defect):
            if isinstance(planned, Action):  # several defects may say the same of a pair
                actions.setdefault(_what(planned), planned)
            else:
                refusals.append(refuse(defect, planned))
    is_lost = delete_last_copies and bool(lost.lost_rows)
    return RepairPlan(tuple(actions.values()), tuple(refusals), lost.lost_rows, is_lost)


@dataclass(slots=True)
class _Place:
    """What a defect is about: the pair it names, and the key that it should have."""

    index: str
    pair: Pair
    keys: tuple[bytes, ...]
    rows: set[bytes] = field(default_factory=set)


class _Planning:
    def __init__(self, table: Table, store: PairStore) -> None:
        assert table.kv is not None, "only tables in key-value layout come here"
        self.table, self.store = table, store
        self.rows = PairRows(table.kv)
        self.types = {column.name: column.type for column in table.columns}
        self.places: dict[tuple[str, str | None], _Place] = {}
        self.there: dict[tuple[str, bytes], list[Pair]] = {}
        self.row_pairs: dict[bytes, list[Pair]] = {}
        self.leaving: set[tuple[str, bytes]] = set()

    def locate(self, defect: Defect) -> None:
        """Remember which pairs must be read for a defect."""
        index = defect.index or TABLE
        known = index == TABLE or any(index == of.name for of in self.table.indexes)
        if not known or defect.key_hex is None or self._is_left(defect):
            return
        try:
            pair = bytes.fromhex(defect.key_hex), bytes.fromhex(defect.value_hex or "")
        except ValueError:
            return
        if not self.rows.is_key_of(index, pair[0]):
            return  # the catalog has given the index another number since, or the file is wrong
        spelled = None if index == TABLE else self.rows.canonical(index, pair)
        keys = dict.fromkeys([pair[0], *([] if spelled is None else [spelled[0]])])
        self.places[_named(defect)] = _Place(index, pair, tuple(keys))

    def read(self) -> None:
        """Everything at once: what is in the places, and the rows that this tells."""
        seen = pair_table(self.table)
        for index in {place.index for place in self.places.values()}:
            of_index = [place for place in self.places.values() if place.index == index]
            keys = dict.fromkeys(key for place in of_index for key in place.keys)
            for pair in self.store.pairs_at(seen, index, list(keys)):
                self.there.setdefault((index, pair[0]), []).append(pair)
            for place in of_index if index != TABLE else ():
                pairs = [p for key in place.keys for p in self.there.get((index, key), ())]
                for pair in (place.pair, *pairs):
                    place.rows |= self.rows.rows_told(index, pair)
        rows = {row for place in self.places.values() for row in place.rows}
        of_keys = {key: row for row in rows for key in self.rows.row_keys(row)}
        self.row_pairs = {row: [] for row in rows}
        for pair in self.store.pairs_at(seen, TABLE, list(of_keys)) if of_keys else ():
            self.row_pairs[of_keys[pair[0]]].append(pair)

    def make_room(self, defects: Iterable[Defect]) -> None:
        """Remember where an entry goes, so that there is room for that of another row."""
        for defect in defects:
            place = self.places.get(_named(defect))
            if place is not None and defect.kind is DefectKind.DANGLING:
                self.leaving.add((place.index, place.pair[0]))

    def lost_rows(self, defects: Sequence[Defect]) -> RepairPlan:
        """Rows that several indexes agree on, with the refusal of every entry that tells them."""
        located = [defect for defect in defects if _named(defect) in self.places]
        present = [
            (defect.table, defect.primary_key)
            for defect in located
            if defect.primary_key is not None and self._has_row(self.places[_named(defect)])
        ]
        entries: dict[tuple[DefectKind, str, bytes], list[Defect]] = {}
        for defect in sorted(located, key=lambda one: one.key_hex or ""):
            place = self.places[_named(defect)]
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

    def _has_row(self, place: _Place) -> bool:
        return any(self.row_pairs[row] for row in place.rows)

    def planned(self, defect: Defect) -> Iterator[Action | Reason]:
        if self._is_left(defect):
            is_value = defect.column is not None and defect.kind is DefectKind.INVALID_ENCODING
            yield NO_VALUE if is_value else REFUSED.get(defect.kind, OUTDATED)
            return
        place = self.places.get(_named(defect))
        if place is None:
            yield NOT_SAID if defect.key_hex is None else OUTDATED
        elif place.index == TABLE:
            yield from self._table_pair(defect, place)
        elif obstacle := self.rows.obstacle(place.index):
            yield obstacle, "rebuild the index with the system that owns it"
        else:
            yield from self._entries(defect, place)

    def _is_left(self, defect: Defect) -> bool:
        """Kinds that nobody but a person can decide."""
        if defect.index is None:
            return defect.kind is not DefectKind.NONCANONICAL
        return defect.kind not in (*_SPELLING, *_PLACED)

    def _table_pair(self, defect: Defect, place: _Place) -> Iterator[Action | Reason]:
        """A pair of the table that reads well is spelled as it should be; its columns stay."""
        for pair in _distinct(self.there.get((TABLE, place.pair[0]), ())):
            if self.rows.trouble(pair) is None:
                continue
            spelled = self.rows.rewritten(pair)
            if spelled is None:
                yield NO_SPELLING
            else:
                yield self._action(ActionKind.REPLACE, defect, place, pair, spelled)

    def _entries(self, defect: Defect, place: _Place) -> Iterator[Action | Reason]:
        demands = [self.rows.demanded(place.index, self.row_pairs[row]) for row in place.rows]
        if any(demanded is None for demanded in demands):
            yield ROW_UNREADABLE
            return
        wanted = [pair for demanded in demands for pair in demanded or ()]
        at_key = [pair for pair in wanted if pair[0] == place.pair[0]]
        if len(at_key) > 1:
            yield REFUSED[DefectKind.UNIQUE_VIOLATION]
        elif at_key:
            yield from self._toward(defect, place, at_key[0])
        else:
            yield from self._unwanted(defect, place, wanted)

    def _toward(self, defect: Defect, place: _Place, wanted: Pair) -> Iterator[Action | Reason]:
        """What brings a place to hold just the pair that a row asks for."""
        there = self.there.get((place.index, wanted[0]), [])
        living = [pair for pair in there if not has_no_value(pair)]
        if not there:
            yield self._action(ActionKind.PUT, defect, place, None, wanted)
        for pair in _distinct(living or there):
            if not _is_same(pair, wanted):
                if self._is_of_another_row(place.index, pair, wanted):
                    if (place.index, wanted[0]) in self.leaving:
                        yield self._action(ActionKind.PUT, defect, place, None, wanted)
                    else:
                        yield OF_ANOTHER_ROW
                elif self._holds_more(defect, place, pair):
                    yield NO_SPELLING
                else:
                    yield self._action(ActionKind.REPLACE, defect, place, pair, wanted)
            elif living.count(pair) > 1:
                yield self._action(ActionKind.KEEP_ONE, defect, place, pair, pair)

    def _is_of_another_row(self, index: str, pair: Pair, wanted: Pair) -> bool:
        """Whether an entry that can be read says it is another row's than the one asked for."""
        trouble = self.rows.trouble(pair)
        if has_no_value(pair) or (trouble is not None and trouble.verdict == INVALID):
            return False
        return self.rows.rows_told(index, pair).isdisjoint(self.rows.rows_told(index, wanted))

    def _unwanted(
        self, defect: Defect, place: _Place, wanted: Sequence[Pair]
    ) -> Iterator[Action | Reason]:
        """A place for which no row asks; an entry under a wrong key has its right one beside."""
        if defect.kind in _PLACED and defect.kind is not DefectKind.DANGLING:
            yield ROW_GONE
            return
        there = [
            pair
            for pair in _distinct(self.there.get((place.index, place.pair[0]), ()))
            if not has_no_value(pair)
        ]
        for pair in there:
            if not self.rows.is_owner_known(place.index, pair):
                yield WHOSE
                return
            if self._holds_more(defect, place, pair):
                yield NO_SPELLING
                return
            yield self._action(ActionKind.DELETE, defect, place, pair, None)
        for pair in wanted if there else ():
            if pair[0] in place.keys and not self.there.get((place.index, pair[0])):
                yield self._action(ActionKind.PUT, defect, place, None, pair)

    def _holds_more(self, defect: Defect, place: _Place, pair: Pair) -> bool:
        """Whether an entry holds columns that the catalog does not know, which would be lost."""
        if defect.kind is not DefectKind.NONCANONICAL:
            return False
        return bool(self.rows.strange_columns(place.index, pair))

    def _action(
        self,
        kind: ActionKind,
        defect: Defect,
        place: _Place,
        before: Pair | None,
        after: Pair | None,
    ) -> Action:
        return Action(
            kind=kind,
            defect=defect.id,
            defect_kind=defect.kind,
            table=defect.table,
            index=place.index,
            primary_key=defect.primary_key or self._primary_key(place, after or before),
            before=None if before is None else entry_of_pair(before),
            after=None if after is None else entry_of_pair(after),
        )

    def _primary_key(self, place: _Place, pair: Pair | None) -> Entry | None:
        if pair is None or has_no_value(pair):
            return None
        layout = self.rows.layout
        number = layout.primary(0) if place.index == TABLE else layout.secondary(0, place.index)
        columns = columns_of(layout, number, pair[0], pair[1] or b"", self.types)
        key = {name: (columns or {}).get(name) for name in self.table.primary_key}
        return None if None in key.values() else key


def _told_together(families: Sequence[Defect]) -> Defect:
    """One defect of an entry; what its first family says of a column is the whole of it."""
    columns = {n: v for one in reversed(families) for n, v in (one.actual or {}).items()}
    return replace(families[0], actual=columns or None)


def _named(defect: Defect) -> tuple[str, str | None]:
    """Entries of several families of one row have the same id."""
    return defect.id, defect.key_hex


def _distinct(pairs: Sequence[Pair]) -> list[Pair]:
    return list(dict.fromkeys(pairs))


def _is_same(pair: Pair, wanted: Pair) -> bool:
    """Whether a pair is the one, with its checksum or without any."""
    key, value = wanted
    return pair in (wanted, (key, bytes(4) + (value or b"")[4:]))


def _what(action: Action) -> object:
    def bytes_of(entry: Mapping[str, object] | None) -> object:
        return None if entry is None else tuple(entry.values())

    return action.kind, action.index, bytes_of(action.before), bytes_of(action.after)
