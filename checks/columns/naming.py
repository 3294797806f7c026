# SPDX-License-Identifier: Apache-2.0
"""Frames that name defects: the joins of all indexes that differ, side by side in one frame."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from checks.columns.entries import (
    actual_entries,
    entries_and_choice,
    expected_entries,
    rows_among,
)
from checks.columns.merge_join import defects_among, pair_up
from checks.named_defects import HeldDefect, defect_place
from checks.numbering import Relation, Slot, relations_of
from checks.specs import is_looked_at
from scrub.model.defect import DefectKind
from scrub.spark.lazily import F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RowsOf = Callable[[Relation], "DataFrame"]


def name_defects(
    slots: Sequence[Slot],
    relations: Sequence[Relation],
    rows_of: RowsOf,
) -> "DataFrame":
    """Defects of all slots, each found by the join of its two sides."""
    frames = []
    for slot in slots:
        table, index = relations_of(slot, relations)
        expected, actual = _sides(slot, rows_of(table), rows_of(index))
        pairs = pair_up(expected, actual, slot.index)
        frames.append(defects_among(pairs, slot.table.table, slot.index, slot.number))
    return reduce(lambda one, other: one.unionAll(other), frames)


def _sides(slot: Slot, rows: "DataFrame", entries: "DataFrame") -> tuple["DataFrame", "DataFrame"]:
    """The entries to be joined: those expected, and those that are there."""
    where, index, table = slot.table.where, slot.index, slot.table.table
    if where is None or not slot.plan.by_rows:
        return expected_entries(rows, index, where), actual_entries(entries, index, where)
    chosen = rows.where(is_looked_at(where))
    return (
        entries_and_choice(rows_among(rows, chosen, table), index, where),
        actual_entries(rows_among(entries, chosen, table), index, None),
    )


def one_held_duplicate_per_key(
    defects: Sequence[HeldDefect], slots: Sequence[Slot]
) -> Iterator[HeldDefect]:
    """The same of defects that are held here."""
    table_of = {slot.number: slot.table.table.name for slot in slots}
    seen: set[tuple[object, ...]] = set()
    for defect in sorted(defects, key=defect_place):
        if defect["kind"] == DefectKind.DUPLICATE_KEY.value:
            key = (table_of[defect["slot"]], *defect["primary_key"])
            if key in seen:
                continue
            seen.add(key)
        yield defect


def one_duplicate_per_key(defects: "DataFrame", slots: Sequence[Slot]) -> "DataFrame":
    """A duplicated row shows in every index of its table; keep it under the first of them."""
    first_slot = {slot.table.table.name: slot.number for slot in reversed(slots)}
    table_of = F.lit(-1)
    for slot in slots:
        first = first_slot[slot.table.table.name]
        table_of = F.when(F.col("slot") == slot.number, F.lit(first)).otherwise(table_of)
    is_duplicate = F.col("kind") == DefectKind.DUPLICATE_KEY.value
    rest = [name for name in defects.columns if name != "primary_key"]
    once = (
        defects.where(is_duplicate)
        .groupBy(table_of.alias("table"), "primary_key")
        .agg(F.min(F.struct("slot", *(n for n in rest if n != "slot"))).alias("first"))
        .select("primary_key", *(F.col(f"first.{name}").alias(name) for name in rest))
    )
    return defects.where(~is_duplicate).unionByName(once)
