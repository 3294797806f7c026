# SPDX-License-Identifier: Apache-2.0
"""From defects to what is done about them: a pure function, one rule for each kind.

The table is right by definition. What follows from a row is put, what follows from none is deleted;
where it is the row itself that is wrong, or where nobody can tell, a person has to decide.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from repair.recovering import Places, not_recovered, places_wanted, recovery_of
from scrub.codec.json_values import to_table
from scrub.codec.rejected import rejected_rows
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.index_shape import shape_of
from scrub.model.repair import (
    Action,
    ActionKind,
    Entry,
    LostRow,
    Refusal,
    RepairPlan,
    ToldEntry,
)
from scrub.model.table import Column, Index, Table

Reason = tuple[str, str]

REFUSED: Mapping[DefectKind, Reason] = {
    DefectKind.UNIQUE_VIOLATION: (
        "two rows of the table share the key, and only their owner knows which one is wrong",
        "correct one of the rows; its entry then follows",
    ),
    DefectKind.DUPLICATE_KEY: (
        "the table has the row more than once, and the table is right by definition",
        "remove the copies from the table",
    ),
    DefectKind.NULL_VIOLATION: (
        "the table lacks a value, and no index can supply it",
        "give the column a value, or say `nullable: true` in the catalog",
    ),
    DefectKind.INVALID_ENCODING: (
        "the bytes cannot be read, so nobody knows what they should be",
        "restore the row or the file from a backup",
    ),
    DefectKind.INVALID_COMPOSITE: (
        "key and value of a column disagree, and neither is known to be right",
        "write the row again from its source",
    ),
    DefectKind.NONCANONICAL: (
        "the bytes read well, but rewriting pairs is not offered for this store",
        "write the row again with the system that owns it",
    ),
    DefectKind.MISSING_FAMILY: (
        "the pair that every row has is absent, and with it values that nobody knows",
        "restore the row from a backup",
    ),
    DefectKind.UNEXPECTED_KEY: (
        "the key belongs to no index of the catalog, so nobody knows whether it is needed",
        "add the index to the catalog, or remove the pair by hand",
    ),
    DefectKind.KEY_ORDER: (
        "pairs stand in another order than their keys; what they say may be right",
        "write the relation anew in the order of its keys",
    ),
}
"""Kinds that are left to people, with the reason and what they can do."""


def plan_repair(
    defects: Sequence[Defect],
    tables: Mapping[str, Table],
    present: Iterable[tuple[str, Entry]] = (),
    recover_rows: bool = False,
    others: Sequence[Defect] = (),
) -> RepairPlan:
    """What to do about each defect; every one of them gets an action or a refusal.

    `present` names rows that are there, by table and primary key: an entry that does not follow
    from its row is no sign of a lost one. With `recover_rows`, lost rows are put back where that
    is possible, and their entries are right where they are. `others` were found too and are not to
    be repaired: rows that share a key forbid what they forbid.
    """
    lost = list(_lost_rows(defects, tables, present))
    wanted = {table.name: places_wanted(defects, table) for table in tables.values()}
    of_lost = {
        (row.table, _key(row.primary_key)): (
            _recovery(row, tables[row.table], wanted[row.table])
            if recover_rows
            else _lost(tables[row.table])
        )
        for row in lost
    }
    actions: list[Action] = []
    refusals: list[Refusal] = []
    reindexed: set[tuple[str, str]] = set()
    sharing = [d for d in (*defects, *others) if d.kind is DefectKind.UNIQUE_VIOLATION]
    shared = {(d.table, d.index) for d in sharing}
    of_sharing = {(d.table, d.index, _key(d.primary_key)) for d in sharing}
    for defect in defects:
        index = _index_of(defect, tables)
        if index is not None and index.native and defect.kind is not DefectKind.UNIQUE_VIOLATION:
            place = (defect.table, index.name)
            if place in shared:
                refusals.append(refuse(defect, _SHARED))
            elif place not in reindexed:
                reindexed.add(place)
                actions.append(_reindex(defect, index))
            continue
        recovery = of_lost.get((defect.table, _key(defect.primary_key)))
        if recovery is not None and defect.kind is DefectKind.DANGLING:
            if not isinstance(recovery, Action):
                refusals.append(refuse(defect, recovery))
            continue
        place_of_row = (defect.table, defect.index, _key(defect.primary_key))
        action = (
            REFUSED[DefectKind.UNIQUE_VIOLATION]  # the place is another row's, or either's
            if defect.kind is DefectKind.MISSING and place_of_row in of_sharing
            else _action(defect, tables.get(defect.table), index)
        )
        if isinstance(action, Action):
            actions.append(action)
        else:
            refusals.append(refuse(defect, action))
    actions += [found for found in of_lost.values() if isinstance(found, Action)]
    return RepairPlan(tuple(actions), tuple(refusals), tuple(lost))


_AGREEING_MIN = 2
_NOT_SAID: Reason = (
    "the defect does not say what the entry is",
    "check again without --redact, and repair from that",
)
_SHARED: Reason = (
    "rows share a key of this unique index, so it cannot be built anew; the attempt would leave "
    "an invalid index behind",
    "correct the rows that share a key, and repair then",
)
_OUTDATED: Reason = (
    "what the defect says does not fit the index as the catalog has it",
    "check again with this catalog, and repair from that",
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
        return _OUTDATED
    if any(column.type is None for column in index.entry):
        return _NO_TYPE
    return _not_fitting(planned, table, index) or planned


def _lost(table: Table) -> Reason:
    back = (
        "put the proposed row back (in PostgreSQL and Delta, --recover-rows does it)"
        if table.kv is None
        else "write the proposed row again with the system that owns it"
    )
    return (
        "several indexes agree on this row, which the table does not have: it was probably lost "
        "there",
        f"{back}, or repair with `--index`, one index at a time, to delete its entries",
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
        if reason := _not_fitting(of_entry, table, index):
            return not_recovered(reason)
    return planned


def _not_fitting(action: Action, table: Table, index: Index) -> Reason | None:
    """Why an entry is not one of the index: other columns, no values, or values to be rejected."""
    entries = [entry for entry in (action.before, action.after) if entry is not None]
    columns = shape_of(table, index).columns
    names = {column.name for column in columns}
    key = action.primary_key or {}
    if any(entry.keys() != names for entry in entries) or len(key) != len(table.primary_key):
        return _OUTDATED
    try:
        to_table([key], [table.column(name) for name in table.primary_key])
        return _rejected(action, columns)
    except (KeyError, ValueError, TypeError, ArithmeticError, AttributeError):
        return _OUTDATED


def _rejected(action: Action, columns: Sequence[Column]) -> Reason | None:
    """A value that is evidence of nothing is neither written nor a reason to delete."""
    told = {"row": action.after, "entry": action.before}
    entries = {whose: entry for whose, entry in told.items() if entry is not None}
    values = to_table(entries.values(), columns)
    for column, array in zip(columns, values.columns, strict=True):
        for place in rejected_rows(array.chunk(0), column):
            whose = [*entries][place]
            if whose == "entry" and entries[whose][column.name] is None:
                continue  # NULL where it must not be: that is what a repair is for
            return (
                f"the {whose} has a value in {column.name} that the column cannot hold, which "
                "is evidence of nothing",
                f"correct the {whose} by hand, and check again",
            )
    return None


def _planned(defect: Defect) -> Action | Reason:
    match defect.kind:
        case DefectKind.MISSING if defect.expected is not None:
            return _of(ActionKind.PUT, defect, None, defect.expected)
        case DefectKind.DANGLING if defect.actual is not None:
            return _of(ActionKind.DELETE, defect, defect.actual, None)
        case DefectKind.WRONG_STORED_VALUE if defect.actual and defect.expected:
            return _of(ActionKind.REPLACE, defect, defect.actual, defect.expected)
        case DefectKind.DUPLICATE_ENTRY if defect.actual is not None:
            return _of(ActionKind.KEEP_ONE, defect, defect.actual, defect.actual)
        case kind if kind in REFUSED:
            return REFUSED[kind]
    return _NOT_SAID


def _of(kind: ActionKind, defect: Defect, before: Entry | None, after: Entry | None) -> Action:
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


def _reindex(defect: Defect, index: Index) -> Action:
    return Action(
        kind=ActionKind.REINDEX,
        defect=defect.id,
        defect_kind=defect.kind,
        table=defect.table,
        index=index.name,
    )


def refuse(defect: Defect, why: Reason) -> Refusal:
    """A defect that is left to people."""
    return Refusal(
        defect=defect.id,
        defect_kind=defect.kind,
        table=defect.table,
        index=defect.index,
        primary_key=defect.primary_key,
        reason=why[0],
        remedy=why[1],
    )


def _lost_rows(
    defects: Sequence[Defect], tables: Mapping[str, Table], present: Iterable[tuple[str, Entry]]
) -> Iterator[LostRow]:
    """Absent rows that two indexes or more tell alike."""
    there = {(table, _key(key)) for table, key in present}
    there |= {(d.table, _key(d.primary_key)) for d in defects if d.kind is not DefectKind.DANGLING}
    told: dict[tuple[str, object], list[Defect]] = defaultdict(list)
    for defect in defects:
        if defect.kind is DefectKind.DANGLING and defect.actual and defect.primary_key:
            told[defect.table, _key(defect.primary_key)].append(defect)
    for (table_name, _), found in told.items():
        table = tables.get(table_name)
        names = {defect.index for defect in found}
        if table is None or len(names) < _AGREEING_MIN or len(names) < len(found):
            continue  # one index tells the row twice: then they do not agree
        if (table_name, _key(found[0].primary_key)) in there:
            continue
        columns = _agreed([_columns_told(defect, table) for defect in found])
        if columns is not None:
            yield LostRow(
                table=table_name,
                primary_key=found[0].primary_key or {},
                columns=columns,
                indexes=tuple(sorted(name for name in names if name)),
                absent_columns=tuple(c.name for c in table.columns if c.name not in columns),
                told=tuple(
                    ToldEntry(index=d.index or "", defect=d.id, entry=d.actual or {}) for d in found
                ),
            )


def _columns_told(defect: Defect, table: Table) -> Entry:
    """The table's columns that an entry holds as they are."""
    index = table.index(defect.index or "")
    actual = defect.actual or {}
    return {
        column.source: actual[column.name]
        for column in index.entry
        if not column.is_expression and column.name in actual
    }


def _agreed(entries: Sequence[Entry]) -> Entry | None:
    """All columns together; None if two entries tell one of them differently."""
    together: dict[str, Value] = {}
    for entry in entries:
        for name, value in entry.items():
            if name in together and together[name] != value:
                return None
            together[name] = value
    return together


def _index_of(defect: Defect, tables: Mapping[str, Table]) -> Index | None:
    table = tables.get(defect.table)
    if table is None or defect.index is None:
        return None
    return next((index for index in table.indexes if index.name == defect.index), None)


def _key(entry: Entry | None) -> object:
    return None if entry is None else tuple(sorted(entry.items(), key=lambda item: item[0]))
