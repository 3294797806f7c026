# SPDX-License-Identifier: Apache-2.0
"""What tasks do with the rows of a relation of columns: one scan for every check that needs it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from checks.numbering import Relation
from checks.registry import INDEX
from checks.scan_spec import ACTUAL, KeySet, ScanSpec
from checks.table_look import EVERY_ROW, RowChoice, TableLook
from scrub.catalog.expressions import columns_used
from scrub.catalog.native_terms import native_condition
from scrub.codec.digest import Salt
from scrub.model.plan import TablePlan
from scrub.model.table import Column as TableColumn
from scrub.spark.lazily import F

if TYPE_CHECKING:
    from pyspark.sql import Column

Looks = Mapping[int, Mapping[str, TableLook]]
"""What tasks look at beside entries, by relation and by the check that rides along."""

Among = Mapping[int, KeySet]
"""By slot, the primary keys of chosen rows, where they choose the entries."""


def scan_spec(
    relation: Relation,
    slots: frozenset[int],
    salt: Salt,
    looks: Looks | None = None,
    among: Among | None = None,
) -> ScanSpec:
    """What a native task does with this relation, for those of its slots still wanted."""
    keys = among or {}
    of_slots = [keys.get(slot.number) for slot in relation.slots if slot.number in slots]
    return ScanSpec(
        columns=relation.columns,
        primary_key=relation.table.table.primary_key,
        bucket_bits=relation.table.bucket_bits,
        salt=salt,
        entries=tuple(
            replace(entry, among=keys.get(entry.slot)) if entry.sign == ACTUAL else entry
            for entry in INDEX.adds_up(relation, slots)
        ),
        looks=(looks or {}).get(relation.number, {}),
        looked_at=rows_looked_at(relation.table),
        # All indexes of a table share its keys; one that is compared in full needs every row.
        among=of_slots[0] if of_slots and None not in of_slots else None,
        storage_options=relation.side.facts.storage_options,
    )


def rows_looked_at(plan: TablePlan) -> RowChoice:
    """The rows that checks of the whole table look at."""
    table, where = plan.table, plan.where
    condition = native_condition(where, table) if where else None
    if where is None or condition is None:
        return EVERY_ROW
    return RowChoice(conditions=(condition,), columns=columns_of_where(plan))


def columns_of_where(plan: TablePlan) -> tuple[TableColumn, ...]:
    """What it takes to tell which rows are looked at."""
    names = columns_used(plan.where, plan.table.types) if plan.where else ()
    return tuple(map(plan.table.column, names))


def is_looked_at(where: str | None) -> "Column":
    """Whether an index's entry is part of the check; `where` speaks of columns it holds."""
    return F.coalesce(F.expr(where), F.lit(False)) if where else F.lit(True)
