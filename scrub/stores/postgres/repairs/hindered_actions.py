# SPDX-License-Identifier: Apache-2.0
"""Which planned changes an index table would not take, or not so that they can be undone."""

from collections.abc import Sequence

from scrub.codec.json_values import to_table
from scrub.model.entry_shape import EntryShape
from scrub.model.repair import Action, ActionKind
from scrub.stores.entry_states import Values, comparable
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.relations import FOREIGN, MATERIALIZED, ServerRelation
from scrub.stores.postgres.repairs.hindrances import IndexHindrances
from scrub.stores.postgres.repairs.index_table import IndexTable
from scrub.stores.postgres.repairs.surroundings import DELETE, UPDATE, Reference, referred_places
from scrub.stores.repairing import Reason

_REMOVING = (ActionKind.DELETE, ActionKind.KEEP_ONE)


def hindered(hindrances: IndexHindrances, shape: EntryShape, action: Action) -> Reason | None:
    """What speaks against an action, whatever the index holds."""
    return hindrances.against(action.kind, shape.names, _changed(action))


def unlockable(rows: ServerRelation) -> Reason | None:
    """Why rows of a table cannot be looked at and kept as they are while entries are written."""
    if rows.is_filtered:
        return (
            f"row-level security of {rows.label} hides rows from this role, and one that is hidden "
            "looks like one that is gone",
            "repair with the owner of the table, or with a role that has BYPASSRLS",
        )
    if rows.kind in (MATERIALIZED, FOREIGN):
        return (
            f"{rows.label} is a materialized view or a foreign table, whose rows cannot be locked",
            "write a patch instead, with --patch DIR, and apply it while there are no writers",
        )
    return None


def hindrances_of(
    brief: Brief, schema: str, shape: EntryShape, actions: Sequence[Action]
) -> list[Reason | None]:
    """The same with what the index holds now: rows that refer to entries that would go."""
    relation = IndexTable.of(brief, schema, shape)
    found = IndexHindrances.of(brief.connection, relation.relation)
    whys = [hindered(found, shape, action) for action in actions]
    asked = {
        number: (DELETE if action.kind in _REMOVING else UPDATE, action)
        for number, (action, why) in enumerate(zip(actions, whys, strict=True))
        if why is None and action.before is not None
    }
    for reference in found.references:
        concerned = [
            number
            for number, (event, action) in asked.items()
            if whys[number] is None and reference in found.referring(event, _changed(action))
        ]
        for number, is_referred in zip(
            concerned,
            _referred(brief, relation, reference, [actions[n] for n in concerned]),
            strict=True,
        ):
            if is_referred:
                does = found.effect(reference, asked[number][0])
                whys[number] = reference.referring(does) if reference.is_seen else reference.unseen
    return whys


def _referred(
    brief: Brief, relation: IndexTable, reference: Reference, actions: Sequence[Action]
) -> list[bool]:
    """Whether rows refer to the entry that each action would remove or change."""
    if not reference.is_seen or not actions:
        return [True] * len(actions)
    columns = relation.shape.columns
    given = to_table([action.before or {} for action in actions], columns)
    there = relation.find(brief, given, lock=False)
    places = referred_places(brief.connection, relation.relation, reference, there.places)
    held: set[Values] = {
        values
        for values, place in zip(comparable(there.entries), there.places, strict=True)
        if place in places
    }
    return [values in held for values in comparable(given)]


def _changed(action: Action) -> set[str]:
    """The columns that a replacement changes."""
    if action.kind is not ActionKind.REPLACE:
        return set()
    before, after = action.before or {}, action.after or {}
    return {name for name in after if before.get(name) != after[name]}
