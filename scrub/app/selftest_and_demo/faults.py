# SPDX-License-Identifier: Apache-2.0
"""Plants every known fault into copies of a table, so that no two faults overlap."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from scrub.app.selftest_and_demo import entry_faults, row_faults, stored_faults
from scrub.app.selftest_and_demo.fault_ground import Ground, NoPlace
from scrub.app.selftest_and_demo.key_values import DefectKey, Key
from scrub.app.selftest_and_demo.planted import IndexFault
from scrub.app.selftest_and_demo.table_copy import Edit, TableCopy, edited
from scrub.model.table import Index

FAULTS: tuple[IndexFault, ...] = (
    entry_faults.MissingEntry(),
    entry_faults.DanglingEntry(),
    entry_faults.ChangedKey(),
    stored_faults.WrongStoredValue(),
    stored_faults.StoredNull(),
    stored_faults.NullFilled(),
    stored_faults.SwappedStoredValues(),
    entry_faults.DuplicateEntry(),
    row_faults.DuplicateRow(),
    row_faults.UniqueViolation(),
    row_faults.ExcludedRow(),
)


Wanted = tuple[IndexFault, Index]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """A fault in one index of one copy, and every defect it must show as."""

    fault: str
    index: str
    expected: tuple[DefectKey, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPlanted:
    """A fault that was left out, and why."""

    fault: str
    index: str
    reason: str
    applicable: bool = False  # True: it should have been tried, but there was no place for it


@dataclass(frozen=True, slots=True)
class FaultyCopy:
    """A copy with faults, each on rows of its own."""

    source: str  # the name of the table that was copied
    copy: TableCopy
    faults: tuple[PlantedFault, ...]


def plant_all(
    copy: TableCopy, indexes: Sequence[Index], *, seed: int, avoid: Collection[Key] = ()
) -> tuple[tuple[FaultyCopy, ...], tuple[NotPlanted, ...]]:
    """Every fault in every index; where rows are too few for all at once, in several copies.

    Rows with a primary key in `avoid` are left as they are.
    """
    left_out: list[NotPlanted] = []
    pending: list[Wanted] = []
    for index in indexes:
        for fault in FAULTS:
            if reason := fault.why_not(copy.table, index):
                left_out.append(NotPlanted(fault=fault.name, index=index.name, reason=reason))
            else:
                pending.append((fault, index))
    copies: list[FaultyCopy] = []
    while pending:
        name = f"{copy.table.name}_{len(copies) + 1}"
        named = replace(copy, table=replace(copy.table, name=name))
        faults, edits, lacking = plant(Ground(named, seed + len(copies), avoid), pending)
        crowded = [each for each, left in lacking.items() if left.applicable]
        left_out += [left for left in lacking.values() if not left.applicable or not faults]
        if not faults:
            break
        pending = crowded
        copies.append(FaultyCopy(copy.table.name, edited(named, edits), faults))
    return tuple(copies), tuple(left_out)


def plant(
    ground: Ground, wanted: Iterable[Wanted]
) -> tuple[tuple[PlantedFault, ...], list[Edit], dict[Wanted, NotPlanted]]:
    """As many of the faults as have room, the changes they take, and those that have none."""
    faults: list[PlantedFault] = []
    edits: list[Edit] = []
    lacking: dict[Wanted, NotPlanted] = {}
    for fault, index in wanted:
        try:
            planted = fault.plant(ground, index)
        except NoPlace as lack:
            lacking[fault, index] = NotPlanted(
                fault=fault.name, index=index.name, reason=lack.reason, applicable=lack.used_up
            )
            continue
        edits += planted.edits
        faults.append(PlantedFault(fault=fault.name, index=index.name, expected=planted.expected))
    return tuple(faults), edits, lacking
