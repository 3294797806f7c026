# SPDX-License-Identifier: Apache-2.0
"""Rows that were written, read back with all columns: they must be there as they were written."""

from collections.abc import Mapping, Sequence

from scrub.model.entry_shape import MARK
from scrub.model.journal import Image
from scrub.stores.entry_states import Values, comparable
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.repairs.index_table import Place
from scrub.stores.postgres.repairs.planned_writes import PlannedWrites


def read_back(
    brief: Brief,
    writes: PlannedWrites,
    updated: Mapping[Place, tuple[int, int]],
    inserted: Sequence[Place],
) -> dict[int, list[Image]]:
    """The rows that each given entry left; raises NotWritten if one is not as it was written.

    `updated` says of each place which found entry was there and which given one is there now.
    """
    left: dict[int, list[Image]] = {}
    places = [*updated, *inserted]
    if not places:
        return left
    now = writes.table.at(brief, places)
    if len(now.places) != len(places):
        raise writes.suppressed
    values = comparable(now.entries)
    there = dict(zip(now.places, zip(values, now.images, strict=True), strict=True))
    dead = {by for _, by, is_dead in writes.states.updates if is_dead}
    for place, (number, by) in updated.items():
        row, image = there.pop(place)
        _demand_updated(writes, number, by, row, image, by in dead)
        left.setdefault(by, []).insert(0, image)
    inserts = writes.states.inserts
    restored, wanted = writes.restored(), writes.values(inserts)
    for (by, _), image_wanted, entry in zip(inserts, restored, wanted, strict=True):
        left.setdefault(by, []).append(_taken(writes, there, entry, image_wanted))
    return left


def _demand_updated(
    writes: PlannedWrites, number: int, by: int, values: Values, image: Image, is_dead: bool
) -> None:
    written = set(writes.columns_set(number, by))
    before = writes.found.images[number]
    if images := writes.images_of(by):
        wrong = [name for name in written if image[name] != images.before[0][name]]
    else:
        wanted = writes.values([(by, is_dead)])[0]
        names = writes.table.shape.names
        wrong = [n for n, a, b in zip(names, values, wanted, strict=True) if a != b]
    kept = image.keys() - written - writes.hindrances.generated - {MARK}
    wrong += [name for name in kept if image[name] != before[name]]
    if wrong:
        raise writes.altered(wrong)


def _taken(
    writes: PlannedWrites,
    there: dict[Place, tuple[Values, Image]],
    entry: Values,
    image: Image | None,
) -> Image:
    """The row that an insert has left, which is not taken for another's."""
    for place, (values, found) in there.items():
        is_it = values == entry if image is None else image.items() <= found.items()
        if is_it:
            del there[place]
            return found
    raise writes.altered([])
