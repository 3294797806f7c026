# SPDX-License-Identifier: Apache-2.0
"""From defects to what is done about them: a pure function, one rule for each kind.

The table is right by definition. What follows from a row is put, what follows from none is deleted;
where it is the row itself that is wrong, or where nobody can tell, a person has to decide.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from repair.damaged_rows import DAMAGED, DamagedRows, damaged_rows
from repair.fitting import OUTDATED, not_fitting
from repair.last_copies import Siblings
from repair.lost_rows import key_of, lost_rows
from repair.recovering import Places, not_recovered, places_wanted, recovery_of
from repair.refusals import REFUSED, refuse
from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import (
    Action,
    ActionKind,
    Entry,
    LostRow,
    Refusal,
    RepairPlan,
)
from scrub.model.table import Index, Table
from scrub.stores.recovering import DELETE_LAST_COPIES
from scrub.stores.repairing import Reason


def plan_repair(
    defects: Sequence[Defect],
    tables: Mapping[str, Table],
    present: Iterable[tuple[str, Entry]] = (),
    recover_rows: bool = False,
    others: Sequence[Defect] = (),
    siblings: Siblings | None = None,
    delete_last_copies: bool = False,
) -> RepairPlan:
    """What to do about each defect; every one of them gets an action or a refusal.

    `present` names rows that are there, by table and primary key: an entry that does not follow
    from its row is no sign of a lost one. With `recover_rows`, lost rows are put back where that
    is possible, and their entries are right where they are. `others` were found too and are not to
    be repaired: rows that share a key forbid what they forbid. `siblings` tell what indexes hold
    that nobody asked to repair; entries of lost rows go only with `delete_last_copies`.
    """
    siblings = siblings or Siblings()
    there = [*present, *siblings.present]
    lost = tuple(lost_rows([*defects, *siblings.entries], tables, there))
    of_lost = {} if delete_last_copies else _of_lost(lost, defects, tables, siblings, recover_rows)
    sharing = [d for d in (*defects, *others) if d.kind is DefectKind.UNIQUE_VIOLATION]
    planner = _Planner(
        tables=tables,
        of_lost=of_lost,
        of_sharing={(d.table, d.index, key_of(d.primary_key)) for d in sharing},
        shared={(d.table, d.index) for d in sharing},
        damaged=damaged_rows((*defects, *others)),
        there={(name, key_of(key)) for name, key in there},
        unread={} if delete_last_copies else siblings.unread,
    )
    for defect in defects:
        planner.plan(defect)
    recovered = [found for found in of_lost.values() if isinstance(found, Action)]
    return RepairPlan(
        actions=(*planner.actions, *recovered),
        refusals=tuple(planner.refusals),
        lost_rows=lost,
        deletes_last_copies=delete_last_copies and bool(lost),
    )


def _of_lost(
    lost: Sequence[LostRow],
    defects: Sequence[Defect],
    tables: Mapping[str, Table],
    siblings: Siblings,
    recover_rows: bool,
) -> dict[tuple[str, object], Action | Reason]:
    """For each lost row the action that puts it back, or why its entries stay."""
    wanted = {table.name: places_wanted(defects, table) for table in tables.values()}
    beside = {(d.table, key_of(d.primary_key)): d.index for d in siblings.entries}
    found: dict[tuple[str, object], Action | Reason] = {}
    for row in lost:
        place = (row.table, key_of(row.primary_key))
        if not recover_rows:
            found[place] = _lost(tables[row.table])
        elif place in beside:
            found[place] = not_recovered(_told_by_others(beside[place]))
        else:
            found[place] = _recovery(row, tables[row.table], wanted[row.table])
    return found


@dataclass(slots=True, kw_only=True)
class _Planner:
    """Goes through defects one by one, knowing what was found altogether."""

    tables: Mapping[str, Table]
    of_lost: Mapping[tuple[str, object], Action | Reason]
    of_sharing: Set[tuple[str, str | None, object]]  # rows whose key others have, too
    shared: Set[tuple[str, str | None]]  # indexes in which rows share a key
    damaged: DamagedRows
    there: Set[tuple[str, object]]  # rows that are known to be there
    unread: Mapping[str, str]  # indexes that may tell of absent rows, and cannot
    actions: list[Action] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    _reindexed: set[tuple[str, str]] = field(default_factory=set)

    def plan(self, defect: Defect) -> None:
        index = _index_of(defect, self.tables)
        if index is not None and index.is_own and defect.kind is not DefectKind.UNIQUE_VIOLATION:
            self._plan_native(defect, index)
            return
        planned = self._planned(defect, index)
        if isinstance(planned, Action):
            self.actions.append(planned)
        elif planned is not None:
            self.refusals.append(refuse(defect, planned))

    def _plan_native(self, defect: Defect, index: Index) -> None:
        """Built anew as a whole, once."""
        place = (defect.table, index.name)
        if place in self.shared:
            self.refusals.append(refuse(defect, _SHARED))
        elif place not in self._reindexed:
            self._reindexed.add(place)
            rebuilt = action_about(defect, ActionKind.REINDEX, None, None)
            self.actions.append(replace(rebuilt, primary_key=None))

    def _planned(self, defect: Defect, index: Index | None) -> Action | Reason | None:
        """None: the row is put back, and with it the entry is right."""
        row = (defect.table, key_of(defect.primary_key))
        table = self.tables.get(defect.table)
        if defect.kind is DefectKind.DANGLING and row in self.of_lost:
            recovery = self.of_lost[row]
            return None if isinstance(recovery, Action) else recovery
        if defect.kind is DefectKind.DANGLING and self.unread and row not in self.there:
            return _not_known(self.unread)
        if defect.kind is DefectKind.MISSING and (row[0], defect.index, row[1]) in self.of_sharing:
            return REFUSED[DefectKind.UNIQUE_VIOLATION]  # the place is another row's, or either's
        if self.damaged.concern(defect, table, index):
            return DAMAGED
        return _action(defect, table, index)


_NOT_SAID: Reason = (
    "the defect does not say what the entry is",
    "check again without --redact, and repair from that",
)
_SHARED: Reason = (
    "rows share a key of this unique index, so it cannot be rebuilt;  the attempt would leave "
    "an invalid index behind",
    "correct the rows that share a key, and repair then",
)
_NO_TYPE: Reason = (
    "the type of an expression of the index is not known",
    "write `type:` beside its `as:` in the catalog",
)


def _action(defect: Defect, table: Table | None, index: Index | None) -> Action | Reason:
    planned = _planned(defect)
    if not isinstance(planned, Action):
        return planned
    if table is None or index is None:
        return OUTDATED
    if any(column.type is None for column in index.entry):
        return _NO_TYPE
    return not_fitting(planned, table, index) or planned


def _not_known(unread: Mapping[str, str]) -> Reason:
    name, why = next(iter(unread.items()))
    return (
        f"index {name} may hold the row too, which the table does not have, but it could not be "
        f"looked at: {why}",
        f"let scrub read index {name}, or take it out of the catalog; to delete the entry all the "
        f"same, add {DELETE_LAST_COPIES}",
    )


def _told_by_others(index: str | None) -> Reason:
    return (
        f"index {index} holds an entry of this row too, which is not among the defects",
        "check all indexes of the table, and repair from that",
    )


def _lost(table: Table) -> Reason:
    back = (
        "put the proposed row back (in PostgreSQL and Delta, --recover-rows does it)"
        if table.kv is None
        else "write the proposed row again with the system that owns it"
    )
    return (
        "several indexes agree on this row, which the table does not have: it was probably lost "
        "there",
        f"{back}; to delete its entries for good, add {DELETE_LAST_COPIES}",
    )


def _recovery(row: LostRow, table: Table, wanted: Places) -> Action | Reason:
    planned = recovery_of(row, table, wanted)
    if not isinstance(planned, Action):
        return planned
    for told in row.told:
        index = table.index(told.index)
        if any(column.type is None for column in index.entry):
            return not_recovered(_NO_TYPE)
        of_entry = replace(planned, before=None, after=told.entry)
        if reason := not_fitting(of_entry, table, index):
            return not_recovered(reason)
    return planned


def _planned(defect: Defect) -> Action | Reason:
    match defect.kind:
        case DefectKind.MISSING if defect.expected is not None:
            return action_about(defect, ActionKind.PUT, None, defect.expected)
        case DefectKind.DANGLING if defect.actual is not None:
            return action_about(defect, ActionKind.DELETE, defect.actual, None)
        case DefectKind.WRONG_STORED_VALUE if defect.actual and defect.expected:
            return action_about(defect, ActionKind.REPLACE, defect.actual, defect.expected)
        case DefectKind.DUPLICATE_ENTRY if defect.actual is not None:
            return action_about(defect, ActionKind.KEEP_ONE, defect.actual, defect.actual)
        case kind if kind in REFUSED:
            return REFUSED[kind]
    return _NOT_SAID


def action_about(
    defect: Defect, kind: ActionKind, before: Entry | None, after: Entry | None
) -> Action:
    """The action on the place that a defect names."""
    return Action(
        kind=kind,
        defect=defect.id,
        defect_kind=defect.kind,
        table=defect.table,
        index=defect.index or "",
        primary_key=defect.primary_key,
        before=before,
        after=after,
    )


def _index_of(defect: Defect, tables: Mapping[str, Table]) -> Index | None:
    table = tables.get(defect.table)
    if table is None or defect.index is None:
        return None
    return next((index for index in table.indexes if index.name == defect.index), None)
