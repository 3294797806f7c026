# SPDX-License-Identifier: Apache-2.0
"""Which lost rows can be put back truthfully: pure but for asking the store what hinders it.

A row is put back if every column that is never NULL is told by an index. What nobody knows is
written as NULL, and said so. A value that an expression made does not give the column it was made
from.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from repair.refusals import refuse
from scrub.errors import UsageError
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.repair import Action, ActionKind, Entry, LostRow, Refusal, RepairPlan
from scrub.model.table import Table
from scrub.stores.recovering import BY_HAND, DELETE_LAST_COPIES, RecoveringStore
from scrub.stores.repairing import Reason

Places = Mapping[str, set[tuple[Value, ...]]]
"""For each unique index, the keys that rows of the table lack an entry for."""


def recovery_of(row: LostRow, table: Table, wanted: Places) -> Action | Reason:
    """The action that puts a row back, or why there is none."""
    why = _hindrance(row, table, wanted)
    if why is not None:
        return not_recovered(why)
    return Action(
        kind=ActionKind.RECOVER,
        defect=row.told[0].defect,
        defect_kind=DefectKind.DANGLING,
        table=row.table,
        index="",
        primary_key=row.primary_key,
        after={column.name: row.columns.get(column.name) for column in table.columns},
        lost=row,
    )


def _hindrance(row: LostRow, table: Table, wanted: Places) -> Reason | None:
    if native := [name for name in row.indexes if table.index(name).is_own]:
        return (
            f"index {native[0]} is the database's own index, which is not read again for "
            "absent rows",
            BY_HAND,
        )
    unknown = [
        column.name
        for column in table.columns
        if column.name in row.absent_columns
        and (not column.nullable or column.name in table.primary_key)
    ]
    if unknown:
        return (
            f"no index holds the row's {', '.join(unknown)}, which the catalog says is never NULL",
            BY_HAND,
        )
    return _clash(table, [(told.index, told.entry) for told in row.told], wanted)


def not_recovered(why: Reason) -> Reason:
    """The reason as the defects of the row's entries tell it."""
    return f"its row was probably lost, and cannot be put back: {why[0]}", why[1]


def places_wanted(defects: Iterable[Defect], table: Table) -> Places:
    """Keys of unique indexes that belong to rows which are there, and have no entry."""
    unique = {index.name: index for index in table.indexes if index.unique}
    found: dict[str, set[tuple[Value, ...]]] = defaultdict(set)
    for defect in defects:
        if defect.table == table.name and defect.index in unique and defect.expected:
            found[defect.index].add(_key(table, defect.index, defect.expected))
    return found


def settle_recoveries(
    plan: RepairPlan, table: Table, store: object, defects: Sequence[Defect]
) -> RepairPlan:
    """The plan with only those recoveries that the store does not hinder, as it is now."""
    asked = [action for action in plan.actions if action.kind is ActionKind.RECOVER]
    rows = recovering(store, table)
    if not asked:
        return plan
    wanted = places_wanted(defects, table)
    actions = [action for action in plan.actions if action.kind is not ActionKind.RECOVER]
    refusals = list(plan.refusals)
    for action, result in zip(asked, rows.settle(table, asked), strict=True):
        if not isinstance(result, Action):
            refusals += refused_recovery(action, not_recovered(result))
        elif why := _clash(table, result.puts, wanted):
            refusals += refused_recovery(action, not_recovered(why))
        else:
            actions.append(result)
    return replace(plan, actions=tuple(actions), refusals=tuple(refusals))


def recovering(store: object, table: Table) -> RecoveringStore:
    """The store, as one that puts rows back; refused if it is none."""
    if isinstance(store, RecoveringStore):
        return store
    what = "in key-value layout" if table.kv is not None else "in a store that is only read"
    raise UsageError(
        f"lost rows of table {table.name} are not put back: it is {what}",
        hint="leave --recover-rows out; rows that were probably lost are then shown",
    )


def refused_recovery(action: Action, why: Reason) -> list[Refusal]:
    """One for each entry that told of the row."""
    assert action.lost is not None, "a recovery has its row"
    refusal = refuse(action, why)
    return [replace(refusal, defect=told.defect, index=told.index) for told in action.lost.told]


def _clash(table: Table, entries: Iterable[tuple[str, Entry]], wanted: Places) -> Reason | None:
    """Why entries of a lost row have no place: another row should have it in a unique index."""
    for index, entry in entries:
        key = _key(table, index, entry) if index in wanted else ()
        if key in wanted.get(index, ()) and None not in key:
            return (
                f"another row of the table has its key in index {index}, which is unique",
                f"correct that row; to give it the place and delete the entries of the lost row "
                f"for good, add {DELETE_LAST_COPIES} instead of --recover-rows",
            )
    return None


def _key(table: Table, index: str, entry: Entry) -> tuple[Value, ...]:
    return tuple(entry.get(column.name) for column in table.index(index).key)
