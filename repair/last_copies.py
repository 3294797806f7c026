# SPDX-License-Identifier: Apache-2.0
"""What other indexes hold of rows that the table does not have, before their entries are deleted.

An entry whose row is gone is ordinary if it is alone: the deletion did not reach its index. If
others of the table hold the row too, it was probably lost, whichever index was asked for.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from repair.lost_rows import key_of
from repair.refusals import refuse
from scrub.errors import RelationMissing, ScrubError
from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import ActionKind, Entry, RepairPlan
from scrub.model.table import Index, Table
from scrub.stores.recovering import DELETE_LAST_COPIES, kept_indexes
from scrub.stores.repairing import EntriesByKey


@dataclass(frozen=True, slots=True)
class Siblings:
    """What was found out about rows whose entries a repair would delete."""

    present: Sequence[tuple[str, Entry]] = ()  # rows that are there after all
    entries: Sequence[Defect] = ()  # of absent rows, in indexes that were not asked for
    unread: Mapping[str, str] = field(default_factory=dict)  # indexes, and why they cannot tell


def siblings_of(
    defects: Sequence[Defect],
    table: Table,
    store: EntriesByKey,
    looked_at: Collection[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Siblings:
    """Ask every index of the table but those `looked_at`, whose defects are all told already."""
    keys = _dangling_keys(defects)
    others = [index for index in kept_indexes(table) if index.name not in looked_at]
    told_by = {d.index for d in defects if d.kind is DefectKind.DANGLING}
    if not keys or len(kept_indexes(table)) <= 1 or (not others and len(told_by) <= 1):
        return Siblings()
    there = store.rows_there(table, keys)
    present = [(table.name, key) for key, is_there in zip(keys, there, strict=True) if is_there]
    absent = [key for key, is_there in zip(keys, there, strict=True) if not is_there]
    entries: list[Defect] = []
    unread: dict[str, str] = {}
    known = {(d.index, key_of(d.primary_key)) for d in defects if d.kind is DefectKind.DANGLING}
    for index in others if absent else ():
        tell(index.name)
        try:
            found = store.entries_of(table, index, absent)
        except RelationMissing:
            continue  # what is not there holds nothing
        except ScrubError as error:
            unread[index.name] = str(error)
            continue
        entries += [
            _told(table, index, key, entry)
            for key, held in zip(absent, found, strict=True)
            if (index.name, key_of(key)) not in known
            for entry in held
        ]
    return Siblings(present, entries, unread)


def without_deletes(plan: RepairPlan, why: str) -> RepairPlan:
    """The plan without what would delete entries of absent rows, as long as others are unknown."""
    deletes = [
        action
        for action in plan.actions
        if action.kind is ActionKind.DELETE and action.defect_kind is DefectKind.DANGLING
    ]
    reason = "another index may hold the row too, but not all could be read: " + why
    remedy = f"let scrub check all indexes; to delete it all the same, add {DELETE_LAST_COPIES}"
    refusals = [refuse(action, (reason, remedy)) for action in deletes]
    kept = tuple(action for action in plan.actions if action not in deletes)
    return replace(plan, actions=kept, refusals=(*plan.refusals, *refusals))


def _dangling_keys(defects: Sequence[Defect]) -> list[Entry]:
    keys = {
        key_of(defect.primary_key): defect.primary_key
        for defect in defects
        if defect.kind is DefectKind.DANGLING and defect.primary_key
    }
    return list(keys.values())


def _told(table: Table, index: Index, key: Entry, entry: Entry) -> Defect:
    """An entry of an absent row, as a check would tell it."""
    return Defect(
        kind=DefectKind.DANGLING,
        table=table.name,
        index=index.name,
        primary_key=key,
        index_key=None,
        expected=None,
        actual=entry,
        snapshot="",
    )
