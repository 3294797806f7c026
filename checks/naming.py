# SPDX-License-Identifier: Apache-2.0
"""Frames that name defects: the joins of all indexes that differ, side by side in one frame."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checks.entries import actual_entries, expected_entries
from checks.merge_join import defects_among, pair_up
from checks.slots import Relation, Slot
from scrub.model.defect import DefectKind

RowsOf = Callable[[Relation], DataFrame]


def name_defects(
    slots: Sequence[Slot],
    relations: Sequence[Relation],
    rows_of: RowsOf,
    few: frozenset[int] = frozenset(),
) -> DataFrame:
    """Defects of all slots, each found by the join of its two sides.

    `few` are the relations whose rows are in one partition already.
    """
    frames = []
    for slot in slots:
        table, index = relations_of(slot, relations)
        pairs = pair_up(
            expected_entries(rows_of(table), slot.index, slot.table.where),
            actual_entries(rows_of(index), slot.index, slot.table.where),
            slot.index,
            shuffle=table.number not in few,
        )
        frames.append(defects_among(pairs, slot.table.table, slot.index, slot.number))
    return reduce(DataFrame.unionAll, frames)


def relations_of(slot: Slot, relations: Sequence[Relation]) -> tuple[Relation, Relation]:
    """The table's relation and the index's."""
    of_slot = [r for r in relations if any(s.number == slot.number for s in r.slots)]
    table, index = sorted(of_slot, key=lambda relation: not relation.is_table)
    return table, index


def one_duplicate_per_key(defects: DataFrame, slots: Sequence[Slot]) -> DataFrame:
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


def still_there(defects: DataFrame, later: DataFrame) -> DataFrame:
    """Those defects that a later look at the same buckets finds again."""
    return defects.join(
        later.select(_identity().alias("again")), _identity() == F.col("again"), "left_semi"
    )


def _identity() -> Column:
    return F.to_json(
        F.struct("slot", "kind", "primary_key", "index_key"), {"ignoreNullFields": "false"}
    )


def without(defects: DataFrame, undecidable: Mapping[int, frozenset[DefectKind]]) -> DataFrame:
    """The defects that nothing unread could explain."""
    decided = F.lit(True)
    for slot, kinds in undecidable.items():
        for kind in kinds:
            decided = decided & ~((F.col("slot") == slot) & (F.col("kind") == kind.value))
    return defects.where(decided)
