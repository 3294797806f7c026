# SPDX-License-Identifier: Apache-2.0
"""What must hold before entries are written, so that they can be written and taken back."""

from collections.abc import Iterable, Sequence

from scrub.model.journal import Image
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.repairs.index_table import Place
from scrub.stores.postgres.repairs.planned_writes import (
    NotWritten,
    PlannedWrites,
    columns_differing,
)
from scrub.stores.postgres.repairs.surroundings import (
    DELETE,
    INSERT,
    UPDATE,
    Reference,
    referred_places,
)

_CHANGED_SINCE = "other columns of the entry have changed since"


def demand_writable(brief: Brief, writes: PlannedWrites) -> None:
    """Raise NotWritten unless all of it can be written, and taken back later."""
    _demand_unhindered(brief, writes)
    _demand_as_left(writes)


def _demand_unhindered(brief: Brief, writes: PlannedWrites) -> None:
    """Nothing may be set off, and no row that refers to an entry may lose it."""
    deletes = [writes.found.places[number] for number in writes.states.deletes]
    changed = writes.changed_columns
    for event in _events(writes):
        if (why := writes.hindrances.fired(event, changed)) is not None:
            raise NotWritten(f"{why[0]}; {why[1]}")
    _demand_unreferred(brief, writes, DELETE, deletes, writes.hindrances.referring(DELETE))
    places = [writes.found.places[number] for number, _, _ in writes.states.updates]
    _demand_unreferred(brief, writes, UPDATE, places, writes.hindrances.referring(UPDATE, changed))


def _events(writes: PlannedWrites) -> list[str]:
    """What is done, and what taking it back would do."""
    states = writes.states
    deletes = states.deletes or (states.inserts and not writes.undone)
    inserts = states.inserts or (states.deletes and not writes.undone)
    asked = ((UPDATE, states.updates), (DELETE, deletes), (INSERT, inserts))
    return [event for event, some in asked if some]


def _demand_unreferred(
    brief: Brief,
    writes: PlannedWrites,
    event: str,
    places: Sequence[Place],
    references: Iterable[Reference],
) -> None:
    for reference in references if places else ():
        if not reference.is_seen:
            raise NotWritten("; ".join(reference.unseen))
        relation = writes.table.relation
        if referred_places(brief.connection, relation, reference, places):
            does = writes.hindrances.effect(reference, event)
            raise NotWritten("; ".join(reference.referring(does)))


def _demand_as_left(writes: PlannedWrites) -> None:
    """Of an undo: what it removes or changes is, in all columns, what the repair left."""
    if not writes.undone:
        return
    left = {by: list(images.after) for by, images in enumerate(writes.undone) if images}
    for number, by in writes.states.deletes.items():
        if by in left:
            left[by].remove(_as_left(writes, writes.found.images[number], left[by]))
    for number, by, _ in writes.states.updates:
        images = writes.undone[by]
        for name in columns_differing(images.before[0], images.after[0]) if images else ():
            if writes.found.images[number].get(name) != images.after[0][name]:
                raise NotWritten(_CHANGED_SINCE, is_conflict=True)
    known = {name for one in writes.undone for image in one.before for name in image}
    if absent := sorted(known - writes.table.columns.keys()):
        raise NotWritten(
            f"{writes.table.relation.label} no longer has the column {', '.join(absent)}, so "
            "what was there cannot be restored"
        )


def _as_left(writes: PlannedWrites, image: Image, left: Sequence[Image]) -> Image:
    """Which of the rows that a repair left this is; columns that came since must be empty."""
    for one in left:
        if image.items() >= one.items():
            new = [
                n
                for n in image.keys() - one.keys() - writes.hindrances.generated
                if image[n] is not None
            ]
            if new:
                raise NotWritten(
                    f"{writes.table.relation.label} got the column {', '.join(sorted(new))} "
                    "since, and the entry has a value there; set it to NULL, or delete the "
                    "entry by hand",
                    is_conflict=True,
                )
            return one
    raise NotWritten(_CHANGED_SINCE, is_conflict=True)
