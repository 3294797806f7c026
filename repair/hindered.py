# SPDX-License-Identifier: Apache-2.0
"""A plan without what the index itself would not take, or not so that it can be undone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from repair.recovering import not_recovered, refused_recovery
from repair.refusals import refuse
from scrub.model.repair import Action, ActionKind, RepairPlan
from scrub.model.table import Table
from scrub.stores.recovering import put_of
from scrub.stores.repairing import Reason, RepairingStore

_OF_ENTRIES = (ActionKind.PUT, ActionKind.DELETE, ActionKind.REPLACE, ActionKind.KEEP_ONE)


def without_hindered(plan: RepairPlan, table: Table, store: RepairingStore) -> RepairPlan:
    """The store is asked, as it is now; nothing is written."""
    whys = _whys(plan.actions, table, store)
    refusals = list(plan.refusals)
    for action in plan.actions:
        why = whys.get(id(action))
        if why is None:
            continue
        if action.kind is ActionKind.RECOVER:
            refusals += refused_recovery(action, not_recovered(why))
        else:
            refusals.append(refuse(action, why))
    kept = tuple(action for action in plan.actions if id(action) not in whys)
    return replace(plan, actions=kept, refusals=tuple(refusals))


def _whys(actions: Sequence[Action], table: Table, store: RepairingStore) -> Mapping[int, Reason]:
    """By the action that is hindered; a row that is put back brings entries with it."""
    asked: dict[str, list[tuple[Action, Action]]] = {}
    for action in actions:
        if action.kind in _OF_ENTRIES:
            asked.setdefault(action.index, []).append((action, action))
        for index, entry in action.puts:
            asked.setdefault(index, []).append((action, put_of(action, index, entry)))
    return {
        id(action): why
        for name, pairs in asked.items()
        for (action, _), why in zip(
            pairs,
            store.hindrances(table, table.index(name), [one for _, one in pairs]),
            strict=True,
        )
        if why is not None
    }
