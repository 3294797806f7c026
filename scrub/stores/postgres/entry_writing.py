# SPDX-License-Identifier: Apache-2.0
"""Writing what was judged to an index table in PostgreSQL, and reading it back.

An entry that is replaced keeps its row: only the columns that differ are updated. Every row that is
written is read back in the same transaction, with all columns, after all constraints were enforced.
If it is not there as it was written, nothing counts as done.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from scrub.model.entry_shape import MARK, Tombstones
from scrub.stores.entry_states import EntryStates, Values, comparable
from scrub.stores.postgres.building.briefly import Brief
from scrub.stores.postgres.index_hindrances import (
    DELETE,
    INSERT,
    UPDATE,
    IndexHindrances,
    referred_places,
)
from scrub.stores.postgres.index_table import FoundEntries, IndexTable, Place
from scrub.stores.postgres.row_statements import (
    delete_rows,
    insert_entries,
    insert_image,
    update_columns,
    update_texts,
)
from scrub.stores.postgres.whole_rows import exact_texts
from scrub.stores.repairing import Image, RowImages

T = TypeVar("T")

_CHANGED_SINCE = "other columns of the entry have changed since"


class NotWritten(Exception):
    """A write that the index table did not take as it was; what was done is to be rolled back."""

    def __init__(self, reason: str, is_conflict: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_conflict = is_conflict  # whether the index holds something else by now


@dataclass(frozen=True, slots=True)
class Written(Generic[T]):
    """What became of each of the given entries, and the rows that it changed."""

    outcomes: list[T]
    images: list[RowImages]


def write_entries(
    brief: Brief,
    table: IndexTable,
    given: pa.Table,
    judge: Callable[[EntryStates], list[T]],
    hindrances: IndexHindrances | None = None,
    undone: Sequence[RowImages] = (),
) -> Written[T]:
    """Judge and write; with `undone`, bring back what these changes did, row by row."""
    table.lock(brief)
    hindrances = hindrances or IndexHindrances.of(brief.connection, table.relation)
    found = table.find(brief, given, lock=True, whole=True)
    states = EntryStates.of(table.shape, comparable(found.entries), found.marks)
    outcomes = judge(states)
    work = _Work(brief, table, hindrances, given, found, states, undone)
    return Written(outcomes, work.done())


@dataclass(slots=True)
class _Work:
    brief: Brief
    table: IndexTable
    hindrances: IndexHindrances
    given: pa.Table
    found: FoundEntries
    states: EntryStates
    undone: Sequence[RowImages]
    _before: dict[int, list[Image]] = field(default_factory=dict)
    _after: dict[int, list[Image]] = field(default_factory=dict)

    def done(self) -> list[RowImages]:
        updates, deletes, inserts = self.states.updates, self.states.deletes, self.states.inserts
        if updates or deletes or inserts:
            self._demand_unhindered()
            self._demand_as_left()
            updated = self._update(updates)
            self._delete(list(deletes))
            inserted = self._insert(inserts)
            self.brief.execute("SET CONSTRAINTS ALL IMMEDIATE")
            self._read_back(updated, inserted, inserts)
        numbers = range(self.given.num_rows)
        return [
            RowImages(tuple(self._before.get(n, ())), tuple(self._after.get(n, ())))
            for n in numbers
        ]

    # ---- before ----

    def _demand_unhindered(self) -> None:
        """Nothing may be set off, and no row that refers to an entry may lose it."""
        deletes = [self.found.places[number] for number in self.states.deletes]
        changed = self._changed_columns()
        for event in self._events():
            if (why := self.hindrances.fired(event, changed)) is not None:
                raise NotWritten(f"{why[0]}; {why[1]}")
        self._demand_unreferred(DELETE, deletes, self.hindrances.referring(DELETE))
        places = [self.found.places[number] for number, _, _ in self.states.updates]
        self._demand_unreferred(UPDATE, places, self.hindrances.referring(UPDATE, changed))

    def _events(self) -> list[str]:
        """What is done, and what taking it back would do."""
        states = self.states
        deletes = states.deletes or (states.inserts and not self.undone)
        inserts = states.inserts or (states.deletes and not self.undone)
        asked = ((UPDATE, states.updates), (DELETE, deletes), (INSERT, inserts))
        return [event for event, some in asked if some]

    def _demand_unreferred(
        self, event: str, places: Sequence[Place], references: Iterable[Any]
    ) -> None:
        for reference in references if places else ():
            if not reference.is_seen:
                raise NotWritten("; ".join(reference.unseen))
            relation = self.table.relation
            if referred_places(self.brief.connection, relation, reference, places):
                does = self.hindrances.effect(reference, event)
                raise NotWritten("; ".join(reference.referring(does)))

    def _demand_as_left(self) -> None:
        """Of an undo: what it removes or changes is, in all columns, what the repair left."""
        if not self.undone:
            return
        left = {by: list(images.after) for by, images in enumerate(self.undone) if images}
        for number, by in self.states.deletes.items():
            if by in left:
                left[by].remove(self._as_left(self.found.images[number], left[by]))
        for number, by, _ in self.states.updates:
            images = self.undone[by]
            for name in _differing(images.before[0], images.after[0]) if images else ():
                if self.found.images[number].get(name) != images.after[0][name]:
                    raise NotWritten(_CHANGED_SINCE, is_conflict=True)
        known = {name for one in self.undone for image in one.before for name in image}
        if absent := sorted(known - self.table.columns.keys()):
            raise NotWritten(
                f"{self.table.relation.label} no longer has the column {', '.join(absent)}, so "
                "what was there cannot be restored"
            )

    def _as_left(self, image: Image, left: Sequence[Image]) -> Image:
        """Which of the rows that a repair left this is; columns that came since must be empty."""
        for one in left:
            if image.items() >= one.items():
                new = [
                    n
                    for n in image.keys() - one.keys() - self.hindrances.generated
                    if image[n] is not None
                ]
                if new:
                    raise NotWritten(
                        f"{self.table.relation.label} got the column {', '.join(sorted(new))} "
                        "since, and the entry has a value there; set it to NULL, or delete the "
                        "entry by hand",
                        is_conflict=True,
                    )
                return one
        raise NotWritten(_CHANGED_SINCE, is_conflict=True)

    # ---- updates ----

    def _changed_columns(self) -> frozenset[str]:
        return frozenset(n for number, by, _ in self.states.updates for n in self._set(number, by))

    def _set(self, number: int, by: int) -> list[str]:
        """The columns in which a found entry and the one that takes its place differ."""
        if self.undone and self.undone[by]:
            images = self.undone[by]
            differing = _differing(images.before[0], images.after[0])
            return [name for name in differing if name not in self.hindrances.generated]
        there, wanted = self._values_found(number), self._values_given(by)
        names = self.table.shape.names
        return [n for n, a, b in zip(names, there, wanted, strict=True) if a != b]

    def _update(self, updates: Sequence[tuple[int, int, bool]]) -> dict[Place, tuple[int, int]]:
        """Change rows in their place; where each is now, with its numbers found and given."""
        where: dict[Place, tuple[int, int]] = {}
        groups: dict[tuple[str, ...], list[tuple[int, int, bool]]] = {}
        for number, by, is_dead in updates:
            self._before.setdefault(by, []).insert(0, self.found.images[number])
            names = tuple(self._set(number, by))
            groups.setdefault(names, []).append((number, by, is_dead))
        for names, some in groups.items():
            for place, number, by in self._updated(names, some):
                where[place] = (number, by)
        if len(where) != len(updates):
            raise NotWritten(self._suppressed)
        return where

    def _updated(
        self, names: Sequence[str], some: Sequence[tuple[int, int, bool]]
    ) -> list[tuple[Place, int, int]]:
        brief, table = self.brief, self.table
        if self.undone and any(self.undone[by] for _, by, _ in some):
            with exact_texts(brief):
                return [
                    (place, number, by)
                    for number, by, _ in some
                    for place in update_texts(
                        brief, table, names, self.found.places[number], self.undone[by].before[0]
                    )
                ]
        moved = update_columns(
            brief,
            table,
            names,
            [self.found.places[number] for number, _, _ in some],
            self._entries([(by, is_dead) for _, by, is_dead in some]),
            [is_dead for _, _, is_dead in some],
        )
        return [(place, some[which][0], some[which][1]) for which, place in moved]

    # ---- deletes and inserts ----

    def _delete(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            by = self.states.deletes[number]
            if by is not None:
                self._before.setdefault(by, []).append(self.found.images[number])
        places = [self.found.places[number] for number in numbers]
        if places and delete_rows(self.brief, self.table, places) != len(places):
            raise NotWritten(self._suppressed)

    def _insert(self, inserts: Sequence[tuple[int, bool]]) -> list[Place]:
        brief, table, computed = self.brief, self.table, self.hindrances.generated
        images = [image for image in self._restored(inserts) if image is not None]
        places: list[Place] = []
        if images:
            with exact_texts(brief):
                for image in images:
                    places += insert_image(brief, table, image, computed)
        if new := [one for one in inserts if not (self.undone and self.undone[one[0]])]:
            dead = [is_dead for _, is_dead in new]
            places += insert_entries(brief, table, self._entries(new), dead, computed)
        if len(places) != len(inserts):
            raise NotWritten(self._suppressed)
        return places

    def _restored(self, inserts: Sequence[tuple[int, bool]]) -> list[Image | None]:
        """Of an undo: the image that each insert brings back, in the order of its change."""
        updated = {by for _, by, _ in self.states.updates}
        left = {
            by: list(images.before[1 if by in updated else 0 :])
            for by, images in enumerate(self.undone)
            if images
        }
        return [left[by].pop(0) if left.get(by) else None for by, _ in inserts]

    # ---- afterwards ----

    def _read_back(
        self,
        updated: Mapping[Place, tuple[int, int]],
        inserted: Sequence[Place],
        inserts: Sequence[tuple[int, bool]],
    ) -> None:
        places = [*updated, *inserted]
        if not places:
            return
        now = self.table.at(self.brief, places)
        if len(now.places) != len(places):
            raise NotWritten(self._suppressed)
        values = comparable(now.entries)
        there = dict(zip(now.places, zip(values, now.images, strict=True), strict=True))
        dead = {by for _, by, is_dead in self.states.updates if is_dead}
        for place, (number, by) in updated.items():
            self._demand_updated(number, by, *there.pop(place), is_dead=by in dead)
        restored = self._restored(inserts)
        wanted = comparable(self._entries(inserts))
        for (by, _), image, entry in zip(inserts, restored, wanted, strict=True):
            self._after.setdefault(by, []).append(self._taken(there, entry, image))

    def _demand_updated(
        self, number: int, by: int, values: Values, image: Image, is_dead: bool
    ) -> None:
        written = set(self._set(number, by))
        before = self.found.images[number]
        computed = self.hindrances.generated
        if self.undone and self.undone[by]:
            texts = self.undone[by].before[0]
            wrong = [name for name in written if image[name] != texts[name]]
        else:
            wanted = comparable(self._entries([(by, is_dead)]))[0]
            names = self.table.shape.names
            wrong = [n for n, a, b in zip(names, values, wanted, strict=True) if a != b]
        kept = image.keys() - written - computed - {MARK}
        wrong += [name for name in kept if image[name] != before[name]]
        if wrong:
            raise NotWritten(self._altered(wrong))
        self._after.setdefault(by, []).insert(0, image)

    def _taken(
        self, there: dict[Place, tuple[Values, Image]], entry: Values, image: Image | None
    ) -> Image:
        """The row that an insert has left, which is not taken for another's."""
        for place, (values, found) in there.items():
            is_it = values == entry if image is None else image.items() <= found.items()
            if is_it:
                del there[place]
                return found
        raise NotWritten(self._altered([]))

    # ---- values ----

    def _entries(self, some: Sequence[tuple[int, bool]]) -> pa.Table:
        """Given entries by number, some as tombstones."""
        shape = self.table.shape
        new = self.given.take(pa.array([number for number, _ in some], pa.int64()))
        if shape.tombstones is not Tombstones.NULL_VALUE:
            return new
        dead = pa.array([is_dead for _, is_dead in some], pa.bool_())
        for column in shape.stored:
            place = new.schema.get_field_index(column.name)
            new = new.set_column(place, column.name, pc.if_else(dead, None, new.column(place)))
        return new

    def _values_found(self, number: int) -> Values:
        return comparable(self.found.entries.slice(number, 1))[0]

    def _values_given(self, number: int) -> Values:
        is_dead = next(dead for _, by, dead in self.states.updates if by == number)
        return comparable(self._entries([(number, is_dead)]))[0]

    @property
    def _suppressed(self) -> str:
        return (
            f"a trigger or a rule of {self.table.relation.label} suppressed the write or changed "
            "it, so it was rolled back"
        )

    def _altered(self, names: Sequence[str]) -> str:
        which = f" in column {', '.join(sorted(names))}" if names else ""
        return (
            f"{self.table.relation.label} holds something else than was written{which}: a trigger "
            "or the type of a column changed it, so it was rolled back"
        )


def _differing(before: Image, after: Image) -> list[str]:
    return [name for name in before if before[name] != after.get(name)]
