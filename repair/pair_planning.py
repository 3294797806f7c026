# SPDX-License-Identifier: Apache-2.0
"""From defects of a table in key-value layout to what is done about its pairs.

A defect names a place: an index, and the bytes of a key. What is there and what the rows ask for is
read anew, since an entry that only reads well, or whose checksum is wrong, is told by its bytes
alone. What is planned here is judged once more when it is done.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from repair.pair_places import PLACED, PairPlaces, Place, is_left_to_people
from repair.planning import action_about
from repair.refusals import REFUSED, refuse
from scrub.codec.kv.pairs import INVALID
from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import Action, ActionKind, Entry, RepairPlan
from scrub.model.table import Table
from scrub.stores.pair_demands import PairStore, entry_of_pair
from scrub.stores.pair_rows import TABLE, Pair, PairRows, has_no_value
from scrub.stores.repairing import Reason

NOT_SAID: Reason = (
    "the defect does not say which pair it is",
    "check again without --redact, and repair from that",
)
OUTDATED: Reason = (
    "the catalog has no such index any more, or its keys begin otherwise",
    "check again with this catalog, and repair from that",
)
ROW_UNREADABLE: Reason = (
    "the row it belongs to cannot be read, is there twice, or has a value that its column cannot "
    "have, so its entries are unknown",
    "correct the row first; a check with --checks physical says what is wrong with it",
)
ROW_GONE: Reason = (
    "no row asks for this entry now, or not under the key that its columns have",
    "check again, and repair from that",
)
WHOSE: Reason = (
    "the bytes do not show which row the entry belongs to",
    "remove the pair by hand, and repair again: the entry that is missing then is put",
)
NO_VALUE: Reason = (
    "the table has a value that its column cannot have, and no index holds the right one",
    "write the row again from its source, or correct the column's type in the catalog",
)
OF_ANOTHER_ROW: Reason = (
    "another row's entry is under its key, and is not to be deleted",
    "decide about that entry first; the one that is missing is put then",
)
NO_SPELLING: Reason = (
    "it cannot be written again under the same key without losing what it says: its key is not in "
    "canonical encoding, or it holds a column that the catalog does not know",
    "write the row again with the system that owns it, or complete the catalog",
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
    places = PairPlaces(table, store, [*defects, *siblings])
    lost = places.lost_rows([*defects, *siblings])
    asked = {defect.id for defect in defects}
    of_lost = () if delete_last_copies else lost.refusals
    told = {refusal.defect for refusal in of_lost}
    chosen = [defect for defect in defects if defect.id not in told]
    planner = _Planner(places, places.rows, _leaving(places, chosen))
    actions: dict[object, Action] = {}
    refusals = [refusal for refusal in of_lost if refusal.defect in asked]
    for defect in chosen:
        for planned in planner.planned(defect):
            if isinstance(planned, Action):  # several defects may say the same of a pair
                actions.setdefault(_what(planned), planned)
            else:
                refusals.append(refuse(defect, planned))
    is_lost = delete_last_copies and bool(lost.lost_rows)
    return RepairPlan(tuple(actions.values()), tuple(refusals), lost.lost_rows, is_lost)


def _leaving(places: PairPlaces, defects: Sequence[Defect]) -> set[tuple[str, bytes]]:
    """Where an entry goes, so that there is room for that of another row."""
    found = [places.of(defect) for defect in defects if defect.kind is DefectKind.DANGLING]
    return {(place.index, place.pair[0]) for place in found if place is not None}


@dataclass(frozen=True, slots=True)
class _Planner:
    places: PairPlaces
    rows: PairRows
    leaving: AbstractSet[tuple[str, bytes]]

    def planned(self, defect: Defect) -> Iterator[Action | Reason]:
        if is_left_to_people(defect):
            is_value = defect.column is not None and defect.kind is DefectKind.INVALID_ENCODING
            yield NO_VALUE if is_value else REFUSED.get(defect.kind, OUTDATED)
            return
        place = self.places.of(defect)
        if place is None:
            yield NOT_SAID if defect.key_hex is None else OUTDATED
        elif place.index == TABLE:
            yield from self._table_pair(defect, place)
        elif obstacle := self.rows.obstacle(place.index):
            yield obstacle, "rebuild the index with the system that owns it"
        else:
            yield from self._entries(defect, place)

    def _table_pair(self, defect: Defect, place: Place) -> Iterator[Action | Reason]:
        """A pair of the table that reads well is spelled as it should be; its columns stay."""
        for pair in _distinct(self.places.pairs_at(TABLE, place.pair[0])):
            if self.rows.trouble(pair) is None:
                continue
            spelled = self.rows.rewritten(pair)
            if spelled is None:
                yield NO_SPELLING
            else:
                yield self._action(ActionKind.REPLACE, defect, place, pair, spelled)

    def _entries(self, defect: Defect, place: Place) -> Iterator[Action | Reason]:
        wanted = self.places.demanded(place)
        if wanted is None:
            yield ROW_UNREADABLE
            return
        at_key = [pair for pair in wanted if pair[0] == place.pair[0]]
        if len(at_key) > 1:
            yield REFUSED[DefectKind.UNIQUE_VIOLATION]
        elif at_key:
            yield from self._toward(defect, place, at_key[0])
        else:
            yield from self._unwanted(defect, place, wanted)

    def _toward(self, defect: Defect, place: Place, wanted: Pair) -> Iterator[Action | Reason]:
        """What brings a place to hold just the pair that a row asks for."""
        there = self.places.pairs_at(place.index, wanted[0])
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
        self, defect: Defect, place: Place, wanted: Sequence[Pair]
    ) -> Iterator[Action | Reason]:
        """A place for which no row asks; an entry under a wrong key has its right one beside."""
        if defect.kind in PLACED and defect.kind is not DefectKind.DANGLING:
            yield ROW_GONE
            return
        there = [
            pair
            for pair in _distinct(self.places.pairs_at(place.index, place.pair[0]))
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
            if pair[0] in place.keys and not self.places.pairs_at(place.index, pair[0]):
                yield self._action(ActionKind.PUT, defect, place, None, pair)

    def _holds_more(self, defect: Defect, place: Place, pair: Pair) -> bool:
        """Whether an entry holds columns that the catalog does not know, which would be lost."""
        if defect.kind is not DefectKind.NONCANONICAL:
            return False
        return bool(self.rows.strange_columns(place.index, pair))

    def _action(
        self,
        kind: ActionKind,
        defect: Defect,
        place: Place,
        before: Pair | None,
        after: Pair | None,
    ) -> Action:
        planned = action_about(defect, kind, _entry(before), _entry(after))
        key = defect.primary_key or self.places.primary_key(place, after or before)
        return replace(planned, primary_key=key)


def _entry(pair: Pair | None) -> Entry | None:
    return None if pair is None else entry_of_pair(pair)


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
