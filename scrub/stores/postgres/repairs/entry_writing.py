# SPDX-License-Identifier: Apache-2.0
"""Writing what was judged to an index table in PostgreSQL, and reading it back.

An entry that is replaced keeps its row: only the columns that differ are updated. Every row that is
written is read back in the same transaction, with all columns, after all constraints were enforced.
If it is not there as it was written, nothing counts as done.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import pyarrow as pa

from scrub.model.journal import Image, RowImages
from scrub.stores.entry_states import EntryStates, comparable
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.repairs.hindrances import IndexHindrances
from scrub.stores.postgres.repairs.index_table import IndexTable, Place
from scrub.stores.postgres.repairs.planned_writes import PlannedWrites
from scrub.stores.postgres.repairs.read_back import read_back
from scrub.stores.postgres.repairs.row_statements import (
    delete_rows,
    insert_entries,
    insert_image,
    update_columns,
    update_texts,
)
from scrub.stores.postgres.repairs.whole_rows import exact_texts
from scrub.stores.postgres.repairs.write_conditions import demand_writable

T = TypeVar("T")


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
    writes = PlannedWrites(table, hindrances, given, found, states, undone)
    return Written(outcomes, _Work(brief, writes).done())


@dataclass(frozen=True, slots=True)
class _Work:
    brief: Brief
    writes: PlannedWrites
    _before: dict[int, list[Image]] = field(default_factory=dict)  # rows that each change removed

    def done(self) -> list[RowImages]:
        states, after = self.writes.states, {}
        if states.updates or states.deletes or states.inserts:
            demand_writable(self.brief, self.writes)
            updated = self._update()
            self._delete()
            inserted = self._insert()
            self.brief.execute("SET CONSTRAINTS ALL IMMEDIATE")
            after = read_back(self.brief, self.writes, updated, inserted)
        return [
            RowImages(tuple(self._before.get(number, ())), tuple(after.get(number, ())))
            for number in range(self.writes.given.num_rows)
        ]

    def _update(self) -> dict[Place, tuple[int, int]]:
        """Change rows in their place; where each is now, with its numbers found and given."""
        where: dict[Place, tuple[int, int]] = {}
        groups: dict[tuple[str, ...], list[tuple[int, int, bool]]] = {}
        updates = self.writes.states.updates
        for number, by, is_dead in updates:
            self._before.setdefault(by, []).insert(0, self.writes.found.images[number])
            names = tuple(self.writes.columns_set(number, by))
            groups.setdefault(names, []).append((number, by, is_dead))
        for names, some in groups.items():
            for place, number, by in self._updated(names, some):
                where[place] = (number, by)
        if len(where) != len(updates):
            raise self.writes.suppressed
        return where

    def _updated(
        self, names: Sequence[str], some: Sequence[tuple[int, int, bool]]
    ) -> list[tuple[Place, int, int]]:
        brief, table, places = self.brief, self.writes.table, self.writes.found.places
        undone = self.writes.undone
        if undone and any(undone[by] for _, by, _ in some):
            with exact_texts(brief):
                return [
                    (place, number, by)
                    for number, by, _ in some
                    for place in update_texts(
                        brief, table, names, places[number], undone[by].before[0]
                    )
                ]
        moved = update_columns(
            brief,
            table,
            names,
            [places[number] for number, _, _ in some],
            self.writes.entries([(by, is_dead) for _, by, is_dead in some]),
            [is_dead for _, _, is_dead in some],
        )
        return [(place, some[which][0], some[which][1]) for which, place in moved]

    def _delete(self) -> None:
        found = self.writes.found
        deletes = self.writes.states.deletes
        for number, by in deletes.items():
            if by is not None:
                self._before.setdefault(by, []).append(found.images[number])
        places = [found.places[number] for number in deletes]
        if places and delete_rows(self.brief, self.writes.table, places) != len(places):
            raise self.writes.suppressed

    def _insert(self) -> list[Place]:
        brief, table = self.brief, self.writes.table
        inserts, computed = self.writes.states.inserts, self.writes.hindrances.generated
        images = [image for image in self.writes.restored() if image is not None]
        places: list[Place] = []
        if images:
            with exact_texts(brief):
                for image in images:
                    places += insert_image(brief, table, image, computed)
        if new := [one for one in inserts if not self.writes.images_of(one[0])]:
            dead = [is_dead for _, is_dead in new]
            places += insert_entries(brief, table, self.writes.entries(new), dead, computed)
        if len(places) != len(inserts):
            raise self.writes.suppressed
        return places
